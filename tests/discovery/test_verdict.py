"""What may be concluded, in one of three words, and why."""

from __future__ import annotations

from typing import Any

import pytest

from forebear.discovery.cost import Cost, Difference
from forebear.discovery.dependence import TestResult
from forebear.discovery.search import SetEvidence
from forebear.discovery.structure import RowStructure
from forebear.discovery.verdict import Verdict, contradicted, verdict_of, worse

CLEAR = TestResult(1.0, 0.5, 0.0, 1, ("b",), limit=0.02, detectable=0.02, rows=1_000.0)
NEEDED = TestResult(9.0, 1e-12, 0.3, 1, ("a",), limit=0.4, detectable=0.02, rows=1_000.0)
APART, ORDERED, GROUPED = RowStructure(), RowStructure("ordered"), RowStructure("grouped", column="machine")


def told(
    removed: TestResult = CLEAR,
    needed: TestResult = NEEDED,
    jointly: TestResult | None = CLEAR,
    rejected: str = "",
    structure: RowStructure = APART,
    **more: Any,
) -> Verdict:
    """Of the set {a}, with b and c removed, at a margin of 5% and a level of 0.01, from 1,000 rows."""
    evidence = SetEvidence({"b": removed, "c": CLEAR}, jointly, frozenset(rejected))
    return verdict_of(evidence, {"a": needed}, 0.05, 0.01, 1_000, structure, **more)


def test_small_limits_are_certified_without_a_word_more() -> None:
    assert told() == Verdict("certified", ())
    assert told(structure=ORDERED).word == told(structure=GROUPED).word == "certified"


def test_nothing_removed_is_certified() -> None:
    evidence = SetEvidence({}, None, frozenset())
    assert verdict_of(evidence, {"a": NEEDED}, 0.05, 0.01, 1_000, RowStructure()).word == "certified"


def test_a_set_that_does_not_pass_misses_something() -> None:
    verdict = told(rejected="bc")
    assert verdict.word == "something is missing" and len(verdict.reasons) == 1
    assert "still depend on 'b', 'c', and no set of the candidates that was tried mends it" in verdict.reasons[0]


def test_a_limit_above_the_margin_cannot_be_told_and_says_how_many_rows_would() -> None:
    verdict = told(removed=CLEAR._replace(limit=0.2051))
    assert verdict.word == "cannot tell"
    [reason] = verdict.reasons
    # 1,000 x 0.2051 / 0.05 = 4,102 rows.
    assert reason == (
        "'b' could still explain up to 21% of what is left open, and the margin is 5.0%: about 4,200 rows would tell "
        "(there are 1,000)"
    )


def test_a_limit_of_all_together_counts() -> None:
    [reason] = told(jointly=CLEAR._replace(limit=0.1)).reasons
    assert reason.startswith("the removed inputs together could still explain up to 10%")
    assert "about 2,000 rows" in reason


def test_too_few_rows_for_any_limit_are_never_certified() -> None:
    """With less than thirty rows every limit is 1: anything is possible."""
    unlimited = CLEAR._replace(limit=1.0, rows=24.0)
    assert told(removed=unlimited, jointly=unlimited).word == "cannot tell"


@pytest.mark.parametrize(
    ("structure", "remedy"),
    [
        (ORDERED, "A longer record would tell, rows of separate runs"),
        (GROUPED, "more groups would tell, or another declaration"),
    ],
)
def test_slow_inputs_are_named_with_what_would_help(structure: RowStructure, remedy: str) -> None:
    verdict = told(removed=CLEAR._replace(rows=20.0, limit=1.0), structure=structure)
    assert verdict.word == "cannot tell"
    [reason] = verdict.reasons
    assert "worth too few independent ones to tell anything of 'b'" in reason and remedy in reason
    # A kept input that is as slow is no better known.
    assert "'a'" in told(needed=NEEDED._replace(rows=20.0), structure=structure).reasons[0]


@pytest.mark.parametrize(("p_value", "doubtful"), [(1e-5, False), (0.002, True)])
def test_an_input_that_is_only_just_needed_is_doubtful(p_value: float, doubtful: bool) -> None:
    verdict = told(needed=NEEDED._replace(p_value=p_value))
    assert (verdict.word == "cannot tell") == doubtful
    assert verdict.reasons == (("'a' is only just needed: more rows would tell",) if doubtful else ())


@pytest.mark.parametrize(("p_value", "doubtful"), [(0.3, False), (0.01, True), (1e-9, False)])
def test_an_input_that_is_only_just_not_needed_is_doubtful(p_value: float, doubtful: bool) -> None:
    """One that is removed though it surely shows is negligible, which is another matter."""
    verdict = told(removed=CLEAR._replace(p_value=p_value))
    assert (verdict.word == "cannot tell") == doubtful
    assert verdict.reasons == (("'b' is only just not needed: more rows would tell",) if doubtful else ())


