"""The benchmarks of trust, level and power: their tables, their baselines, what they count, and that they resume."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear
from forebear.errors import InputError
from forebear_experiments.benchmarks import level, planted, power, trust
from forebear_experiments.benchmarks.support import resume
from forebear_experiments.benchmarks.support.effects import EFFECTS, draw
from forebear_experiments.benchmarks.support.level_tables import CLUSTER, SETTINGS, named_table
from forebear_experiments.benchmarks.support.pcm import pcm
from forebear_experiments.benchmarks.support.planted import BESIDE, LAWS, PLANTED, SLOW, SOURCES, check_sources, plant
from forebear_experiments.benchmarks.support.rivals import RIVALS, chosen_by
from forebear_experiments.benchmarks.support.suite import SUITE
from forebear_experiments.benchmarks.support.varied import varied
from forebear_experiments.benchmarks.support.varied_tables import EVERY_KIND, KINDS, VariedTable
from forebear_experiments.benchmarks.trust import Answer

SMALL = "strong effect, 150 rows"


def test_there_are_many_kinds_and_few_that_cannot_decide() -> None:
    assert len(KINDS) >= 48 and not set(KINDS) & set(SUITE)
    assert 4 <= sum(kind(0).undecidable for kind in KINDS.values()) < len(KINDS) / 10
    rows = [len(kind(0).frame) for kind in KINDS.values()]
    assert min(rows) == 150 and max(rows) == 200_000


@pytest.mark.parametrize("name", EVERY_KIND)
def test_a_kind_gives_a_whole_table_with_a_truth_among_its_candidates(name: str) -> None:
    table = EVERY_KIND[name](0)
    numbers = table.frame.select_dtypes("number").to_numpy(float)
    assert np.isfinite(numbers).all() and not table.frame.isna().any().any()
    assert all(table.frame[column].nunique() > 1 for column in table.frame)
    assert set(table.truth) == set(table.targets) <= set(table.frame.columns)
    assert set(table.options) <= {"periodic", "rows", "groups", "keep", "candidates"}
    for target in table.targets:
        candidates = table.candidates(target)
        assert all(right <= set(candidates) for right in table.accepted(target))
        assert {column for columns in candidates.values() for column in columns} <= set(table.frame.columns)
        assert table.options.get("rows") not in candidates


@pytest.mark.parametrize("name", EVERY_KIND)
def test_a_seed_gives_the_same_table_and_another_another(name: str) -> None:
    first, again, other = EVERY_KIND[name](0), EVERY_KIND[name](0), EVERY_KIND[name](1)
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert list(first.frame) == list(other.frame) and first.truth == other.truth
    assert not first.frame[first.targets[0]].equals(other.frame[first.targets[0]])


def test_one_of_several_right_answers_is_right() -> None:
    table = KINDS["two copies"](0)
    assert table.accepts("y", {"first"}) and table.accepts("y", {"second"})
    assert not table.accepts("y", {"first", "second"}) and not table.accepts("y", set())


REAL = all((BESIDE / source.file).is_file() for source in SOURCES.values())


@pytest.mark.skipif(not REAL, reason=f"the tables whose inputs are used are not all in {BESIDE}")
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_law_has_real_inputs_two_of_which_act(name: str) -> None:
    table, again = PLANTED[name](0), PLANTED[name](0)
    pd.testing.assert_frame_equal(table.frame, again.frame)
    (acting,) = table.accepted("y")
    assert len(acting) == 2 and acting <= set(table.candidates("y"))
    assert np.isfinite(table.frame.to_numpy(float)).all()
    assert all(table.frame[column].nunique() > 1 for column in table.frame)


@pytest.mark.parametrize("law", [*LAWS, SLOW])
def test_both_inputs_of_a_planted_law_move_it_and_the_others_do_not(law: str) -> None:
    """By the mean, the size and the square of what is left, given the other input."""
    rng = np.random.default_rng(0)
    inputs = pd.DataFrame(rng.gamma(2, size=(20_000, 3)), columns=pd.Index(["a", "b", "c"]))
    table = plant(inputs, law, rng)
    (acting,) = table.accepted("y")
    (idle,) = set(inputs) - acting
    # Products of the ranks of both: an interaction has them, and so has what each of them does alone.
    ranks = inputs.rank(pct=True) - 0.5
    y = table.frame["y"].rank(pct=True) - 0.5
    moved = {name: max(abs(np.corrcoef(ranks[name], f)[0, 1]) for f in (y, np.abs(y), y**2)) for name in inputs}
    assert moved[idle] < 0.03 < min(moved[name] for name in acting)


def test_real_inputs_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="energydata.csv: no such file: planted laws need real inputs"):
        check_sources(tmp_path)


def test_planted_laws_are_asked_like_the_kinds_of_trust(calls: list[dict[str, Any]]) -> None:
    if not REAL:
        pytest.skip(f"the tables whose inputs are used are not all in {BESIDE}")
    first, everything = planted.run(["wine, moves"], seeds=(0, 1), baselines=False)
    assert first["what"] == "wine, moves" and first["of"] == everything["answers"] == len(calls) == 2


def _plain(effect: float, seed: int) -> VariedTable:
    rng = np.random.default_rng(seed)
    label, angle, x = rng.integers(3, size=600), rng.uniform(0, 360, 600), rng.normal(size=(2, 600))
    inputs = {"label": np.array(list("uvw"))[label], "angle": angle, "x1": x[0], "x2": x[1]}
    y = effect * ((label == 1) + np.cos(np.radians(angle)) + x[0] * x[1]) + rng.normal(size=600)
    return varied(inputs, y, "label angle x1 x2", periodic={"angle": 360.0})


def test_the_projected_covariance_sees_plain_effects_and_pairs() -> None:
    table = _plain(1.0, seed=0)
    assert chosen_by(RIVALS["PCM"], table, "y", seed=0) == {"label", "angle", "x1", "x2"}


def test_the_projected_covariance_is_silent_on_noise() -> None:
    assert [chosen_by(RIVALS["PCM"], _plain(0.0, seed), "y", seed) for seed in range(3)] == [frozenset()] * 3


def test_the_projected_covariance_conditions_on_what_is_kept() -> None:
    rng = np.random.default_rng(1)
    kept = rng.normal(size=(800, 1))
    proxy, y = kept + 0.3 * rng.normal(size=(800, 1)), kept[:, 0] + 0.5 * rng.normal(size=800)
    assert pcm([proxy], y, seed=0)[0] < 1e-6 and pcm([proxy], y, seed=0, kept=kept)[0] > 0.01


class Found(SimpleNamespace):
    """As much of a result as the benchmarks read."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `discover` is called with: it then finds the first candidate of each target, or x1, and certifies it."""
    seen: list[dict[str, Any]] = []

    def discover(frame: pd.DataFrame, targets: str | list[str], candidates: Any = None, **arguments: Any) -> Found:
        targets = [targets] if isinstance(targets, str) else targets
        candidates = {targets[0]: candidates} if isinstance(candidates, list) else candidates
        seen.append({"frame": frame, "targets": targets, **arguments})
        if arguments["seed"] == 2:
            raise ValueError("out of luck")
        own = {target: (candidates[target] if candidates else ["x1", "x2"]) for target in targets}
        p_values = {
            t: pd.DataFrame({"p_value": 0.5, "fresh_p": np.nan, "limit": 0.1}, index=pd.Index(names))
            for t, names in own.items()
        }
        return Found(
            ancestors={target: (names[0],) for target, names in own.items()},
            verdicts=dict.fromkeys(targets, "certified"),
            certificates=p_values,
            seconds=3.0,
            runs=[dict.fromkeys(targets)],
        )

    monkeypatch.setattr(forebear, "discover", discover)
    return seen


