"""The published experiments: what is claimed, how finished work is kept, and what bad input says."""

from __future__ import annotations

import json
import os
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import forebear_experiments
from forebear.cli import main
from forebear.errors import InputError
from forebear.systems import algebraic
from forebear_experiments import EXPERIMENTS, find_experiment
from forebear_experiments.framework import run
from forebear_experiments.framework.experiment import CERTIFIED, JUMP, Claim, Experiment, Findings, Part, set_claims
from forebear_experiments.framework.gallery import gallery
from forebear_experiments.framework.run import figures_folder, pieces_folder, reproduce, work_units
from forebear_experiments.framework.work import Request, WorkUnit
from forebear_experiments.lorenz96.discovery import pruning_time
from forebear_experiments.oil import discovery as oil

ROOT = Path(__file__).parents[2]
OIL = ROOT.parent / "shared" / "data" / "oil_gpr" / oil.FILE


def _record(removed: str, jump: str, certified: str, truth: str | None = "a") -> dict[str, Any]:
    told = {"units": list("abc"), "kept": [], "removed": list(removed), "nsr": [0.1, 0.2, 0.3, 1.0]}
    told |= {"truth": None if truth is None else list(truth), JUMP: list(jump), CERTIFIED: list(certified)}
    scores = {"scores": {"a": 0.6, "b": 0.4, "c": 0.5}}
    return {"targets": {"y": {**told, **scores}}}


def _experiment(**options: Any) -> Experiment:
    part = Part(algebraic, published={"y": ("a",)})
    return Experiment("Test", (part,), lambda findings: set_claims(findings, part), runs=2, **options)


def test_every_experiment_is_there() -> None:
    folders = {page.parent.name for page in (ROOT / "experiments" / "forebear_experiments").glob("*/page.md")}
    assert folders == {module.partition(".")[0] for module, _ in EXPERIMENTS.values()}
    for name, (module, _) in EXPERIMENTS.items():
        assert name.replace("-", "_").startswith(module.partition(".")[0])
        experiment = find_experiment(name)
        assert (experiment.parts or experiment.measures) and experiment.runs >= 1 and experiment.title
        assert not experiment.parts or any(part.quick is not None for part in experiment.parts)
        assert len({part.name for part in experiment.parts}) == len(experiment.parts)


def test_claims_count_runs_and_say_what_went_wrong() -> None:
    records = [_record("cba", "a", "a"), _record("bca", "abc", "a")]
    experiment = _experiment()
    published, certified = set_claims(Findings(experiment, {"": records}, {}), experiment.parts[0])
    assert not published.holds and published.measured == "1 of 2: {a} 1, {a, b, c} 1" and published.published == "a"
    assert published.why == "the right inputs outlast the others in 2 of 2 runs; the largest jump is elsewhere"
    assert certified == Claim("y ← a (certified rule)", "a", "2 of 2", True)


def test_the_certified_rule_is_held_against_the_equations() -> None:
    """The published set may differ from what the equations say."""
    experiment = _experiment()
    findings = Findings(experiment, {"": [_record("cba", "a", "ab", truth="ab")]}, {})
    published, certified = set_claims(findings, experiment.parts[0])
    assert published.holds and certified.holds and certified.claim == "y ← a, b (certified rule)"


def test_what_is_kept_too_much_comes_with_its_certificate() -> None:
    experiment = _experiment()
    record = _record("cba", "a", "ab")
    record["targets"]["y"]["certificate"] = {"b": {"p_value": 0.003, "shift": 0.115}}
    _, certified = set_claims(Findings(experiment, {"": [record]}, {}), experiment.parts[0])
    assert not certified.holds and "p-values from 0.003 and moves the law by at most 11.5%" in certified.why


def _fake(monkeypatch: pytest.MonkeyPatch, failing: int | None = None) -> list[WorkUnit]:
    """An experiment whose work is done at once; one of them may fail."""
    done: list[WorkUnit] = []

    def work(request: Request, unit: WorkUnit, place: Path) -> dict[str, Any]:
        if failing is not None and len(done) == failing:
            raise KeyboardInterrupt
        done.append(unit)
        made = {"rows": [{"x": 1}]} if unit.measure else _record("cba", "a", "a")
        return {**made, "part": unit.part, "run": unit.run, "seconds": 1.0, "machine": {"device": "none"}}

    monkeypatch.setattr(run, "work", work)
    monkeypatch.setattr(run, "find_experiment", lambda name: _experiment(measures={"more": lambda seed, quick: []}))
    return done


