"""The ridge regression on distilled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebear.errors import below_one, check_fields, one_of, or_none, positive, whole
from forebear.kernel.profiles import Kernel, find_kernel

AUTO, ENERGY, VARIATION = "auto", "energy", "variation"


@dataclass(frozen=True)
class KernelSettings:
    """Size of the regression and its kernel. The defaults are the preset "fast"."""

    kernel: str | Kernel = "rbf"
    """of every input and latent, by name ("rbf", "matern32", "matern52") or one of your own"""
    distilled: int = 3_000
    """rows drawn from the sampler; may exceed the rows of the table, which are then reused with fresh latents"""
    lengthscale: float | Mapping[str, float] | None = None
    """of the inputs, in units of a column's standard deviation (of the circle's radius for a periodic one);
    a mapping gives it by column; None: chosen from the distilled rows"""
    latent_lengthscale: float | None = None
    """of the latents; None: chosen from the distilled rows"""
    nugget: float | None = None
    """ridge penalty against a kernel whose factors are 1 + k; None: chosen from the distilled rows"""
    drop: float = 0.25
    """share of the inputs that is removed at a step of the path while more than 32 are left, those with the least
    scores; 0: one at a time throughout, as published"""
    scores: str = AUTO
    """by which inputs are ranked and removed. "energy": the share of the signal in terms that contain the input, as
    published; with many inputs all of them are close to one half. "variation": the share of the fit's variance that
    is lost on average when the input is drawn from another row; 0 for an input that does nothing. "auto": variation
    where the path is shared (`path=`), energy elsewhere"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    @property
    def profile(self) -> Kernel:
        """The kernel itself."""
        return find_kernel(self.kernel)


def _lengthscale(what: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        return positive()(what, value)
    for column, length in value.items():
        positive()(f"setting 'lengthscale['{column}']'", length)


_CHECKS = {
    "kernel": lambda what, value: find_kernel(value),
    "distilled": whole(20),
    "lengthscale": or_none(_lengthscale),
    "latent_lengthscale": or_none(positive()),
    "nugget": or_none(positive()),
    "drop": below_one,
    "scores": one_of(AUTO, ENERGY, VARIATION),
}

PUBLISHED = KernelSettings(
    distilled=5_000, lengthscale=1.0, latent_lengthscale=1.0, nugget=1.0, drop=0.0, scores=ENERGY
)
"""the values most published experiments share: the preset "paper\""""
