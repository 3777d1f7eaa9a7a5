"""A twin learns on: what is new is learned, what still holds is not forgotten, and every version can be had again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.api.twins import KeptTwin, Recipe
from forebear.cli import main
from forebear.data.table import read_columns
from forebear.discovery.record import RECORD_FILE
from forebear.twin.fit import fit_twin
from forebear.twin.provenance import Learned, TargetLearned
from forebear.twin.scores import crps
from forebear.twin.settings import TwinSettings

SMALL = {"test": 0.2, "steps": 1_000, "width": 32, "depth": 2, "batch": 512}
Change = Callable[[pd.DataFrame], Any]


def rig(rows: int, seed: int, change: Change = lambda t: 0.0, low: float = -2.0, high: float = 2.0) -> pd.DataFrame:
    """y follows a and b, its spread b; c does nothing, unless a change says so."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(low, high, size=(rows, 3)), columns=["a", "b", "c"])
    noise = 0.4 * (1 + 0.5 * np.tanh(table["b"])) * rng.normal(size=rows)
    return table.assign(y=np.sin(1.5 * table["a"]) + 0.5 * table["b"] + noise + change(table))


def corner(table: pd.DataFrame) -> Any:
    return 1.2 * ((table["a"] > 1) & (table["b"] > 0))


def fitted(frame: pd.DataFrame, targets: tuple[str, ...] = ("y",), **settings: object) -> fb.Twin:
    table = read_columns(frame, "the table", list(frame))
    made = TwinSettings.resolve({**SMALL, **settings})
    return fit_twin(table, {t: ["a", "b"] for t in targets}, joint=len(targets) > 1, settings=made, seed=0)


@pytest.fixture(scope="module")
def twin() -> fb.Twin:
    return fitted(rig(2_500, 0))


def score(twin: fb.Twin, frame: Any, target: str = "y") -> float:
    draws = twin.sample(frame, n=100, outside="ignore")[..., twin.targets.index(target)]
    return float(crps(draws, frame[target].to_numpy()).mean())


def test_a_law_that_moved_is_learned_and_the_twin_before_stays_as_it_was(twin: fb.Twin) -> None:
    before = twin.sample({"a": [0.5], "b": [0.0]}, n=5)
    new = rig(1_500, 1, lambda t: 0.6)
    updated = twin.update(rig(600, 2, lambda t: 0.6))
    # As good on the new law as the twin was on the old one.
    assert score(updated, new) < 1.06 * score(twin, rig(1_500, 1)) < 0.6 * score(twin, new)
    assert updated.monitor(new).verdict == "holds" and twin.monitor(new).verdict == "changed"
    assert (twin.sample({"a": [0.5], "b": [0.0]}, n=5) == before).all() and not twin.provenance
    [entry] = updated.provenance
    told = entry.targets["y"]
    assert (entry.rows, told.law, told.learned, told.missing, entry.suffices) == (600, "changed", True, (), True)
    assert told.on_new is not None and told.on_new.after < 0.6 * told.on_new.before and told.old_share < 0.1
    assert entry.before == twin.table and len(entry.fingerprint) == 64
    assert "learned on with 480 new rows" in entry.summary() and told.since == 1
    # Intervals with a guarantee are those of the new law.
    low, high = updated.interval(new, 0.9, guarantee=True)
    assert 0.85 < float(((new[["y"]] >= low) & (new[["y"]] <= high)).to_numpy().mean()) < 0.95


def test_a_change_in_a_corner_leaves_the_rest_as_it_was(twin: fb.Twin) -> None:
    updated = twin.update(rig(800, 3, corner))
    inside, elsewhere = rig(3_000, 4, corner), rig(3_000, 5)
    there = (inside["a"] > 1.1) & (inside["b"] > 0.1)
    elsewhere = elsewhere[~((elsewhere["a"] > 0.8) & (elsewhere["b"] > -0.2))]
    assert score(updated, inside[there]) < 0.6 * score(twin, inside[there])
    assert score(updated, elsewhere) < 1.04 * score(twin, elsewhere)
    told = updated.provenance[-1].targets["y"]
    assert 0.6 < told.old_share < 0.95 and told.on_old is not None and told.on_old.after < 1.05 * told.on_old.before


def test_what_was_never_seen_is_learned_and_nothing_else_forgotten(twin: fb.Twin) -> None:
    updated = twin.update(rig(500, 6, low=2.0, high=3.5))
    beyond, within = rig(1_000, 7, low=2.0, high=3.5), rig(1_000, 8)
    assert score(updated, beyond) < 0.95 * score(twin, beyond)
    assert score(updated, within) < 1.04 * score(twin, within)
    assert twin.support.loc["a", "high"] < 2 < 3.4 < updated.support.loc["a", "high"]
    assert twin.monitor(beyond).outside.rows > 850 and updated.monitor(beyond).outside.rows < 100


