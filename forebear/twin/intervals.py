"""Means and intervals of a twin's law, the latter with a guarantee where rows were set aside.

The guarantee is that of split conformal prediction, on latents: rows set aside were in no training, so that the
latent of a new row, exchangeable with them, is as likely to have any rank among theirs. It is marginal: over all rows
together, not at every input. Rows that depend on one another, in time or in groups, are not exchangeable one by one;
there it holds for the kind of row that was set aside, on average over a table like this one, and not for rows that
come later or of a new group.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from forebear.errors import InputError

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

Outside = Literal["warn", "raise", "ignore"]
# A row this far beyond the data, in deviations of an input, is worth a word; new rows lie a little outside all the
# time.
FAR = 0.5
# More inputs than this are not looked at in pairs.
_MOST_PAIRED = 40
_CELLS = 64
# Cells of equal mass under a normal this much wider than the latent: finer in the tails, which a mean feels.
_WIDER = 1.4


def mean_rule() -> tuple[Float[np.ndarray, " cells"], Float[np.ndarray, " cells"]]:
    """Quantile levels and weights whose weighted sum is the mean.

    The standard normal latent is cut into cells; each counts with its mass and stands at its own mean, so that the
    rule is exact for a normal law.

    >>> levels, weights = mean_rule()
    >>> bool(abs(weights @ (3 + ndtri(levels)) - 3) < 1e-12)
    True
    """
    edges = _WIDER * ndtri(np.linspace(0, 1, _CELLS + 1))
    weights = np.diff(ndtr(edges))
    density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    return ndtr(-np.diff(density) / weights), weights


def check_level(level: Any) -> float:
    """A number strictly between 0 and 1.

    >>> check_level(90)
    Traceback (most recent call last):
    forebear.errors.InputError: level must lie strictly between 0 and 1, such as 0.9; got 90
    """
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, such as 0.9; got {level!r}")
    return float(level)


def conformal_latents(aside: Float[np.ndarray, "rows targets"], level: float) -> Float[np.ndarray, " targets"]:
    """How far from zero latents may lie, of each target, so that a share `level` of new rows lies within.

    >>> z = np.random.default_rng(0).normal(size=(999, 1))
    >>> bool(abs(conformal_latents(2 * z, 0.9)[0] - 2 * 1.645) < 0.3)
    True
    """
    rows = len(aside)
    # Rounding of the product must not ask for a row more.
    rank = int(np.ceil((rows + 1) * level - 1e-9))
    if rank > rows:
        least = int(np.ceil(level / (1 - level) - 1e-9))
        raise InputError(
            f"guarantee=True at {level:.3g} needs {least} rows set aside, and the twin has {rows}: fit it with "
            "test=0.2 on more rows, or ask for a lower level"
        )
    return np.sort(np.abs(aside), axis=0)[rank - 1]


def check_outside(twin: Twin, x: np.ndarray, outside: str) -> None:
    """Warn of rows far beyond the data, or refuse them: beyond the ends of an input, or in an empty corner of two."""
    if outside not in ("warn", "raise", "ignore"):
        raise InputError(f"outside must be 'warn', 'raise' or 'ignore'; got {outside!r}")
    said = None if outside == "ignore" else outside_told(twin, x)
    if said is None:
        return
    if outside == "raise":
        raise InputError(f"{said}; outside='ignore' asks for it all the same")
    warnings.warn(f"{said} (outside='ignore' silences this)", stacklevel=3)


def outside_told(twin: Twin, x: np.ndarray) -> str | None:
    """A sentence about the row that is furthest beyond the data; None where none is far."""
    return (_beyond_ends(twin, x) or _in_a_corner(twin, x)) if len(x) else None


def _beyond_ends(twin: Twin, x: np.ndarray) -> str | None:
    low, high = twin.ends
    beyond = np.maximum(low - x, x - high) / np.array([column.scale for column in twin.columns])
    far = int((beyond > FAR).any(axis=1).sum())
    if not far:
        return None
    row, place = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    return (
        f"given: '{twin.inputs[place]}' is {x[row, place]:g} in row {row + 1}{_more(far)}, where the data end at "
        f"{low[place]:g} and {high[place]:g}: what the twin says there is a guess"
    )


def _in_a_corner(twin: Twin, x: np.ndarray) -> str | None:
    """Of inputs within their ends: two whose sum or difference, in deviations, goes beyond that of all data."""
    places, extents = twin.corners
    units = units_of(twin, x, places)
    worst, at = np.zeros(len(x)), np.zeros(len(x), int)
    for number, (i, j, low, high) in enumerate(extents):
        both = diagonals(units, int(i), int(j))
        beyond = np.maximum(low - both, both - high).max(axis=0)
        at, worst = np.where(beyond > worst, number, at), np.maximum(beyond, worst)
    far = int((worst > FAR).sum())
    if not far:
        return None
    row = int(np.argmax(worst))
    names = [places[int(extents[at[row]][k])] for k in (0, 1)]
    told = " and ".join(f"'{twin.inputs[place]}' {x[row, place]:g}" for place in names)
    return (
        f"given: {told} in row {row + 1}{_more(far)} do not occur together in the data: what the twin says there is "
        "a guess"
    )


def _more(far: int) -> str:
    return f", and {far - 1} more rows" if far > 1 else ""


Extent = tuple[int, int, np.ndarray, np.ndarray]
"""two inputs, and the ends (2, 1) of their sum and difference in the data"""


def corners_of(twin: Twin) -> tuple[list[int], list[Extent]]:
    """Which inputs have ends, by place, and of each two of them how far the data reach along both diagonals."""
    low, high = twin.ends
    places = [int(place) for place in np.flatnonzero(np.isfinite(low) & np.isfinite(high))][:_MOST_PAIRED]
    units = units_of(twin, twin.rows, places)
    found: list[Extent] = []
    for i, j in zip(*np.triu_indices(len(places), 1), strict=True):
        both = diagonals(units, int(i), int(j))
        found.append((int(i), int(j), both.min(axis=1, keepdims=True), both.max(axis=1, keepdims=True)))
    return places, found


def units_of(twin: Twin, x: np.ndarray, places: list[int]) -> np.ndarray:
    """Values (inputs, rows) of some inputs, in deviations from their centres."""
    columns = [twin.columns[place] for place in places]
    return np.array([(x[:, p] - c.centre) / c.scale for p, c in zip(places, columns, strict=True)]).reshape(
        -1, len(x)
    )


def diagonals(units: np.ndarray, i: int, j: int) -> np.ndarray:
    """Sum and difference (2, rows) of two inputs, of unit length."""
    return np.stack([units[i] + units[j], units[i] - units[j]]) / np.sqrt(2)