def test_trust_counts_sets_and_verdicts_and_hides_no_error(calls: list[dict[str, Any]]) -> None:
    strong, sweep, few, everything = trust.run([SMALL, "product", "too few rows"], baselines=False)
    assert (strong["exact"], strong["of"], strong["verdicts"]) == (2, 3, {"certified": 2, "error": 1})
    assert strong["wrong"] == [["ValueError: out of luck"]] and strong["ours_s"] == 3.0
    assert sweep["exact"] == 0 and sweep["wrong"][0] == ["x1"]
    assert few["exact"] == 2 and few["right"] == 0 and few["undecidable"]
    assert (everything["right"], everything["answers"], everything["of"], everything["errors"]) == (2, 9, 6, 3)
    assert everything["wrong_certified"] == pytest.approx(4 / 7) and everything["exact_certified"] == 1.0
    assert len(calls) == 9


def test_an_answer_to_what_cannot_be_decided_is_right_when_it_says_so() -> None:
    assert Answer("y", (), False, 1.0, True, "cannot tell").right
    assert not Answer("y", (), True, 1.0, True, "certified").right
    assert not Answer("y", (), False, 1.0, False, "cannot tell").right


def test_trust_goes_on_from_its_file(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "made" / "trust.jsonl"
    first = trust.run([SMALL], seeds=(0, 1), baselines=["PCM"], out=out)
    assert len(calls) == 2 and len(out.read_text().splitlines()) == 4
    assert trust.run([SMALL], seeds=(0, 1), baselines=["PCM"], out=out) == first and len(calls) == 2
    assert first[-1]["what"] == "all kinds: PCM" and first[-1]["exact"] == 2
    trust.run([SMALL], seeds=(0, 1, 3), baselines=False, out=out)
    assert len(calls) == 3 and len(out.read_text().splitlines()) == 5


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    assert dict(resume.resumed(sum, [(1, 2), (3, 4)], out=out)) == {(1, 2): 3, (3, 4): 7}
    out.write_text(out.read_text()[:-5])
    done = []

    def add(piece: tuple[int, ...]) -> int:
        done.append(piece)
        return sum(piece)

    assert dict(resume.resumed(add, [(1, 2), (3, 4)], out=out)) == {(1, 2): 3, (3, 4): 7} and done == [(3, 4)]
    assert resume.stored(out) == {(1, 2): 3, (3, 4): 7}
    json.loads(out.read_text().splitlines()[-1])


def test_what_cannot_be_done_here_is_not_kept(tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    assert list(resume.resumed(lambda piece: None, [(1,)], out=out)) == [((1,), None)] and not out.exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: trust.run(["sweap"]), "'sweap'.* Did you mean 'sweep'"),
        (lambda: trust.run([SMALL], baselines=["PCN"]), "'PCN'.* Did you mean 'PCM'"),
        (lambda: level.run(["independant"]), "'independant'.* Did you mean 'independent'"),
        (lambda: power.run(["spred"]), "'spred'.* Did you mean 'spread'"),
    ],
)
def test_what_is_not_there_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        wrong()