def test_rows_of_the_same_law_do_no_harm(twin: fb.Twin) -> None:
    updated = twin.update(rig(200, 9))
    assert updated.provenance[-1].targets["y"].law == "holds"
    assert score(updated, rig(1_500, 10)) < 1.03 * score(twin, rig(1_500, 10))


def test_rows_from_before_a_change_are_of_the_old_law(twin: fb.Twin) -> None:
    rows = pd.concat([rig(500, 11), rig(500, 12, lambda t: 0.8)], ignore_index=True)
    for since in (None, 501):
        told = (updated := twin.update(rows, since=since)).provenance[-1].targets["y"]
        assert told.since is not None and abs(told.since - 501) < 25
        assert score(updated, rig(1_000, 13, lambda t: 0.8)) < 1.1 * score(twin, rig(1_000, 13))
    # Taken all together, they are a law that never was.
    mixed = twin.update(rows, since=1)
    assert score(mixed, rig(1_000, 13, lambda t: 0.8)) > 1.1 * score(updated, rig(1_000, 13, lambda t: 0.8))


def test_what_has_ended_and_what_a_sensor_made_up_is_not_learned(twin: fb.Twin) -> None:
    parts = [rig(300, 14), rig(300, 15, lambda t: 2.0), rig(400, 16)]
    over = twin.update(pd.concat(parts, ignore_index=True))
    told = over.provenance[-1]
    assert told.targets["y"].law == "holds" and any("has ended" in note for note in told.notes)
    assert score(over, rig(1_000, 17)) < 1.04 * score(twin, rig(1_000, 17))
    stuck = rig(800, 18)
    stuck.loc[500:, "a"] = 0.7
    told = twin.update(stuck).provenance[-1]
    assert told.targets["y"].law == "holds" and "in which a is stuck" in told.notes[0] and told.used == 500


def test_a_law_that_has_learned_on_is_asked_again_what_it_leaves(blend: fb.Twin) -> None:
    """The monitor names what changed most; what hides behind it shows once that has been learned."""
    from forebear.twin.fresh import Asked, fresh_rows
    from forebear.twin.left_over import left_over
    from forebear.twin.new_rows import read_new

    for change, left in ((lambda t: 0.0 * t["c"], ()), (lambda t: 0.8 * t["c"], ("c",))):
        table = read_new(blend, rig(500, 40, change), list(blend.reference.others))
        asked = Asked(None, 1, None, False, 0.05, 0)
        fresh, _ = fresh_rows(blend, table, asked, np.random.default_rng(0))
        assert left_over(blend, fresh, ["y"]) == {"y": left}


def test_where_nothing_is_learned_no_version_is_made(twin: fb.Twin, tmp_path: Path, capsys, monkeypatch) -> None:
    from forebear.twin import update as updating

    place = tmp_path / "twin"
    twin.save(place)
    rig(300, 41).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(updating, "_better", lambda *_: np.array([False]))
    unchanged = twin.update(rig(300, 41))
    assert not unchanged.provenance[-1].learned and unchanged.model is twin.model and unchanged.ranges == twin.ranges
    for more in ([], ["--out", str(tmp_path / "other")]):
        assert main(["update", str(place), "--data", str(tmp_path / "new.csv"), "--json", *more]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out)["learned"] is False and json.loads(told.out)["twin_version"] == 1
        assert "nothing was learned, and nothing written: version 1" in told.err
    assert list(fb.twin_versions(place).index) == [1] and not (tmp_path / "other").exists()


def test_an_input_that_is_missing_is_told(twin: fb.Twin) -> None:
    told = twin.update(rig(600, 19, lambda t: 0.8 * t["c"]), rediscover=False).provenance[-1]
    assert told.targets["y"].missing == ("c",) and not told.suffices
    assert "its inputs no longer suffice: it follows c" in told.summary()
    assert told.to_dict()["suffices"] is False


@pytest.mark.slow
def test_an_input_that_is_missing_is_found_again(twin: fb.Twin) -> None:
    change: Change = lambda t: 0.8 * t["c"]  # noqa: E731
    updated = twin.update(rig(1_000, 20, change))
    told = updated.provenance[-1]
    assert told.suffices and told.targets["y"].rediscovered == ("a", "b", "c") == updated.inputs
    assert score(updated, rig(1_000, 21, change)) < 1.15 * score(twin, rig(1_000, 21))
    assert updated.monitor(rig(1_000, 22, change)).verdict == "holds"


