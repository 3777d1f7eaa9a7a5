"""Benchmarks run small: the shape of what they report, and the command around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from toys import toy_twin

import forebear as fb
from forebear.cli import main
from forebear.errors import InputError
from forebear.systems import pendulum
from forebear_experiments.benchmarks import BENCHES, environments, libraries, measure
from forebear_experiments.benchmarks.control import batched_mpc
from forebear_experiments.benchmarks.support import baselines

TINY = {"steps": 20, "distilled": 60, "width": 8, "depth": 1, "folds": 1, "ode_steps": 2, "rule": "nsr-jump"}


def test_list_names_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["names"]) == set(BENCHES) >= {"lorenz63", "pipeline"}
    assert all(find_spec(f"forebear_experiments.benchmarks.{name.replace('-', '_')}") for name in BENCHES)


def test_pipeline_counts_exact_sets_and_lists_the_wrong_ones() -> None:
    (row,) = measure("pipeline", names=["algebraic"], seeds=(0, 1), **TINY)["rows"]
    assert row["of"] == 4 and row["exact"] + len(row["wrong"]) == 4
    assert all(set(wrong) == {"seed", "target", "found", "truth"} for wrong in row["wrong"])
    assert "baseline_s" not in row


@pytest.mark.parametrize(
    ("bench", "wrong", "right"),
    [("pipeline", "lorenz36", "lorenz63"), ("cost", "heaat", "heat"), ("selection", "weaak", "weak")],
)
def test_a_system_that_is_not_there_is_refused(bench: str, wrong: str, right: str) -> None:
    with pytest.raises(InputError, match=f"'{wrong}'.* Did you mean '{right}'"):
        measure(bench, names=[wrong])


def test_bench_prints_a_table_or_one_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"what": "a [b]", "ours_s": 1.5, "wrong": [{"target": "y"}], "fast_exact": True}]
    answer = {"name": "lorenz63", "machine": {"cores": 2}, "rows": rows}

    def measured(name: str, tell: Callable[[Any], None]) -> Any:
        tell(rows[0])
        return answer

    monkeypatch.setattr("forebear_experiments.measuring.measure", measured)
    assert main(["bench", "lorenz63", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == answer
    _, told = captured.err.splitlines()
    assert told.startswith("forebear: a [b]: ours_s 1.5, wrong ")
    assert main(["bench", "lorenz63"]) == 0
    shown = capsys.readouterr().out
    assert "a [b]" in shown and "1.5" in shown and "target: y" in shown and "yes" in shown


@pytest.mark.slow
def test_lorenz63_tells_where_the_time_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "rcit", lambda x, y, seed, most: {0, 2} if len(x) == most else set())
    result = measure("lorenz63", trajectories=1, distilled=60, seeds=2, steps=20)
    cold, again, warm, alone = result["rows"]
    assert again["what"].endswith("once more, in a fresh process") and again["ours_s"] > 0
    assert cold["ratio"] == pytest.approx(cold["baseline_s"] / cold["ours_s"])
    assert "of 2 seeds" in warm["exact_graphs"]
    assert all(seconds > 0 for seconds in warm["stages_s"].values())
    assert alone["rcit_graph"] == {target: ["x1", "x3"] for target in ("dx1", "dx2", "dx3")}
    assert alone["ratio"] == pytest.approx(alone["baseline_s"] / alone["ours_s"])
    assert len(alone["seeds_s"]) == 2


def test_scaling_counts_what_the_obvious_way_would_do() -> None:
    one, *many, whole = measure("scaling", sizes=(34, 40), obvious=6, distilled=120, whole=0)["rows"] + [None]
    assert whole is None and one["baseline_s"] > 0 and one["peak_memory_gib"] > 0
    assert [row["what"].split()[1] for row in many] == ["34", "40"]
    assert isinstance(many[-1]["slope"], float) and many[-1]["slope_from"] == 34


def test_mpc_is_compared_with_three_loops() -> None:
    rows = batched_mpc(trials=3, steps=2, looped=1, scenarios=4)
    assert len({row["baseline"] for row in rows}) == 3 and len({row["ours_s"] for row in rows}) == 1
    assert all(row["ratio"] == pytest.approx(row["baseline_s"] / row["ours_s"]) for row in rows)


def test_libraries_do_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """As well as ours, that is: times are another matter."""
    monkeypatch.setattr(libraries, "_import_seconds", lambda statement, repeats=1: float(repeats))
    monkeypatch.setattr(libraries, "worker_rows", lambda jobs, pieces: iter(()))
    rows = measure("libraries", sizes=(80,), trials=2, tables=(150,), steps=300)["rows"]
    assert all(row["cores"] > 0 and row["load_before"] >= 0 and row["ours_s"] > 0 for row in rows)
    compared = [row for row in rows if "baseline" in row]
    assert all(row["ratio"] == pytest.approx(row["baseline_s"] / row["ours_s"]) for row in compared)
    plans = [row for row in rows if "cost" in row]
    assert all(row["cost"] == pytest.approx(row["baseline_cost"], rel=0.1) for row in plans) and len(plans) == 2
    (trained,) = (row for row in rows if "loss" in row)
    assert max(trained["loss"], trained["baseline_loss"]) < 0.1
    solved = [row for row in rows if "residual" in row]
    assert max(max(row["residual"], row["baseline_residual"]) for row in solved) < 1e-10 and len(solved) == 4


def test_a_killed_worker_costs_a_try_and_a_pool_all_that_is_left() -> None:
    whole, killed = [], []
    for row in libraries.worker_rows(jobs=2, pieces=5, steps=0):
        (killed if row["what"].endswith("killed") else whole).append(row)
    assert len(whole) == len(killed) == 2
    for row in killed:
        assert row["lost"] == 0 and row["tries"] == 6 and row["told"] == ""
        assert row["baseline_lost"] > 0 and row["baseline_tries"] >= 6 and "terminated" in row["baseline_told"]


def test_memory_states_the_matrix_that_was_not_held() -> None:
    [row] = measure("memory", distilled=300, trajectories=1, steps=20)["rows"]
    assert row["kernel_matrix_gib"] == round(8 * 300**2 / 2**30, 2) and len(row["nsr"]) == 4


def test_gpu_without_one_says_so() -> None:
    import jax

    if jax.default_backend() != "cpu":
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="needs a GPU"):
        measure("gpu")


@pytest.fixture(scope="module")
def small() -> fb.Twin:
    inputs = ("theta_0", "u_0", "theta_1", "u_1")
    return toy_twin(pendulum(episodes=2).table, {"dtheta": inputs}, {"theta_0": 2 * np.pi, "theta_1": 2 * np.pi})


def test_the_benchmark_reports_ratios_of_what_it_timed(monkeypatch: pytest.MonkeyPatch, small: fb.Twin) -> None:
    monkeypatch.setattr(environments, "_REPEATS", 1)
    monkeypatch.setattr(environments, "_twin", lambda training: small)
    together, alone, rolled = environments.run(envs=4, trajectories=5, steps=3)
    for row in (together, rolled):
        assert row["ratio"] == pytest.approx(row["baseline_s"] / row["ours_s"])
    assert min(alone["ours_s"], alone["dispatch_us"]) > 0


def test_the_benchmark_takes_dispatch_off_what_a_compiled_step_takes(
    monkeypatch: pytest.MonkeyPatch, small: fb.Twin
) -> None:
    monkeypatch.setattr(environments, "_least", lambda *timed: (3e-3, 2e-3, 0.5e-3))
    alone = environments._alone(small, calls=10)
    assert {name: alone[name] for name in ("ours_s", "dispatch_us", "compute_us")} == pytest.approx(
        {"ours_s": 3e-4, "dispatch_us": 50, "compute_us": 150}
    )


def test_assimilate_finds_hidden_states_and_says_how_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true model beside itself: no twin is trained here."""
    from forebear_experiments.benchmarks import assimilate

    monkeypatch.setattr(assimilate, "_fitted", lambda case, *rest: case.known)
    rows = measure("assimilate", rows=1_000, records=2, length=120, settle=40, particles=1_000)["rows"]
    assert [row["model"] for row in rows] == ["true model", "pruned twin", "unpruned twin"] * 3
    for row in rows[::3]:
        # Better than no observations at all, which would be off by a deviation; and calibrated.
        assert row["rmse"] < 0.85 and 0.75 < row["coverage"] <= 1 and np.isfinite(row["log_evidence"])
        assert 0.5 < row["rmse"] / row["spread"] < 2
    assert rows[0]["rmse"] == rows[1]["rmse"]


