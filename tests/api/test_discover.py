"""The public call: what can be asked, what comes back, and what is kept on disk.

Most tests ask for the published rule, which needs no certificate, and train small networks for a moment.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import forebear as fb
from forebear.api.found import as_json
from forebear.discovery.embed import Lengthscales

TINY: dict[str, Any] = {"steps": 300, "distilled": 400, "width": 32, "depth": 2, "rule": "nsr-jump"}
KERNEL: dict[str, Any] = {"lengthscale": 1.0, "latent_lengthscale": 1.0, "nugget": 1.0}
ROWS = 2_000


def find(data: Any, targets: Any = None, **options: Any) -> fb.Found:
    return fb.discover(data, targets, **{**TINY, **options})


def noise(seed: int = 0, columns: str = "abc", rows: int = ROWS) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, len(columns))), columns=list(columns))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """b moves the mean of y, a the spread of s; c moves nothing."""
    data, w = noise(), np.random.default_rng(1).normal(size=(2, ROWS))
    data["y"] = data["b"] + 0.3 * w[0]
    data["s"] = data["a"] * w[1]
    return data


@pytest.fixture(scope="module")
def found(table: pd.DataFrame) -> fb.Found:
    return find(table, ["y", "s"])


def answers(found: fb.Found) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "seconds"}


# What is asked


def test_many_targets(found: fb.Found) -> None:
    assert found.targets == ("y", "s")
    assert found.ancestors == {"y": ("b",), "s": ("a",)}
    assert found.union() == ("a", "b")
    assert found.union(["s"]) == ("a",)


def test_without_targets_every_column_is_one(table: pd.DataFrame) -> None:
    found = find(table[["a", "s", "b"]])
    assert found.targets == ("a", "s", "b")
    assert found.ancestors["s"] == ("a",)
    assert all(target not in path for target, path in found.paths.items())


def test_excluded_candidates_never_appear(table: pd.DataFrame) -> None:
    """The true ancestor of y is ruled out, and only for y."""
    found = find(table, ["y", "s"], candidates={"y": ["a", "c"], "s": ["a", "b", "c"]})
    assert set(found.paths["y"]["removed"].dropna()) == {"a", "c"}
    assert "b" not in found.ancestors["y"] and not found.graph.has_edge("b", "y")
    assert found.ancestors["s"] == ("a",)


def test_kept_inputs_stay(table: pd.DataFrame) -> None:
    found = find(table, "y", candidates=["a", "b"], keep=["c"])
    assert found.ancestors == {"y": ("b", "c")}
    assert set(found.paths["y"]["removed"].dropna()) == {"a", "b"}
    assert found.graph.edges["c", "y"]["by_request"] and not found.graph.edges["b", "y"]["by_request"]


def test_groups_go_whole_and_are_called_by_name(table: pd.DataFrame) -> None:
    found = find(table.drop(columns="s"), "y", groups={"pair": ["b", "c"]})
    assert found.ancestors == {"y": ("pair",)}
    assert sorted(found.paths["y"]["removed"].dropna()) == ["a", "pair"]


def test_periodic_inputs() -> None:
    data = noise(columns="ab")
    data["angle"] = np.random.default_rng(1).uniform(-20, 20, ROWS)
    data["y"] = np.cos(2 * np.pi * data["angle"] / 5) + 0.2 * np.random.default_rng(2).normal(size=ROWS)
    assert find(data, "y", periodic={"angle": 5.0}).ancestors == {"y": ("angle",)}


@pytest.mark.parametrize("options", [{**KERNEL, "rule": "nsr-jump"}, {"rule": "certified", "subset_steps": 600}])
def test_categories_and_booleans_as_inputs(options: dict[str, Any]) -> None:
    """The published rule has its kernel fixed: the grid can give `a` one so smooth that it outranks a category."""
    rng = np.random.default_rng(0)
    data = noise(columns="a")
    data["colour"] = rng.choice(["red", "green", "blue"], ROWS)
    data["flag"] = rng.random(ROWS) < 0.4
    data["idle"] = rng.choice(["u", "v"], ROWS)
    level = np.select([data["colour"] == "green", data["colour"] == "blue"], [2.0, -1.0])
    data["y"] = level + np.where(data["flag"], 2.0, 0.3) * rng.normal(size=ROWS)
    assert find(data, "y", **options).ancestors == {"y": ("colour", "flag")}


def counts(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(np.exp(0.8 * x))


def quarter_zero(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(x)) < 0.25, 0.0, 1.0 + np.exp(0.5 * x) * np.abs(rng.normal(size=len(x))))


def labels(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(x)) < 1 / (1 + np.exp(-3 * x)), "yes", "no")


def truths(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(x)) < 1 / (1 + np.exp(-3 * x))


@pytest.mark.parametrize("target", [counts, quarter_zero, labels, truths])
def test_targets_that_are_not_continuous(target: Any) -> None:
    data = noise()
    data["y"] = target(data["b"].to_numpy(), np.random.default_rng(1))
    assert find(data, "y", **KERNEL).ancestors == {"y": ("b",)}


@pytest.mark.parametrize("kind", ["dict", "polars", "csv"])
def test_sources_give_one_answer(kind: str, table: pd.DataFrame, found: fb.Found, tmp_path: FilePath) -> None:
    data: Any = {str(name): table[name].to_numpy() for name in table}
    if kind == "polars":
        data = pl.DataFrame(data)
    if kind == "csv":
        table.to_csv(tmp_path / "table.csv", index=False)
        data = tmp_path / "table.csv"
    assert answers(find(data, ["y", "s"])) == answers(found)


# Samplers and rules


def test_joint_targets_share_their_latents(table: pd.DataFrame) -> None:
    found = find(table, ["y", "s"], joint=True, steps=600)
    assert found.ancestors == {"y": ("b",), "s": ("a",)}
    assert found.settings["joint"] is True


def test_joint_targets_need_the_same_inputs(table: pd.DataFrame) -> None:
    with pytest.raises(fb.InputError, match="joint=True needs the same inputs"):
        find(table, joint=True, candidates={"y": ["a"], "s": ["a", "b"]})


def test_gaussian_sampler_sees_mean_and_spread(table: pd.DataFrame) -> None:
    assert find(table, ["y", "s"], sampler="gaussian").ancestors == {"y": ("b",), "s": ("a",)}


def test_mean_sampler_sees_the_mean_alone(table: pd.DataFrame) -> None:
    """What it learns of s = a w is chance: a cannot be told from the other inputs by it."""
    found = find(table, ["y", "s"], sampler="mean")
    assert found.ancestors["y"] == ("b",)
    # Slowly trained: the mean of a few noisy rows would be learned as well.
    others = [table.assign(s=table["a"] * noise(seed, "w")["w"]) for seed in range(3)]
    sets = [find(other, "s", sampler="mean", steps=200, rate=5e-3).ancestors["s"] for other in others]
    assert sum(chosen != ("a",) for chosen in sets) >= 2


@dataclass(frozen=True)
class Copy:
    """A law without a latent that a user might write: y is the column it was told."""

    column: str
    latents: int = 0

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        assert z.shape == (len(given), 0)
        return given[[self.column]].to_numpy()


@dataclass
class Copier:
    column: str
    fits: int = 0

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Copy:
        self.fits += 1
        assert list(y.columns) == ["y"] and len(y) == len(given)
        return Copy(self.column)


def test_own_sampler(table: pd.DataFrame) -> None:
    sampler = Copier("c")
    assert find(table, "y", candidates=list("abc"), sampler=sampler).ancestors == {"y": ("c",)}
    assert sampler.fits == 2  # one a fold


def test_sampler_that_returns_nonsense(table: pd.DataFrame) -> None:
    class Nonsense(Copy):
        def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
            return np.full((len(given), 1), np.nan)

    class Fitter:
        def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Copy:
            return Nonsense("a")

    with pytest.raises(FloatingPointError, match="not finite"):
        find(table, "y", sampler=Fitter())


def test_own_rule(table: pd.DataFrame) -> None:
    found = find(table, "y", rule=lambda path: path.remaining(1))
    assert found.ancestors["y"] == found.paths["y"]["remaining"][1]
    with pytest.raises(fb.InputError, match="chose 'd', which is not among the candidates"):
        find(table, "y", rule=lambda path: ("d",))


def path_of(*nsr: float) -> fb.Path:
    units = tuple("abc"[: len(nsr) - 1])
    scores = np.full((len(nsr), len(units)), 0.5)
    return fb.Path(units, units, nsr, scores, (1.0,) * len(nsr), Lengthscales(1.0, 1.0))


def test_largest_jump() -> None:
    rule = fb.LargestJump()
    assert rule(path_of(0.1, 0.2, 0.9, 1.0)) == ("b", "c")
    assert rule(path_of(0.1, 0.2, 0.3, 1.0)) == ("c",)  # the step to the empty set counts
    assert rule(path_of(0.1, 0.9, 0.95, 1.0)) == ("a", "b", "c")
    assert rule(path_of(0.9, 0.8, 0.7, 0.6)) == ()  # nothing is missed when it goes
    assert rule(path_of(0.9, 0.9)) == ()


def test_certified_answer_can_be_none_and_comes_with_evidence(table: pd.DataFrame) -> None:
    """The default rule, for a target that something moves and for one that nothing does."""
    options: dict[str, Any] = {"rule": "certified", "steps": 200, "subset_steps": 600, "candidates": list("abc")}
    found = find(table.assign(n=noise(7, "n")["n"]), ["s", "n"], **options)
    assert found.ancestors == {"s": ("a",), "n": ()}
    assert found.certificates["s"]["kept"].to_dict() == {"a": True, "b": False, "c": False}
    assert found.certificates["s"].loc["a", "p_value"] < 1e-3 < found.certificates["s"].loc["b", "p_value"]
    assert found.effects["s"].loc["a", "acts"] == "scale"
    assert [line.split(":")[0] for line in found.summary().splitlines()] == ["s <- a", "n <- none of the candidates"]


def test_other_rules_make_no_certificates(found: fb.Found) -> None:
    with pytest.raises(fb.InputError, match="rule 'nsr-jump' makes no certificates"):
        found.certificates  # noqa: B018


# Repeats, seeds, workers


def test_same_seed_same_bits(table: pd.DataFrame, found: fb.Found) -> None:
    assert answers(find(table, ["y", "s"])) == answers(found)
    other = find(table, ["y", "s"], seed=1)
    assert other.paths["y"]["nsr"].tolist() != found.paths["y"]["nsr"].tolist()


def test_repeats_differ_and_are_counted(table: pd.DataFrame) -> None:
    # b and whichever of a and c is luckier
    found = find(table, "y", runs=3, candidates=list("abc"), rule=lambda path: path.remaining(1))
    ratios = {run["y"].nsr for run in found.runs}
    assert len(found.runs) == len(found.choices) == 3 and len(ratios) == 3
    shares = found.frequencies["y"]
    assert shares["b"] == 1.0 and shares["a"] + shares["c"] == pytest.approx(1.0)
    assert found.ancestors["y"] == tuple(unit for unit in "abc" if shares[unit] > 0.5)
    assert found.graph.edges["b", "y"]["frequency"] == 1.0


def test_workers_do_not_change_the_answer(table: pd.DataFrame) -> None:
    options: dict[str, Any] = {"runs": 2, "sampler": "mean", "steps": 100, "distilled": 100, **KERNEL}
    assert answers(find(table, "y", jobs=2, **options)) == answers(find(table, "y", jobs=1, **options))


# On disk


@dataclass
class Fragile:
    """A sampler whose power fails at the third fit."""

    left: int = 2

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Copy:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return Copy("b")


def test_interrupted_run_resumes(table: pd.DataFrame, tmp_path: FilePath) -> None:
    options: dict[str, Any] = {"runs": 3, "folds": 1, "candidates": list("abc")}
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        find(table, "y", sampler=Fragile(), out=out, **options)
    assert len(list((out / "pieces").iterdir())) == 2
    with pytest.raises(fb.InputError, match="no finished run"):
        fb.load(out)
    resumed = find(table, "y", sampler=Fragile(left=1), out=out, **options)
    whole = find(table, "y", sampler=Fragile(left=3), **options)
    assert answers(resumed) == answers(whole)
    assert answers(fb.load(out)) == answers(whole)


def test_folder_of_another_run_is_refused(table: pd.DataFrame, tmp_path: FilePath) -> None:
    options: dict[str, Any] = {"sampler": Copier("b"), "out": tmp_path, "candidates": list("abc")}
    find(table, "y", **options)
    with pytest.raises(fb.InputError, match="holds a run with another 'seed' \\(0, now 1\\)"):
        find(table, "y", seed=1, **options)
    with pytest.raises(fb.InputError, match="another 'data'"):
        find(table.assign(a=table["a"] + 1), "y", **options)
    with pytest.raises(fb.InputError, match="another 'distilled'"):
        find(table, "y", **{**options, "distilled": 300})


def test_two_processes_do_not_share_a_folder(table: pd.DataFrame, tmp_path: FilePath) -> None:
    hold = "with alone_in(sys.argv[1]): print(1, flush=True); input()"
    other = f"import sys; from forebear.storage.lock import alone_in\n{hold}"
    command = [sys.executable, "-c", other, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "1\n"
        told = f"process {process.pid} is at work in this folder: wait for it, or choose another folder"
        options: dict[str, Any] = {"sampler": Copier("b"), "candidates": list("abc")}
        with pytest.raises(fb.InputError, match=told):
            find(table, "y", out=tmp_path, **options)
        process.kill()
    assert find(table, "y", out=tmp_path, **options).ancestors == {"y": ("b",)}


def test_saved_result_comes_back_whole(found: fb.Found, tmp_path: FilePath) -> None:
    found.save(tmp_path / "deep" / "run")
    again = fb.load(tmp_path / "deep" / "run")
    assert again.to_dict() == found.to_dict()
    assert again.questions == found.questions
    for target in found.targets:
        pd.testing.assert_frame_equal(again.paths[target], found.paths[target])


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 99}'])
def test_damaged_results_are_refused(text: str, tmp_path: FilePath) -> None:
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(fb.InputError):
        fb.load(tmp_path)


# What comes back


def test_path_frames(found: fb.Found) -> None:
    frame = found.paths["y"]
    assert list(frame) == ["step", "removed", "nsr", "increment", "remaining", "nugget", "fit", "a", "b", "c"]
    assert frame["step"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(frame["increment"][1:], np.diff(frame["nsr"]))
    assert frame["remaining"].tolist()[0] == ("a", "b", "c") and frame["remaining"].tolist()[-1] == ()
    # A unit has a score until it goes.
    assert frame[["a", "b", "c"]].notna().sum(axis=1).tolist() == [3, 2, 1, 0]
    for step in (0, 1, 2):
        assert frame["removed"][step + 1] == frame.loc[step, ["a", "b", "c"]].astype(float).idxmin()


def test_graph(found: fb.Found) -> None:
    graph = found.graph
    assert set(graph.edges) == {("b", "y"), ("a", "s")}
    assert set(graph) == {"a", "b", "c", "y", "s"}
    edge = graph.edges["b", "y"]
    assert edge["score"] == found.paths["y"]["b"][0] and edge["frequency"] == 1.0 and edge["by_request"] is False


def test_json_is_plain(found: fb.Found) -> None:
    answer = json.loads(as_json(found))
    assert answer == found.to_dict()
    assert answer["targets"]["y"]["ancestors"] == ["b"]
    assert set(answer["targets"]["y"]["scores"]) == {"a", "b", "c"}
    assert len(answer["targets"]["y"]["nsr"]) == 4 and len(answer["targets"]["y"]["removed"]) == 3


def test_figures(found: fb.Found) -> None:
    import matplotlib.pyplot as plt

    figure = found.plot()
    assert len(figure.axes) == 3
    axis = plt.figure().add_subplot()
    assert found.plot_path("y", ax=axis) is axis and "y" in axis.get_title(loc="left")
    assert found.plot_graph(ax=plt.figure().add_subplot()).patches
    plt.close("all")
    with pytest.raises(fb.InputError, match="'z' is not a target"):
        found.plot_path("z")


# Slips


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"stesp": 3}, "unknown setting 'stesp'. Did you mean 'steps'"),
        ({"rule": "nsr-jmp"}, "Did you mean 'nsr-jump'"),
        ({"sampler": "flw"}, "Did you mean 'flow'"),
        ({"sampler": object()}, "sampler must be a name or have a method fit"),
        ({"preset": "papr"}, "Did you mean 'paper'"),
        ({"steps": 0}, "'steps' must be a whole number"),
        ({"nugget": -1.0}, "'nugget' must be a number above 0"),
        ({"solver": "euler"}, "setting 'solver' is 'euler'"),
        ({"runs": 0}, "runs must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"jobs": 0}, "jobs must be a whole number"),
        ({"targets": "yy"}, "no column 'yy'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_slips_are_named(options: dict[str, Any], told: str, table: pd.DataFrame) -> None:
    with pytest.raises(fb.InputError, match=told.replace("(", "\\(")) as caught:
        fb.discover(table, **{"targets": "y", **TINY, **options})
    assert "\n" not in str(caught.value)