def _two(rows: int, seed: int, moved: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(100 + seed)
    table = rig(rows, seed, lambda t: moved)
    return table.assign(w=table["y"] + 0.5 * rng.normal(size=rows))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["joint", "student", "gaussian"])
def test_other_laws_learn_on_too(kind: str, twin: fb.Twin) -> None:
    if kind == "joint":
        made = fitted(_two(2_500, 0), ("y", "w"))
    elif kind == "student":
        made = twin.distil(steps=1_500, progress=False)
    else:
        table = read_columns(rig(2_500, 0), "the table", ["a", "b", "c", "y"])
        settings = TwinSettings.resolve(SMALL)
        made = fit_twin(table, {"y": ["a", "b"]}, joint=False, settings=settings, seed=0, sampler="gaussian")
    updated = made.update(_two(600, 23, 0.8))
    assert type(updated.model) is type(made.model)
    for target in made.targets:
        assert score(updated, _two(1_000, 24, 0.8), target) < 0.75 * score(made, _two(1_000, 24, 0.8), target)
    assert updated.update(_two(300, 25, 0.8)).provenance[-1].before == updated.provenance[-1].fingerprint


@pytest.fixture(scope="module")
def blend() -> fb.Twin:
    table = read_columns(rig(400, 0), "the table", ["a", "b", "c", "y"])
    settings = TwinSettings.resolve({"test": 0.2})
    return fit_twin(table, {"y": ["a", "b"]}, joint=False, settings=settings, seed=0)


def test_a_blend_learns_on(blend: fb.Twin) -> None:
    updated, new = blend.update(rig(300, 26, lambda t: 0.8)), rig(800, 27, lambda t: 0.8)
    assert score(updated, new) < 0.6 * score(blend, new)


@pytest.mark.slow
def test_a_blend_that_has_learned_is_saved_and_goes_on(blend: fb.Twin, tmp_path: Path) -> None:
    updated, new = blend.update(rig(300, 26, lambda t: 0.8)), rig(800, 27, lambda t: 0.8)
    assert updated.monitor(new).verdict == "holds"
    updated.save(tmp_path / "twin")
    back = fb.load_twin(tmp_path / "twin")
    assert np.allclose(back.latent(new, new[["y"]]), updated.latent(new, new[["y"]]), atol=1e-5)
    again = updated.update(rig(300, 28))
    assert score(again, rig(800, 29)) < 0.7 * score(updated, rig(800, 29))


def test_lattice_values_gaps_groups_and_weights(twin: fb.Twin) -> None:
    frame = rig(1_500, 30)
    frame["y"] = frame["y"].round()
    frame.loc[::7, "b"] = np.nan
    table = read_columns(frame, "the table", list(frame), gaps=True)
    made = fit_twin(table, {"y": ["a", "b"]}, joint=False, settings=TwinSettings.resolve(SMALL), seed=0)
    new = rig(500, 31, lambda t: 1.0)
    new["y"] = new["y"].round()
    new.loc[::5, "b"] = np.nan
    new.loc[3, "a"] = np.nan
    updated = made.update(new)
    assert score(updated, new.drop(index=3)) < 0.8 * score(made, new.drop(index=3))
    assert updated.provenance[-1].used == 499 and "gaps or labels" in updated.provenance[-1].notes[0]
    # Half of the rows are of another law, and do not count.
    mixed = pd.concat([rig(400, 32, lambda t: 3.0), rig(400, 33, lambda t: 0.8)], ignore_index=True)
    mixed = mixed.assign(counts=np.repeat([0.0, 1.0], 400)).sample(frac=1, random_state=0)
    weighted = twin.update(mixed, weights="counts", since=1)
    assert (
        abs(float((weighted.mean({"a": [0.0], "b": [0.0]}) - twin.mean({"a": [0.0], "b": [0.0]}))[0, 0]) - 0.8) < 0.3
    )


def entry(number: int) -> Learned:
    return Learned(f"2026-01-0{number}", 10 * number, 10, "f" * 64, {"y": TargetLearned("changed", True)})


