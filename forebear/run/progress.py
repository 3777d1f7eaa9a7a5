"""A progress bar on standard error, when someone is there to see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str, float], None]
"""(what is being done, share of the whole that is done)"""


@contextmanager
def progress(wanted: bool | None) -> Iterator[Show]:
    """Show a bar if `wanted`, or, when None, if standard error is a terminal.

    >>> with progress(False) as show:
    ...     show("training", 0.5)
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda doing, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(doing: str, share: float) -> None:
            # Column names are the user's: nothing in them is markup.
            bar.update(task, description=doing.replace("[", r"\["), completed=share)

        yield show
