"""How long a search may take: the guess is as good as the measurements that are stored, and learns from runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebear.studio.estimate import Work, estimate, told, usual

RESULTS = Path(__file__).parents[2] / "results"


def measured() -> list[tuple[Work, float]]:
    """Single targets on two cores: candidates that were searched, seconds."""

    def rows(name: str) -> list[dict[str, float]]:
        return json.loads((RESULTS / f"bench-{name}.json").read_text(encoding="utf-8"))["rows"]

    found = [(Work(int(row["of"]), 1), row["ours_s"]) for row in rows("pruning")]
    found += [(Work(20, 1), row["ours_s"]) for row in rows("size")]
    # Of so many candidates a quick look leaves 80.
    return found + [(Work(80, 1), row["discovery_s"]) for row in rows("wide") if "discovery_s" in row]


def test_stored_measurements_lie_in_the_range() -> None:
    inside = [one.low <= seconds <= one.high for work, seconds in measured() for one in [estimate(work)]]
    assert len(inside) >= 14 and all(inside)


def test_the_pace_of_this_machine_is_that_of_its_runs() -> None:
    work = Work(8, 2)
    slow = [(Work(5, 1), 3 * usual(Work(5, 1))), (Work(9, 3), 3 * usual(Work(9, 3)))]
    assert estimate(work, slow).low == pytest.approx(3 * estimate(work).low)
    assert "this machine" in told(work, 0.7, slow)["source"] and "another machine" in told(work, 0.7, [])["source"]


@pytest.mark.parametrize("more", [Work(20, 1), Work(10, 4), Work(10, 1, 5)])
def test_more_work_takes_longer(more: Work) -> None:
    assert usual(more) > usual(Work(10, 1))
