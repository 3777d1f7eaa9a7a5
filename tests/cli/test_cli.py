"""The command line: what it prints where, and with which status it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from reports import changed, made_by_hand, verdict

import forebear
from forebear.api.found import as_json
from forebear.cli import main
from forebear.cli.next_steps import next_steps
from forebear.cli.output import found_table, regime_lines, say, verdict_lines
from forebear.data import source
from forebear.discovery.tester import CertificateSettings
from forebear.discovery.verdict import Verdict

# Settings under which a discovery takes seconds, most of them compilation; its answer means nothing.
_TINY = "steps=20 distilled=60 width=8 depth=1 folds=1 batch=64 nugget=1 lengthscale=1 latent_lengthscale=1"
FLOW = ["--rule", "nsr-jump", *(word for pair in _TINY.split() for word in ("--set", pair))]
QUICK = ["--sampler", "mean", *FLOW]


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the command line in this process, in an empty folder that holds plant.csv and swing.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=["a1", "a2", "b", "phase"])
    table["y"] = table["b"] * rng.normal(size=200) + table["a1"]
    table["z"] = np.sin(table["phase"]) + 0.1 * rng.normal(size=200)
    table.to_csv("plant.csv", index=False)
    steps = {"run": np.repeat([0, 1], 60), "theta": rng.uniform(0, 6, 120), "u": rng.normal(size=120)}
    pd.DataFrame(steps).to_csv("swing.csv", index=False)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


def _process(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "forebear", *arguments],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_help_is_quick_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from forebear.cli import main; status = main(['--help']);"
        "print(status, [m for m in ('jax', 'numpy', 'pandas', 'matplotlib') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
    assert all(command in done.stdout for command in ("demo", "discover", "bench"))


def test_help_is_whole_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = cli("--help").out.split("Commands:")[1]
    assert "..." not in shown and max(map(len, shown.splitlines())) <= 62
    assert "with each column, without training." in " ".join(shown.split())


def test_help_of_discover_names_every_option(cli: Cli) -> None:
    shown = cli("discover", "--help").out
    options = "target candidate keep group periodic rows regime lags state action episode increments next time rule"
    options += " preset sampler joint runs seed jobs set out resume figure table json progress no-progress"
    assert [name for name in options.split() if f"--{name}" not in shown] == []


def test_version_and_no_command(cli: Cli) -> None:
    assert cli("--version") == (0, f"forebear {forebear.__version__}\n", "")
    assert cli().status == 0 and "Commands" in cli().out


def test_json_has_the_shape_of_the_contract(cli: Cli) -> None:
    ran = cli("discover", "plant.csv", "--target", "y", "--candidate", "a*", "--candidate", "b", *FLOW, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert set(ran.document) >= {"version", "settings", "seconds", "targets"}
    assert ran.document["version"] == forebear.__version__
    answer = ran.document["targets"]["y"]
    assert set(answer) >= {"ancestors", "removed", "nsr", "scores", "certificate", "frequency"}
    assert sorted(answer["removed"]) == ["a1", "a2", "b"] == sorted(answer["scores"]) == sorted(answer["frequency"])
    assert len(answer["nsr"]) == 4 and set(answer["ancestors"]) <= {"a1", "a2", "b"}
    assert ran.document["settings"]["steps"] == 20 and ran.document["settings"]["solver"] == "rk4"


def test_same_answer_as_in_python(cli: Cli) -> None:
    ran = cli("discover", "plant.csv", "--target", "y", "--seed", "3", *QUICK, "--json")
    settings: dict[str, Any] = {"steps": 20, "distilled": 60, "width": 8, "depth": 1, "folds": 1, "sampler": "mean"}
    settings |= {"batch": 64, "nugget": 1, "lengthscale": 1, "latent_lengthscale": 1}
    found = forebear.discover("plant.csv", "y", seed=3, rule="nsr-jump", **settings)
    assert json.loads(json.dumps(found.to_dict()["targets"])) == ran.document["targets"]


def test_table_and_next_steps_for_people(cli: Cli) -> None:
    ran = cli("discover", "plant.csv", "--target", "y", "--runs", "2", *QUICK)
    assert ran.status == 0 and ran.err == ""
    assert "target" in ran.out and "share of 2 runs" in ran.out
    assert "--out DIR" in ran.out and "--figure" in ran.out


class TestVerdicts:
    """What is said of a result that nobody computed."""

    small = verdict(0.38)._replace(limit=0.0141)

    def shown(self, found: forebear.Found, capsys: pytest.CaptureFixture[str]) -> list[str]:
        """Lines of the table and of what follows it; a table is as wide as 80 signs allow."""
        why = verdict_lines(found)
        say(found_table(found), *why, next_steps(found, None, None, None))
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    def test_certified(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, verdict=Verdict("certified"), jointly=self.small)
        lines = self.shown(found, capsys)
        assert lines[0].split() == "target shaped by through its verdict all the rest".split()
        assert "certified" in lines[2] and lines[2].endswith("at most 1.4%") and lines[3].endswith("(p = 0.38)")
        assert not [line for line in lines if line.startswith(("y (", "Rows:"))]

    def test_reasons_stand_ins_and_rows(self, capsys: pytest.CaptureFixture[str]) -> None:
        fields = {"classes": (("a", "b"),), "alternatives": {("b",): {}}, "jointly": self.small}
        reasons = Verdict("cannot tell", ("'b' would do in the place of 'a'", "more rows would tell"))
        found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, verdict=reasons, **fields)
        settings = {**found.settings, "rows": "ordered", "rows_why": "neighbours are alike"}
        lines = self.shown(changed(found, settings=settings), capsys)
        assert "a (or b)" in lines[2] and "cannot tell" in lines[2]
        assert "y (cannot tell): 'b' would do in the place of 'a'; more rows would tell." in lines
        assert "Rows: ordered, because neighbours are alike. If you know better, say so with --rows." in lines
        assert not [line for line in lines if "other sets" in line]

    def test_something_is_missing(self, capsys: pytest.CaptureFixture[str]) -> None:
        missing = Verdict("something is missing", ("the latents still depend on 'b'",))
        fields = {"passes": False, "jointly": verdict(1e-9, 0.2, ["b"])}
        found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, verdict=missing, **fields)
        lines = "\n".join(self.shown(found, capsys))
        assert "y (something is missing): the latents still depend on 'b'." in lines
        assert "cannot be told" in lines and "(p < 0.0001)" in lines
        # The setting that is named reaches the flow behind the certificate; `steps` does not.
        [setting] = re.findall(r"--set (\w+)=\d+", lines)
        assert setting in {field.name for field in fields_of(CertificateSettings)}

    def test_an_interaction_of_sets(self, capsys: pytest.CaptureFixture[str]) -> None:
        fields = {"alternatives": {("b", "c"): {}}, "jointly": self.small, "verdict": Verdict("certified")}
        lines = self.shown(made_by_hand(["y"], ["a", "b", "c"], {"y": ["a"]}, **fields), capsys)
        assert "For 'y' other sets would do as well: the report names them." in lines

    def test_a_rule_that_tests_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.shown(made_by_hand(["y"], ["a"], {"y": ["a"]}, certified=False), capsys)
        assert "verdict" not in lines[0] and "This rule tests nothing" in "".join(lines)


def test_json_has_verdicts_limits_classes_and_rows() -> None:
    """The names of the contract, of a result that nobody computed; the command prints `as_json`."""
    fields = {"verdict": Verdict("cannot tell", ("because",)), "classes": (("a", "b"),)}
    found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, jointly=verdict(0.4)._replace(limit=0.02), **fields)
    document = json.loads(as_json(found))
    answer = document["targets"]["y"]
    assert (answer["verdict"], answer["why"], answer["classes"]) == ("cannot tell", ["because"], [["a", "b"]])
    assert answer["limit"] == 0.02 and document["rows"] == "independent"
    assert all({"p_value", "effect", "limit", "detectable"} <= set(one) for one in answer["certificate"].values())


def test_rows_reach_the_discovery(cli: Cli) -> None:
    def used(*options: str, table: str = "plant.csv") -> Ran:
        return cli("discover", table, *options, *QUICK, "--json")

    assert used("--target", "y").document["rows"] == "independent"
    assert used("--target", "y", "--rows", "ordered").document["rows"] == "ordered"
    table = pd.read_csv("plant.csv").assign(machine=np.repeat(range(10), 20))
    table.to_csv("machines.csv", index=False)
    grouped = used("--target", "y", "--rows", "machine", table="machines.csv").document
    assert grouped["rows"] == "machine" and "machine" not in grouped["targets"]["y"]["removed"]
    lags = ["--lags", "1", "--state", "theta", "--action", "u", "--episode", "run"]
    assert used(*lags, table="swing.csv").document["rows"] in ("independent", "ordered")
    assert used(*lags, "--rows", "run", table="swing.csv").document["rows"] == "run"


def test_groups_keep_and_periods_reach_the_discovery(cli: Cli) -> None:
    where = ["discover", "plant.csv", "--target", "z", "--keep", "b", "--group", "pair=a1,a2", "--periodic"]
    ran = cli(*where, "phase=6.2832", *QUICK, "--candidate", "*", "--json")
    answer = ran.document["targets"]["z"]
    assert sorted(answer["removed"]) == ["pair", "phase", "y"] and "b" in answer["ancestors"]
    other = cli(*where, "phase=1.5", *QUICK, "--candidate", "*", "--json").document["targets"]["z"]
    assert other["nsr"] != answer["nsr"]


def test_a_file_is_read_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns are looked up in the table that is then used, and messages still name the file."""
    reads: list[str] = []

    def read(path: Path, *more: Any) -> Any:
        reads.append(path.name)
        return whole(path, *more)

    whole = source.read_delimited
    monkeypatch.setattr(source, "read_delimited", read)
    ran = cli("discover", "plant.csv", "--target", "y", "--candidate", "a*", *QUICK)
    assert ran.status == 0 and reads == ["plant.csv"]
    ran = cli("discover", "plant.csv", "--target", "y", "--candidate", "a*", "--keep", "q", *QUICK)
    assert ran.status == 2 and "plant.csv: no column 'q'" in ran.err and reads == ["plant.csv"] * 2


