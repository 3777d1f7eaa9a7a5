"""Commands of other packages: how they are found, and what is said when one is missing or broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from forebear.cli import main
from forebear.cli.plugins import GROUP, entry_points

_GOOD = """
import typer
from forebear.cli.output import Failed, say
from forebear.errors import InputError

def add_hello(app):
    @app.command("hello")
    def hello(name: str, loud: bool = False) -> None:
        "Say hello."
        if name == "nobody":
            raise InputError("hello needs somebody: name a person")
        if name == "deaf":
            raise Failed("nobody answered")
        say(name.upper() if loud else name)

def add_discover(app):
    raise AssertionError("forebear's own commands are not replaced")

def add_nothing(app):
    pass
"""


_NAMES = ("politeness", "trouble", "first", "second")


def _package(folder: Path, name: str, code: str, commands: dict[str, str]) -> None:
    """A package as pip leaves it: a module, and metadata beside it."""
    assert name in _NAMES
    (folder / f"{name}.py").write_text(code)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{command} = {name}:{function}" for command, function in commands.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which nothing but our own packages is installed."""

    def inside(group: str) -> metadata.EntryPoints:
        points = [point for package in metadata.distributions(path=[str(tmp_path)]) for point in package.entry_points]
        return metadata.EntryPoints(points).select(group=group)

    monkeypatch.setattr(metadata, "entry_points", inside)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in _NAMES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("command", ["reproduce", "bench"])
@pytest.mark.parametrize("arguments", [[], ["lorenz63", "--quick", "--json"], ["--list"]])
def test_without_the_experiments_one_line_says_what_to_install(
    command: str, arguments: list[str], packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert f"'{command}'" in printed.err
    assert "pip install forebear-experiments, or from the repository pip install ./experiments" in printed.err
    assert main(["--help"]) == 0
    assert f"{command:<9}  Not installed: " in capsys.readouterr().out


def test_a_package_adds_a_command(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _package(packages, "politeness", _GOOD, {"hello": "add_hello", "discover": "add_discover"})
    assert main(["--help"]) == 0
    assert "  hello      Say hello.\n" in capsys.readouterr().out
    assert main(["hello", "world", "--loud"]) == 0 and capsys.readouterr().out == "WORLD\n"
    assert main(["hello", "nobody"]) == 2 and "name a person" in capsys.readouterr().err
    assert main(["hello", "deaf"]) == 1 and "nobody answered" in capsys.readouterr().err
    assert main(["hello", "world", "--lout"]) == 2 and "Did you mean '--loud'" in capsys.readouterr().err
    assert main(["helo"]) == 2 and "Did you mean 'hello'" in capsys.readouterr().err
    assert main(["discover", "--help"]) == 0 and "Find the few inputs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "function", "why"),
    [
        (
            "import not_there",
            "add",
            "ModuleNotFoundError: No module named 'not_there'",
        ),
        ("def add(app", "add", "SyntaxError"),
        ("raise SystemExit(3)", "add", "SystemExit: 3"),
        ("def other(app):\n    pass", "add", "AttributeError"),
        (_GOOD, "add_nothing", "it adds no command 'broken'"),
    ],
    ids=["import", "syntax", "exit", "function", "nothing"],
)
def test_a_broken_package_is_one_line_and_breaks_nothing_else(
    code: str, function: str, why: str, packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _package(packages, "politeness", _GOOD, {"hello": "add_hello"})
    _package(packages, "trouble", code, {"broken": function})
    assert main(["broken", "--any", "thing"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert "'broken'" in printed.err and "trouble" in printed.err and why in printed.err
    assert main(["hello", "world"]) == 0 and capsys.readouterr().out == "world\n"
    assert main(["--help"]) == 0
    printed = capsys.readouterr()
    assert "broken     Broken in trouble." in printed.out and "Say hello." in printed.out and printed.err == ""


def test_of_two_packages_the_first_in_the_alphabet_counts(packages: Path) -> None:
    for name in ("second", "first"):
        _package(packages, name, _GOOD, {"hello": "add_hello"})
    assert entry_points()["hello"].value == "first:add_hello"


def test_forebear_s_own_commands_do_not_look_for_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **asked: pytest.fail("packages were looked for"))
    assert main(["discover", "--help"]) == 0
