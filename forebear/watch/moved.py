"""By how much a target moved, in its own units, and by what factor its law widened."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Pull = Callable[[np.ndarray, float], np.ndarray]
"""latents of some new rows once so much has been taken off their target: (rows, amount) -> (rows,)"""

# Rows at which a shift in the target's own units is looked for, and how often a guess is doubled or halved.
_ASKED, _DOUBLED, _HALVED = 1_000, 12, 10


def place_of(new: Float[np.ndarray, " rows *draws"], known: Float[np.ndarray, " known *more"]) -> tuple[float, float]:
    """By how much the median of new latents lies above that of known ones, and how many times their spread is theirs.

    >>> z = np.linspace(-2, 2, 101)
    >>> place, spread = place_of(3 * z + 1, z)
    >>> round(place, 6), round(spread, 6)
    (1.0, 3.0)
    """
    middle, wide = float(np.median(new)), float(np.subtract(*np.quantile(new, [0.75, 0.25])))
    usual = known if len(known) else np.array([-2 * 0.6745, 0.0, 2 * 0.6745])
    before = float(np.subtract(*np.quantile(usual, [0.75, 0.25])))
    return middle - float(np.median(usual)), float(np.clip(wide / max(before, 1e-9), 0.02, 50.0))


def moved_by(pull: Pull, rows: np.ndarray, known: Float[np.ndarray, " known *draws"], scale: float) -> float | None:
    """What has to be taken off the target for its latents to lie where known ones do; None where `scale`, a deviation
    of the target, is NaN: its values are no measurements.

    >>> rng = np.random.default_rng(0)
    >>> y = 5 + 2 * rng.normal(size=1_000)
    >>> round(moved_by(lambda rows, amount: (y[rows] - amount - 4) / 2, np.arange(1_000), np.zeros(0), 2.0), 1)
    0.9
    """
    if not np.isfinite(scale):
        return None
    some = rows[:: max(1, len(rows) // _ASKED)]
    wanted = float(np.median(known)) if len(known) else 0.0

    def off(amount: float) -> float:
        return float(np.median(pull(some, amount))) - wanted

    sign = float(np.sign(off(0.0)))
    if sign == 0:
        return 0.0
    # Latents rise with the target: reach out until the shift lies between two amounts, then halve.
    near, far = 0.0, sign * 0.1 * scale
    for _ in range(_DOUBLED):
        if off(far) * sign <= 0:
            break
        near, far = far, 2 * far
    for _ in range(_HALVED):
        middle = (near + far) / 2
        near, far = (middle, far) if off(middle) * sign > 0 else (near, middle)
    return (near + far) / 2