@pytest.mark.parametrize("name", SETTINGS)
def test_tables_of_levels_are_whole_and_the_same_for_a_seed(name: str) -> None:
    table, again, other = (named_table(name, 300, seed) for seed in (5, 5, 6))
    assert np.isfinite(table.frame.to_numpy()).all() and len(table.frame) == 300
    assert (CLUSTER in table.frame) == (SETTINGS[name].clusters is not None)
    assert table.frame.equals(again.frame) and not table.frame.equals(other.frame)


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - set(level.OPTIONAL)))
def test_the_driver_of_a_table_of_levels_shows(name: str) -> None:
    frame = named_table(name, 300, seed=5).frame
    assert np.corrcoef(frame["x0"].rank(), frame["y"].rank())[0, 1] > 0.6


def test_level_asks_one_table_at_a_time_and_says_how_rows_hang_together(calls: list[dict[str, Any]]) -> None:
    (row,) = level.run(["20 clusters, declared"], sizes=(300,), tables=20)
    assert len(calls) == 20 and {call["rows"] for call in calls} == {CLUSTER}
    assert row["what"] == "20 clusters, declared, 300 rows" and row["tables"] == 20
    assert row["below_0.05"] == 0.0 and row["kept_useless"] == 1.0 and row["driver_lost"] == 1.0
    assert row["cannot_tell"] == 0.0 and row["holds"] and row["fresh_below_0.05"] is None


