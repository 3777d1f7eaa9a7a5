"""Everything that can be set, gathered from flat names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from forebear.discovery.tester import CertificateSettings
from forebear.errors import InputError, check_fields, near_miss, positive, whole
from forebear.flow import settings as flow
from forebear.kernel import settings as kernel


@dataclass(frozen=True)
class Settings:
    """The settings of one discovery, by stage."""

    flow: flow.FlowSettings = field(default_factory=flow.FlowSettings)
    kernel: kernel.KernelSettings = field(default_factory=kernel.KernelSettings)
    certificate: CertificateSettings = field(default_factory=CertificateSettings)
    folds: int = 2
    """samplers trained for a target, each without one of so many parts of the rows; every draw comes from one
    that has not seen the row. 1: a single sampler, trained on all rows"""
    subset: float = 0.8
    """share of the rows that each of several runs sees; one run sees them all. 0.5: runs come in pairs that share no
    row, and `found.stability` has a bound"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    def flat(self) -> dict[str, Any]:
        """Every setting by its name."""
        lengthscale = self.kernel.lengthscale
        plain = dict(lengthscale) if isinstance(lengthscale, Mapping) else lengthscale
        kernel = self.kernel.kernel
        named = {"kernel": kernel if isinstance(kernel, str) else type(kernel).__name__, "lengthscale": plain}
        own = {f.name: getattr(self.kernel, f.name) for f in fields(self.kernel)}
        stages = {**asdict(self.flow), **own, **named, **asdict(self.certificate)}
        return {**stages, "folds": self.folds, "subset": self.subset}


_CHECKS = {"folds": whole(), "subset": positive(most=1.0)}

PRESETS = {
    "fast": Settings(),
    "paper": Settings(flow.PUBLISHED, kernel.PUBLISHED, folds=1),
}


def resolve(preset: str, changes: Mapping[str, Any]) -> Settings:
    """A preset with some settings changed; a name that is not a setting is an error that names the near miss.

    >>> resolve("fast", {"steps": 10, "nugget": 1.0}).flow.steps
    10
    >>> resolve("fast", {"stesp": 10})
    Traceback (most recent call last):
    forebear.errors.InputError: unknown setting 'stesp'. Did you mean 'steps'?
    """
    if preset not in PRESETS:
        raise InputError(f"unknown preset '{preset}'. {near_miss(preset, PRESETS)}")
    settings = PRESETS[preset]
    flow_names = {f.name for f in fields(settings.flow)}
    kernel_names = {f.name for f in fields(settings.kernel)}
    certificate_names = {f.name for f in fields(settings.certificate)}
    known = [*sorted(flow_names | kernel_names | certificate_names), "folds", "subset"]
    for name in changes:
        if name not in known:
            raise InputError(f"unknown setting '{name}'. {near_miss(name, known)}")
    return Settings(
        replace(settings.flow, **{k: v for k, v in changes.items() if k in flow_names}),
        replace(settings.kernel, **{k: v for k, v in changes.items() if k in kernel_names}),
        replace(settings.certificate, **{k: v for k, v in changes.items() if k in certificate_names}),
        changes.get("folds", settings.folds),
        changes.get("subset", settings.subset),
    )