def test_a_needed_input_that_follows_the_row_is_doubtful_and_a_removed_one_is_not() -> None:
    assert "'a' follows the number of the row" in told(structure=RowStructure(drifting=("a",))).reasons[0]
    assert told(structure=RowStructure(drifting=("b",))).word == "certified"


def test_stand_ins_are_named() -> None:
    verdict = told(exchanged=[(["a"], ["b"]), (["a"], ["c", "d"])])
    assert verdict.word == "cannot tell"
    assert verdict.reasons == ("'b' or 'c', 'd' would do in place of 'a': the rows do not tell which",)


def cost(log_loss: Difference, crps: Difference) -> Cost:
    return Cost(log_loss, crps, (1.0, 0.5), (0.9, 0.4), ())


SURE, UNSURE = Difference(0.1, 0.06, 0.14), Difference(0.1, -0.1, 0.3)
SLIGHT = Difference(0.009, 0.006, 0.012)
"""Surely there, and less than half the margin: in nats, and as a share of the CRPS of the law on all candidates."""


@pytest.mark.parametrize(
    ("log_loss", "crps", "costs"),
    [
        (SURE, SURE, True),
        (SURE, UNSURE, True),
        (UNSURE, SURE, True),
        (UNSURE, UNSURE, False),
        (SLIGHT, UNSURE, False),
        (UNSURE, SLIGHT, False),
        (SLIGHT, SLIGHT, True),
    ],
)
def test_a_cost_beyond_the_margin_or_beyond_doubt_speaks_against_the_set(
    log_loss: Difference, crps: Difference, costs: bool
) -> None:
    verdict = told(cost=cost(log_loss, crps))
    assert (verdict.word == "cannot tell") == costs
    assert not costs or "the law on all candidates predicts held-out rows better" in verdict.reasons[0]


def test_what_pruning_costs_is_said_in_the_score_that_shows_it() -> None:
    [by_crps] = told(cost=cost(UNSURE, SURE)).reasons
    assert "by 0.1 of the target's standard deviation (CRPS), 95% interval 0.06 to 0.14" in by_crps
    [by_log_loss] = told(cost=cost(SURE, UNSURE)).reasons
    assert "by 0.1 in log score, 95% interval 0.06 to 0.14" in by_log_loss


def test_all_reasons_are_given() -> None:
    verdict = told(removed=CLEAR._replace(limit=0.1, p_value=0.01), exchanged=[(["a"], ["b"])], cost=cost(SURE, SURE))
    assert len(verdict.reasons) == 4


@pytest.mark.parametrize(
    ("limit", "rows"), [(0.0999, "2,000"), (0.1001, "2,100"), (0.06, "1,200"), (0.99, "20,000"), (0.051, "1,100")]
)
def test_rows_are_rounded_up_to_two_digits(limit: float, rows: str) -> None:
    assert f"about {rows} rows would tell" in told(removed=CLEAR._replace(limit=limit)).reasons[0]


def test_the_worse_of_two_verdicts() -> None:
    ranked = ("certified", "cannot tell", "something is missing")
    for place, first in enumerate(ranked):
        for other, second in enumerate(ranked):
            assert worse(first, second) == ranked[max(place, other)]


def test_what_speaks_against_a_verdict_is_added_and_takes_the_tick_away() -> None:
    certified = Verdict("certified")
    assert contradicted(certified, ()) == certified
    assert contradicted(certified, ["the twin misses the tails"]) == Verdict(
        "cannot tell", ("the twin misses the tails",)
    )
    missing = Verdict("something is missing", ("first",))
    assert contradicted(missing, ["second"]) == Verdict("something is missing", ("first", "second"))


@pytest.mark.parametrize(("p_value", "doubtful"), [(0.2, False), (0.04, True), (0.005, True)])
def test_all_removed_inputs_together_may_be_only_just_not_needed(p_value: float, doubtful: bool) -> None:
    verdict = told(jointly=CLEAR._replace(p_value=p_value, candidates=("b", "c")))
    assert (verdict.word == "cannot tell") == doubtful
    assert all("together ('b', 'c' most of all) are only just not needed" in reason for reason in verdict.reasons)


def test_what_no_test_shows_is_kept_for_its_score() -> None:
    verdict = told(needed=NEEDED._replace(p_value=0.5))
    assert verdict.word == "cannot tell"
    assert verdict.reasons == ("'a' is kept for held-out scores alone, and no test shows the need",)
