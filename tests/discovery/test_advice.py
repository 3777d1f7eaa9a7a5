"""What a verdict advises does help."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb

pytestmark = pytest.mark.slow


def plain(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)), columns=list("abcd"))
    return frame.assign(y=frame["a"] + np.exp(0.4 * frame["b"]) * rng.normal(size=rows))


def test_as_many_rows_as_are_advised_tell() -> None:
    certified = 0
    for seed in range(5):
        rows, found = 250, fb.discover(plain(250, seed), "y")
        for _ in range(2):  # the number is a rule of thumb: it may take a second look
            advised = [re.search(r"about ([\d,]+) rows would tell", reason) for reason in found.why["y"]]
            rows = max([rows, *(int(one[1].replace(",", "")) for one in advised if one)])
            found = fb.discover(plain(rows, 100 + seed), "y")
        assert rows < 2_000 and found.ancestors == {"y": ("a", "b")}
        certified += found.verdicts["y"] == "certified"
    assert certified >= 4


def test_declaring_what_hangs_together_tells() -> None:
    """Sixty machines, each with a level of its own that no column tells; rows in no order."""
    rng = np.random.default_rng(0)
    machine = rng.permutation(np.repeat(np.arange(120), 20))
    frame = pd.DataFrame(rng.normal(size=(2_400, 2)), columns=["a", "b"]).assign(machine=machine)
    frame["plate"] = rng.normal(size=120)[machine]
    frame["y"] = frame["a"] + rng.normal(size=120)[machine] + rng.normal(size=2_400)
    asked: dict[str, Any] = {"targets": "y", "candidates": ["a", "b", "plate"]}
    declared = fb.discover(frame, rows="machine", **asked)
    assert declared.ancestors == {"y": ("a",)} and declared.rows == "machine"


def test_a_longer_training_mends_what_a_short_one_misses() -> None:
    """`subset_steps=6000`, as the page on certificates advises where something seems to be missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4_000, 3)), columns=list("abc"))
    frame["b"] = 0.9 * frame["a"] + np.sqrt(1 - 0.81) * frame["b"]
    frame["y"] = np.sin(3 * frame["a"]) + 0.05 * rng.normal(size=4_000)
    longer = fb.discover(frame, "y", subset_steps=6_000)
    assert longer.ancestors == {"y": ("a",)} and longer.verdicts["y"] != "something is missing"
