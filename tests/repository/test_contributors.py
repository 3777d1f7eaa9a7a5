"""What people who contribute expect: hooks and workflows that run what `make` runs, on the promised versions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))


def test_the_workflow_runs_lowest_and_newest() -> None:
    matrix = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == [classified[0], classified[-1]]
    assert PROJECT["requires-python"] == f">={classified[0]}"
    [lowest] = [need.removeprefix("jax>=") for need in PROJECT["dependencies"] if need.startswith("jax>=")]
    assert matrix["jax"] == [f"=={lowest}.*", f">={lowest}"]


def test_the_workflow_calls_targets_of_make_and_nothing_else() -> None:
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name, job in WORKFLOW["jobs"].items():
        for command in (step["run"] for step in job["steps"] if "run" in step):
            words = command.split()
            assert words[0] == "make" and words[1] in made, f"{name}: {command}"


def test_ci_runs_the_tests() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec make test")


def test_hooks_run_what_make_lint_runs() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]  # nothing is fetched
    entries = [hook["entry"] for repo in hooks for hook in repo["hooks"]]
    for tool in ("ruff check", "ruff format", "pyright"):
        assert any(entry.startswith(f".venv/bin/{tool}") for entry in entries), tool
    for entry in entries:
        for word in entry.split():
            assert not word.endswith(".py") or (ROOT / word).is_file(), word


def test_files_are_mended_before_they_are_committed(tmp_path: Path) -> None:
    loose, tidy, large = tmp_path / "loose.txt", tmp_path / "tidy.txt", tmp_path / "large.bin"
    loose.write_bytes(b"a \nb")
    tidy.write_bytes(b"a\n")
    large.write_bytes(b"\0" * 700_000)

    def run(*files: Path) -> tuple[int, str]:
        command = [sys.executable, str(ROOT / "docs" / "making" / "tidy.py"), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    assert run(loose, tidy) == (1, f"{loose}: mended\n") and loose.read_bytes() == b"a\nb\n"
    assert run(loose, tidy) == (0, "")
    status, said = run(large)
    assert status == 1 and "at most 600,000" in said
