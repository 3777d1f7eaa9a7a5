"""Warnings on their way from the work to the user: gathered where they arise, told once, kept with the result."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_FOR_USERS = (RuntimeWarning, UserWarning)
NOT_KEPT = "Error (reading|writing) persistent compilation cache"
"""what JAX says when compiled code that was kept cannot be used: it costs time, and is not about the data"""


@contextmanager
def gathered() -> Iterator[list[str]]:
    """Warnings a user can act on end up in the list; those for developers go their usual way.

    If the work fails, they travel with the exception.

    >>> with gathered() as notes:
    ...     warnings.warn("one")
    ...     warnings.warn("one")
    >>> notes
    ['one']
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=NOT_KEPT)
        try:
            yield notes
        except Exception as error:
            for note in _texts(caught):
                error.add_note(note)
            raise
    notes += _texts(caught)
    for one in caught:
        if not issubclass(one.category, _FOR_USERS):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _texts(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    return list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, _FOR_USERS)))


class Teller:
    """Tells every note once.

    >>> teller = Teller()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     teller(["one", "two"])
    ...     teller(["two"])
    >>> [str(one.message) for one in caught]
    ['one', 'two']
    """

    def __init__(self) -> None:
        self.told: dict[str, None] = {}

    def __call__(self, notes: Iterable[str]) -> None:
        for note in notes:
            if note not in self.told:
                self.told[note] = None
                warnings.warn(note, RuntimeWarning, stacklevel=3)
