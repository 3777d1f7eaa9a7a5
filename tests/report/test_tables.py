"""The result as one flat table, in memory and in files."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from reports import made_by_hand

import forebear as fb
from forebear.cli import main


@pytest.fixture
def found() -> fb.Found:
    return made_by_hand(["y", "z"], ["a", "b", "c"], {"y": ("a",), "z": ()})


def test_a_row_for_every_candidate_of_every_target(found: fb.Found) -> None:
    frame = found.to_frame()
    assert frame[["target", "candidate"]].to_numpy().tolist() == [[t, u] for t in "yz" for u in "abc"]
    assert frame.loc[frame["ancestor"], ["target", "candidate"]].to_numpy().tolist() == [["y", "a"]]
    row = frame.iloc[0]
    certificate, effect = found.certificates["y"].loc["a"], found.effects["y"].loc["a"]
    assert (
        row.filter(["p_value", "effect", "shift"]).tolist()
        == certificate.filter(["p_value", "effect", "shift"]).tolist()
    )
    assert row.filter(["location", "acts"]).tolist() == effect.filter(["location", "acts"]).tolist()
    assert row.filter(["score", "removed_at"]).tolist() == [found.paths["y"]["a"].iloc[0], 3]
    assert frame["acts"].tolist()[0] == row["acts"] and frame["acts"].isna().tolist() == [False] + [True] * 5
    assert frame["by_request"].tolist() == [False] * 6


def test_a_rule_without_certificates_leaves_the_evidence_empty() -> None:
    frame = made_by_hand(["y"], ["a", "b"], {"y": ("a",)}, certified=False).to_frame()
    assert frame["ancestor"].tolist() == [True, False]
    assert frame[["p_value", "effect", "location"]].isna().to_numpy().all()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_files_hold_the_same_table(found: fb.Found, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"found{ending}"
    found.save_table(file)
    if ending == ".json":
        back = pd.DataFrame(json.loads(file.read_text(encoding="utf-8")))
    else:
        back = pd.read_csv(file) if ending == ".csv" else pd.read_parquet(file)
    frame = found.to_frame()
    assert list(back) == list(frame)
    for name in ("target", "candidate", "ancestor", "p_value", "score", "removed_at"):
        assert back[name].tolist() == pytest.approx(frame[name].tolist())


def test_a_wrong_place_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place, trouble in (("a.xlsx", "the ending must be"), ("no/a.csv", "there is no folder")):
        assert main(["discover", "data.csv", "--target", "y", "--table", str(tmp_path / place)]) == 2
        line = capsys.readouterr().err
        assert trouble in line and line.count("\n") == 1 and "--table" in line
