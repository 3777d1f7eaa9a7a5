"""Is the law of one target another one on new rows, and if so: since when, how, and with which input?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.watch.contrast import (
    FEWEST,
    FEWEST_GROUPS,
    Between,
    Contrasts,
    NewRows,
    input_contrasts,
    plain_contrasts,
    tested_functions,
    windows,
)
from forebear.watch.features import LOCATION, ORDER_SHARES, ORDERS, SPREAD, InputFeatures, all_scores
from forebear.watch.follows import Followed, follows
from forebear.watch.misfit import Misfit, misfit_of
from forebear.watch.moved import Pull, moved_by, place_of
from forebear.watch.since import Stretch, changed_rows

# Rows of a window at least, and the share of the error that is spent on changes with an input.
_WINDOW, _WITH_INPUTS = 50, 0.5
# p-value below which a moment is said to have changed, once it is known that something did.
_CLEAR = 0.0025


@dataclass(frozen=True, eq=False)
class Law:
    """The latents of one target on known and new rows, and the inputs that its change may follow."""

    target: str
    known: Float[np.ndarray, " known *draws"]
    new: Float[np.ndarray, " rows *draws"]
    own: Sequence[InputFeatures]
    """of the inputs of this law"""
    others: Sequence[InputFeatures]
    """of all other columns that both sides have"""
    pull: Pull
    ordered: bool = False
    """whether the known rows are stretches of rows that follow one another"""
    known_groups: np.ndarray | None = None
    groups: np.ndarray | None = None
    scale: float = 1.0
    """a deviation of the target; NaN where taking something off its values means nothing"""


@dataclass(frozen=True, eq=False)
class Tested:
    """What the tests of one law say, before it is asked what a change looks like."""

    __test__ = False  # not a class of tests, whatever pytest makes of its name

    law: Law
    p_value: float
    """of the null hypothesis that nothing changed, over all windows, orders and inputs"""
    window: slice
    """where it is smallest"""
    misfit: Misfit
    rows: NewRows
    plain: Contrasts
    """in that window"""
    inputs: Contrasts
    margin: float
    lack: str = ""
    """why nothing can be told, if so"""


class End(NamedTuple):
    """What a change is in a part of the rows."""

    moved_by: float | None
    widened_by: float


@dataclass(frozen=True)
class LawVerdict:
    """What is told of one law."""

    verdict: str
    """"holds", "changed" or "cannot tell" """
    p_value: float | None
    adjusted: float | None = None
    """the p-value, corrected for the number of laws (Holm)"""
    follows: tuple[str, ...] = ()
    """inputs that the change goes with, most telling first; none for a plain change, the same at all inputs"""
    since: int | None = None
    """the first row of the change, counted from 1"""
    since_interval: tuple[int, int] | None = None
    until: int | None = None
    """the last row of a change that has ended"""
    how: tuple[str, ...] = ()
    """"moved", "widened", "narrowed", "other shape" """
    moved_by: float | None = None
    """in units of the target"""
    widened_by: float | None = None
    """factor of the spread that the inputs leave"""
    evidence: Mapping[str, float] | None = None
    """p-value of each input that the change follows, beyond what those before it explain"""
    along: tuple[End, End] | None = None
    """in the lowest and the highest fifth of the first of `follows`"""
    note: str = ""


def test_law(law: Law, margin: float) -> Tested:
    """All windows, orders and inputs, each with its share of the error."""
    features = [*law.own, *law.others]
    tested = np.column_stack([np.zeros((len(law.new), 0)), *(one.new for one in features)])
    shares = np.concatenate([[], *(one.shares / len(features) for one in features)])
    ends = np.concatenate([np.zeros(0, bool), *(np.arange(len(one.shares)) >= one.smooth for one in features)])
    known = all_scores(law.known)
    misfit, design = misfit_of(known, list(law.own), list(law.others), len(law.new), law.ordered, law.known_groups)
    # A twin that is taken at its word has no misfit, and no rows to learn one on.
    before = np.column_stack([np.zeros((len(known), 0)), *(one.known for one in features)]) if len(known) else None
    covered = None if before is None else misfit.covers(before)
    between = None if before is None else Between.of(misfit, before, ends)
    rows = NewRows.of(all_scores(law.new), design, tested, misfit, law.groups, ends, covered, between)
    share, best = _WITH_INPUTS if tested.shape[1] else 0.0, (np.inf, slice(0, len(law.new)))
    kept: dict[tuple[int, int], tuple[Contrasts, Contrasts]] = {}
    fewest = max(_WINDOW, 2 * FEWEST * len(law.new) / max(rows.worth(len(law.new)), 1.0))
    for window, part in windows(len(law.new), np.inf if law.groups is not None else fewest):
        plain = plain_contrasts(rows, misfit, window, margin)
        inputs = input_contrasts(rows, misfit, window, margin)
        kept[window.start, window.stop] = plain, inputs
        told = [plain.p_value[:, 0] / ((1 - share) * part * ORDER_SHARES)]
        if share:
            told.append((inputs.p_value / (share * part * ORDER_SHARES[:, None] * shares)).ravel())
        best = min(best, (float(np.concatenate(told).min()), window), key=lambda pair: pair[0])
    p_value, window = best
    plain, inputs = kept[window.start, window.stop]
    return Tested(law, min(1.0, p_value), window, misfit, rows, plain, inputs, margin, _lack(law, rows))


test_law.__test__ = False  # type: ignore[attr-defined]


def _lack(law: Law, rows: NewRows) -> str:
    if law.groups is not None and len(np.unique(law.groups)) < FEWEST_GROUPS:
        return f"the new rows are {len(np.unique(law.groups))} groups, and {FEWEST_GROUPS} are needed"
    worth = rows.worth(len(law.new))
    if worth >= FEWEST:
        return ""
    slow = "" if worth > 0.9 * len(law.new) else f" follow one another and are worth {worth:.0f}"
    return f"{len(law.new)} new rows{slow}, and {FEWEST:.0f} independent ones are needed"


def described(tested: Tested, adjusted: float) -> LawVerdict:
    """A law that changed: since when, how, and with which input."""
    stretch, law = _stretch(tested), tested.law
    rows = np.arange(stretch.first, stretch.last)
    moved = moved_by(law.pull, rows, law.known, law.scale)
    scales = _scales(law, rows, moved)
    followed = follows(
        [(z - place) / spread for z, (place, spread) in scales],
        tested.misfit,
        [*law.own, *law.others],
        tested.rows.design[rows],
        rows,
        tested.margin,
        None if law.groups is None else law.groups[rows],
    )
    # Where a plain shift in the target's own units explains it, latents spread as they do once that is undone.
    widened = scales[-1][1][1]
    return LawVerdict(
        "changed",
        tested.p_value,
        adjusted,
        tuple(one.name for one in followed),
        stretch.first + 1,
        (stretch.earliest + 1, stretch.latest + 1),
        None if stretch.last == len(law.new) else stretch.last,
        _how(tested, slice(stretch.first, stretch.last), scales, followed),
        moved,
        widened,
        {one.name: one.p_value for one in followed},
        _along(law, rows, followed[0].name) if followed else None,
    )


Scale = tuple[np.ndarray, tuple[float, float]]
"""latents of the changed rows, and their place and spread beside the known ones"""


def _scales(law: Law, rows: np.ndarray, moved: float | None) -> list[Scale]:
    """Latents as they are and, where that means something, with the shift of the target taken off."""
    found = [law.new[rows]] if moved is None else [law.new[rows], law.pull(rows, moved)]
    return [(z, place_of(z, law.known)) for z in found]


def _along(law: Law, rows: np.ndarray, name: str) -> tuple[End, End] | None:
    """What the change is in the lowest and in the highest fifth of an input."""
    [one] = [own for own in (*law.own, *law.others) if own.name == name]
    first = one.new[rows, 0]
    low, high = np.quantile(first, [0.2, 0.8])
    if low >= high:
        return None
    low_end, high_end = (_end(law, rows[own]) for own in (first <= low, first >= high))
    return low_end, high_end


def _end(law: Law, rows: np.ndarray) -> End:
    moved = moved_by(law.pull, rows, law.known, law.scale)
    return End(moved, place_of(law.new[rows] if moved is None else law.pull(rows, moved), law.known)[1])


def _stretch(tested: Tested) -> Stretch:
    """From the sum of all scores that show in the window, with or without products with inputs, whichever shows a
    stretch more clearly; from tails, and from ends of inputs, only where nothing else does: so many that say the same
    would make the place look surer than it is."""
    rows, window = tested.rows, tested.window
    choices = [_shown(tested, False, False), _shown(tested, True, False)]
    if not any(series.any() for series in choices):
        choices = [_shown(tested, True, True)]
    found = [
        (_clearness(series, own), own)
        for series in choices
        if series.any()
        for own in [changed_rows(series, len(series) / rows.worth(len(series)), window)]
    ]
    if not found:
        return Stretch(window.start, window.stop, window.start, window.start)
    return max(found, key=lambda pair: pair[0])[1]


def _clearness(series: np.ndarray, stretch: Stretch) -> float:
    """Of the mean of a stretch, beside how much the rest varies."""
    inside = np.zeros(len(series))
    inside[stretch.first : stretch.last] = 1.0
    mean = series[stretch.first : stretch.last].mean()
    return float(mean**2 * inside.sum() / max(float((series - mean * inside).var()), 1e-300))


def _shown(tested: Tested, with_inputs: bool, all_of_them: bool) -> Float[np.ndarray, " rows"]:
    rows, window = tested.rows, tested.window
    series = np.zeros(len(rows.left))
    every = tested_functions(rows, slice(0, len(series)))
    both = ((tested.plain, None, None), (tested.inputs, every, rows.ends))
    for told, h, ends in both if with_inputs else both[:1]:
        clear = np.abs(told.mean) > 3.0 * told.error + tested.margin
        if not all_of_them:
            clear[ORDERS:] = False
            clear[:, slice(0, 0) if ends is None else ends] = False
        weights = np.where(clear, told.mean / np.maximum(told.error, 1e-9) ** 2, 0.0)
        for order, place in zip(*np.nonzero(weights), strict=True):
            own = np.ones(len(series))
            if h is not None:
                own = h[:, place]
                if ends is None or not ends[place]:
                    own = own - own[window].mean()
                own = own / max(float(np.sqrt(np.square(own[window]).mean())), 1e-9)
            series += weights[order, place] * rows.left[:, order] * own
    return series


def _how(tested: Tested, stretch: slice, scales: Sequence[Scale], followed: Sequence[Followed]) -> tuple[str, ...]:
    """Which moments changed: plainly in the stretch and on every scale, or with an input."""
    plain = plain_contrasts(tested.rows, tested.misfit, stretch, tested.margin)
    moved = plain.p_value[LOCATION, 0] < _CLEAR
    with_input = {one.order for one in followed}
    words = ["moved"] if moved or LOCATION in with_input else []
    # Spread without the shift, shape without shift and spread. A place that goes with an input widens the law of all
    # rows together: then only what goes with an input counts.
    spread, shape = (_plainly(tested, stretch, scales, straight) for straight in (False, True))
    clear = spread[0][SPREAD] < _CLEAR and LOCATION not in with_input
    if clear or SPREAD in with_input:
        words.append("widened" if spread[1][SPREAD] > 0 else "narrowed")
    if not words or (min(shape[0][2:]) < _CLEAR and not with_input):
        words.append("other shape")
    return tuple(words)


def _plainly(
    tested: Tested, stretch: slice, scales: Sequence[Scale], straight: bool
) -> tuple[np.ndarray, np.ndarray]:
    """p-values (the largest of all scales) and means of all orders, without the shift and, `straight`, the spread."""
    design = tested.rows.design[stretch]
    groups = None if tested.rows.groups is None else tested.rows.groups[stretch]
    every, told = slice(0, len(design)), []
    for z, (place, spread) in scales:
        own = all_scores((z - place) / (spread if straight else 1.0))
        new = NewRows.of(own, design, design[:, :0], tested.misfit, groups)
        told.append(plain_contrasts(new, tested.misfit, every, tested.margin))
    return np.max([one.p_value[:, 0] for one in told], axis=0), told[-1].mean[:, 0]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number: a change is told where the corrected one is below the level.

    >>> [round(one, 2) for one in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    found, worst = np.empty(len(p_values)), 0.0
    for place, number in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[number]))
        found[number] = worst
    return [float(one) for one in found]


def verdict_of(tested: Tested, adjusted: float, level: float) -> LawVerdict:
    """The word, and for a change all that can be told of it."""
    if tested.lack:
        return LawVerdict("cannot tell", None, note=tested.lack)
    if adjusted > level:
        return LawVerdict("holds", tested.p_value, adjusted)
    return described(tested, adjusted)


def renumbered(verdict: LawVerdict, rows: np.ndarray) -> LawVerdict:
    """With rows counted in the user's table, of which `rows` (from 0) were tested."""
    if verdict.since is None or verdict.since_interval is None:
        return verdict

    def number(row: int) -> int:
        return int(rows[row - 1]) + 1

    ends = (number(verdict.since_interval[0]), number(verdict.since_interval[1]))
    until = None if verdict.until is None else number(verdict.until)
    return replace(verdict, since=number(verdict.since), since_interval=ends, until=until)
