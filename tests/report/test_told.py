"""What is said of a law: checked on twins whose laws are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode, Encoder
from forebear.kinds import kind_named
from forebear.report.movement import LEVELS, change, movement
from forebear.report.sentences import plain
from forebear.report.told import Told, headline, told_by_shares
from forebear.report.told import told as told_of
from forebear.twin.peaks import two_states
from forebear.twin.sweep import Sweep, sweep
from forebear.twin.twin import Target, Twin

Law = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""inputs (rows, inputs) and levels (levels, 1) to quantiles (levels, rows)"""


@dataclass(frozen=True)
class Known:
    """As much of a twin as a sentence needs, around a law that is written down."""

    columns: tuple[ColumnCode, ...]
    rows: np.ndarray
    law: Law
    output: Target = Target("y", Dequantiser("continuous"), 0.0, 1.0)
    units: dict[str, str] = field(default_factory=dict)
    chance: Callable[[np.ndarray], np.ndarray] | None = None
    joint: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def targets(self) -> tuple[str, ...]:
        return ("y",)

    @property
    def outputs(self) -> tuple[Target, ...]:
        return (self.output,)

    @property
    def ancestors(self) -> dict[str, tuple[str, ...]]:
        return {"y": self.inputs}

    @property
    def encoder(self) -> Encoder:
        return Encoder(self.columns)

    @property
    def ranges(self) -> tuple[object, ...]:
        return tuple(kind_named(c.kind).range(self.rows[:, i]) for i, c in enumerate(self.columns))

    def quantile(self, x: np.ndarray, levels: Any, outside: str = "warn") -> np.ndarray:
        wanted = np.atleast_1d(np.asarray(levels, float))
        found = self.law(x, wanted[:, None])[:, :, None]
        return found[0] if np.ndim(levels) == 0 else found

    def mean(self, x: np.ndarray, outside: str = "warn") -> np.ndarray:
        return self.quantile(x, np.linspace(0.005, 0.995, 100)).mean(axis=0)

    def log_prob(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        assert self.chance is not None
        return np.log(self.chance(x)[np.arange(len(x)), y[:, 0].astype(int)])[:, None]


def uniform(*ranges: tuple[float, float], rows: int = 600) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(low, high, rows) for low, high in ranges])


def reals(*names: str) -> tuple[ColumnCode, ...]:
    return tuple(ColumnCode(name, "real", 0.0, 1.0) for name in names)


def told(twin: Known, target: str) -> list[Told]:
    return told_of(cast(Twin, twin), target)


def say(twin: Known) -> list[str]:
    return [plain(one.sentence("y")) for one in told(twin, "y")]


def sides(twin: Known) -> dict[str, str]:
    return {one.input: one.side for one in told(twin, "y")}


def test_a_known_spread_is_told_with_its_amounts() -> None:
    """From 8 to 17 the deviation grows from 0.64 to 1.95, and a normal law has 90% within 3.29 deviations."""
    grows = Known(
        reals("flow"),
        uniform((7.6, 17.4)),
        lambda x, p: 50 + ndtri(p) * (0.64 + (x[:, 0] - 8) * 1.31 / 9),
        units={"flow": "m³/h", "y": "°C"},
    )
    assert say(grows) == ["flow widens y: from 8 to 17 m³/h its 90% range grows from 2.1 to 6.4 °C"]
    shrinks = Known(reals("flow"), uniform((7.6, 17.4)), lambda x, p: ndtri(p) * (25 - x[:, 0]))
    assert say(shrinks)[0].startswith("flow narrows y: from 8 to 17 its 90% range shrinks from 56 to 26")


@pytest.mark.parametrize(
    ("slope", "sentence"),
    [
        (2.0, "a raises y: from 1 to 9 its median goes from 2 to 18"),
        (-2.0, "a lowers y: from 1 to 9 its median goes from −2 to −18"),
    ],
)
def test_a_shift(slope: float, sentence: str) -> None:
    assert say(Known(reals("a"), uniform((0.5, 9.5)), lambda x, p: slope * x[:, 0] + ndtri(p))) == [sentence]