def test_candidates_by_target(cli: Cli) -> None:
    wishes = ["--target", "y", "--target", "z", "--candidate", "y=a*,b", "--candidate", "z=phase"]
    answers = cli("discover", "plant.csv", *wishes, *QUICK, "--json").document["targets"]
    assert {target: sorted(answer["removed"]) for target, answer in answers.items()} == {
        "y": ["a1", "a2", "b"],
        "z": ["phase"],
    }


def test_joint_and_other_samplers(cli: Cli) -> None:
    wishes = ["discover", "plant.csv", "--target", "y", "--target", "z", "--joint", "--sampler", "gaussian"]
    ran = cli(*wishes, *FLOW, "--json")
    assert ran.document["settings"]["joint"] is True and ran.document["settings"]["sampler"] == "gaussian"


def test_lags_build_targets_candidates_groups_and_periods(cli: Cli) -> None:
    wishes = ["--lags", "2", "--state", "theta", "--action", "u", "--episode", "run", "--periodic", "theta=6.2832"]
    answers = cli("discover", "swing.csv", *wishes, *QUICK, "--json").document["targets"]
    assert list(answers) == ["d_theta"]
    assert sorted(answers["d_theta"]["removed"]) == ["lag 0", "lag 1", "lag 2"]
    kept = cli("discover", "swing.csv", *wishes, "--next", "--keep", "*_0", *QUICK, "--json").document["targets"]
    assert sorted(kept["next_theta"]["removed"]) == ["lag 1", "lag 2"]
    assert {"theta_0", "u_0"} <= set(kept["next_theta"]["ancestors"])