def test_an_interrupted_experiment_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake(monkeypatch, failing=1)
    with pytest.raises(KeyboardInterrupt):
        reproduce(Request("heat"), out=tmp_path)
    done = _fake(monkeypatch)
    made = reproduce(Request("heat"), out=tmp_path)
    assert done == [WorkUnit("", 1), WorkUnit("more", 0, measure=True)]
    assert reproduce(Request("heat", runs=3), out=tmp_path).runs == 3 and done[2:] == [WorkUnit("", 2)]
    stored = json.loads((tmp_path / "heat.json").read_text())
    assert stored["claims"][0]["holds"] and stored["measured"] == {"more": [{"x": 1}]} and stored["seconds"] == 4.0
    assert made.command == "forebear reproduce heat --preset fast --runs 2 --seed 0"
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"heat.svg", "heat.png"}


def _measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An experiment without discovery: two units of work, claims and a figure of what they measured."""
    done: list[str] = []

    def unit(name: str, seed: int, quick: bool) -> list[dict[str, Any]]:
        done.append(name)
        return [{"cost": len(name) + seed, "quick": quick}]

    def claims(findings: Findings) -> list[Claim]:
        short, long = (findings.measured[name][0]["cost"] for name in ("short", "longer one"))
        return [Claim("short is less", None, short, short < long)]

    def figure(findings: Findings) -> Figure:
        drawn = Figure()
        drawn.add_subplot().bar(list(findings.measured), [rows[0]["cost"] for rows in findings.measured.values()])
        return drawn

    units = {name: partial(unit, name) for name in ("short", "longer one")}
    experiment = Experiment("Test", (), claims, runs=1, measures=units, figure=figure)
    for module in (run, forebear_experiments):
        monkeypatch.setattr(module, "find_experiment", lambda name: experiment)
    return done


def test_an_experiment_of_measurements_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = _measured(monkeypatch)
    out = ["--out", str(tmp_path), "--seed", "3"]
    assert main(["reproduce", "heat", "--only", "longer one", *out]) == 0
    assert str(pieces_folder(tmp_path, Request("heat", seed=3))) in capsys.readouterr().out
    assert not (tmp_path / "heat.json").exists()
    # The whole takes up what was made alone.
    assert main(["reproduce", "heat", *out]) == 0 and done == ["longer one", "short"]
    stored = json.loads((tmp_path / "heat.json").read_text())
    assert stored["measured"]["short"] == [{"cost": 8, "quick": False}] and stored["answers"] == {}
    assert stored["command"] == "forebear reproduce heat --seed 3"
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"heat.svg", "heat.png"}
    page = gallery(tmp_path, tmp_path / "page.md")
    assert "| claim | published | measured |" in page and "](figures/heat.png)" in page


def test_a_unit_that_resumes_has_a_folder_until_it_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And its time is that of all attempts, each up to what it kept last."""

    def unit(seed: int, quick: bool, place: Path) -> list[dict[str, Any]]:
        kept = sorted(place.glob("kept*"))
        if len(kept) < 2:
            new = place / f"kept{len(kept)}"
            new.write_text("")
            later = time.time() + 1_000
            os.utime(new, (later, later))
            raise KeyboardInterrupt
        for file in kept:
            file.unlink()
        return [{"place": place.name}]

    experiment = Experiment("Test", (), lambda _: [], runs=1, measures={"one": unit}, resumes=True)
    for module in (run, forebear_experiments):
        monkeypatch.setattr(module, "find_experiment", lambda name: experiment)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            reproduce(Request("heat"), out=tmp_path)
    made = reproduce(Request("heat"), out=tmp_path)
    assert made.findings.measured == {"one": [{"place": "one-measure"}]}
    assert made.to_dict()["seconds"] == pytest.approx(2_000, abs=60)
    assert not list(tmp_path.rglob("unfinished/*"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--only", "shrot"], "heat has no part 'shrot'. Did you mean 'short'?"),
        (["--runs", "2"], "heat has one set of settings and says itself what it repeats: leave runs out"),
        (["--preset", "paper"], "says itself what it repeats: leave preset out"),
    ],
)
def test_bad_input_for_measurements_alone(
    arguments: list[str],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = _measured(monkeypatch)
    assert main(["reproduce", "heat", *arguments, "--out", str(tmp_path)]) == 2
    assert line in capsys.readouterr().err and not done and list(tmp_path.iterdir()) == []


def test_what_is_measured_once_does_not_depend_on_the_preset() -> None:
    experiment = find_experiment("kraichnan-orszag")
    assert any(unit.measure for unit in work_units(experiment, 1, "fast"))
    assert not any(unit.measure for unit in work_units(experiment, 1, "paper"))


def test_a_quick_version_leaves_parts_out() -> None:
    scaling = find_experiment("lorenz96-scaling")
    few = {unit.part for unit in work_units(scaling, 1, "fast", quick=True) if not unit.measure}
    assert few == {"10 sites", "20 sites"}


def test_heat_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "results")
    status = main(["reproduce", "heat", "--quick", "--json", "--out", out])
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert {"name", "preset", "seed", "seconds", "claims"} <= set(told) and told["quick"]
    assert set(told["claims"][0]) == {"claim", "published", "measured", "holds", "why"}
    assert status == (0 if all(claim["holds"] for claim in told["claims"]) else 1)
    assert "quick version" in printed.err and (tmp_path / "results" / "heat-quick.json").is_file()
    # Again, from the pieces: as a table.
    assert main(["reproduce", "heat", "--quick", "--out", out]) == status
    assert "published" in capsys.readouterr().out
    quick = Request("heat", quick=True)
    assert pieces_folder(out, quick).is_dir() and (figures_folder(out, quick) / "heat-quick.png").is_file()


