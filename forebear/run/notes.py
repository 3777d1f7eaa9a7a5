"""What went otherwise than asked: notes travel with results, and are told once, where the user called."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Noted(Protocol):
    """A result with notes."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the way there."""
        ...


Result = TypeVar("Result", bound=Noted)


def told(result: Result, stacklevel: int = 3) -> Result:
    """Tell the notes of a result as warnings, and hand it on."""
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=stacklevel)
    return result


class WarnOnce:
    """Tells every note once.

    >>> tell = WarnOnce(["zero"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tell(["one", "two"])
    ...     _ = tell(["two", "zero"])
    >>> [str(one.message) for one in caught], tell.notes
    (['one', 'two'], ('zero', 'one', 'two'))
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._told = dict.fromkeys(known)

    @property
    def notes(self) -> tuple[str, ...]:
        """All that was told, and what was known from the start."""
        return tuple(self._told)

    def __call__(self, notes: Iterable[str], stacklevel: int = 3) -> list[str]:
        """Those of the notes that are new, which are told."""
        fresh = [note for note in dict.fromkeys(notes) if note not in self._told]
        for note in fresh:
            self._told[note] = None
            warnings.warn(note, RuntimeWarning, stacklevel=stacklevel)
        return fresh
