"""The package as others get it: what is in the wheel, and that it works without extras and says what they add."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forebear

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = ("3.11", "3.12", "3.13")

# Asks for what each extra adds, and prints the answers; no extra is installed.
_EXTRAS = """
import numpy as np, pandas as pd, forebear as fb
from pathlib import Path
from forebear.cli.studying import run_studio
from forebear.twin.dowhy import TwinMechanism
table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "y"])
quick = dict(steps=5, width=8, depth=1)
found = fb.discover(table, "y", rule=lambda path: ["a"], distilled=40, folds=1, **quick)
twin = found.twin(**quick)
open("t.parquet", "wb").close()
asked = {
    "parquet": lambda: found.save_table("found.parquet"),
    "parquet, read": lambda: fb.discover("t.parquet", "y"),
    "onnx": lambda: twin.distil(64, 5).export_onnx("twin.onnx"),
    "control": lambda: fb.envs.TwinEnv,
    "control, lander": lambda: fb.systems.lander(),
    "control, reacher": lambda: fb.systems.reacher(),
    "dowhy": lambda: TwinMechanism(twin),
    "web": lambda: run_studio(Path("studio"), (), "127.0.0.1", None, (), False),
}
for name, ask in asked.items():
    try:
        ask()
        print(name, "-> nothing was said")
    except (fb.InputError, ImportError) as error:
        print(name, "->", error)
found.report("report.html", twin=False)
"""


def test_versions_agree() -> None:
    assert PROJECT["version"] == forebear.__version__
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {forebear.__version__}" in cited and f"license: {PROJECT['license']}" in cited
    assert f"## {forebear.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "forebear" / "py.typed").is_file()


def test_every_extra_is_told_where_it_is_asked_for() -> None:
    told = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "forebear").rglob("*.py"))
    named = set(re.findall(r"forebear\[([a-z0-9]+)\]", told))
    assert named <= set(PROJECT["optional-dependencies"])
    assert {"parquet", "onnx", "control", "sb3", "dowhy", "web"} <= named


def test_versions_of_what_make_installs_are_pinned() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    extras = PROJECT["optional-dependencies"]
    for need in [*PROJECT["dependencies"], *extras["docs"], *extras["dev"]]:
        name = re.split(r"[\[<>=;]", need)[0].lower()
        assert name == "forebear" or re.search(rf"^{re.escape(name)}==", pinned, re.MULTILINE), need


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels and source archives, both packages, of a copy of what git would give: nothing is left in the tree."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("`make docs` installs build")
    copy = tmp_path_factory.mktemp("source") / "forebear"
    leave = shutil.ignore_patterns(
        ".git", ".venv", ".pytest_cache", "site", "build", "dist", "*.egg-info", "__pycache__", "pieces"
    )
    shutil.copytree(ROOT, copy, ignore=leave)
    for package in (copy, copy / "experiments"):
        command = [sys.executable, "-m", "build", "--quiet", "--outdir", str(copy / "dist"), str(package)]
        subprocess.run(command, check=True, capture_output=True)
    return copy / "dist"


@pytest.mark.slow
def test_wheel_and_archive_hold_what_they_should(built: Path) -> None:
    names = _inside(built, "forebear-*.whl")
    expected = [
        "py.typed",
        "examples/rig.csv",
        "report/page.html",
        "report/base.css",
        "report/page.css",
        "report/law.js",
        "studio/page/index.html",
        "studio/page/main.js",
        "twin/c/fmu.c",
    ]
    assert [name for name in expected if f"forebear/{name}" not in names] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)
    # What users run, and nothing else: no tests, no pages, no experiments.
    assert {name.split("/")[0] for name in names} == {"forebear", f"forebear-{forebear.__version__}.dist-info"}
    with tarfile.open(next(built.glob("forebear-*.tar.gz"))) as archive:
        inside = [name.partition("/")[2] for name in archive.getnames()]
    expected = ["LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "mkdocs.yml", "docs/tutorial.md"]
    assert [name for name in expected if name not in inside] == []


@pytest.mark.slow
def test_the_wheel_of_the_experiments_holds_them(built: Path) -> None:
    names = _inside(built, "forebear_experiments-*.whl")
    expected = [
        "py.typed",
        "commands.py",
        "framework/run.py",
        "lander/rig.py",
        "lander/page.md",
        "benchmarks/level.py",
    ]
    assert [name for name in expected if f"forebear_experiments/{name}" not in names] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)
    about = f"forebear_experiments-{forebear.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"forebear_experiments", about}


def _inside(built: Path, pattern: str) -> list[str]:
    [file] = built.glob(pattern)
    with zipfile.ZipFile(file) as wheel:
        return wheel.namelist()


def interpreters() -> Iterator[str]:
    """Every Python of a supported version that is at hand, this one first."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    yield here
    for version in VERSIONS:
        if version != here and _runs(f"python{version}"):
            yield version


