"""Files and folders have the rights that the user's umask gives, as those of other programs do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reports import made_by_hand
from toys import toy_twin

import forebear as fb
from forebear.data.table import read_columns
from forebear.storage.folder import RunFolder


@pytest.fixture(params=[0o022, 0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_what_is_written_follows_the_umask(umask: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "y"])
    found = fb.Found(made_by_hand(["y"], ["a"], {"y": ["a"]}).record, read_columns(frame, "rig.csv", ["a", "y"]))
    found.save(tmp_path / "run")
    found.report(tmp_path / "report.html", twin=False)
    found.save_table(tmp_path / "found.csv")
    found.save_graph(tmp_path / "found.dot")
    toy_twin(frame, {"y": ["a"]}).save(tmp_path / "twin")
    RunFolder(tmp_path / "pieces", {"seed": 0}).put(1, [1])
    written = list(tmp_path.rglob("*"))
    assert len(written) > 8
    for place in written:
        usual = 0o777 if place.is_dir() else 0o666
        assert stat.S_IMODE(place.stat().st_mode) == usual & ~umask, place.name


def test_what_a_killed_process_left_is_cleared_away_be_it_a_file_or_a_folder(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, {"seed": 0})
    (tmp_path / ".twin.0a1b2c3d.scratch").mkdir()
    (tmp_path / ".twin.0a1b2c3d.scratch" / "twin.json").write_text("{}")
    (tmp_path / ".found.json.0a1b2c3d.scratch").write_text("{")
    run.tidy()
    assert sorted(place.name for place in tmp_path.iterdir()) == ["run.json"]
