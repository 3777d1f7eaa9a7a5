"""Worker processes that die: tried again, then named, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mortal import Line, Mortal

import forebear as fb
from forebear.run.engine import Unfinished, as_done, spread
from forebear.storage.records import to_record

QUICK: dict[str, Any] = {"rule": "nsr-jump", "folds": 1, "distilled": 50, "candidates": ["a", "b"], "runs": 3}
QUICK |= {"lengthscale": 1.0, "latent_lengthscale": 1.0, "nugget": 1.0}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    return data.assign(y=data["b"] + rng.normal(size=200))


@pytest.fixture(scope="module")
def whole(table: pd.DataFrame) -> fb.Found:
    return fb.discover(table, "y", sampler=_Immortal(), **QUICK)


class _Immortal:
    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Line:
        return Line()


def answers(found: fb.Found) -> list[Any]:
    return [to_record(path) for run in found.runs for path in run.values()]


def test_a_worker_that_dies_is_replaced(table: pd.DataFrame, whole: fb.Found, tmp_path: Path) -> None:
    found = fb.discover(table, "y", sampler=Mortal(str(tmp_path), 1), jobs=2, **QUICK)
    assert answers(found) == answers(whole) and (tmp_path / "death-0").exists()


def test_a_piece_that_kills_twice_is_named_and_the_rest_is_saved(
    table: pd.DataFrame, whole: fb.Found, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(
        Unfinished, match=r"^run \d: y: its worker process was killed .*; the other 2 pieces are done$"
    ):
        fb.discover(table, "y", sampler=Mortal(str(tmp_path), 2), jobs=2, out=out, **QUICK)
    assert len(list((out / "pieces").iterdir())) == 2
    found = fb.discover(table, "y", sampler=Mortal(str(tmp_path), 2), out=out, **QUICK)
    assert answers(found) == answers(whole)


def test_what_cannot_be_sent_is_told_in_a_line(table: pd.DataFrame) -> None:
    class Local(_Immortal):
        pass

    with pytest.raises(fb.InputError, match="cannot be sent to another process .* use jobs=1"):
        fb.discover(table, "y", sampler=Local(), jobs=2, **QUICK)


def _fragile(number: int) -> int:
    if number == 0:
        raise FloatingPointError("not finite")
    return number


def test_numbers_that_fail_do_not_stop_the_rest() -> None:
    done = []
    with pytest.raises(FloatingPointError, match="^0: not finite; the other 2 pieces are done$"):
        for pair in spread(_fragile, [0, 1, 2], jobs=1):
            done.append(pair)
    assert done == [(1, 1), (2, 2)]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2", None])
def test_jobs_that_are_no_number(jobs: object) -> None:
    with pytest.raises(fb.InputError, match="jobs must be a whole number of at least 1, or a dask client"):
        list(as_done(abs, [1], jobs))
