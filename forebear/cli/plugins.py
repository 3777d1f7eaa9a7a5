"""Commands from other packages, through the entry-point group `forebear.commands`.

A package adds the command `forebear hello` with two lines of its pyproject.toml,

    [project.entry-points."forebear.commands"]
    hello = "my_package.commands:add_hello"

and a function that adds a command of that name to a typer app:

    def add_hello(app: typer.Typer) -> None:
        @app.command("hello")
        def hello(name: str) -> None:
            "Say hello."
            forebear.cli.output.say(f"hello {name}")

The module is imported when the command is called or completed, and for `forebear --help`, which shows one line about
every command: it should import what is heavy inside the command. A command of a package has the same standing as
forebear's own: an `InputError` is bad input (status 2, one line), `forebear.cli.output.Failed` is a failure (status
1), and `say`, `note` and `long_work` of that module print results, print messages, and turn what goes wrong in long
work into one line. Forebear's own commands cannot be replaced; of two packages with a command of the same name the
first in the alphabet counts. A package that cannot be loaded takes its own commands away and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from forebear.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "forebear.commands"
_EXPERIMENTS = "pip install forebear-experiments, or from the repository pip install ./experiments"
KNOWN = {
    "reproduce": ("rebuilds a published experiment", _EXPERIMENTS),
    "bench": ("measures forebear on this machine", _EXPERIMENTS),
}
"""command that another package of this repository has -> what it does, how to install it"""


class CommandGroup(TyperGroup):
    """Forebear's own commands, and after them those of other packages, which are looked for when they are needed."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The first sentence about each command, whole: on a narrow terminal it goes on in a second line."""
        names = self.list_commands(ctx)
        told = [(name, _first_sentence(self.get_command(ctx, name))) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(told)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of `forebear --help`."""
        return list(dict.fromkeys([*self.commands, *KNOWN, *entry_points()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if nobody has it."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        points = entry_points()
        if cmd_name in points:
            return _loaded(cmd_name, points[cmd_name])
        return _missing(cmd_name) if cmd_name in KNOWN else None


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def entry_points() -> dict[str, EntryPoint]:
    """Those of the group, by the name of the command."""
    from importlib import metadata

    # The last of equal names stays.
    found = sorted(metadata.entry_points(group=GROUP), key=_package, reverse=True)
    by_name = {point.name: point for point in found}
    return {name: by_name[name] for name in sorted(by_name)}


def _package(point: EntryPoint) -> str:
    return "" if point.dist is None else point.dist.name


def _loaded(name: str, point: EntryPoint) -> Any:
    """The command that a package adds, or one that says why there is none."""
    app = typer.Typer(rich_markup_mode=None)
    try:
        point.load()(app)
        return _command(app, name)
    except (Exception, SystemExit) as error:  # whatever a module of another package does when it is imported
        why = " ".join(f"{type(error).__name__}: {error}".split())
        package = _package(point) or point.value
        reason = f"it is broken in {package} ({why}): install {package} anew, or remove it"
        return _stub(name, f"Broken in {package}.", reason)


def _missing(name: str) -> Any:
    what, install = KNOWN[name]
    return _stub(name, f"Not installed: {what}.", f"it is not installed: {install}")


def _stub(name: str, about: str, reason: str) -> Any:
    """A command that takes any arguments and says why it does nothing, and what to do."""
    app = typer.Typer(rich_markup_mode=None)
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    sentence = f"the command '{name}' cannot run: {reason}"

    @app.command(name, help=f"{about}\n\nT{sentence[1:]}.", context_settings=anything)
    def refuse() -> None:
        raise InputError(sentence)

    return _command(app, name)


def _command(app: typer.Typer, name: str) -> Any:
    commands = typer.main.get_group(app).commands
    if name not in commands:
        raise LookupError(f"it adds no command '{name}'")
    return commands[name]
