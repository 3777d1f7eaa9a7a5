"""One stream of events from a long computation to whoever listens: a bar in a terminal, a notebook, a page.

A listener is a function of one event. `discover(progress=listener)` takes any; without one, a bar is shown where
standard error is a terminal, and in the cells of a notebook.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from forebear.run.bars import in_notebook, notebook_bar, terminal_bar


class Progress(NamedTuple):
    """How far the work is."""

    stage: str
    """what is being done, for people"""
    share: float
    """of the whole that is done, from 0 to 1"""


class Note(NamedTuple):
    """Something that went otherwise than asked."""

    text: str


Event = Progress | Note
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Nobody listens.

    >>> silent(Progress("training", 0.5))
    """


@contextmanager
def listening(wanted: bool | Listener | None) -> Iterator[Listener]:
    """The listener itself, or a bar if `wanted` (None: in a terminal or a notebook), or nobody.

    >>> heard = []
    >>> with listening(heard.append) as tell:
    ...     tell(Progress("training", 0.5))
    >>> heard
    [Progress(stage='training', share=0.5)]
    """
    if callable(wanted):
        yield wanted
        return
    if not (sys.stderr.isatty() or in_notebook() if wanted is None else wanted):
        yield silent
        return
    with terminal_bar() if not in_notebook() else notebook_bar() as show:
        yield lambda event: show(*event) if isinstance(event, Progress) else None


@contextmanager
def progress(wanted: bool | Listener | None) -> Iterator[Callable[[str, float], None]]:
    """As `listening`, for work that only tells how far it is: a function of (what is being done, share).

    >>> with progress(False) as show:
    ...     show("training", 0.5)
    """
    with listening(wanted) as tell:
        yield lambda stage, share: tell(Progress(stage, share))