def test_a_shift_that_turns_is_no_rise() -> None:
    bowl = Known(reals("a"), uniform((-3.3, 3.3)), lambda x, p: x[:, 0] ** 2 + 0.1 * ndtri(p))
    assert say(bowl) == ["a moves y: its median lies between 0 (near 0) and 9 (near −3)"]


def test_an_angle_is_highest_and_lowest_somewhere() -> None:
    column = ColumnCode("heading", "periodic", 0.0, 1.0, period=360.0)
    turn = Known((column,), uniform((0, 360)), lambda x, p: 60 + 3 * np.cos(np.deg2rad(x[:, 0])) + 0.5 * ndtri(p))
    assert say(turn) == ["heading moves y: its median lies between 57 (near 180) and 63 (near 0)"]


def test_a_category_is_told_by_its_labels() -> None:
    column = ColumnCode("oil", "category", levels=("A", "B", "C"))
    rows = np.random.default_rng(0).integers(0, 3, (300, 1)).astype(float)
    law = Known((column,), rows, lambda x, p: np.array([1.0, 5.0, 3.0])[x[:, 0].astype(int)] + 0.3 * ndtri(p))
    assert say(law) == ["oil moves y: its median lies between 1 (A) and 5 (B)"]


def test_labels_have_no_order_in_which_anything_grows() -> None:
    column = ColumnCode("oil", "category", levels=("A", "B", "C"))
    rows = np.random.default_rng(0).integers(0, 3, (300, 1)).astype(float)
    level, wide = np.array([5.0, 1.0, 3.0]), np.array([1.5, 0.5, 0.6])

    def law(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        oil = x[:, 0].astype(int)
        return level[oil] + wide[oil] * ndtri(p)

    assert say(Known((column,), rows, law)) == [
        "oil moves y: its median lies between 1 (B) and 5 (A), and its 90% range lies between 1.6 (B) and 4.9 (A)"
    ]
    wide = np.array([8.0, 0.5, 0.6])
    [spread] = say(Known((column,), rows, law))
    assert "changes the spread of y" in spread and " goes from " not in spread


def two_peaks(apart: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Half of the mass in a narrow normal law on either side."""
    y = np.linspace(-6, 6, 4_001)
    laws = [(ndtr((y - a) / 0.25) + ndtr((y + a) / 0.25)) / 2 for a in apart]
    return np.stack([np.interp(p[:, 0], law, y) for law in laws], axis=1)


def test_a_law_that_splits() -> None:
    law = Known(reals("a"), uniform((0, 4)), lambda x, p: two_peaks(np.maximum(x[:, 0] - 1, 0.0), p))
    [one] = told(law, "y")
    text = plain(one.sentence("y"))
    assert one.side == "split" and text.startswith("a splits y in two: near 3.8 it lies at about −2.8 or 2.8")
    assert "half of the time each" in text


def test_two_peaks_close_together_are_no_states() -> None:
    """Where the law is narrow it has two peaks, and elsewhere it is many times as wide as they lie apart."""

    def law(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        a = x[:, 0]
        return np.where(a < 1, two_peaks(np.full_like(a, 1.0), p), 30 * np.maximum(a, 1) * ndtri(p))

    assert sides(Known(reals("a"), uniform((0, 4)), law)) == {"a": "spread"}


def test_counts_go_from_their_usual_least_to_their_usual_most() -> None:
    rows = np.random.default_rng(0).poisson(1.0, (600, 1)) + 1.0
    assert rows.max() > 5
    [text] = say(Known(reals("faults"), rows, lambda x, p: 2 * x[:, 0] + ndtri(p)))
    assert text == "faults raises y: from 1 to 4 its median goes from 2 to 8"


def test_a_law_that_is_wide_elsewhere_is_not_told_in_place_of_the_usual_one() -> None:
    """Where b is low the law is forty times as wide, and moves a little more by that alone."""

    def law(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        wide = np.where(x[:, 1] < 0.6, 40.0, 1.0)
        return x[:, 0] * np.where(wide > 1, 3.5, 1.0) + wide * ndtri(p)

    found = {one.input: one for one in told(Known(reals("a", "b"), uniform((0, 3), (0, 10)), law), "y")}
    assert found["a"].side == "level" and found["a"].where == ()


def test_states_that_are_driven_apart() -> None:
    law = Known(reals("a"), uniform((0.9, 4.1)), lambda x, p: two_peaks(x[:, 0], p))
    assert say(law) == ["a drives the two states of y apart: from 1 to 4 their distance goes from 2 to 8"]
    [one] = told(law, "y")
    assert plain(one.sentence(None)).startswith("a drives its two states apart")


def test_a_law_that_skews() -> None:
    """A side of the law grows as the other shrinks, so that the median stays and the range nearly does."""

    def law(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        z = ndtri(p)
        return np.where(z > 0, x[:, 0], 2 - x[:, 0]) * z

    text = say(Known(reals("a"), uniform((0.35, 1.65)), law))[0]
    assert text.startswith("a skews y upwards: from 0.4 to 1.6 its 90% range reaches 2.6 above its median instead of")


def test_what_does_nearly_nothing_is_said_to() -> None:
    law = Known(reals("a", "b"), uniform((0, 1), (0, 1)), lambda x, p: 5 * x[:, 0] + 0.05 * x[:, 1] + ndtri(p))
    assert sides(law) == {"a": "level", "b": "none"}
    assert "b hardly changes y: its median by 0.04" in say(law)[1]


def test_what_acts_only_where_another_input_lets_it() -> None:
    """Typically b is near 0, where a does nothing at all."""
    rows = np.column_stack([uniform((-1, 1), rows=900)[:, 0], np.tile([0.0, 0.0, 2.0], 300)])
    law = Known(reals("a", "b"), rows, lambda x, p: x[:, 0] * x[:, 1] + 0.2 * ndtri(p))
    assert say(law)[0].startswith("Where b is 2, a raises y: from −0.9 to 0.9 its median goes from −1.8 to 1.8")


def test_an_effect_that_another_input_turns_round() -> None:
    column = ColumnCode("oil", "category", levels=("A", "B"))
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(0, 10, 900), rng.random(900) < 0.3])
    law = Known(
        (*reals("a"), column), rows, lambda x, p: np.where(x[:, 1] == 1, -0.5, 1.0) * x[:, 0] + 0.2 * ndtri(p)
    )
    texts = say(law)
    # From A to B the median falls by 1.5 a: what is told of two inputs is told once, with the stronger one.
    assert texts[0].endswith("(most where a is 9.5, by 14; least where it is 1, by 1.5)")
    assert texts[1] == "a raises y: from 1 to 9.5 its median goes from 1 to 9.5"
    weaker = Known((*reals("a"), column), rows, lambda x, p: law.law(x, p) + np.where(x[:, 1] == 1, 7.5, 0.0))
    [text] = [one for one in say(weaker) if one.startswith("a ")]
    assert text.endswith("(most where oil is A, by 8.5; the other way round, by 4.2, where it is B)")


def test_what_cannot_be_told_apart() -> None:
    a = np.random.default_rng(0).normal(size=800)
    rows = np.column_stack([a, a])
    law = Known(reals("a", "b"), rows, lambda x, p: x[:, 0] + x[:, 1] + ndtri(p))
    assert sides(law)["b"] == "together" and "together with the inputs that it goes with" in say(law)[1]


def test_counts_have_means() -> None:
    from scipy.stats import poisson

    values = np.arange(20.0)
    cells = Dequantiser("lattice", values, values - 0.5, values + 0.5, np.zeros(20))
    law = Known(
        reals("a"), uniform((0, 10)), lambda x, p: poisson.ppf(p, 1 + 0.5 * x[:, 0]), Target("y", cells, 0.0, 1.0)
    )
    assert say(law)[0].startswith("a raises y: from 1 to 9.6 its mean goes from 1.5 to 5.8")


def test_a_label_becomes_likelier() -> None:
    values = np.arange(2.0)
    cells = Dequantiser("lattice", values, values - 0.5, values + 0.5, np.zeros(2))

    def chance(x: np.ndarray) -> np.ndarray:
        p = 0.1 + 0.08 * x[:, 0]
        return np.column_stack([1 - p, p])

    law = Known(
        reals("a"),
        uniform((0, 10)),
        lambda x, p: (p > 1 - chance(x)[:, 1]).astype(float),
        Target("y", cells, 0.0, 1.0, ("good", "bad")),
        chance=chance,
    )
    assert say(law) == ["a makes 'bad' likelier for y: from 1 to 9.6 its chance goes from 18% to 87%"]


def test_a_law_that_is_a_point_somewhere() -> None:
    """Below 0 all is cut off, and at its start nothing else is left."""
    cells = Dequantiser("atoms", np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(2))
    law = Known(
        reals("a"),
        uniform((-6, 6)),
        lambda x, p: np.maximum(x[:, 0] + 0.5 * ndtri(p), 0.0),
        Target("y", cells, 0.0, 1.0),
    )
    assert say(law)[0].startswith("a raises y: from −5 to 6 its mean goes from 0 to 5.5")
    flat = Known(reals("a"), uniform((0, 1)), lambda x, p: np.zeros((len(p), len(x))))
    assert sides(flat) == {"a": "none"}


def test_only_what_the_data_holds_is_told() -> None:
    rows = np.concatenate([uniform((0, 2), rows=300), uniform((8, 10), rows=300)])
    law = Known(reals("a"), rows, lambda x, p: x[:, 0] + ndtri(p))
    along = sweep(cast(Twin, law), "y", "a", [0.5], points=41)
    assert not along.seen[(along.at > 3) & (along.at < 7)].any()
    assert along.seen[(along.at < 2) | (along.at > 8)].all()


def test_two_states_and_none() -> None:
    rng = np.random.default_rng(0)
    for law in (rng.normal(size=20_000), rng.exponential(size=20_000), rng.uniform(size=20_000)):
        assert np.isnan(two_states(np.quantile(law, LEVELS))).all()
    assert (
        movement(Sweep("a", "number", np.zeros((2, 1)), np.zeros(2), (), np.zeros((2, 39)), np.zeros(2, bool)))
        is None
    )
    told_ = change(np.array([1.0, 3.0, 2.0]))
    assert not told_.one_way and told_.by == 2.0 and told_.most_at == 1


def test_a_headline_names_the_strongest_and_counts_on_nobody_reading_more() -> None:
    found = [Told(name, "level", "raises {}", ("by much",), (), 1.0) for name in "abcde"]
    text = plain(headline("y", found))
    assert text == "a raises y: by much; b raises it: by much; c raises it: by much. Less is done by d and e."
    assert headline("y", []) == () and told_by_shares("y", {}) == ()


def test_the_numbers_are_those_of_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is told of a trained twin is what its own quantiles say."""
    from toys import toy_twin

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + rng.normal(size=400)
    twin = toy_twin(frame, {"y": ["a", "b"]})
    for name in "ab":
        along = sweep(twin, "y", name, LEVELS)
        theirs = twin.quantile(along.rows, [0.05, 0.5, 0.95], outside="ignore")[:, :, 0].T
        assert along.quantiles[:, [1, 19, 37]] == pytest.approx(theirs, abs=1e-5)
        moved = movement(along)
        assert moved is not None
        wide = (theirs[:, 2] - theirs[:, 0])[along.seen]
        assert (moved.spread.least, moved.spread.most) == pytest.approx((wide.min(), wide.max()), abs=1e-5)
