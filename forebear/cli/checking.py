"""`forebear check`: what is in a table, and what `forebear discover` would do with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

import forebear
from forebear.cli.discovering import ColumnRoles, arguments_of
from forebear.cli.output import say


def run_check(roles: ColumnRoles, passed: Mapping[str, Any], as_json: bool) -> None:
    """Look, show, and say by the status whether anything is in the way."""
    arguments = {**arguments_of(roles, strict=False), **passed}
    checked = forebear.check(**arguments)
    say(json.dumps(checked.to_dict(), indent=2) if as_json else checked.text())
    if not checked.ok:
        raise typer.Exit(1)
