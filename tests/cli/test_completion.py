"""Shell completion: what the Tab key offers, and how quickly."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from forebear.cli import main

_COMMANDS = (
    "demo",
    "check",
    "discover",
    "sample",
    "report",
    "export",
    "monitor",
    "serve",
    "update",
    "studio",
)
_ELSEWHERE = ("reproduce", "bench")
"""of another package of this repository; offered whether it is installed or not"""
# Ends with a list of what was loaded, on standard error.
_CODE = """
import sys
from forebear.cli import main
try:
    main()
finally:
    print([m for m in ("jax", "numpy", "pandas", "matplotlib") if m in sys.modules], file=sys.stderr)
"""


def _offered(words: str) -> list[str]:
    """What bash is offered after these words, the last of which is not finished."""
    asked = {"_FOREBEAR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([sys.executable, "-c", _CODE], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stderr == "[]\n"
    return done.stdout.split()


def test_commands_and_options_are_completed_without_loading_anything_heavy() -> None:
    assert _offered("forebear ") == [*_COMMANDS, *_ELSEWHERE]
    assert _offered("forebear discover data.csv --can") == ["--candidate"]


def test_the_script_for_the_shell_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from forebear.cli import main; main(['--show-completion'])"
    done = subprocess.run(["bash", "-c", f'"{sys.executable}" -c "{code}"; true'], capture_output=True, text=True)
    assert "_FOREBEAR_COMPLETE" in done.stdout


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_of_every_command_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"forebear {command}" in shown.partition("Examples:")[2]
