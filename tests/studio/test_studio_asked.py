"""What a run was asked, on its way: from the page, into the run folder, onto the command line and back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studios import table

import forebear as fb
from forebear.api.asked import FILE, TRAJECTORY, asked_of, call, command_line
from forebear.cli import main
from forebear.cli.discovering import ColumnRoles, arguments_of
from forebear.data.source import open_frame
from forebear.data.survey import Roles, survey
from forebear.studio.asked import arguments, data_of, targets_of
from forebear.studio.runs import DONE, UNFINISHED, Run, Seen, load_run

TINY = {"steps": 5, "width": 4, "depth": 1, "distilled": 40, "folds": 1, "nugget": 1.0, "lengthscale": 1.0}
HARD = ["yield [%]", "a=b", "x,y", "-dash", "with space", "star*", "plain"]


def test_a_discovery_of_a_file_says_what_it_was_asked(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    fb.discover(tmp_path / "data.csv", "y", keep="c", rule="nsr-jump", out=tmp_path / "run", progress=False, **TINY)
    asked = asked_of(tmp_path / "run")
    assert asked == {
        "data": str(tmp_path / "data.csv"),
        "targets": "y",
        "keep": "c",
        "rule": "nsr-jump",
        "settings": TINY,
    }
    run = load_run(tmp_path / "run")
    assert (
        asked is not None
        and run is not None
        and run.state == DONE
        and run.elsewhere
        and run.file == str(tmp_path / "data.csv")
    )
    assert fb.discover(asked.pop("data"), **arguments(asked), out=tmp_path / "run", progress=False).targets == ("y",)


@pytest.mark.parametrize(
    ("past", "options"),
    [
        (
            {"state": ["y"], "action": ["a"], "lags": 1, "missing": "model"},
            ["--lags", "1", "--state", "y", "--action", "a"],
        ),
        (
            {"state": ["y"], "lags": 0, "missing": "model", "increments": False, "kinds": {"a": "real"}},
            ["--lags", "0", "--state", "y", "--kind", "a=real", "--next"],
        ),
    ],
)
def test_a_record_in_time_says_what_it_was_asked(past: dict[str, Any], options: list[str], tmp_path: Path) -> None:
    """On the command line, too; and asked again it is the same run."""
    file, out = tmp_path / "data.csv", tmp_path / "run"
    table().to_csv(file, index=False)
    words = ["discover", str(file), *options, "--rule", "nsr-jump", "--out", str(out), "--json"]
    words += [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    assert main(words) == 0
    asked = asked_of(out)
    assert asked is not None and asked[TRAJECTORY] == past
    data = asked.pop("data")
    found = fb.discover(
        data_of(data, asked), **arguments(asked), out=out, progress=False
    )  # refused if it were another
    assert list(found.targets) == targets_of(asked)
    line = command_line(data, asked, str(out))
    assert line is not None and shlex.split(line)[3 : 3 + len(options)] == options
    compile(call(data, asked, str(out)), "call", "exec")
    assert "made = fb.lagged(" in call(data, asked, str(out))


def test_a_table_in_memory_or_a_rule_of_ones_own_is_not_written_down(tmp_path: Path) -> None:
    fb.discover(table(), "y", rule="nsr-jump", out=tmp_path / "memory", progress=False, **TINY)
    table().to_csv(tmp_path / "data.csv", index=False)
    own = {"rule": lambda path: path.candidates[:1], "out": tmp_path / "own", "progress": False}
    fb.discover(tmp_path / "data.csv", "y", **own, **TINY)
    odd = {"rule": "nsr-jump", "out": tmp_path / "odd", "progress": False, "candidates": pd.Index(["a", "b"])}
    fb.discover(tmp_path / "data.csv", "y", **odd, **TINY)
    assert not (tmp_path / "odd" / FILE).exists()
    assert not (tmp_path / "memory" / FILE).exists() and not (tmp_path / "own" / FILE).exists()


def test_the_command_asks_the_same(tmp_path: Path) -> None:
    """Whatever the names are: as the command line reads them, roles come out as they went in."""
    data = pd.DataFrame({name: table(seed=place)["a"] for place, name in enumerate(HARD)})
    data.to_csv(tmp_path / "data.csv", index=False)
    asked: dict[str, Any] = {"targets": ["yield [%]", "-dash"], "keep": ["star*"], "exclude": ["x,y", "a=b"]}
    line = command_line(str(tmp_path / "data.csv"), asked, "run")
    assert line is not None
    words = shlex.split(line)[3:]
    options: dict[str, list[str]] = {}
    while words:
        name, _, value = words.pop(0).partition("=")
        options.setdefault(name, []).append(value or words.pop(0))
    roles = ColumnRoles(
        str(tmp_path / "data.csv"), options["--target"], (), options["--keep"], exclude=options["--exclude"]
    )
    given = arguments_of(roles)
    opened = open_frame(tmp_path / "data.csv")
    names = ("targets", "keep", "exclude")
    ours, theirs = (survey(opened, Roles(**{name: one[name] for name in names})) for one in (asked, given))
    assert ours.uses == theirs.uses and not ours.problems


@pytest.mark.parametrize(
    "asked",
    [
        {"groups": {"g": ["x,y"]}},
        {"periodic": {"a=b": 1.0}},
        {"groups": {"a=b": ["x"]}},
        {"candidates": {"y": ["x"]}},
        {"targets": ["a\nb"]},
        {"kinds": {"a=b": "category"}},
        {"trajectory": {"state": ["x"], "lags": 1}},  # there gaps are part of the model in both steps
        {"trajectory": {"state": ["x"], "lags": 1, "missing": "model"}, "periodic": {"x_0": 1.0}},
    ],
)
def test_what_the_command_line_cannot_say_python_can(asked: dict[str, Any]) -> None:
    assert command_line("a.csv", asked, "run") is None
    compile(call("a.csv", asked, "run"), "call", "exec")


def test_a_file_is_known_again(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n" * 100)
    before = Seen.of(file)
    file.write_text("a,b\n" * 100)
    assert Seen.of(file).same_content(before)
    file.write_text("a,c\n" * 100)
    assert not Seen.of(file).same_content(before)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"name": 1}', '{"format": 1, "name": "a", "file": "b", "asked": {}, "x": 1}']
)
def test_a_damaged_record_is_a_run_from_elsewhere(content: str, tmp_path: Path) -> None:
    (tmp_path / "studio.json").write_text(content)
    assert load_run(tmp_path) is None
    (tmp_path / "run.json").write_text("{}")
    run = load_run(tmp_path)
    assert isinstance(run, Run) and run.state == UNFINISHED
