"""A twin in operation: new rows are read as they come, and each law is judged beside rows that were set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.cli import main
from forebear.data.table import read_columns
from forebear.errors import InputError
from forebear.twin.fit import fit_twin
from forebear.twin.reference import Reference
from forebear.twin.settings import TwinSettings

SMALL = TwinSettings.resolve({"test": 0.25, "steps": 500, "width": 32, "depth": 2, "batch": 512})
Change = Callable[[pd.DataFrame], Any]


def rig(rows: int, seed: int, change: Change | None = None) -> pd.DataFrame:
    """A rig: y follows a, site and angle; b shapes the spread of z; c does nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["site"] = rng.choice(["north", "south", "east"], rows)
    frame["angle"] = rng.uniform(0, 360, rows)
    north = (frame["site"] == "north").to_numpy()
    frame["y"] = frame["a"] + 0.5 * north + np.sin(np.radians(frame["angle"])) + 0.5 * rng.normal(size=rows)
    frame["z"] = np.exp(0.3 * frame["b"]) * rng.normal(size=rows)
    if change is not None:
        frame["y"] += change(frame)
    return frame


@pytest.fixture(scope="module")
def twin() -> fb.Twin:
    table = read_columns(rig(2_400, 0), "the table", ["a", "b", "c", "site", "angle", "y", "z"], {"angle": 360.0})
    return fit_twin(table, {"y": ["a", "site", "angle"], "z": ["b"]}, joint=False, settings=SMALL, seed=0)


def test_laws_that_hold(twin: fb.Twin) -> None:
    words = [twin.monitor(rig(1_000, seed)).verdict for seed in range(1, 11)]
    assert words.count("changed") <= 2


@pytest.mark.parametrize(
    ("change", "follows"),
    [
        (lambda t: 0.4, ()),
        (lambda t: 0.4 * t["a"], ("a",)),
        (lambda t: 0.4 * t["c"], ("c",)),
        (lambda t: 0.5 * (t["site"] == "east"), ("site",)),
        (lambda t: 0.5 * np.cos(np.radians(t["angle"])), ("angle",)),
    ],
    ids=["plain", "slope", "useless before", "label", "angle"],
)
def test_what_changed_and_with_which_input(twin: fb.Twin, change: Change, follows: tuple[str, ...]) -> None:
    told = twin.monitor(rig(1_500, 20, change))
    assert told.verdict == "changed" and told.changed
    assert told.targets["y"].follows == follows
    assert told.targets["z"].verdict == "holds"


def test_another_mix_of_inputs_is_no_alarm(twin: fb.Twin) -> None:
    rows = rig(4_000, 30)
    high = rows[(rows["a"] > 0.3) & (rows["site"] != "east")].reset_index(drop=True)
    assert twin.monitor(high).verdict == "holds"


def test_rows_outside_are_left_out_and_told(twin: fb.Twin) -> None:
    rows = rig(600, 40)
    rows.loc[:49, "a"] = 50.0
    rows.loc[50:59, "site"] = "west"
    told = twin.monitor(rows)
    assert told.verdict == "holds" and told.tested <= 540
    assert 50 <= told.outside.inputs["a"] <= 55 and told.outside.inputs["site"] == 10
    assert "outside what the twin has seen" in told.summary()
    everything = twin.monitor(rows.assign(a=50.0))
    assert everything.targets["y"].verdict == "cannot tell" and everything.verdict == "holds"


def test_gaps_are_left_out_and_told(twin: fb.Twin) -> None:
    rows = rig(600, 50)
    rows.loc[:99, "y"] = np.nan
    rows.loc[100:119, "a"] = np.nan
    told = twin.monitor(rows)
    assert told.verdict == "holds" and told.tested <= 480
    assert {fault.column for fault in told.faults if fault.kind == "gaps"} == {"a", "y"}


def test_a_sensor_that_is_stuck_is_told_from_a_change(twin: fb.Twin) -> None:
    rows = rig(1_500, 60)
    rows.loc[1_000:, "a"] = 0.7
    told = twin.monitor(rows)
    [fault] = told.faults
    assert (fault.kind, fault.column, fault.first, fault.last) == ("stuck", "a", 1_001, 1_500)
    assert told.targets["y"].verdict == "changed" and told.without_faults == {"y": "holds", "z": "holds"}
    assert "a fault of the sensor, not a change of the system" in told.summary()


