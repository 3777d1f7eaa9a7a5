"""What people of other libraries try on a twin and on a result, and what they are told."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports import made_by_hand
from toys import toy_twin

import forebear as fb
from forebear.data.scaling import ColumnCode
from forebear.twin.reference import Reference, set_aside


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(80, 3)), columns=["load", "speed", "heat [K]"])


@pytest.fixture(scope="module")
def twin(frame: pd.DataFrame) -> fb.Twin:
    return toy_twin(frame, {"heat [K]": ["load", "speed"]})


@pytest.mark.parametrize("name", ["predict", "score", "fit", "plot"])
def test_names_of_other_libraries_are_answered(twin: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"a twin has no '{name}': write twin|a twin has no 'fit': write found"):
        getattr(twin, name)


def test_other_names_fail_as_everywhere(twin: Any) -> None:
    with pytest.raises(AttributeError, match="'Twin' object has no attribute 'sampel'") as told:
        _ = twin.sampel
    assert told.value.name == "sampel"  # from which Python guesses what was meant
    assert copy.copy(twin).targets == twin.targets and not hasattr(twin, "predict")


def test_a_twin_is_validated_on_the_rows_that_it_keeps(twin: fb.Twin, frame: pd.DataFrame) -> None:
    kept = frame.tail(40)
    reference = Reference(kept[["load", "speed"]].to_numpy(), kept[["heat [K]"]].to_numpy())
    told = replace(twin, reference=reference).validate()
    assert told.rows == 40 and told.scores == twin.validate(kept).scores
    with pytest.raises(fb.InputError, match=r"no rows were set aside for this twin: .*twin.validate\(rows\)"):
        twin.validate()


def test_rows_set_aside_have_their_labels_and_gaps(twin: fb.Twin) -> None:
    columns = (ColumnCode("load", "category", levels=("low", "high")), twin.columns[1])
    kept = Reference(np.array([[1.0, 0.5], [np.nan, np.nan]]), np.array([[1.0], [2.0]]))
    rows = set_aside(replace(twin, columns=columns, reference=kept))
    assert rows["load"].tolist() == ["high", None] and rows["heat [K]"].tolist() == [1.0, 2.0]
    assert np.isnan(rows["speed"][1])


@pytest.mark.parametrize("what", ["ancestors", "paths", "certificates", "verdicts", "why", "effects", "classes"])
def test_a_target_that_is_none_is_answered_with_the_one_that_is_meant(what: str) -> None:
    found = made_by_hand(["T_out [°C]", "wear"], ["a", "b"], {"wear": ["a"]})
    with pytest.raises(fb.InputError, match=r"'T_out' is not a target. Did you mean 'T_out \[°C\]'\?"):
        getattr(found, what)["T_out"]
    with pytest.raises(KeyError):
        getattr(found, what)["T_out"]
    assert list(getattr(found, what)) == ["T_out [°C]", "wear"] and getattr(found, what).get("T_out") is None
