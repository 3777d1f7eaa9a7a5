"""The benchmark of gaps: what is deleted, what is told of pieces that are done, and what stops it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forebear.errors import InputError
from forebear_experiments.benchmarks import measure
from forebear_experiments.benchmarks.support.gap_tables import DRIVER, GAPS, SHARE, USELESS, gap_table

SEEDS = {"names": ["y1", "y2"], "seeds": (0,), "tables": 5}


def kept(folder: Path, pieces: dict[tuple[Any, ...], list[Any]]) -> Path:
    file = folder / "pieces.jsonl"
    file.write_text("\n".join(json.dumps({"piece": piece, "result": told}) for piece, told in pieces.items()) + "\n")
    return file


def test_rows_compare_with_the_same_systems_without_gaps(tmp_path: Path) -> None:
    """y2 has no answer with gaps yet, so it does not count there."""
    right, wrong = ["y", ["x1"], True, "certified", 2.0], ["y", ["x3"], False, "certified", 4.0]
    level = [[[0.04, 0.5, 0.6, 0.7, 0.8, 0.9], ["z3"], False, "certified", 1.0]] * 5
    out = kept(
        tmp_path,
        {
            ("y1", 0, "random", 0.0, "model"): [right],
            ("y2", 0, "random", 0.0, "model"): [right],
            ("y1", 0, "value", 0.3, "model"): [wrong],
            ("level", "useless inputs, at random", 1_000, 1_000, 5): level,
        },
    )
    whole, gaps, told = measure("missing", out=out, seconds=0, **SEEDS)["rows"]
    assert (whole["what"], whole["exact"], whole["systems"]) == ("no cell missing", 2, 2)
    assert gaps["what"] == "30% of cells missing by their value, model"
    assert (gaps["exact"], gaps["targets"], gaps["of_those_without_gaps"]) == (0, 1, 0.0)
    assert gaps["certified_and_wrong"] == 1 and gaps["wrong"] == ["y1"]
    assert told["what"] == "level: gaps in useless inputs, at random"
    assert (told["tables"], told["p_values"], told["below_0.05"]) == (5, 30, pytest.approx(1 / 6))
    assert (told["kept_useless"], told["kept_most"], told["certified_and_wrong"]) == (1.0, "z3", 5)


def test_a_system_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no system 'y9'"):
        measure("missing", names=["y9"], seconds=0)


@pytest.mark.parametrize("name", GAPS)
def test_gaps_are_where_they_should_be(name: str) -> None:
    frame, missing = gap_table(name, 4_000, 0).frame, GAPS[name]
    for columns, grows in ((USELESS, missing.useless), ((DRIVER,), missing.driver)):
        for column in columns:
            share = 0.0 if grows is None else SHARE
            assert float(np.isnan(frame[column].to_numpy()).mean()) == pytest.approx(share, abs=0.03)
