"""The two commands as the shell sees them: registered, completed, with examples, and quick to answer."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import pytest

from forebear.cli import main
from forebear.cli.plugins import GROUP
from forebear_experiments import EXPERIMENTS
from forebear_experiments.benchmarks import BENCHES

# Ends with a list of what was loaded, on standard error.
_CODE = """
import sys
from forebear.cli import main
try:
    main()
finally:
    heavy = ("jax", "numpy", "pandas", "matplotlib", "gymnasium")
    print([m for m in heavy if m in sys.modules], file=sys.stderr)
"""


def _run(*words: str, **variables: str) -> str:
    """What is printed, when nothing heavy is loaded."""
    command = [sys.executable, "-c", _CODE, *words]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.stderr == "[]\n"
    return done.stdout


def _offered(words: str) -> list[str]:
    """What bash is offered after these words, the last of which is not finished."""
    asked = {"_FOREBEAR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return _run(**asked).split()


def test_the_commands_are_registered() -> None:
    points = metadata.entry_points(group=GROUP)
    assert {point.name for point in points if point.value.startswith("forebear_experiments.")} == {
        "reproduce",
        "bench",
    }


def test_names_are_completed_without_loading_anything_heavy() -> None:
    assert _offered("forebear reproduce ") == list(EXPERIMENTS)
    assert _offered("forebear reproduce heat --qu") == ["--quick"]
    assert _offered("forebear bench pi") == [name for name in BENCHES if name.startswith("pi")] == ["pipeline"]


def test_help_loads_nothing_heavy() -> None:
    shown = _run("--help")
    assert "reproduce  Rebuild a published experiment" in shown and "bench      Measure forebear" in shown


@pytest.mark.parametrize("command", ["reproduce", "bench"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"forebear {command}" in capsys.readouterr().out.partition("Examples:")[2]
