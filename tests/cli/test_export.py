"""`forebear export`: a twin or the twin of a run as a file, or one line and status 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from native import Law, compiler, simulated
from toys import toy_twin

import forebear as fb
from forebear.cli import main
from forebear.twin.twin import Twin

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a twin that moves a state."""
    home = tmp_path_factory.mktemp("home")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["x", "u", "dx"])
    toy_twin(frame, {"dx": ("x", "u")}).save(home / "twin")
    return home


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(home)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_c_and_onnx(cli: Cli, home: Path) -> None:
    assert cli("export", "twin", "law.c") == (0, "", "forebear: the twin is in law.c\n")
    twin = fb.load_twin(home / "twin")
    x, z = np.array([[0.5, -1.0]]), np.array([[0.3]])
    assert Law(home / "law.c", 1).push(x, z) == pytest.approx(twin.at_latents(x, z[None])[0], rel=1e-5)
    pytest.importorskip("onnx")
    assert cli("export", "twin", "law.onnx")[0] == 0 and (home / "law.onnx").is_file()


def test_an_fmu_is_a_rollout_unless_it_is_told_otherwise(cli: Cli, home: Path) -> None:
    compiler()
    assert cli("export", "twin", "moved.fmu", "--fmi", "2.0", "--step", "0.5")[0] == 0
    problems, told = simulated(home / "moved.fmu", 1.0, every=0.5, start={"start_x_0": 0.25})
    assert problems == [] and set(told) == {"time", "x", "outside"} and told["x"][0] == 0.25
    assert cli("export", "twin", "drawn.fmu", "--one-step")[0] == 0
    assert set(simulated(home / "drawn.fmu", 1.0)[1]) == {"time", "dx", "outside"}


def test_what_is_not_distilled_is_distilled_first(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    student = fb.load_twin(home / "twin")
    monkeypatch.setattr(Twin, "student", student)
    status, _, err = cli("export", "twin", "second.c")
    assert status == 0 and err.splitlines()[0].startswith("forebear: distilled: distance to the twin before")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "x.c"), "nowhere: neither a finished run (found.json) nor a twin"),
        (("twin", "x.mat"), "x.mat: the ending must be .onnx, .c or .fmu"),
        (("twin", "no/x.c"), "no/x.c: there is no folder no: make it first"),
        (("twin", "x.fmu", "--fmi", "1.0"), "fmi is '1.0'"),
        (("twin", "x.fmu", "--step", "soon"), "--step must be a number above 0; got 'soon'"),
        (("twin", "x.fmu", "--step", "-1"), "step must be a number above 0"),
        (("twin", "x.c", "--one-step"), "x.c: --one-step is an option of .fmu files: leave it out"),
        (("twin",), "OUT"),
    ],
)
def test_bad_input_is_told_in_one_line(cli: Cli, home: Path, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(home.iterdir())
    status, out, err = cli("export", *arguments)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1
    assert sorted(home.iterdir()) == before
