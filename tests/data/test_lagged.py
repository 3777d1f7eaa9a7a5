"""Lag columns against a slow, obvious reference, and what bad trajectories are told."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebear.data.lagged import lagged
from forebear.errors import InputError


def reference(
    frame: pd.DataFrame, state: list[str], action: list[str], lags: int, increments: bool
) -> list[dict[str, Any]]:
    """Row by row, episodes in order of first appearance."""
    rows = []
    everything: list[dict[Any, Any]] = frame.to_dict(orient="records")
    for run in frame["run"].unique():
        path = [row for row in everything if row["run"] == run]
        for t in range(lags, len(path) - 1):
            row: dict[str, Any] = {"run": run}
            for k in range(lags + 1):
                row |= {f"{name}_{k}": path[t - k][name] for name in state + action}
            for name in state:
                if increments:
                    row[f"d_{name}"] = path[t + 1][name] - path[t][name]
                else:
                    row[f"next_{name}"] = path[t + 1][name]
            rows.append(row)
    return rows


@st.composite
def trajectories(draw: st.DrawFn) -> pd.DataFrame:
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    runs = rng.permutation(np.repeat([f"run {i}" for i in range(len(lengths))], lengths))
    values = rng.normal(size=(len(runs), 3))
    return pd.DataFrame({"x": values[:, 0], "run": runs, "v": values[:, 1], "u": values[:, 2]})


@given(trajectories(), st.integers(0, 4), st.booleans())
def test_same_as_the_reference(frame: pd.DataFrame, lags: int, increments: bool) -> None:
    expected = reference(frame, ["x", "v"], ["u"], lags, increments)
    options: dict[str, Any] = {"lags": lags, "episode": "run", "increments": increments}
    if not expected:
        with pytest.raises(InputError, match="lower lags, or record longer episodes"):
            lagged(frame, ["x", "v"], ["u"], **options)
        return
    made = lagged(frame, ["x", "v"], ["u"], **options)
    pd.testing.assert_frame_equal(made.table, pd.DataFrame(expected), check_dtype=False)
    assert made.groups == {f"lag {k}": (f"x_{k}", f"v_{k}", f"u_{k}") for k in range(lags + 1)}
    assert made.candidates == tuple(name for group in made.groups.values() for name in group)
    assert made.targets == (("d_x", "d_v") if increments else ("next_x", "next_v"))
    assert made.periodic == {}


@given(trajectories(), st.integers(0, 2**32))
def test_time_undoes_a_shuffle(frame: pd.DataFrame, seed: int) -> None:
    frame = frame.sort_values("run", kind="stable").reset_index(drop=True)
    frame["t"] = frame.groupby("run").cumcount() * 0.1
    if frame["run"].value_counts().to_numpy().max() < 3:
        return
    expected = lagged(frame, "x", "u", lags=1, episode="run").table
    shuffled = frame.sample(frac=1, random_state=seed % 2**32)
    found = lagged(shuffled, "x", "u", lags=1, episode="run", time="t").table.sort_values("run", kind="stable")
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected)


def test_one_trajectory_from_any_table() -> None:
    data = {"x": [1, 2, 4, 7], "u": [0.5, 0.25, 0.0, 1.0]}
    for table in (data, pd.DataFrame(data), pl.DataFrame(data)):
        made = lagged(table, "x", "u", lags=1)
        assert made.table.to_dict("list") == {
            "x_0": [2, 4], "u_0": [0.25, 0.0], "x_1": [1, 2], "u_1": [0.5, 0.25], "d_x": [2, 3],
        }  # fmt: skip


def test_no_lags_and_no_action() -> None:
    made = lagged({"x": [1, 2, 4]}, ["x"], lags=0)
    assert made.table.to_dict("list") == {"x_0": [1, 2], "d_x": [1, 2]}
    assert made.groups == {"lag 0": ("x_0",)}


def test_changes_of_an_angle_go_the_short_way_round() -> None:
    angle = [170.0, -170.0, 10.0, 190.0, 190.0 - 1e-15, 550.0]
    made = lagged({"a": angle, "u": angle}, "a", "u", lags=1, periodic={"a": 360, "u": 90})
    assert made.table["d_a"].tolist() == [-180.0, -180.0, 0.0, 0.0]
    assert made.periodic == {"a_0": 360.0, "u_0": 90.0, "a_1": 360.0, "u_1": 90.0}
    assert lagged({"a": angle}, "a", lags=0, periodic={"a": 360.0}).table["d_a"].tolist()[0] == 20.0


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.floats(0.1, 100))
def test_wrapped_changes_stay_in_range(angles: list[float], period: float) -> None:
    change = lagged({"a": angles}, "a", lags=0, periodic={"a": period}).table["d_a"].to_numpy()
    assert (change >= -period / 2).all() and (change < period / 2).all()
    turns = (np.diff(angles) - change) / period
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-6)


def test_discrete_actions_keep_their_labels() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "u": pd.Categorical(["l", "r", "l"]), "on": [True, False, True]})
    made = lagged(frame, "x", ["u", "on"], lags=0)
    assert made.table["u_0"].tolist() == ["l", "r"] and made.table["on_0"].dtype == bool
    assert isinstance(made.table["u_0"].dtype, pd.CategoricalDtype)


def test_dates_can_order_rows() -> None:
    for zone in (None, "UTC"):
        times = pd.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02"]).tz_localize(zone)
        made = lagged(pd.DataFrame({"t": times, "x": [4.0, 1.0, 2.0]}), "x", lags=0, time="t")
        assert made.table["x_0"].tolist() == [1.0, 2.0]


def test_many_short_episodes_are_fast() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"run": np.repeat(np.arange(50_000), 10), "x": rng.normal(size=500_000)})
    start = time.perf_counter()
    assert len(lagged(frame, "x", lags=3, episode="run").table) == 50_000 * 6
    assert time.perf_counter() - start < 5


# ---------------------------------------------------------------- bad input


GOOD = {"x": [1.0, 2.0, 4.0, 3.0], "u": [0.0, 1.0, 0.0, 2.0], "run": [0, 0, 1, 1], "t": [0, 1, 0, 1]}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown state": ({"state": "xx"}, "no column 'xx' (named in state). Did you mean 'x'?"),
    "unknown action": ({"action": ["uu"]}, "no column 'uu' (named in action). Did you mean 'u'?"),
    "unknown episode": ({"episode": "runs"}, "no column 'runs' (named in episode). Did you mean 'run'?"),
    "unknown time": ({"time": "tt"}, "no column 'tt' (named in time). Did you mean 't'?"),
    "no state": ({"state": []}, "state is empty: name at least one column that the system moves"),
    "two episodes": ({"episode": ["run", "t"]}, "episode must name one column; got ['run', 't']"),
    "overlap": (
        {"state": ["x", "u"], "action": ["u"]},
        "'u' named in both state and action: name each in one of them",
    ),
    "episode is a state": (
        {"episode": "x"},
        "column 'x' is named in episode and in state or action: choose one",
    ),
    "stray period": ({"periodic": {"t": 1.0}}, "periodic names 't', neither a state nor an action: drop it"),
    "short trajectory": (
        {"lags": 3},
        "the trajectory has 4 rows, but lags=3 needs lags + 2 = 5: lower lags, or record longer episodes",
    ),
    "short episodes": (
        {"episode": "run", "lags": 1},
        "the longest episode has 2 rows, but lags=1 needs lags + 2 = 3: lower lags, or record longer episodes",
    ),
    "same time": (
        {"time": "t"},
        "column 't' is the same in rows 1 and 3 (and 1 more such pairs): drop one of the two, or name the episodes",
    ),
    "nan": (
        {"x": [1.0, np.nan, 2.0, 3.0]},
        "column 'x' has no value in row 2: drop or fill those rows",
    ),
    "nan in an action": (
        {"u": [1.0, 2.0, 2.0, None]},
        "column 'u' has no value in row 4: drop or fill those rows",
    ),
    "missing label": (
        {"u": ["a", None, "b", "b"]},
        "column 'u' has no value in row 2: drop or fill those rows",
    ),
    "missing episode": (
        {"run": [0, None, 1, 1], "episode": "run"},
        "column 'run' has no value in row 2: drop or fill those rows",
    ),
    "text": (
        {"x": ["a", "b", "c", "a"]},
        "column 'x' must hold numbers but holds labels such as 'a': convert it to numbers",
    ),
    "booleans": (
        {"x": [True, False, True, True]},
        "column 'x' must hold numbers but holds labels such as True: convert it to numbers",
    ),
}


@pytest.mark.parametrize("change, told", BAD.values(), ids=BAD)
def test_bad_trajectories(change: dict[str, Any], told: str) -> None:
    data = GOOD | {name: cells for name, cells in change.items() if name in GOOD}
    options = {"state": "x", "action": "u", "lags": 0}
    options |= {name: value for name, value in change.items() if name not in GOOD}
    with pytest.raises(InputError) as caught:
        lagged(data, **options)
    assert str(caught.value) == f"the table: {told}"


def test_same_time_within_an_episode() -> None:
    data = {"x": [1.0, 2.0, 4.0], "t": [0, 1, 1], "run": ["a", "a", "a"]}
    with pytest.raises(InputError) as caught:
        lagged(data, "x", lags=0, episode="run", time="t")
    assert str(caught.value) == (
        "the table: column 't' is the same in rows 2 and 3 of one episode: drop one of the two"
    )


@pytest.mark.parametrize("lags", [-1, 1.5, True, "3", None])
def test_bad_lags(lags: Any) -> None:
    with pytest.raises(InputError) as caught:
        lagged(GOOD, "x", lags=lags)
    assert str(caught.value) == (
        f"lags must be a whole number, 0 or above; got {lags!r}: 9 means now and nine steps back"
    )


def test_names_that_would_clash() -> None:
    data = {"x_0": [1.0, 2.0, 4.0], "d_x": [0.0, 1.0, 0.0]}
    with pytest.raises(InputError) as caught:
        lagged(data, ["x_0", "d_x"], lags=0)
    assert str(caught.value) == (
        "the table: more than one column of the result would be named 'd_x_0': rename a column"
    )


# ---------------------------------------------------------------- clocks


def test_timestamps_order_a_trajectory_and_no_window_crosses_a_gap() -> None:
    first, second = (pd.date_range(day, periods=20, freq="min") for day in ("2026-01-01", "2026-01-02"))
    times = [*first, *second[:10]]
    frame = pd.DataFrame({"t": [f"{time:%Y-%m-%dT%H:%M}+01:00" for time in times], "x": np.arange(30.0) ** 2})
    made = lagged(frame.iloc[::-1], state="x", lags=2, time="t")
    assert len(made.table) == (20 - 3) + (10 - 3)
    assert made.table["x_0"].tolist()[:2] == [4.0, 9.0]
    assert 400.0 - 361.0 not in made.table["d_x"].tolist(), "the step over the night is no step"


def test_irregular_times_are_told_and_put_on_a_grid() -> None:
    rng = np.random.default_rng(0)
    at = np.cumsum(rng.uniform(0.5, 1.5, size=200))
    frame = pd.DataFrame({"t": at, "x": at})
    with pytest.warns(UserWarning, match="irregular"):
        lagged(frame, state="x", lags=1, time="t")
    made = lagged(frame, state="x", lags=1, time="t", step=1.0, tolerance="2 s")
    steps = made.table["d_x"].to_numpy()
    assert abs(steps.mean() - 1.0) < 0.05 and (steps >= 0).all()


def test_two_clocks_are_joined_as_of_a_time() -> None:
    fast = pd.DataFrame({"t": np.arange(100.0), "flow": np.arange(100.0)})
    slow = pd.DataFrame({"t": np.arange(0.0, 100.0, 10.0), "level": np.arange(10.0)})
    made = lagged([fast, slow], state="flow", action="level", lags=1, time="t", tolerance=5)
    told = made.table["level_0"].isna().to_numpy()
    assert told.mean() == pytest.approx(0.4, abs=0.02), "a level older than five seconds is missing"
    assert made.table["level_0"].dropna().isin(range(10)).to_numpy().all()
    with pytest.raises(InputError, match="tolerance"):
        lagged([fast, slow], state="flow", action="level", lags=1, time="t")


def test_a_lag_table_needs_no_respelling() -> None:
    import forebear as fb

    rng = np.random.default_rng(0)
    x = np.zeros(900)
    for i in range(1, 900):
        x[i] = 0.8 * x[i - 1] + rng.normal()
    made = lagged({"x": x}, state="x", lags=2)
    found = fb.discover(made, steps=150, distilled=200, rows="independent")
    assert found.targets == ("d_x",) and found.ancestors["d_x"] == ("lag 0",)
    kept = fb.discover(made, keep="x_0", steps=50, distilled=100, rows="independent")
    assert set(kept.questions["d_x"].candidates) == {"lag 1", "lag 2"}