def test_git_ignores_what_a_quick_version_leaves() -> None:
    quick = Request("oil", preset="paper", quick=True)
    left = [f"{quick.label}.json", pieces_folder("", quick) / "run.json", figures_folder("", quick) / "any.png"]
    for file in left:
        ignored = subprocess.run(["git", "check-ignore", "--quiet", f"results/{file}"], cwd=ROOT).returncode
        if ignored == 128:
            pytest.skip("this is no checkout of git")
        assert ignored == 0, file
    assert figures_folder("results", Request("oil")) == Path("results/figures")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["haet"], "there is no experiment 'haet'. Did you mean 'heat'?"),
        ([], "reproduce needs a NAME, or --all"),
        (["heat", "--all"], "reproduce needs a NAME, or --all"),
        (["heat", "--preset", "papier"], "unknown preset 'papier'. Did you mean 'paper'?"),
        (["heat", "--runs", "0"], "--runs"),
        (["heat", "--seed", "-1"], "--seed"),
    ],
)
def test_bad_input(arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert line in printed.err and printed.err.count("\n") == 1 and printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in EXPERIMENTS)
    assert main(["reproduce", "--list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["names"]) == list(EXPERIMENTS)


def test_oil_needs_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(oil.VARIABLE, raising=False)
    with pytest.raises(InputError, match="needs your copy of oil_gpr_daily.csv, with columns date, oil"):
        oil.find_file()
    file = tmp_path / "mine.csv"
    pd.DataFrame({"date": ["2000-01-03"], "price": [1.0], "gprd": [2.0]}).to_csv(file, index=False)
    monkeypatch.setenv(oil.VARIABLE, str(file))
    with pytest.raises(InputError, match="mine.csv: there is no column 'oil'"):
        oil.read_days(oil.find_file())


def test_oil_days_are_positive_sorted_and_end_where_published(tmp_path: Path) -> None:
    file = tmp_path / "days.csv"
    days = {"date": ["2026-04-21", "2020-04-20", "2000-01-04", "2000-01-03"], "oil": [60.0, -37.0, 2.0, 1.0]}
    pd.DataFrame({**days, "gprd": 100.0}).to_csv(file, index=False)
    assert oil.read_days(file)["oil"].tolist() == [1.0, 2.0]


@pytest.mark.skipif(not OIL.is_file(), reason="the oil data is not beside this checkout")
def test_oil_windows_have_the_published_sizes() -> None:
    days = oil.read_days(OIL)
    assert len(days) == 10_142
    sizes = [len(oil.table_of(days.iloc[first:after], "").table) for first, after, _ in oil.WINDOWS.values()]
    assert sizes[:4] == [10_121, 3_529, 2_485, 4_065] and sizes[4] == 1_260 and sizes[-1] == 1_050
    everything = oil.table_of(days, "").table
    assert everything["r"].to_numpy().std() == pytest.approx(0.0279, abs=2e-4)
    assert np.corrcoef(everything["1-day"], everything["5-day"])[0, 1] == pytest.approx(0.58, abs=0.01)


def test_pruning_is_timed_at_two_sizes_at_least() -> None:
    rows = pruning_time(0, quick=True)
    assert [row["sites"] for row in rows] == [10, 20] and all(row["prune_s"] > 0 for row in rows)


@pytest.mark.slow
def test_everything_in_its_quick_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--all", "--quick", "--json", "--out", str(tmp_path)]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in told["experiments"]]
    assert names == [name for name in EXPERIMENTS if name != "oil" or OIL.is_file()]