def test_run_folder_is_refused_without_resume_and_resumed_with_it(cli: Cli, tmp_path: Path) -> None:
    wishes = ["discover", "plant.csv", "--target", "y", *QUICK, "--out", "run", "--json"]
    first = cli(*wishes, "--resume")
    assert first.status == 0 and "starting one" in first.err
    assert forebear.load(tmp_path / "run").ancestors["y"] == tuple(first.document["targets"]["y"]["ancestors"])
    refused = cli(*wishes)
    assert refused.status == 2 and "--resume" in refused.err and refused.out == ""
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    again = cli(*wishes, "--resume")
    assert again.document == first.document and again.err == ""
    # A finished run is as it was.
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()} == before
    other = cli(*wishes, "--resume", "--seed", "1")
    assert other.status == 2 and "seed" in other.err


def test_regimes_are_told_in_a_line_each() -> None:
    made = made_by_hand(["y", "z"], ["a", "campaign"], {"y": ["a", "campaign"], "z": ["a"]})
    found = changed(made, settings={**made.settings, "regime": "campaign"})
    changes, same = regime_lines(found)
    assert changes == "The law of y changes with 'campaign' (p = 0)."
    assert same.startswith(
        "Whether the law of z changes with 'campaign' cannot be told: 'campaign' could still explain"
    )
    assert regime_lines(made) == []