def _readings(p_values: Any, verdict: str, kept: bool = False) -> list[level.Reading]:
    return [level.Reading(float(p), verdict, kept, False, 1.0) for p in p_values]


def test_a_level_holds_when_p_values_are_even_or_nothing_is_claimed() -> None:
    even, small = (np.arange(400) + 0.5) / 400, np.full(400, 1e-4)
    assert level.summarise("even", _readings(even, "certified"))["holds"]
    row = level.summarise("small", _readings(small, "certified"))
    assert not row["holds"] and row["below_0.001"] == 1.0 and row["band_0.05"] == [0.025, 0.08]
    assert level.summarise("open", _readings(small, "cannot tell"))["holds"]
    assert not level.summarise("kept", _readings(small, "cannot tell", kept=True))["holds"]
    assert level.summarise("large", _readings(np.ones(400), "certified"))["holds"]
    row = level.summarise("both", _readings(even, "certified") + _readings(small, "cannot tell"))
    assert row["cannot_tell"] == 0.5 and row["decided_below_0.05"] == pytest.approx(0.05)


def test_a_limit_covers_when_it_lies_above_what_a_removed_input_explains() -> None:
    def readings(limit: float, kept: bool, count: int) -> list[level.Reading]:
        return [level.Reading(0.3, "cannot tell", kept, False, 1.0, 0.5, limit, kept)] * count

    row = level.limits_row(
        "weak", readings(0.05, False, 95) + readings(0.01, False, 5) + readings(0.01, True, 100), 0.02
    )
    assert row["holds"] and row["removed"] == 0.5 and row["covered"] == 0.95 and row["median_limit"] == 0.05
    assert not level.limits_row("weak", readings(0.01, False, 100), 0.02)["holds"]
    assert level.limits_row("weak", readings(0.01, True, 100), 0.02)["covered"] is None


def test_a_weak_input_explains_what_it_is_said_to() -> None:
    table, share = named_table("a weak input", 20_000, seed=0), SETTINGS["a weak input"].share
    assert share is not None
    left = table.frame["y"] - 2 * table.frame["x0"]
    assert abs(np.corrcoef(left, table.frame["z0"].rank())[0, 1] ** 2 / share(20_000) - 1) < 0.5


@pytest.mark.parametrize("name", EFFECTS)
def test_who_knows_the_form_finds_the_effect_in_many_rows_and_nothing_in_noise(name: str) -> None:
    effect = EFFECTS[name]
    found = [effect.known(*draw(name, 20_000, seed), 0.01) for seed in range(5)]
    assert found.count(effect.ancestors) >= 4
    rng = np.random.default_rng(0)
    silent = [effect.known(rng.normal(size=(300, 5)), rng.normal(size=300), 0.01) for _ in range(20)]
    assert silent.count(frozenset()) >= 18


def test_power_counts_exact_answers_and_draws_them(
    calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(forebear, "LargestJump", lambda: lambda path: ("x0_0", "x0_3"))
    monkeypatch.setattr(power, "_rcit", lambda tables, seed: [frozenset({0})] * len(tables))
    rows = power.run(["mean", "three-way"], sizes=(300, 600), tables=12)
    assert len(calls) == 8 and {len(call["targets"]) for call in calls} == {10, 2}
    assert [row["certified"] for row in rows] == [1.0, 1.0, 0.0, 0.0] == [row["RCIT"] for row in rows]
    assert all(row["nsr-jump"] == 0.0 and 0 <= row["known_form"] <= 1 for row in rows)
    (tmp_path / "bench-power.json").write_text(json.dumps({"rows": rows}))
    power.draw_stored(tmp_path)
    assert (tmp_path / "figures" / "power.png").stat().st_size > 5_000


@pytest.mark.slow
def test_trust_asks_the_real_thing(tmp_path: Path) -> None:
    *_, row, everything, baseline = trust.run([SMALL], seeds=(0,), baselines=["PCM"], out=tmp_path / "trust.jsonl")
    assert row["of"] == everything["answers"] == baseline["of"] == 1 and everything["errors"] == 0
    assert row["exact"] == 1 and sum(row["verdicts"].values()) == 1