def test_monitor_counts_alarms_and_names() -> None:
    settings = {"kinds": ["independent rows"], "twins": 1, "tables": 2, "changed": 2, "sizes": (600,), "others": ()}
    rows = {row["what"]: row for row in measure("monitor", **settings)["rows"]}
    nothing = rows["independent rows: nothing, 600 rows"]
    assert nothing["alarms"] == 0 and nothing["of"] == 2
    slope = rows["independent rows: slope of an input in the second half of 600 rows"]
    assert slope["named_rightly"] <= slope["found"] == 2 and slope["rows_off"] < 100


@pytest.mark.slow
def test_a_served_twin_answers_everybody_and_turns_away_who_is_too_many() -> None:
    *served, few, many = measure("serve", clients=(2,), requests=40, seconds=5, steps=20, overload=2)["rows"]
    assert [row["failed"] for row in served] == [0] * 4 and all(row["per_second"] > 0 for row in served)
    for row in (few, many):
        assert row["answered"] > 0 and row["turned_away"] > 0 and row["other"] == 0


def test_update_measures_gain_forgetting_and_time() -> None:
    [row] = measure("update", cases=["shift in a corner"], seeds=1, old=1_500, new=500, blends=0)["rows"]
    assert row["said_changed"] == 1 and 0.5 < row["old_share"] < 1
    assert row["update_new"] < 0.5 * row["before_new"] and row["update_old"] < row["before_old"] + 0.05
    # On new rows alone hardly anything is known of the old ones, and among all rows the change is blurred.
    assert row["update_old"] < row["refit_new_old"] and row["ratio"] == row["baseline_s"] / row["ours_s"]


