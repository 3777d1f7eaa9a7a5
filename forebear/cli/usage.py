"""Slips in the use of the command line itself, each in one line with the nearest right spelling."""

from __future__ import annotations

from typing import Any

import typer

from forebear.errors import near_miss

# The base of everything the parser can complain about. Typer moved click inside itself, so that the class has two
# homes; it has one place in the family of this name, which typer exports.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def usage_line(error: Any) -> str:
    """What is wrong, what was meant, and where to look."""
    context = getattr(error, "ctx", None)
    see = f"See '{context.command_path} --help'." if context is not None else "See 'forebear --help'."
    option = getattr(error, "option_name", None)
    if option and context is not None and not _knows(context, option):
        return f"there is no option '{option}'. {near_miss(option, _options(context))} {see}"
    param = getattr(error, "param", None)
    if param is not None and error.message:
        return f"{_hint(param)}: {error.message.strip().rstrip('.')}. {see}"
    if param is not None:
        return f"{_hint(param)} is missing. {see}"
    message = error.format_message().strip()
    group: Any = getattr(context, "command", None)
    if hasattr(group, "list_commands") and message.startswith("No such command"):
        wrong = message.split("'")[1] if "'" in message else ""
        return f"there is no command '{wrong}'. {near_miss(wrong, group.list_commands(context))} {see}"
    return f"{message[:1].lower()}{message[1:].rstrip('.')}. {see}"


def _options(context: Any) -> list[str]:
    return [name for param in context.command.params for name in (*param.opts, *param.secondary_opts) if "-" in name]


def _knows(context: Any, option: str) -> bool:
    return option in _options(context)


def _hint(param: Any) -> str:
    return param.opts[0] if param.opts[0].startswith("-") else str(param.metavar or param.name).upper()
