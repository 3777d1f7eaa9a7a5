"""The rigs are what they say, and what is counted of a monitor's words is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forebear as fb
from forebear_experiments.benchmarks import measure, rigs
from forebear_experiments.benchmarks.support.rigs import NOTHING, RIGS, table


@pytest.mark.parametrize("name", RIGS)
def test_an_event_begins_where_it_is_said_to(name: str) -> None:
    rig = RIGS[name]
    for event in rig.events:
        made, calm = (table(rig, 400, np.random.default_rng(3), one, 200) for one in (event, NOTHING))
        there = made.notna() & calm.notna()  # which cells are missing is drawn last
        assert made.where(there, 0)[:200].equals(calm.where(there, 0)[:200]), event
        assert made[200:].equals(calm[200:]) == (event == NOTHING), event
        truth = rig.events[event]
        assert {*truth.must, *truth.may, *(column for column, _ in truth.faults)} <= set(made)
        assert set(rig.targets) <= set(made)


def test_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin of the dryer that is asked about an open door, a damp month and nothing."""

    def quick(rig: Any, seed: int, small: bool = True) -> fb.Twin:
        known = table(rig, 1_500, np.random.default_rng([41, seed]))
        found = fb.discover(
            known, "moisture", rule=lambda path: ["feed", "air", "belt"], steps=50, distilled=100, folds=1
        )
        return found.twin(steps=500, width=32, depth=2, batch=512)

    monkeypatch.setattr(rigs, "made", quick)
    rows = measure("rigs", rigs=["dryer"], tables=2, rows=600, streams=1)["rows"]
    told = {row["what"]: row for row in rows}
    assert list(told) == ["dryer: nothing", "dryer: a damp month", "dryer: door open"]
    assert told["dryer: nothing"]["alarms"] + told["dryer: a damp month"]["alarms"] <= 1
    door = told["dryer: door open"]
    assert (door["found"], door["named_rightly"], door["faults_rightly"], door["of"]) == (2, 2, 2, 2)
    assert door["streams_alarmed"] == 1 and door["streams_alarmed_before"] == 0 and 0 < door["rows_to_alarm"] <= 600