def test_a_table_without_what_was_pruned_away(twin: fb.Twin) -> None:
    told = twin.monitor(rig(600, 70).drop(columns="c"))
    assert told.verdict == "holds" and any("'c'" in note for note in told.notes)


def test_rows_of_the_users_own_as_reference(twin: fb.Twin) -> None:
    moved = rig(3_000, 80, lambda t: 0.4)
    assert twin.monitor(moved[1_500:]).verdict == "changed"
    assert twin.monitor(moved[1_500:], reference=moved[:1_500]).verdict == "holds"


def test_a_twin_without_rows_set_aside_is_taken_at_its_word(twin: fb.Twin) -> None:
    bare = replace(twin, reference=Reference(np.zeros((0, 4)), np.zeros((0, 2))))
    told = bare.monitor(rig(1_000, 90))
    assert told.verdict == "holds" and told.margin == 0.2
    assert any("reference=" in note for note in told.notes)
    assert bare.monitor(rig(1_000, 90, lambda t: 0.8 * t["a"])).targets["y"].follows == ("a",)


def test_a_joint_twin() -> None:
    frame = rig(1_200, 0)
    table = read_columns(frame, "the table", ["a", "b", "c", "y", "z"])
    joint = fit_twin(table, {"y": ["a", "b"], "z": ["a", "b"]}, joint=True, settings=SMALL, seed=0)
    assert joint.monitor(rig(800, 1)).verdict == "holds"
    assert joint.monitor(rig(800, 2, lambda t: 0.9 * t["c"])).targets["y"].follows == ("c",)


