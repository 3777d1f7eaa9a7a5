"""Timing whole discoveries beside an earlier version: what is timed, what is said, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forebear.errors import InputError
from forebear_experiments.benchmarks import measure, regress, speed
from forebear_experiments.benchmarks.support import timed_tables

FAST = {"wall_s": [9.0, 2.0, 2.5], "processor_s": [8.0, 1.5, 1.2], "import_s": 1.0, "sets": {"y": ["x1"]}}
SLOW = {"wall_s": [18.0, 6.0, 5.0], "processor_s": [16.0, 3.6, 4.0], "import_s": 1.0, "sets": {"y": ["x1"]}}


def told(ours: dict[str, Any], theirs: dict[str, Any]) -> Any:
    return lambda checkout, table, times: ours if checkout == speed.CHECKOUT else theirs


@pytest.fixture
def no_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkout without the revision that is asked for."""
    monkeypatch.setattr(speed, "CHECKOUT", tmp_path)
    monkeypatch.setattr(regress, "CHECKOUT", tmp_path)


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository with one commit, in which forebear is a single file."""
    (tmp_path / "forebear").mkdir()
    (tmp_path / "forebear" / "__init__.py").write_text("WHO = 'earlier'\n")
    (tmp_path / "results").mkdir()
    (tmp_path / regress.STORED).write_text("{}\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(speed, "CHECKOUT", tmp_path)
    monkeypatch.setattr(regress, "CHECKOUT", tmp_path)
    return tmp_path


def test_ratios_are_of_warm_fresh_and_processor_seconds(monkeypatch: pytest.MonkeyPatch, history: Path) -> None:
    monkeypatch.setattr(speed, "time_once", told(FAST, SLOW))
    [row] = measure("speed", tables=["300x5"], against="HEAD")["rows"]
    assert (row["ours_s"], row["ours_fresh_s"], row["ours_processor_s"]) == (2.0, 9.0, 1.2)
    assert (row["ratio"], row["ratio_fresh"], row["ratio_processor"]) == (2.5, 2.0, 3.0)
    assert row["baseline"] == "commit HEAD" and row["sets"] == {"y": ["x1"]}


def test_without_a_version_to_compare_with_ours_is_timed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "time_once", told(FAST, SLOW))
    [row] = measure("speed", tables=["300x5"], against=None)["rows"]
    assert row["ours_s"] == 2.0 and "ratio" not in row


def test_what_got_slower_by_a_fifth_is_named(monkeypatch: pytest.MonkeyPatch, history: Path) -> None:
    monkeypatch.setattr(speed, "time_once", told(SLOW, FAST))
    row, names = measure("regress", tables=["300x5"])["rows"]
    assert row["slower"] and names["tables_slower"] == ["300x5"]
    monkeypatch.setattr(speed, "time_once", told(SLOW, SLOW))
    row, names = measure("regress", tables=["300x5"])["rows"]
    assert not row["slower"] and names["tables_slower"] == []


def test_the_earlier_version_is_that_of_the_revision(history: Path) -> None:
    (history / "forebear" / "__init__.py").write_text("WHO = 'now'\n")
    with speed.earlier("HEAD") as folder:
        assert folder is not None
        assert (folder / "forebear" / "__init__.py").read_text() == "WHO = 'earlier'\n"


@pytest.mark.parametrize("bench", ["speed", "regress"])
def test_a_clone_without_history_is_refused(bench: str, no_history: None) -> None:
    with pytest.raises(InputError, match="whole"):
        measure(bench, tables=["300x5"])


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="'300x6'.* Did you mean '300x5'"):
        measure("speed", tables=["300x6"], against=None)


def test_tables_are_stored_as_the_timer_reads_them(tmp_path: Path) -> None:
    timed_tables.save("300x5", tmp_path / "table.npz")
    stored = np.load(tmp_path / "table.npz")
    assert stored["values"].shape == (300, 6) and list(stored["targets"]) == ["y"]
    assert list(stored["columns"]) == ["x1", "x2", "x3", "x4", "x5", "y"]


@pytest.mark.slow
def test_a_small_table_is_timed_for_real() -> None:
    [row] = measure("speed", tables=["300x5"], against=None, times=2)["rows"]
    assert 0 < row["ours_s"] < row["ours_fresh_s"]


def test_a_draw_in_a_loop_is_timed_three_ways() -> None:
    from forebear_experiments.benchmarks import latency

    [row] = latency.run(sizes=[(2, 1)], calls=40, rows=120, steps=5)
    assert row["what"] == "one draw, 2 inputs, 1 target"
    assert 0 < row["ours_s"] <= row["p99_s"] and row["ratio"] > 1 and row["compiled_s"] > 0
