"""How the ensemble learns and how the planner searches; the defaults are the published ones, but for `constants`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from forebear.errors import InputError, below_one, check_fields, near_miss, one_of, positive, whole


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

    def __post_init__(self) -> None:
        check_fields(self, _CEM, word="")
        if self.elites > self.candidates:
            raise InputError(
                f"elites={self.elites}, but only candidates={self.candidates} plans are drawn: lower elites"
            )


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

    def __post_init__(self) -> None:
        check_fields(self, _ENSEMBLE, word="")


@dataclass(frozen=True)
class PetsSettings:
    """Both, by stage."""

    ensemble: EnsembleSettings = field(default_factory=EnsembleSettings)
    cem: CemSettings = field(default_factory=CemSettings)

    def __post_init__(self) -> None:
        if self.cem.particles % self.ensemble.members:
            raise InputError(
                f"particles={self.cem.particles} must be a multiple of members={self.ensemble.members}, to deal them "
                "evenly"
            )

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
        return cls(_of(EnsembleSettings, changes), _of(CemSettings, changes))


def cem_settings(changes: Mapping[str, Any]) -> CemSettings:
    """Those of a search alone.

    >>> cem_settings({"candidates": 20})
    Traceback (most recent call last):
    forebear.errors.InputError: elites=40, but only candidates=20 plans are drawn: lower elites
    """
    _check_known(changes, (CemSettings,))
    return _of(CemSettings, changes)


def _check_known(changes: Mapping[str, Any], stages: Sequence[Any]) -> None:
    known = sorted(f.name for stage in stages for f in fields(stage))
    for name in changes:
        if name not in known:
            raise InputError(f"unknown setting '{name}'. {near_miss(name, known)}")


def _of(stage: Any, changes: Mapping[str, Any]) -> Any:
    own = {f.name for f in fields(stage)}
    return stage(**{name: value for name, value in changes.items() if name in own})


_CEM = {
    **dict.fromkeys(("horizon", "candidates", "elites", "iterations", "particles"), whole()),
    "smoothing": below_one,
}
_ENSEMBLE = {
    **dict.fromkeys(("members", "width", "depth", "batch", "epochs"), whole()),
    "rate": positive(),
    "precision": one_of("float32", "bfloat16"),
    "constants": one_of("kept", "learned"),
}
