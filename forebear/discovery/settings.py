"""Everything that can be set, gathered from flat names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from forebear.discovery.tester import CertificateSettings
from forebear.errors import InputError, check_fields, near_miss, one_of, positive, whole
from forebear.flow import settings as flow
from forebear.kernel import settings as kernel

AUTO, OWN, SHARED = "auto", "own", "shared"
# Draws behind a path that is shared: the answer hardly depends on it, and its cost is their cube.
_SHARED_DRAWS = 1_500


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
    path: str = AUTO
    """where the draws behind the pruning path come from. "own": samplers trained for it alone, as published.
    "shared": the flows behind the certificate, and 1,500 draws unless `distilled` is given, in a fraction of the
    time. "auto": shared where the rule is "certified", no law is joint and nothing of the samplers is set"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    def settled(self, sharing: bool, changes: Mapping[str, Any]) -> Settings:
        """With one source of draws, where it was left open. `sharing`: whether a certificate has flows to share;
        `changes`: what was set by name.

        >>> settings = Settings().settled(True, {})
        >>> settings.path, settings.kernel.distilled
        ('shared', 1500)
        >>> Settings(flow=flow.FlowSettings(steps=300)).settled(True, {}).path
        'own'
        >>> settings.kernel.scores, Settings().settled(False, {}).kernel.scores
        ('variation', 'energy')
        """
        if self.path == SHARED and not sharing:
            raise InputError("path='shared' needs rule='certified', sampler='flow' and joint=False: use path='own'")
        by_default = self.flow == flow.FlowSettings() and self.folds == Settings.folds
        if self.path == OWN or (self.path == AUTO and not (sharing and by_default)):
            return replace(self, path=OWN, kernel=self._kernel(kernel.ENERGY))
        draws = self.kernel.distilled if "distilled" in changes else _SHARED_DRAWS
        return replace(self, path=SHARED, kernel=replace(self._kernel(kernel.VARIATION), distilled=draws))

    def _kernel(self, scores: str) -> kernel.KernelSettings:
        """With these scores, where they were left open."""
        return replace(self.kernel, scores=scores) if self.kernel.scores == kernel.AUTO else self.kernel

    def flat(self) -> dict[str, Any]:
        """Every setting by its name."""
        lengthscale = self.kernel.lengthscale
        plain = dict(lengthscale) if isinstance(lengthscale, Mapping) else lengthscale
        kernel = self.kernel.kernel
        named = {"kernel": kernel if isinstance(kernel, str) else type(kernel).__name__, "lengthscale": plain}
        own = {f.name: getattr(self.kernel, f.name) for f in fields(self.kernel)}
        stages = {**asdict(self.flow), **own, **named, **asdict(self.certificate)}
        return {**stages, "folds": self.folds, "subset": self.subset, "path": self.path}


_CHECKS = {"folds": whole(), "subset": positive(most=1.0), "path": one_of(AUTO, OWN, SHARED)}

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
    known = [*sorted(flow_names | kernel_names | certificate_names), "folds", "subset", "path"]
    for name in changes:
        if name not in known:
            raise InputError(f"unknown setting '{name}'. {near_miss(name, known)}")
    return Settings(
        replace(settings.flow, **{k: v for k, v in changes.items() if k in flow_names}),
        replace(settings.kernel, **{k: v for k, v in changes.items() if k in kernel_names}),
        replace(settings.certificate, **{k: v for k, v in changes.items() if k in certificate_names}),
        changes.get("folds", settings.folds),
        changes.get("subset", settings.subset),
        changes.get("path", settings.path),
    )
