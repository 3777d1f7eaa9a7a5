"""From what tests say of sets to certificates, with testers that know the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forebear.data.question import Question
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.certify import certify_targets
from forebear.discovery.cross_check import CrossCheck
from forebear.discovery.dependence import TestResult
from forebear.discovery.search import SetEvidence
from forebear.discovery.structure import RowStructure
from forebear.discovery.tester import CertificateSettings, SetTests, SetTrial

ROWS = 400
Missing = Callable[[frozenset[str]], set[str]]
NOISE = np.random.default_rng(0).normal(size=ROWS)


class Look:
    """A tester of y with candidates a, b and c that knows what shows beside a set, and how well its law predicts."""

    question = Question("y", ("a", "b", "c"), {name: (name,) for name in "abc"}, ())
    settings, level, dependence, notes = CertificateSettings(), 0.01, None, ()
    x, scored, ranked = np.zeros((ROWS, 1)), np.arange(ROWS), np.arange(ROWS)
    parts = np.zeros(ROWS, int)  # no halves that could be asked
    weights = None

    def __init__(self, missing: Missing, shift: float = 0.2, loss: Mapping[str, float] | None = None):
        self.missing, self.shift, self.loss = missing, shift, loss or {}

    def rows_of(self, kept: frozenset[str]) -> int:
        return len(self.x)

    def latents(self, kept: frozenset[str]) -> np.ndarray:
        return np.zeros(1)

    def latents_apart(self, kept: frozenset[str], z: np.ndarray) -> None:
        return None

    def start(self, kept: frozenset[str], z: np.ndarray, apart: None = None) -> SetTrial:
        return SetTrial(self.test(kept, z))

    def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
        sure = TestResult(9.0, 1e-9, 0.1, 1, ("a",), self.shift, 0.2, 0.02, 400.0)
        nothing = TestResult(1.0, 0.5, 0.0, 1, (), 0.0, 0.02, 0.02, 400.0)
        missing = self.missing(kept)
        out = {name: sure if name in missing else nothing for name in "abc" if name not in kept}
        return SetEvidence(out, nothing, frozenset(missing))

    def action(self, without: frozenset[str], unit: str, z: np.ndarray) -> Action:
        return Action(1.0, 0.0, 0.0, 0.0)

    def log_scores(self, kept: frozenset[str], every: int = 1) -> np.ndarray:
        own = self.loss.get("".join(sorted(kept)), 1.0)
        return (-own + 0.1 * NOISE * own)[::every]

    def crps(self, kept: frozenset[str]) -> np.ndarray:
        return -self.log_scores(kept)

    def unexplained(self, kept: frozenset[str]) -> float:
        return 0.5


def needs(names: str) -> Missing:
    return lambda kept: set(names) - kept


def either(kept: frozenset[str]) -> set[str]:
    """One of a and b is enough."""
    return set() if kept & {"a", "b"} else {"a", "b"}


def certified(first: Look, closer: Look | None = None, starts: Sequence[str] = ("",)) -> Certificate:
    class Searched:
        tests = [SetTests(first)]  # type: ignore[arg-type]
        flow = SimpleNamespace(
            structure=RowStructure(),
            fresh=False,
            y=[np.arange(float(ROWS))],
            tested_rows=np.arange(ROWS),
            table=SimpleNamespace(rows=ROWS, columns=dict.fromkeys("abc", SimpleNamespace(levels=()))),
        )
        aside = None

        def confirm(self) -> None:
            """There are no other rows."""

        def look_again(self, numbers: list[int], doubtful: Any, sure: Any) -> list[SetTests]:
            return [SetTests(closer or first) for _ in numbers]  # type: ignore[arg-type]

    searched: Any = Searched()
    [certificate] = certify_targets(searched, [list(starts)])
    return certificate


@pytest.mark.parametrize(
    ("first", "closer", "answer"), [("ab", "a", ("a",)), ("a", "ab", ("a", "b")), ("a", "a", ("a",)), ("a", "", ())]
)
def test_the_second_look_drops_what_is_not_needed_and_adds_what_is(
    first: str, closer: str, answer: tuple[str, ...]
) -> None:
    certificate = certified(Look(needs(first), 0.02), Look(needs(closer)))
    assert certificate.kept == answer and certificate.passes
    assert certificate.rows == ROWS and not certificate.fresh and certificate.open_share == 0.5


def test_every_search_that_ends_in_the_answer_agrees() -> None:
    certificate = certified(Look(needs("ab")), starts=("", "abc", "c"))
    assert certificate.kept == ("a", "b") and certificate.agrees
    assert (certificate.verdict.word, certificate.classes, certificate.alternatives) == ("certified", (), {})


def test_exchangeable_inputs_are_a_class_and_the_first_of_the_table_is_chosen() -> None:
    for starts in (("", "b"), ("b", "a"), ("abc",)):
        certificate = certified(Look(either), starts=starts)
        assert certificate.kept == ("a",) and certificate.classes == (("a", "b"),)
        assert list(certificate.alternatives) == [("b",)]
        assert certificate.verdict.word == "cannot tell"
        assert "'b' would do in place of 'a'" in certificate.verdict.reasons[0]


def test_of_two_ends_the_one_that_predicts_better_is_chosen() -> None:
    certificate = certified(Look(either, loss={"a": 1.5, "b": 1.0}), starts=("", "b"))
    # A worse stand-in is none.
    assert certificate.kept == ("b",) and certificate.classes == () and certificate.alternatives == {}


def test_what_half_of_the_rows_finds_instead_is_a_stand_in_unless_all_rows_reject_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def halves(*given: Any) -> CrossCheck:
        return CrossCheck((frozenset("b"), frozenset("a")), {})

    monkeypatch.setattr("forebear.discovery.certify.cross_check", halves)
    one = certified(Look(either, loss={"a": 1.5, "b": 1.0}), starts=("", "b"))
    assert one.kept == ("b",) and one.classes == (("b", "a"),) and one.verdict.word == "cannot tell"
    # A proxy that half of the rows takes for the cause is none: all rows see the cause beside it.
    sure = certified(Look(lambda kept: {"b"} - kept))
    assert sure.kept == ("b",) and sure.classes == () and sure.verdict.word == "certified"


def test_what_a_flow_prefers_of_two_copies_by_chance_does_not_count() -> None:
    """Paired rows are sure of the smallest difference."""
    certificate = certified(Look(either, loss={"a": 1.01, "b": 1.0}), starts=("", "b"))
    assert len(certificate.kept) == 1 and {*certificate.kept, *certificate.classes[0]} == {"a", "b"}


def hides(kept: frozenset[str]) -> set[str]:
    """c stands for a and b together."""
    return set() if "c" in kept or {"a", "b"} <= kept else {"a", "b", "c"} - kept


@pytest.mark.parametrize(("of_both", "kept"), [(1.0, ("c",)), (0.5, ("a", "b"))])
def test_a_larger_end_is_chosen_only_if_it_predicts_better(of_both: float, kept: tuple[str, ...]) -> None:
    loss = {"ab": of_both, "abc": of_both, "": 3.0}
    assert certified(Look(hides, loss=loss), starts=("c",)).kept == kept


def test_a_set_that_a_second_look_rejects_is_no_alternative() -> None:
    """The first flow takes a or b for enough; a better one, asked because a is weak, needs both."""
    certificate = certified(Look(either, 0.02), Look(needs("ab")), starts=("", "b"))
    assert certificate.kept == ("a", "b") and certificate.alternatives == {} and not certificate.agrees


def test_what_no_set_mends_is_missing() -> None:
    """Look after look finds b in the latents, though it is in the set already."""

    class Stubborn(Look):
        def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
            return super().test(kept, z)._replace(rejected=frozenset("b"))

    certificate = certified(Look(needs("a"), 0.02), Stubborn(needs("a")))
    assert not certificate.passes and certificate.verdict.word == "something is missing"


def test_pruning_that_costs_something_wins_back_what_was_near() -> None:
    """b shows at p = 0.02, which is not enough to be kept; the law without it predicts surely worse."""

    class Near(Look):
        def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
            evidence = super().test(kept, z)
            tests = {name: one._replace(p_value=0.02) if name == "b" else one for name, one in evidence.tests.items()}
            return evidence._replace(tests=tests)

    worse = {"": 3.0, "a": 1.5, "ac": 1.5, "ab": 1.0, "abc": 1.0}
    assert certified(Near(needs("a"), loss=worse)).kept == ("a", "b")
    assert certified(Near(needs("a"), loss={**worse, "a": 1.0, "ac": 1.0})).kept == ("a",)


@pytest.mark.parametrize(
    ("crps", "dependent", "kept"),
    [
        ({"a": 1.1, "ac": 1.1}, False, "ab"),  # b, which shows a little, wins it back
        ({"a": 1.1, "ab": 1.1, "ac": 1.1}, False, "abc"),  # only all of them do
        ({"a": 1.02, "ac": 1.02}, False, "a"),  # less than the margin allows
        ({"a": 1.1, "ac": 1.1}, True, "a"),  # a slow column would tell the past
    ],
)
def test_a_cost_beyond_the_margin_that_one_score_shows_is_won_back_by_what_is_suspected(
    crps: dict[str, float], dependent: bool, kept: str
) -> None:
    class ByOneScore(Look):
        dependence = SimpleNamespace(fewest=60.0, groups=None) if dependent else None

        def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
            evidence = super().test(kept, z)
            tests = {name: one._replace(p_value=0.02) if name == "b" else one for name, one in evidence.tests.items()}
            return evidence._replace(tests=tests)

        def log_scores(self, kept: frozenset[str], every: int = 1) -> np.ndarray:
            return NOISE[::every]

        def crps(self, kept: frozenset[str]) -> np.ndarray:
            return crps.get("".join(sorted(kept)), 1.0) * (1 + 0.1 * NOISE)

    certificate = certified(ByOneScore(needs("a")))
    assert certificate.kept == tuple(kept)
    assert all(reason.split()[0] != "would" for reason in certificate.verdict.reasons)


def test_the_cost_and_the_curve_are_those_of_the_laws() -> None:
    loss = {"": 2.0, "a": 1.0, "b": 1.9, "ab": 0.9, "abc": 0.9}
    certificate = certified(Look(needs("ab"), loss=loss))
    frame = certificate.cost_frame()
    assert frame.loc["log loss", "difference"] == 0 and frame.loc["log loss", "pruned"] == pytest.approx(
        0.9, abs=0.02
    )
    assert [point.kept for point in certificate.cost.curve] == [("a", "b"), ("a",), ()]  # type: ignore[union-attr]
    assert certificate.smallest(0.1) == ("a",) and certificate.smallest(0.01) == ("a", "b")


def test_of_a_cause_and_its_proxy_the_one_that_leaves_no_doubt_is_chosen() -> None:
    """Either will do by the level; beside `a`, `b` still shows a little, and beside `b` nothing of `a` does."""

    class Doubted(Look):
        def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
            found = super().test(kept, z)
            if kept != frozenset("a"):
                return found
            return found._replace(tests={**found.tests, "b": found.tests["b"]._replace(p_value=0.02)})

    assert certified(Doubted(either), starts=("", "b")).kept == ("b",)
    assert certified(Look(either), starts=("", "b")).kept == ("a",)


def test_what_no_test_can_judge_is_kept_where_the_law_is_much_worse_without_it() -> None:
    """Of rows that hang together nothing can be told of b and c; the law loses a lot without b, and nothing by c."""

    class Slow(Look):
        dependence = SimpleNamespace(fewest=60.0, groups=None)
        x = np.zeros((6_000, 1))

        def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
            found = super().test(kept, z)
            few = {name: result._replace(rows=10.0, limit=1.0) for name, result in found.tests.items() if name != "a"}
            return found._replace(tests={**found.tests, **few})

    loss = {"": 2.0, "a": 1.5, "b": 1.5, "ab": 1.0, "abc": 1.0, "bc": 1.5, "ac": 1.5, "c": 2.0}
    assert certified(Slow(needs("a"), loss=loss)).kept == ("a", "b")
    # So it is where no test shows b, though it could; and a short record tells nothing.
    scored = certified(Look(needs("a"), loss=loss))
    assert scored.kept == ("a", "b") and scored.verdict.word == "cannot tell"
    assert "'b' is kept for held-out scores alone" in scored.verdict.reasons[0]
    Slow.x = np.zeros((400, 1))
    assert certified(Slow(needs("a"), loss=loss)).kept == ("a",)
