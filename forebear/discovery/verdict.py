"""What may be concluded: certified, cannot tell, or something is missing; and what would help."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forebear.discovery.cost import Cost
from forebear.discovery.dependence import TestResult
from forebear.discovery.search import SetEvidence
from forebear.discovery.structure import GROUPED, INDEPENDENT, ORDERED, RowStructure
from forebear.errors import listed

CERTIFIED, CANNOT_TELL, MISSING = "certified", "cannot tell", "something is missing"
VERDICTS = (CERTIFIED, CANNOT_TELL, MISSING)
"""the three, from best to worst"""
SET_ASIDE = "which a quick look had set aside"
"""what a reason says of candidates that were not searched"""


class Verdict(NamedTuple):
    """One of three words, and the reasons in words."""

    word: str
    reasons: tuple[str, ...] = ()


def verdict_of(
    evidence: SetEvidence,
    needed: Mapping[str, TestResult],
    margin: float,
    level: float,
    rows: int,
    structure: RowStructure,
    exchanged: Sequence[tuple[Sequence[str], Sequence[str]]] = (),
    cost: Cost | None = None,
) -> Verdict:
    """What the evidence on a set, and on each member of it when that is taken out, allows to say."""
    if not evidence.passes:
        names = [name for name in evidence.tests if name in evidence.rejected]
        return Verdict(
            MISSING,
            (f"the latents still depend on {listed(names)}, and no set of the candidates that was tried mends it",),
        )
    reasons = [
        *_slow_inputs({**evidence.tests, **needed}, structure),
        *_limits(evidence, margin, rows, structure),
        *_borderline(evidence, needed, level),
        *_drift(needed, structure),
        *_exchanges(exchanged),
    ]
    if structure.doubt:
        reasons.append(structure.doubt)
    if cost is not None and cost.matters(margin):
        reasons.append(_lost(cost))
    return Verdict(CANNOT_TELL if reasons else CERTIFIED, tuple(reasons))


def _lost(cost: Cost) -> str:
    by_crps = cost.crps.low > 0
    lost = cost.crps if by_crps else cost.log_loss
    unit = "of the target's standard deviation (CRPS)" if by_crps else "in log score"
    return (
        f"the law on all candidates predicts held-out rows better, by {lost.difference:.2g} {unit}, 95% interval "
        f"{lost.low:.2g} to {lost.high:.2g}: see the cost of pruning"
    )


def missed(verdict: Verdict, names: Sequence[str]) -> Verdict:
    """The verdict on a set, where candidates that a quick look at very many had set aside still show.

    >>> missed(Verdict(CERTIFIED), []).word, missed(Verdict(CERTIFIED), ["x7"]).word
    ('certified', 'something is missing')
    """
    if not names:
        return verdict
    reason = (
        f"the latents still depend on {listed(names)}, {SET_ASIDE}, so that no set with "
        f"{'it' if len(names) == 1 else 'them'} was tried: name {'it' if len(names) == 1 else 'them'} among fewer "
        "candidates, or search all (screen=None, --screen all)"
    )
    return Verdict(MISSING, (reason, *verdict.reasons))


# Independent rows that the rows of a table must be worth before an input is believed to matter, or not to.
_FEW = {GROUPED: 40.0, ORDERED: 60.0}


def _slow_inputs(tests: Mapping[str, TestResult], structure: RowStructure) -> list[str]:
    few = [name for name, result in tests.items() if result.rows < _FEW.get(structure.kind, 0.0)]
    if not few:
        return []
    return [f"the rows are worth too few independent ones to tell anything of {listed(few)}: {_remedy(structure)}"]


def _remedy(structure: RowStructure) -> str:
    if structure.groups is not None or structure.kind == GROUPED:
        return "more groups would tell, or another declaration of what rows belong together (rows=)"
    return (
        "they change as slowly as what the inputs leave open. A longer record would tell, rows of separate runs "
        "(rows=COLUMN), or the past of the target among the candidates"
    )


def _limits(evidence: SetEvidence, margin: float, rows: int, structure: RowStructure) -> list[str]:
    # A limit of 1 stands for too few effective rows: where rows hang together, that is told already.
    most = math.inf if structure.kind == INDEPENDENT else 1.0
    above = {name: result.limit for name, result in evidence.tests.items() if margin < result.limit < most}
    together = 0.0 if evidence.jointly is None else evidence.jointly.limit
    worst = max([*above.values(), together if together < most else 0.0])
    if worst <= margin:
        return []
    of = listed(list(above)) if above else "the removed inputs together"
    return [
        f"{of} could still explain up to {worst:.0%} of what is left open, and the margin is {margin:.1%}: about "
        f"{_rounded_up(rows * worst / margin):,} rows would tell (there are {rows:,})"
    ]


# A kept input is borderline within this factor below the level, a removed one within this factor above it; all
# removed ones together below this p-value, which is one test alone.
_BORDER, _SHOWS = 5.0, 0.05


def _borderline(evidence: SetEvidence, needed: Mapping[str, TestResult], level: float) -> list[str]:
    removed, jointly, count = evidence.tests, evidence.jointly, len(evidence.tests) + 1

    def only_just(result: TestResult) -> bool:
        # Below the level and still removed: it was found negligible, which more rows would not change.
        return level < result.p_value * count < level * _BORDER

    scored = [name for name, result in needed.items() if result.p_value * count > level * _BORDER]
    doubtful = [
        name for name, result in needed.items() if name not in scored and result.p_value * count > level / _BORDER
    ]
    near = [name for name, result in removed.items() if only_just(result)]
    reasons = []
    if scored:
        reasons.append(f"{listed(scored)} {_is(scored)} kept for held-out scores alone, and no test shows the need")
    if doubtful:
        reasons.append(f"{listed(doubtful)} {_is(doubtful)} only just needed: more rows would tell")
    if near:
        reasons.append(f"{listed(near)} {_is(near)} only just not needed: more rows would tell")
    elif jointly is not None and level < jointly.p_value * count and jointly.p_value < _SHOWS:
        some = f" ({listed(jointly.candidates)} most of all)" if jointly.candidates else ""
        reasons.append(f"the removed inputs together{some} are only just not needed: more rows would tell")
    return reasons


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _drift(needed: Mapping[str, TestResult], structure: RowStructure) -> list[str]:
    names = [name for name in needed if name in structure.drifting]
    if not names:
        return []
    return [
        f"{listed(names)} {'follows' if len(names) == 1 else 'follow'} the number of the row, so whatever drifts "
        "looks as if it came from there: rows taken in another order would tell"
    ]


def _exchanges(exchanged: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[str]:
    """Which columns could stand in for which; several that could stand in for the same are named together."""
    by_gone: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for gone, instead in exchanged:
        by_gone.setdefault(tuple(gone), []).append(instead)
    return [
        f"{' or '.join(listed(names) for names in several)} would do in place of {listed(gone)}: the rows do not "
        "tell which"
        for gone, several in by_gone.items()
    ]


def _rounded_up(value: float) -> int:
    """To two digits.

    >>> _rounded_up(4123.0)
    4200
    """
    unit = 10 ** _digits(value)
    return math.ceil(value / unit) * unit


def _digits(value: float) -> int:
    return max(0, math.floor(math.log10(max(value, 1.0))) - 1)


def worse(first: str, second: str) -> str:
    """The less favourable of two verdicts.

    >>> worse("certified", "cannot tell")
    'cannot tell'
    """
    return max(first, second, key=VERDICTS.index)


def contradicted(verdict: Verdict, reasons: Sequence[str]) -> Verdict:
    """A verdict that later findings speak against: what was certified no longer is."""
    if not reasons:
        return verdict
    return Verdict(worse(verdict.word, CANNOT_TELL), (*verdict.reasons, *reasons))