def test_versions_are_kept_and_can_be_rolled_back(twin: fb.Twin, tmp_path: Path, capsys) -> None:
    place = tmp_path / "twin"
    twin.save(place)
    assert fb.twin_versions(place)["in_use"].to_dict() == {1: True}
    second = replace(twin, provenance=(entry(2),))
    second.save(place)
    replace(second, provenance=(entry(2), entry(3))).save(place)
    assert fb.twin_versions(place)["in_use"].to_dict() == {1: False, 2: False, 3: True}
    assert [len(fb.load_twin(place, version=n).provenance) for n in (1, 2, 3)] == [0, 1, 2]
    assert fb.load_twin(place).provenance[-1] == entry(3)
    fb.roll_back(place, 2)
    assert fb.load_twin(place).provenance == (entry(2),)
    # Nothing is lost by going back and on again, nor by a twin that starts afresh.
    twin.save(place)
    assert list(fb.twin_versions(place).index) == [1, 2, 3, 4] and fb.load_twin(place).provenance == ()
    with pytest.raises(fb.InputError, match="there is no version 9: there are 1, 2, 3, 4"):
        fb.roll_back(place, 9)
    assert main(["update", str(place), "--roll-back", "3"]) == 0
    assert "in use" in capsys.readouterr().out and fb.load_twin(place).provenance[-1] == entry(3)
    assert main(["update", str(place), "--versions", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["versions"]
    assert [one["version"] for one in told if one["in_use"]] == [3] and told[2]["laws"] == {"y": "changed"}


def test_a_result_says_that_its_twin_has_learned_on(twin: fb.Twin, tmp_path: Path) -> None:
    (tmp_path / RECORD_FILE).write_text("{}")
    kept, recipe = KeptTwin(tmp_path), Recipe(True, False, 0, {}, TwinSettings())
    kept.save(twin, recipe)
    assert kept.load(recipe) is not None  # without a word
    replace(twin, provenance=(entry(2),)).save(kept.folder)
    with pytest.warns(UserWarning, match="it has learned on since, and version 2 is in use: forebear.load_twin"):
        loaded = kept.load(recipe)
    assert loaded is not None and loaded.provenance == ()


def test_a_folder_that_is_replaced_holds_the_new_twin_alone(twin: fb.Twin, tmp_path: Path) -> None:
    place = tmp_path / "twin"
    twin.save(place)
    replace(twin, units={"a": "kg"}).save(place)
    assert fb.load_twin(place).units == {"a": "kg"} and [one.name for one in tmp_path.iterdir()] == ["twin"]


_KILLED = """
import os, signal, sys
import forebear as fb
from dataclasses import replace
from forebear.twin.provenance import Learned
twin, left = fb.load_twin(sys.argv[1], version=1), int(sys.argv[2])
move = os.replace
def killed(*names):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    move(*names)
os.replace = killed
replace(twin, provenance=(Learned("now", 1, 1, "f", {}),)).save(sys.argv[1])
"""


@pytest.mark.parametrize("moves", [1, 2, 3])
def test_a_process_that_is_killed_leaves_a_whole_twin(moves: int, twin: fb.Twin, tmp_path: Path) -> None:
    """Each file, the folder of the version and the word on which one is in use are moved into their place."""
    place = tmp_path / "twin"
    twin.save(place)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(place), str(moves)], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert fb.load_twin(place).provenance == ()
    os.utime(place, None)
    replace(twin, provenance=(entry(2),)).save(place)
    assert fb.load_twin(place).provenance == (entry(2),)


def test_the_command_line_updates_and_tells(twin: fb.Twin, tmp_path: Path, capsys) -> None:
    place, data = tmp_path / "twin", tmp_path / "new.csv"
    twin.save(place)
    rig(400, 40, lambda t: 0.8).to_csv(data, index=False)
    assert main(["update", str(place), "--data", str(data), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["twin_version"] == 2 and told["targets"]["y"]["law"] == "changed" and told["suffices"]
    assert fb.load_twin(place).provenance[-1].fingerprint == told["fingerprint"]
    rig(400, 41, lambda t: 0.8 * t["c"]).to_csv(data, index=False)
    command = ["update", str(place), "--data", str(data), "--no-rediscover", "--out", str(tmp_path / "other")]
    assert main(command) == 1
    said = capsys.readouterr()
    assert "no longer suffice: it follows" in said.out and "version 1 of the twin is in" in said.err
    assert fb.twin_versions(place)["in_use"].to_dict() == {1: False, 2: True}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"since": 0}, "since must be"),
        ({"since": 590}, "can be learned from, and 20 are needed"),
        ({"level": 2}, "level must lie"),
        ({"weights": "heavy"}, "no column 'heavy'"),
        ({"seed": -1}, "seed must be"),
        ({"old": {"a": [1.0]}}, "no column 'b'"),
    ],
)
def test_what_cannot_be_learned_is_one_line(options: dict[str, object], said: str, twin: fb.Twin) -> None:
    with pytest.raises(fb.InputError, match=said):
        twin.update(rig(600, 50), **options)  # type: ignore[arg-type]


def test_few_rows_and_strange_ones_are_one_line(twin: fb.Twin) -> None:
    with pytest.raises(fb.InputError, match="10 of 10 rows have no gaps"):
        twin.update(rig(10, 0))
    with pytest.raises(fb.InputError, match="no column 'a'"):
        twin.update(rig(100, 0).rename(columns={"a": "A"}))
