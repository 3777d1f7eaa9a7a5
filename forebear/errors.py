"""What every layer says when the user's input cannot be used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral


class InputError(ValueError):
    """The user's data or options cannot be used as they are.

    The message is one line: what is wrong, with which file, column or option, and what to do. The command
    line prints it and exits with status 2.

    It stays one line whatever the user's names and cells hold: line breaks and other signs that do not print are
    written out, and a very long message loses its middle.

    >>> raise InputError("column 'x\\ny' is constant (every value is 3.0): leave it out")
    Traceback (most recent call last):
    forebear.errors.InputError: column 'x\\ny' is constant (every value is 3.0): leave it out
    """

    def __init__(self, message: str):
        super().__init__(_one_line(message))


_LONGEST = 900


def _one_line(text: str) -> str:
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST * 2 // 3]} ... {shown[-_LONGEST // 3 :]}"


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, cut after `most`, for use inside a message.

    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed("abcd", most=2)
    "'a', 'b' and 2 more"
    """
    shown = [f"'{name}'" for name in names]
    rest = len(shown) - most
    return ", ".join(shown) if rest <= 0 else f"{', '.join(shown[:most])} and {rest} more"


def near_miss(name: object, known: Iterable[str]) -> str:
    """A sentence that names the closest known name, or the known names when none is close.

    >>> near_miss("lengthscael", ["lengthscale", "nugget"])
    "Did you mean 'lengthscale'?"
    >>> near_miss("q", ["lengthscale", "nugget"])
    "Known: 'lengthscale', 'nugget'."
    """
    known = list(known)
    lowered = {option.lower(): option for option in known}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.6)
    return f"Did you mean '{lowered[close[0]]}'?" if close else f"Known: {listed(known)}."


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least so much.

    >>> check_whole("n", 0, 1)
    Traceback (most recent call last):
    forebear.errors.InputError: n must be a whole number of at least 1; got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}")
