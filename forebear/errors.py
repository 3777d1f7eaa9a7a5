"""What every layer says when the user's input cannot be used."""

from __future__ import annotations

import difflib
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any


def renamed(old: str, new: str) -> property:
    """An attribute that has another name now: it still answers, with a warning that says so.

    >>> class Path:
    ...     candidates = ("a", "b")
    ...     units = renamed("units", "candidates")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Path().units, str(caught[0].message)
    (('a', 'b'), "'units' is now called 'candidates'")
    """

    def get(self: Any) -> Any:
        warnings.warn(f"'{old}' is now called '{new}'", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"The old name of `{new}`.")


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

    def __init__(self, message: str, longest: int | None = None):
        super().__init__(_one_line(message, _LONGEST if longest is None else longest))


class UnusableColumn(InputError):
    """A column that says nothing as an input, whatever is done to its cells: a constant, an identifier, free text.

    Where nobody asked for the column by name, it is left out; otherwise this is an error like any other.
    """

    def __init__(self, where: str, why: str, remedy: str = "leave it out"):
        super().__init__(f"{where} {why}: {remedy}")
        self.why = why


def raise_together(source: str, problems: Sequence[str]) -> None:
    """Raise one `InputError` about all problems, if there are any; `source` opens the message.

    >>> raise_together("a.csv", ["a.csv: column 'x' is constant", "a.csv: no column 'z' (named in targets)"])
    Traceback (most recent call last):
    forebear.errors.InputError: a.csv has 2 problems. 1: column 'x' is constant. 2: no column 'z' (named in targets)
    """
    if len(problems) == 1:
        raise InputError(problems[0])
    if problems:
        told = [problem.removeprefix(f"{source}: ").rstrip(".") for problem in problems]
        numbered = ". ".join(f"{number}: {problem}" for number, problem in enumerate(told, start=1))
        raise InputError(f"{source} has {len(problems)} problems. {numbered}", longest=2 * _LONGEST)


_LONGEST = 900


def _one_line(text: str, longest: int) -> str:
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))
    return shown if len(shown) <= longest else f"{shown[: longest * 2 // 3]} ... {shown[-longest // 3 :]}"


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

    Units in brackets do not count.

    >>> near_miss("flow", ["flow [m3/h]", "glow [%]"])
    "Did you mean 'flow [m3/h]'?"
    """
    known = list(known)
    lowered = {option.lower(): option for option in known}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.6)
    bare = {_without_unit(option): option for option in reversed(known)}
    plain = difflib.get_close_matches(_without_unit(str(name)), list(bare), n=1, cutoff=0.6)
    if plain and (not close or _without_unit(str(name)) in bare):
        return f"Did you mean '{bare[plain[0]]}'?"
    return f"Did you mean '{lowered[close[0]]}'?" if close else f"Known: {listed(known)}."


def _without_unit(name: str) -> str:
    """A name without what stands in brackets, in small letters.

    >>> _without_unit("Oil Temp. [°C]")
    'oil temp.'
    """
    return " ".join(re.sub(r"\[[^\]]*\]|\([^)]*\)|\{[^}]*\}", " ", name).lower().split()) or name.lower()


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least so much.

    >>> check_whole("n", 0, 1)
    Traceback (most recent call last):
    forebear.errors.InputError: n must be a whole number of at least 1; got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}")


Check = Callable[[str, Any], None]
"""(what the value is called, value): raises an `InputError` if it cannot be"""


def check_fields(settings: Any, checks: Mapping[str, Check], word: str = "setting ") -> None:
    """Check the fields of a settings object, from its `__post_init__`; the table of checks stands beside the class.

    >>> from types import SimpleNamespace
    >>> check_fields(SimpleNamespace(steps=0), {"steps": whole()})
    Traceback (most recent call last):
    forebear.errors.InputError: setting 'steps' must be a whole number of at least 1; got 0
    """
    for name, check in checks.items():
        check(f"{word}'{name}'" if word else name, getattr(settings, name))


def whole(least: int = 1) -> Check:
    """A whole number."""

    def check(what: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{what} must be a whole number of at least {least}; got {value!r}")

    return check


def positive(most: float = math.inf) -> Check:
    """A finite number above 0."""

    def check(what: str, value: Any) -> None:
        number = isinstance(value, float | int) and not isinstance(value, bool)
        if not number or not 0 < value <= most or value == math.inf:
            upper = "" if most == math.inf else f" and at most {most:g}"
            raise InputError(f"{what} must be a number above 0{upper}; got {value!r}")

    return check


def below_one(what: str, value: Any) -> None:
    """A share that is less than the whole; 0 is one."""
    if not isinstance(value, float | int) or not 0 <= value < 1:
        raise InputError(f"{what} must lie in [0, 1); got {value!r}")


def one_of(*known: str) -> Check:
    """One of some words."""

    def check(what: str, value: Any) -> None:
        if value not in known:
            raise InputError(f"{what} is {value!r}. {near_miss(value, known)}")

    return check


def or_none(check: Check) -> Check:
    """What another check says, or None."""
    return lambda what, value: None if value is None else check(what, value)