@pytest.mark.parametrize("figure", ["graph.png", "graph.svg", "run/graph.pdf"])
def test_figure_is_written(cli: Cli, tmp_path: Path, figure: str) -> None:
    ran = cli("discover", "plant.csv", "--target", "y", *QUICK, "--out", "run", "--figure", figure)
    assert ran.status == 0 and figure in ran.out
    assert (tmp_path / figure).stat().st_size > 1_000


@pytest.mark.filterwarnings("default")
def test_divergence_is_told_in_plain_lines_with_status_1(cli: Cli) -> None:
    ran = cli("discover", "plant.csv", "--target", "y", *QUICK, "--set", "rate=1e30")
    assert ran.status == 1 and ran.out == ""
    *retries, last = ran.err.splitlines()
    assert all(line.startswith("forebear: training diverged") for line in (*retries, last))
    assert "--set rate=" in last


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_is_one_line_that_says_how_to_go_on(cli: Cli, tmp_path: Path, jobs: str) -> None:
    long = [*QUICK, "--runs", "2", "--jobs", jobs, "--out", "run"]
    long[long.index("steps=20")] = "steps=200000"
    process = _process("discover", "plant.csv", "--target", "y", *long, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "run.json").is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to worker processes as well
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == "" and len(err.splitlines()) == 1
    assert "interrupted" in err and "--out run --resume" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
def test_ctrl_c_leaves_a_clean_prompt(cli: Cli, tmp_path: Path) -> None:
    """Neither half a bar nor a hidden cursor: the bar's line goes, and one line says what is left."""
    import pty

    mine, theirs = pty.openpty()
    long = [word.replace("steps=20", "steps=200000") for word in QUICK]
    command = [sys.executable, "-m", "forebear", "discover", "plant.csv", "--target", "y", *long]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdout=quiet, start_new_session=True)
    os.close(theirs)
    shown = b""
    while b"training" not in shown:
        shown += os.read(mine, 4096)
    os.killpg(process.pid, signal.SIGINT)
    while True:
        try:
            shown += os.read(mine, 4096)
        except OSError:  # the other end is closed
            break
    os.close(mine)
    assert process.wait(timeout=60) == 130
    last = shown.decode()[shown.decode().rindex("\x1b[2K") :]
    assert last == "\x1b[2K\x1b[?25hforebear: interrupted: nothing was saved (--out DIR saves)\r\n"


def test_ctrl_c_before_anything_is_saved(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(forebear, "discover", interrupt)
    ran = cli("discover", "plant.csv", "--target", "y")
    assert ran == (130, "", "forebear: interrupted: nothing was saved (--out DIR saves)\n")


def test_reader_that_stops_reading_is_no_error(cli: Cli, tmp_path: Path) -> None:
    process = _process("bench", "--list", cwd=tmp_path)
    assert process.stdout is not None and process.stderr is not None
    with process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_demo_prints_the_graph_and_replaces_its_own_files(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"steps": 20, "distilled": 60, "width": 8, "depth": 1, "folds": 1, "nugget": 1.0, "lengthscale": 1.0}
    settings |= {"rule": "nsr-jump", "sampler": "mean"}
    real = forebear.discover
    monkeypatch.setattr(forebear, "discover", lambda *a, **options: real(*a, **options, **settings))
    monkeypatch.setattr("forebear.cli.demonstrating._QUICK", {"twin": False})
    for _ in range(2):
        ran = cli("demo", "--out", "shown")
        assert ran.status == 0 and ran.err == ""
        assert all(name in ran.out for name in ("wear", "torque_ripple", "vibration", str(Path("shown/graph.png"))))
        assert ran.out.endswith(f"{Path('shown/report.html')}\n")
        assert sorted(p.name for p in Path("shown").iterdir()) == [
            "asked.json",
            "data.safetensors",
            "demo.txt",
            "found.json",
            "graph.png",
            "lock",
            "pieces",
            "report.html",
            "run.json",
        ]


def test_demo_leaves_a_foreign_folder_alone(cli: Cli) -> None:
    Path("mine").mkdir()
    Path("mine/run.json").write_text("{}")
    ran = cli("demo", "--out", "mine")
    assert ran.status == 2 and "mine" in ran.err and Path("mine/run.json").read_text() == "{}"


@pytest.mark.slow
def test_demo_finds_the_truth(cli: Cli) -> None:
    ran = cli("demo")
    assert ran.status == 0
    assert forebear.load("forebear-demo").ancestors == {
        "wear": ("load", "temperature"),
        "torque_ripple": ("load",),
        "vibration": ("speed", "oil"),
    }
