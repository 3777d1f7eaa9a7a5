"""The result as users hold it: what it was saved as, what it says of itself, and the twins it makes once."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports import changed, made_by_hand

import forebear as fb
from forebear.api import twins as api_twins
from forebear.data.table import read_columns
from forebear.discovery.record import FORMAT, load_discovery, save_discovery
from forebear.storage.records import to_record
from forebear.twin import batches

STORED = Path(__file__).parent / "data" / "format-1"
WITHOUT_LIMITS = Path(__file__).parent / "data" / "0.2.0"
TINY: dict[str, Any] = {"steps": 20, "width": 4, "depth": 1, "ode_steps": 2, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def few_shapes() -> Iterator[None]:
    """Every shape is compiled once; here most of the time would go there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 2**11)
        yield


def _table(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["y"] = frame["a"] + rng.normal(size=rows)
    return frame


@pytest.fixture
def found() -> fb.Found:
    frame = _table()
    made = made_by_hand(["y"], ["a", "b", "c"], {"y": ["a"]})
    return fb.Found(made.record, read_columns(frame, "rig.csv", list(frame)))


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The trainings that were asked for."""
    seen: list[dict[str, Any]] = []
    whole = api_twins.fit_twin

    def fit(table: Any, inputs: Any, **options: Any) -> fb.Twin:
        seen.append({"inputs": dict(inputs), **options})
        return whole(table, inputs, **options)

    monkeypatch.setattr(api_twins, "fit_twin", fit)
    return seen


class TestSaved:
    def test_format_1_is_read(self) -> None:
        """The folder was written by the version that had format 1, with an alternative set added by hand."""
        old = json.loads((STORED / "found.json").read_text())
        found = fb.load(STORED)
        assert old["format"] == 1 and FORMAT > 1
        assert found.ancestors == {"y": ("a", "k")} and found.frequencies["y"] == {"a": 1, "pair": 0, "angle": 0}
        path, before = found.runs[1]["y"], old["runs"][1]["y"]
        assert list(path.nsr) == before["nsr"] and list(path.removed) == before["removed"]
        assert path.lengthscales == (before["lengthscale"], before["latent_lengthscale"])
        scores = [[np.nan if v is None else v for v in row] for row in before["scores"]]
        assert np.array_equal(path.scores, scores, equal_nan=True)
        certificate, told = found.certified[0]["y"], old["certified"][0]["y"]
        assert list(certificate.alternatives) == [("pair",)]
        assert certificate.tests["a"].p_value == told["verdicts"]["a"]["p_value"]
        assert certificate.jointly is not None and certificate.jointly.statistic == told["jointly"]["statistic"]
        assert found.notes == ("a note",) and found.settings == old["settings"] and found.seconds == 1.5
        assert found.table is not None and found.table.rows == 60 and found.table.periods() == {"angle": 6.0}

    def test_a_certificate_of_0_2_0_is_read_and_claims_no_more_than_it_knew(self) -> None:
        """The folder was written by that version, which had no verdicts, limits, classes or costs."""
        old = json.loads((WITHOUT_LIMITS / "found.json").read_text())["certified"][0]["y"]
        found = fb.load(WITHOUT_LIMITS)
        certificate = found.certified[0]["y"]
        assert certificate.kept == ("b",) == found.ancestors["y"] and certificate.passes and certificate.agrees
        assert {name: result.p_value for name, result in certificate.tests.items()} == {
            name: told["p_value"] for name, told in old["tests"].items()
        }
        assert found.verdicts == {"y": "cannot tell"}
        assert found.why["y"] == ("an earlier version made this certificate, without limits: discover again",)
        # Nothing was bounded then: what is not known to be small may be everything.
        assert (found.certificates["y"][["limit", "detectable"]].to_numpy() == 1).all()
        assert found.classes == {"y": ()} and found.cost["y"].empty and found.curves["y"].empty
        assert found.smallest("y", 0.5) == ("b",) and found.rows == "independent"
        document = json.loads(json.dumps(found.to_dict(), allow_nan=False))["targets"]["y"]
        assert document["cost"] is None and document["rows_tested"] == 0

    def test_a_certificate_of_0_2_0_is_saved_in_full(self, tmp_path: Path) -> None:
        save_discovery(load_discovery(WITHOUT_LIMITS), tmp_path)
        assert load_discovery(tmp_path).certified == load_discovery(WITHOUT_LIMITS).certified

    def test_a_twin_without_rows_set_aside_is_read(self) -> None:
        twin = fb.load_twin(STORED / "twin")
        assert len(twin.test_rows) == 0 and twin.table == "" and twin.settings.test == 0.0
        assert twin.units == {"a": "m"}
        with pytest.raises(fb.InputError, match="no rows were set aside for this twin"):
            fb.load(STORED).validate(twin)

    def test_a_record_comes_back_to_the_bit(self, tmp_path: Path) -> None:
        record = load_discovery(STORED)
        save_discovery(record, tmp_path)
        assert to_record(load_discovery(tmp_path)) == to_record(record)
        first = (tmp_path / "found.json").read_bytes()
        save_discovery(load_discovery(tmp_path), tmp_path)
        assert (tmp_path / "found.json").read_bytes() == first

    @pytest.mark.parametrize("format", [1, FORMAT])
    @pytest.mark.parametrize(
        "damage",
        [
            lambda r: r.pop("runs"),
            lambda r: r.update(runs=[]),
            lambda r: r.update(seconds="long"),
            lambda r: r["choices"][0].update(z=["a"]),
            lambda r: r["runs"][0]["y"].update(units=["a"]),
            lambda r: r["certified"][0]["y"]["verdicts" if r["format"] == 1 else "tests"]["a"].pop("p_value"),
            lambda r: r.update(settings=[]),
        ],
    )
    def test_damage_is_told_in_one_line(self, tmp_path: Path, format: int, damage: Any) -> None:
        shutil.copy(STORED / "found.json", tmp_path)
        if format == FORMAT:
            save_discovery(load_discovery(tmp_path), tmp_path)
        file = tmp_path / "found.json"
        record = json.loads(file.read_text())
        damage(record)
        file.write_text(json.dumps(record))
        with pytest.raises(fb.InputError, match="not a forebear result, or it is damaged: run the discovery again"):
            fb.load(tmp_path)

    def test_a_newer_format_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "found.json").write_text(json.dumps({"format": FORMAT + 1}))
        with pytest.raises(fb.InputError, match=f"newer forebear \\(format {FORMAT + 1}\\): update this one"):
            fb.load(tmp_path)


class TestRecord:
    def test_groups_are_written_out_in_table_order(self) -> None:
        record = load_discovery(STORED)
        assert record.order("y") == ("a", "pair", "k", "angle") == record.inputs()
        chosen = replace(record, choices=({"y": ("pair",)},) * 2)
        assert chosen.ancestors["y"] == ("pair", "k") and chosen.columns("y") == ("b", "k", "on")
        assert set(record.first_scores("y")) == {"a", "pair", "angle"}
        assert record.certificate("y") is record.certified[0]["y"]

    def test_what_was_found_can_be_read_from_either(self, found: fb.Found) -> None:
        for name in ("questions", "runs", "choices", "certified", "settings", "seconds", "notes", "targets"):
            assert getattr(found, name) == getattr(found.record, name), name

    def test_a_notebook_shows_names_as_text(self) -> None:
        shown = made_by_hand(["<b>"], ["a&b", "c"], {"<b>": ["a&b"]})._repr_html_()
        assert "&lt;b&gt;" in shown and "a&amp;b" in shown and "<b>" not in shown

    def test_a_result_travels(self, found: fb.Found) -> None:
        found.twin(**TINY)
        again = pickle.loads(pickle.dumps(found))
        assert again.to_dict() == found.to_dict() and repr(again) == repr(found)
        assert repr(found).startswith("<found: y <- a")


class TestTwin:
    def test_it_is_made_once(self, found: fb.Found, fits: list[dict[str, Any]]) -> None:
        twin = found.twin(**TINY)
        assert found.twin(**TINY) is twin and len(fits) == 1
        assert found.twin(**{**TINY, "steps": 21}) is not twin
        assert found.twin(seed=1, **TINY) is not twin
        assert found.twin(pruned=False, **TINY).inputs == ("a", "b", "c")
        assert found.twin(**TINY) is twin and len(fits) == 4

    def test_the_folder_keeps_it(self, found: fb.Found, fits: list[dict[str, Any]], tmp_path: Path) -> None:
        found.save(tmp_path)
        twin = found.twin(**TINY)
        full = found.twin(pruned=False, **TINY)
        x = {"a": [0.5]}
        for again in (fb.load(tmp_path), fb.load(tmp_path)):
            assert (again.twin(**TINY).sample(x, n=5) == twin.sample(x, n=5)).all()
            assert again.twin(pruned=False, **TINY).inputs == full.inputs
        assert len(fits) == 2
        fb.load(tmp_path).twin(seed=1, **TINY)
        assert len(fits) == 3
        # Another has taken its place.
        fb.load(tmp_path).twin(**TINY)
        assert len(fits) == 4

    def test_what_is_in_memory_goes_to_a_folder_that_comes_later(
        self, found: fb.Found, fits: list[dict[str, Any]], tmp_path: Path
    ) -> None:
        twin = found.twin(**TINY)
        found.save(tmp_path)
        assert found.twin(**TINY) is twin
        assert (fb.load(tmp_path).twin(**TINY).test_rows == twin.test_rows).all() and len(fits) == 1

    def test_a_twin_of_another_result_does_not_count(
        self, found: fb.Found, fits: list[dict[str, Any]], tmp_path: Path
    ) -> None:
        found.save(tmp_path)
        found.twin(**TINY)
        changed(found, choices=({"y": ("b",)},)).save(tmp_path)
        assert fb.load(tmp_path).twin(**TINY).inputs == ("b",) and len(fits) == 2

    def test_a_twin_put_there_by_hand_is_left_alone(
        self, found: fb.Found, fits: list[dict[str, Any]], tmp_path: Path
    ) -> None:
        found.save(tmp_path)
        found.twin(**TINY).save(tmp_path / "twin")
        before = (tmp_path / "twin" / "twin.safetensors").read_bytes()
        fb.load(tmp_path).twin(seed=5, **TINY)
        assert (tmp_path / "twin" / "twin.safetensors").read_bytes() == before and len(fits) == 2

    def test_a_damaged_one_is_made_again(self, found: fb.Found, tmp_path: Path) -> None:
        found.save(tmp_path)
        twin = found.twin(**TINY)
        (tmp_path / "twin" / "twin.safetensors").write_bytes(b"broken")
        assert (fb.load(tmp_path).twin(**TINY).test_rows == twin.test_rows).all()

    def test_a_folder_that_cannot_be_written_does_no_harm(
        self, found: fb.Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found.save(tmp_path)

        def fail(*paths: Any) -> None:
            raise fb.InputError("run: the disk is full")

        monkeypatch.setattr(api_twins, "save_twin", fail)
        with pytest.warns(UserWarning, match="the twin is not kept: run: the disk is full"):
            assert found.twin(**TINY).inputs == ("a",)

    def test_other_data_is_not_kept(self, found: fb.Found, fits: list[dict[str, Any]], tmp_path: Path) -> None:
        found.save(tmp_path)
        twin = found.twin(data=_table(200), **TINY)
        assert not (tmp_path / "twin").exists() and len(twin.test_rows) == 40
        with pytest.raises(fb.InputError, match="this twin was fitted on another table"):
            found.validate(twin)


class TestTestRows:
    def test_they_are_not_trained_on(self, found: fb.Found) -> None:
        assert found.table is not None
        twin = found.twin(**TINY)
        rest = np.setdiff1d(np.arange(300), twin.test_rows)
        assert len(twin.test_rows) == 60 and len(np.unique(twin.test_rows)) == 60
        a = found.table.columns["a"].values
        assert {*twin.rows[:, 0]} == {*a[rest]}
        alone = fb.Found(found.record, found.table.take(rest)).twin(test=0, **TINY)
        assert (alone.quantile({"a": [0.3]}, 0.5) == twin.quantile({"a": [0.3]}, 0.5)).all()

    def test_none_are_set_aside_on_request(self, found: fb.Found) -> None:
        twin = found.twin(test=0, **TINY)
        assert len(twin.test_rows) == 0 and len(twin.rows) == 300
        with pytest.raises(fb.InputError, match="no rows were set aside"):
            found.validate(twin)

    def test_twins_of_one_seed_share_them(self, found: fb.Found) -> None:
        one, other = found.twin(**TINY), found.twin(pruned=False, **TINY)
        assert (one.test_rows == other.test_rows).all()
        assert (one.test_rows != found.twin(seed=1, **TINY).test_rows).any()

    def test_a_twin_is_judged_on_them(self, found: fb.Found, tmp_path: Path) -> None:
        assert found.table is not None
        twin = found.twin(**TINY)
        direct = twin.validate(found.table.take(twin.test_rows).frame())
        assert (found.validate(twin).pit == direct.pit).all() and direct.rows == 60
        twin.save(tmp_path / "own")
        assert (found.validate(fb.load_twin(tmp_path / "own")).pit == direct.pit).all()
        student = twin.distil(rows=64, steps=5)
        assert found.validate(student).rows == 60

    def test_a_rare_value_is_trained_on(self) -> None:
        """A column of which nothing but a constant would be left cannot be scaled."""
        frame = _table(100)
        frame["rare"] = 0.0
        seed = 3
        aside = np.random.default_rng(seed).permutation(100)[:20]
        frame.loc[aside[:2], "rare"] = 1.0
        made = made_by_hand(["y"], ["a", "rare"], {"y": ["a", "rare"]})
        twin = fb.Found(made.record, read_columns(frame, "t", ["a", "rare", "y"])).twin(seed=seed, **TINY)
        drawn = twin.sample({"a": [0.0], "rare": [1.0]}, n=5, outside="ignore")
        assert len(twin.test_rows) == 19 and np.isfinite(drawn).all()

    @pytest.mark.parametrize("share", [-0.1, 0.6, True, "half"])
    def test_a_share_that_is_none(self, found: fb.Found, share: Any) -> None:
        with pytest.raises(fb.InputError, match="setting 'test' must lie between 0 and 0.5"):
            found.twin(test=share)
