"""One stream of events from a long computation to whoever listens: a bar in a terminal, a notebook, a page.

A listener is a function of one event. `discover(progress=listener)` takes any; without one, a bar is shown where
standard error is a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


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
    """The listener itself, or a bar if `wanted` (None: if standard error is a terminal), or nobody.

    >>> heard = []
    >>> with listening(heard.append) as tell:
    ...     tell(Progress("training", 0.5))
    >>> heard
    [Progress(stage='training', share=0.5)]
    """
    if callable(wanted):
        yield wanted
        return
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(event: Event) -> None:
            if isinstance(event, Progress):
                # Column names are the user's: nothing in them is markup.
                bar.update(task, description=event.stage.replace("[", r"\["), completed=event.share)

        yield show


@contextmanager
def progress(wanted: bool | Listener | None) -> Iterator[Callable[[str, float], None]]:
    """As `listening`, for work that only tells how far it is: a function of (what is being done, share).

    >>> with progress(False) as show:
    ...     show("training", 0.5)
    """
    with listening(wanted) as tell:
        yield lambda stage, share: tell(Progress(stage, share))
