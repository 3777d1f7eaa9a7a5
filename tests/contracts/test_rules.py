"""What every rule must do: choose among the candidates, from what was found out, the same every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick import QUICK
from skeletons import skeleton

import forebear as fb
from forebear.discovery.choose import RULES, choose, find_rule, needs_certificate

ALL = {
    **{name: make() for name, make in RULES.items()},
    "skeleton, path": skeleton("rule").three_largest_scores,
    "skeleton, certificate": skeleton("rule").SurelyNeeded(),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(400, 4)), columns=["a", "b", "c", "d"])
    return data.assign(y=3 * data["b"] + rng.normal(size=400))


@pytest.fixture(scope="module")
def found(table: pd.DataFrame) -> fb.Found:
    return fb.discover(table, "y", groups={"pair": ["c", "d"]}, **QUICK)


@pytest.mark.parametrize("name", ALL)
def test_chooses_among_the_candidates_the_same_every_time(name: str, found: fb.Found) -> None:
    rule, path = ALL[name], found.runs[0]["y"]
    certificate = found.certified[0]["y"] if needs_certificate(rule) else None
    first, again = (choose(rule, path, certificate) for _ in range(2))
    assert first == again and set(first) <= set(path.candidates) and len(set(first)) == len(first)
    assert "b" in first


@pytest.mark.parametrize("name", ALL)
def test_is_what_discover_answers(name: str, table: pd.DataFrame) -> None:
    rule = ALL[name]
    found = fb.discover(table, "y", rule=rule, **QUICK)
    assert bool(found.certified[0]) == needs_certificate(rule)
    certificate = found.certified[0].get("y")
    assert found.ancestors["y"] == tuple(
        name for name in found.runs[0]["y"].candidates if name in choose(rule, found.runs[0]["y"], certificate)
    )


def test_certified_begins_where_it_is_told(table: pd.DataFrame) -> None:
    """Its search starts from the empty set and from what other rules suggest."""
    asked = []

    def everything(path: fb.Path) -> tuple[str, ...]:
        asked.append(path)
        return path.candidates

    found = fb.discover(table, "y", rule=fb.Certified(starts=[everything]), **QUICK)
    assert len(asked) == 1 and found.ancestors["y"] == ("b",)


def test_a_rule_that_chooses_a_stranger_is_one_line(found: fb.Found) -> None:
    with pytest.raises(fb.InputError, match="the rule chose 'bb', which is not among the candidates"):
        choose(lambda path: ["bb"], found.runs[0]["y"], None)


@pytest.mark.parametrize("rule", ["certifed", 3])
def test_what_is_no_rule_is_one_line(rule: Any) -> None:
    with pytest.raises(fb.InputError, match="unknown rule 'certifed'. Did you mean 'certified'|rule must be a name"):
        find_rule(rule)
