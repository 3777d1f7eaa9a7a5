"""How the ensemble learns and how the planner searches; the defaults are the published ones, but for `constants`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from forebear.errors import InputError, check_whole, near_miss


@dataclass(frozen=True)
class CemSettings:
    """The cross-entropy method over plans, each judged by particles."""

    horizon: int = 25
    """steps that a plan looks ahead"""
    candidates: int = 400
    """plans drawn in an iteration"""
    elites: int = 40
    """of them, the best, to which the search moves"""
    iterations: int = 5
    smoothing: float = 0.1
    """share of the old mean and variance that stays in the new ones"""
    least_variance: float = 1e-3
    """the search stops where no coordinate of the plan varies more than this"""
    particles: int = 20
    """trajectories that judge a plan; an ensemble deals them evenly to its members"""


@dataclass(frozen=True)
class EnsembleSettings:
    """Networks, each with a mean and a variance for every output."""

    members: int = 5
    width: int = 200
    depth: int = 4
    """hidden layers"""
    rate: float = 7.5e-4
    """of Adam, constant"""
    batch: int = 32
    epochs: int = 5
    """passes over all data after every trial, from the weights of the trial before"""
    decay: tuple[float, float, float] = (2.5e-4, 5e-4, 7.5e-4)
    """penalty on the squared weights of the first layer, of those in between, of the last"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """of the hidden layers while planning; on a GPU "bfloat16" is faster. Training is in float32"""
    constants: Literal["kept", "learned"] = "kept"
    """states that changed by the same in every step so far, a goal for instance: "kept", and all plans are judged
    with that; or "learned" like all others, as published. Networks err where they have seen little, and a goal that
    runs away in every plan leaves nothing to choose between plans"""


@dataclass(frozen=True)
class PetsSettings:
    """Both, by stage."""

    ensemble: EnsembleSettings = field(default_factory=EnsembleSettings)
    cem: CemSettings = field(default_factory=CemSettings)

    @classmethod
    def resolve(cls, changes: Mapping[str, Any]) -> PetsSettings:
        """The defaults with some fields changed, by their own names.

        >>> PetsSettings.resolve({"horizon": 10}).cem.horizon
        10
        >>> PetsSettings.resolve({"horizno": 10})
        Traceback (most recent call last):
        forebear.errors.InputError: unknown setting 'horizno'. Did you mean 'horizon'?
        """
        _check_known(changes, (EnsembleSettings, CemSettings))
        ensemble, search = (_of(stage, changes) for stage in (EnsembleSettings, CemSettings))
        _check_cem(search)
        _check_ensemble(ensemble, search.particles)
        return cls(ensemble, search)


def cem_settings(changes: Mapping[str, Any]) -> CemSettings:
    """Those of a search alone.

    >>> cem_settings({"candidates": 20})
    Traceback (most recent call last):
    forebear.errors.InputError: elites=40, but only candidates=20 plans are drawn: lower elites
    """
    _check_known(changes, (CemSettings,))
    found = _of(CemSettings, changes)
    _check_cem(found)
    return found


def _check_known(changes: Mapping[str, Any], stages: Sequence[Any]) -> None:
    known = sorted(f.name for stage in stages for f in fields(stage))
    for name in changes:
        if name not in known:
            raise InputError(f"unknown setting '{name}'. {near_miss(name, known)}")


def _of(stage: Any, changes: Mapping[str, Any]) -> Any:
    own = {f.name for f in fields(stage)}
    return stage(**{name: value for name, value in changes.items() if name in own})


def _check_cem(settings: CemSettings) -> None:
    for name in ("horizon", "candidates", "elites", "iterations", "particles"):
        check_whole(name, getattr(settings, name), 1)
    if settings.elites > settings.candidates:
        raise InputError(
            f"elites={settings.elites}, but only candidates={settings.candidates} plans are drawn: lower elites"
        )
    if not 0 <= settings.smoothing < 1:
        raise InputError(f"smoothing must lie in [0, 1); got {settings.smoothing!r}")


def _check_ensemble(settings: EnsembleSettings, particles: int) -> None:
    for name in ("members", "width", "depth", "batch", "epochs"):
        check_whole(name, getattr(settings, name), 1)
    if particles % settings.members:
        raise InputError(
            f"particles={particles} must be a multiple of members={settings.members}, to deal them evenly"
        )
    if not settings.rate > 0:
        raise InputError(f"rate must be a number above 0; got {settings.rate!r}")
    for name, known in _CHOICES.items():
        if (chosen := getattr(settings, name)) not in known:
            raise InputError(f"{name} is {chosen!r}. {near_miss(chosen, known)}")


_CHOICES = {"precision": ("float32", "bfloat16"), "constants": ("kept", "learned")}