def test_regimes_counts_words_by_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words by hand are the real ones; ours are given here, as the discoveries are tested elsewhere."""
    from forebear_experiments.benchmarks import regimes

    class Told:
        regimes = pd.DataFrame({"law": {"y": "cannot tell"}})

    monkeypatch.setattr(regimes, "_discovered", lambda made, seed: Told())
    rows = measure("regimes", kinds=["the mean", "other mix of inputs"], tables=3, rows=1_200, readings=0)["rows"]
    changed, same = rows
    assert changed["changed_cannot_tell"] == same["unchanged_cannot_tell"] == 3
    assert changed["baseline_changed_changes"] == 3 and same["baseline_unchanged_same"] >= 2
    assert "unchanged_same" not in changed and "changed_same" not in same


def test_the_tables_of_regimes_are_what_they_say() -> None:
    from forebear_experiments.benchmarks.support.campaigns import REGIME, TABLES

    for kind, make in TABLES.items():
        made = make(300, np.random.default_rng(0))
        frame: Any = made.data.table if isinstance(made.data, fb.Lagged) else made.data
        assert set(made.changes) < set(frame.columns) and frame[REGIME].nunique() == 3, kind
        again = make(300, np.random.default_rng(0))
        pd.testing.assert_frame_equal(frame, again.data.table if isinstance(again.data, fb.Lagged) else again.data)


def test_stress_is_measured_beside_exact_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from forebear_experiments.benchmarks import stress

    first = stress._walk()[:1]
    monkeypatch.setattr(stress, "_walk", lambda: first)
    (row,) = measure("stress", systems=("walk",), seeds=4, draws=200)["rows"]
    assert row["truth"] == pytest.approx(0.00813, rel=1e-3) and row["mean"] == pytest.approx(row["truth"], rel=0.3)
    assert row["error"] < 0.3 and row["coverage"] >= 0.5 and row["times_fewer"] > 1


@pytest.mark.slow
def test_true_systems_are_stressed_as_they_are_simulated() -> None:
    """The step that is stressed and the one that is counted are two programs of one law."""
    from forebear_experiments.benchmarks import stress

    for case in (stress._langevin(400_000), stress._heat(1_200_000), stress._pendulum(400_000)):
        told = fb.stress(case.step, case.start, case.steps, case.limits, noise=case.noise, policy=case.policy)
        low, high = told.interval
        assert low - 3 * case.error < case.truth < high + 3 * case.error


@pytest.mark.slow
def test_twins_are_stressed_alone_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from forebear_experiments.benchmarks import stress

    def untrained(system: Any, *rest: Any) -> fb.Twin:
        return toy_twin(system.table, {"dtheta": ("theta_0", "theta_1", "u_0")}, system.periodic)

    monkeypatch.setattr(stress, "fitted", untrained)
    rows = measure("stress", systems=("pendulum",), brute=400_000, seeds=1, draws=200, trainings=2, rows=1_000)[
        "rows"
    ]
    assert [row["what"].rpartition(": ")[2] for row in rows[1:]] == ["twin 0", "twin 1", "2 twins"]
    assert rows[3]["mean"] == pytest.approx((rows[1]["mean"] + rows[2]["mean"]) / 2)


@pytest.mark.slow
def test_constraints_are_kept_and_their_price_is_told() -> None:
    rows = measure("constraints", systems=("mass",), trials=5, scenarios=40)["rows"]
    free, *kept = rows
    assert free["violating"] == 1 and free["exact"] < 0.01 and "asked" not in free
    for row in kept:
        assert row["times_nominal"] > 1 and row["exact"] == pytest.approx(row["asked"], abs=0.06)
    assert [row["cost"] for row in kept] == sorted(row["cost"] for row in kept)


def test_scores_rank_inputs_in_two_ways() -> None:
    from forebear_experiments.benchmarks.scores import table_of

    table, needed = table_of("interaction", 20, 0)
    assert table.shape == (2_000, 21) and needed == ("x3", "x10", "x18")
    quick = {"subset_steps": 60, "tested": 400, "distilled": 150, "nugget": 1.0, "lengthscale": 2.0}
    [row] = measure("scores", laws=["mean"], inputs=(20,), latent_lengthscale=1.0, **quick)["rows"]
    assert row["what"] == "mean, 20 inputs" and row["needed"] == 3
    assert all(
        3 <= row[f"{scores}_{place}"] <= 20 for scores in ("energy", "variation") for place in ("last", "path")
    )
    assert row["energy_useless"] > 0.3 > row["variation_useless"]
    with pytest.raises(fb.InputError, match="no law 'maen' .* Did you mean 'mean'"):
        measure("scores", laws=["maen"])