def test_what_is_kept_in_a_folder(twin: fb.Twin, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin.save(tmp_path / "twin")
    back = fb.load_twin(tmp_path / "twin")
    rows = rig(800, 3, lambda t: 0.4 * t["c"])
    told = twin.monitor(rows)
    assert back.monitor(rows).to_dict() == told.to_dict()
    rows.to_csv(tmp_path / "new.csv", index=False)
    rig(800, 4).to_csv(tmp_path / "same.csv", index=False)
    command = ["monitor", str(tmp_path / "twin"), "--data"]
    page, prom = str(tmp_path / "page.html"), str(tmp_path / "a.prom")
    assert main([*command, str(tmp_path / "new.csv"), "--json", "--out", page, "--prometheus", prom]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "changed" and document["targets"]["y"]["follows"] == ["c"]
    assert document["targets"]["y"]["p_value"] < 1e-3
    text = Path(page).read_text(encoding="utf-8")
    # Dots are a picture inside the drawing, which the page must be allowed to show.
    assert "data:image/png" in text and "img-src data:" in text
    assert text.startswith("<!doctype html>") and "http://" not in text.split("<svg")[0] and "low to high c" in text
    assert 'forebear_law_changed{target="y"} 1' in Path(prom).read_text(encoding="utf-8")
    assert main([*command, str(tmp_path / "same.csv")]) == 0
    assert "holds" in capsys.readouterr().out


def test_twins_of_before(twin: fb.Twin, tmp_path: Path) -> None:
    """Folders without the rows that were set aside still load."""
    twin.save(tmp_path / "twin")
    file = tmp_path / "twin" / "twin.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    del record["reference"]
    file.write_text(json.dumps(record), encoding="utf-8")
    assert len(fb.load_twin(tmp_path / "twin").reference) == 0


def test_what_is_shown(twin: fb.Twin) -> None:
    told = twin.monitor(rig(600, 5, lambda t: 0.6))
    assert repr(told).startswith("<monitored 600 rows: y: the law changed since row")
    assert "<table>" in told._repr_html_() and len(told.plot().axes) == 2
    assert told.plot_target("y").get_title(loc="left") == "y"
    with pytest.raises(InputError, match="'x' was not monitored"):
        told.plot_target("x")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 5}, "level must lie strictly between 0 and 1"),
        ({"margin": -1}, "margin must be a number"),
        ({"reference": rig(20, 0)}, "reference has 20 rows"),
    ],
)
def test_bad_options(twin: fb.Twin, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        twin.monitor(rig(100, 0), **options)


def test_bad_rows(twin: fb.Twin) -> None:
    rows = rig(100, 0)
    with pytest.raises(InputError, match="rows: no column 'a'. Did you mean 'A'"):
        twin.monitor(rows.rename(columns={"a": "A"}))
    with pytest.raises(InputError, match="column 'a' must hold numbers but holds labels such as 'high'"):
        twin.monitor(rows.assign(a="high"))


def test_a_watch_sees_the_same_in_any_portions(twin: fb.Twin, tmp_path: Path) -> None:
    rows = pd.concat([rig(500, 6), rig(900, 7, lambda t: 0.9 * t["a"])], ignore_index=True)
    whole = twin.watch()
    told = whole.add(rows)
    assert told.verdict == "changed" and told.targets["y"].follows == ("a",) and told.targets["z"].verdict == "holds"
    assert abs((told.targets["y"].since or 0) - 500) < 120
    portions = twin.watch()
    for start in range(0, len(rows), 37):
        portions.add(rows[start : start + 37])
        if start == 370:
            portions.save(tmp_path / "watch.json")
            portions = twin.watch(state=tmp_path / "watch.json")
    now, then = portions.now(), told.targets["y"]
    assert (now.targets["y"].since, now.targets["y"].follows) == (then.since, then.follows)
    assert np.log(now.targets["y"].e_value) == pytest.approx(np.log(then.e_value), rel=1e-2)
    assert repr(portions).startswith("<watch after 1,400 rows: y: changed")


def test_a_watch_refuses_what_it_cannot_use(twin: fb.Twin, tmp_path: Path) -> None:
    watch = twin.watch()
    with pytest.raises(InputError, match="no column 'c', which the watch also looks at"):
        watch.add(rig(10, 0).drop(columns="c"))
    watch.add(rig(60, 0))
    watch.save(tmp_path / "watch.json")
    with pytest.raises(InputError, match="another level or margin"):
        twin.watch(state=tmp_path / "watch.json", level=0.01)
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not the state of a watch"):
        twin.watch(state=tmp_path / "other.json")
    without = rig(500, 9).drop(columns="c")
    assert twin.watch(reference=without).add(rig(60, 0).drop(columns="c")).verdict == "holds"


def test_a_law_of_no_inputs_is_monitored_and_watched() -> None:
    rng = np.random.default_rng(0)
    table = read_columns(
        pd.DataFrame({"c": rng.normal(size=600), "y": rng.normal(size=600)}), "the table", ["c", "y"]
    )
    alone = fit_twin(table, {"y": []}, joint=False, settings=SMALL, seed=0)
    for shift, verdict in ((0.0, "holds"), (1.0, "changed")):
        new = pd.DataFrame({"c": rng.normal(size=400), "y": rng.normal(size=400) + shift})
        told = alone.monitor(new)
        assert told.verdict == verdict and told.targets["y"].follows == () and not told.outside.rows
        assert alone.watch().add(new).verdict == verdict


def test_a_label_that_comes_more_often_is_told_in_words() -> None:
    rng = np.random.default_rng(0)

    def made(rows: int, more: float) -> pd.DataFrame:
        x = rng.normal(size=rows)
        score = x + rng.logistic(size=rows) + more
        return pd.DataFrame({"x": x, "y": np.array(["pass", "scrap"])[(score > 0.5).astype(int)]})

    table = read_columns(made(1_600, 0.0), "the table", ["x", "y"])
    labels = fit_twin(table, {"y": ["x"]}, joint=False, settings=SMALL, seed=0)
    assert labels.monitor(made(600, 0.0)).verdict == "holds"
    told = labels.monitor(made(600, 1.2))
    assert told.verdict == "changed" and ": moved, " in told.summary() and "amount" not in told.summary()
    drawn = labels.latents([[0.0]], [["pass"]], 50)
    assert drawn.shape == (1, 1, 50) and drawn.max() < 0.9 and len(np.unique(drawn)) == 50