def _runs(python: str) -> bool:
    return shutil.which(python) is not None and not subprocess.run([python, "-c", ""], capture_output=True).returncode


@pytest.mark.slow
@pytest.mark.parametrize("version", list(interpreters()))
def test_the_wheel_works_without_extras_and_says_what_they_add(version: str, built: Path, tmp_path: Path) -> None:
    here = version == f"{sys.version_info.major}.{sys.version_info.minor}"
    python = sys.executable if here else f"python{version}"
    subprocess.run([python, "-m", "venv", str(tmp_path / "env")], check=True)
    inside = tmp_path / "env" / "bin"
    # Nothing but what is installed there.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def install(pattern: str, *options: str) -> None:
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
        [wheel] = built.glob(pattern)
        subprocess.run([str(inside / "python"), *pip, *options, str(wheel)], check=True, cwd=tmp_path, env=alone)

    def run(*command: str, status: int = 0) -> str:
        words = [str(inside / command[0]), *command[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=alone)
        assert done.returncode == status, done.stderr[-2_000:]
        return done.stderr if status else done.stdout

    install("forebear-*.whl")

    assert run("forebear", "--version") == f"forebear {forebear.__version__}\n"
    assert "discover" in run("forebear", "--help")
    absent = (
        "import importlib.util as u; print([m for m in ('pyarrow', 'gymnasium', 'onnx', 'dowhy') if u.find_spec(m)])"
    )
    assert run("python", "-c", absent) == "[]\n"
    told = dict(line.split(" -> ", 1) for line in run("python", "-c", _EXTRAS).splitlines())
    for name, line in told.items():
        assert f"forebear[{name.partition(',')[0]}]" in line, f"{name}: {line}"
    assert len(told) == 8 and (tmp_path / "report.html").is_file()
    _discover_sample_and_report(run, tmp_path)
    for command in ("reproduce", "bench"):
        line = run("forebear", command, "--list", status=2)
        assert line.count("\n") == 1 and "pip install forebear-experiments" in line
    # Its own dependencies are those of an extra, which is not wanted here.
    install("forebear_experiments-*.whl", "--no-deps")
    assert "lorenz63" in run("forebear", "reproduce", "--list") and "lorenz63" in run("forebear", "bench", "--list")


def _discover_sample_and_report(run: Callable[..., str], folder: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    table["y"] = table["a"] * (1 + 0.1 * rng.normal(size=300))
    table.to_csv(folder / "rows.csv", index=False)
    quick = [word for pair in ("steps=20", "distilled=60", "width=8", "depth=1") for word in ("--set", pair)]
    run("forebear", "discover", "rows.csv", "--target", "y", "--rule", "nsr-jump", "--out", "run", *quick)
    run("forebear", "sample", "run", "--given", "rows.csv", "--n", "1", "--out", "draws.csv")
    run("forebear", "report", "run", "--no-laws")
    assert len(pd.read_csv(folder / "draws.csv")) == 300 and (folder / "run" / "report.html").is_file()
