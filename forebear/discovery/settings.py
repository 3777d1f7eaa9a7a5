"""Everything that can be set, gathered from flat names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from forebear.discovery.tester import CertificateSettings
from forebear.errors import InputError, near_miss
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
    """share of the rows that each of several runs sees; one run sees them all"""

    def flat(self) -> dict[str, Any]:
        """Every setting by its name."""
        lengthscale = self.kernel.lengthscale
        plain = dict(lengthscale) if isinstance(lengthscale, Mapping) else lengthscale
        kernel_settings = replace(self.kernel, lengthscale=plain)
        stages = {**asdict(self.flow), **asdict(kernel_settings), **asdict(self.certificate)}
        return {**stages, "folds": self.folds, "subset": self.subset}


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
    for name, value in changes.items():
        if name not in known:
            raise InputError(f"unknown setting '{name}'. {near_miss(name, known)}")
        check_setting(name, value)
    return Settings(
        replace(settings.flow, **{k: v for k, v in changes.items() if k in flow_names}),
        replace(settings.kernel, **{k: v for k, v in changes.items() if k in kernel_names}),
        replace(settings.certificate, **{k: v for k, v in changes.items() if k in certificate_names}),
        changes.get("folds", settings.folds),
        changes.get("subset", settings.subset),
    )


_WHOLE = {"width", "depth", "steps", "epochs", "batch", "ode_steps", "distilled", "folds", "tested", "subset_steps"}
_MAY_BE_NONE = {"steps", "subset_steps", "lengthscale", "latent_lengthscale", "nugget"}
_CHOICES = {
    "activation": ("silu", "relu", "tanh"),
    "schedule": ("cosine", "constant"),
    "solver": ("rk4", "tsit5"),
}
_LEAST = {"distilled": 20, "tested": 100}


def check_setting(name: str, value: Any) -> None:
    """Refuse a value that the setting cannot have.

    >>> check_setting("steps", 0)
    Traceback (most recent call last):
    forebear.errors.InputError: setting 'steps' must be a whole number of at least 1; got 0
    """
    if value is None and name in _MAY_BE_NONE:
        return
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise InputError(f"setting '{name}' is {value!r}. {near_miss(value, _CHOICES[name])}")
        return
    if name == "lengthscale" and isinstance(value, Mapping):
        for column, length in value.items():
            _check_number(f"lengthscale['{column}']", length, least=0.0)
        return
    if name in _WHOLE:
        least = _LEAST.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"setting '{name}' must be a whole number of at least {least}; got {value!r}")
    elif name == "averaging":
        if not isinstance(value, float | int) or not 0 <= value < 1:
            raise InputError(f"setting 'averaging' must lie in [0, 1); got {value!r}")
    elif name in ("least_effect", "least_shift", "drop"):
        if not isinstance(value, float | int) or not 0 <= value < 1:
            raise InputError(f"setting '{name}' must lie in [0, 1); got {value!r}")
    elif name in ("subset", "level"):
        _check_number(name, value, least=0.0, most=1.0)
    else:
        _check_number(name, value, least=0.0)


def _check_number(name: str, value: Any, *, least: float, most: float = float("inf")) -> None:
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if not number or not least < value <= most or value == float("inf"):
        upper = "" if most == float("inf") else f" and at most {most:g}"
        raise InputError(f"setting '{name}' must be a number above {least:g}{upper}; got {value!r}")
