"""Bars: how far long work is, in a terminal or in a notebook, with one estimate of the time that is left."""

from __future__ import annotations

import html
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Show = Callable[[str, float], None]
"""what is being done, and the share of the whole that is done"""


class TimeLeft:
    """How long the work may still take: counted down by the clock, and moved by degrees to what the shares say.

    Stages take their own time, so that what is left by proportion leaps where one ends. A person who plans by the
    estimate should not see that.

    >>> left = TimeLeft(start=0.0)
    >>> left.at(0.01, 1.0) is None, left.at(0.25, 10.0)
    (True, 30.0)
    >>> round(left.at(0.9, 11.0)), round(left.at(0.9, 20.0))
    (21, 3)
    """

    def __init__(self, start: float):
        self.start = start
        self._told: float | None = None
        self._when = start

    def at(self, share: float, now: float) -> float | None:
        """Seconds; None while nothing can be said."""
        elapsed = now - self.start
        if share < _LEAST_SHARE or elapsed < _LEAST_SECONDS:
            return None
        guess = elapsed * (1 - share) / share
        if self._told is None:
            self._told = guess
        else:
            passed = max(0.0, now - self._when)
            counted = max(0.0, self._told - passed)
            # Nobody minds good news; bad news may be that of a single slow step.
            settles = elapsed / 20 if guess < counted else elapsed / 4
            trust = 1 - math.exp(-passed / max(_LEAST_SECONDS, settles))
            self._told = counted + trust * (guess - counted)
        self._when = now
        return self._told


_LEAST_SHARE, _LEAST_SECONDS = 0.08, 3.0


def left_told(seconds: float | None) -> str:
    """In steps that do not flicker.

    >>> [left_told(some) for some in (None, 3, 38, 90, 4000)]
    ['', 'a few seconds left', 'about 40 s left', 'about 2 min left', 'about 1 h 10 min left']
    """
    if seconds is None:
        return ""
    if seconds < 8:
        return "a few seconds left"
    if seconds < 55:
        return f"about {math.ceil(seconds / 10) * 10} s left"
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    hours, rest = divmod(math.ceil(minutes / 10) * 10, 60)
    return f"about {hours} h {rest} min left" if rest else f"about {hours} h left"


@contextmanager
def terminal_bar() -> Iterator[Show]:
    """On standard error, gone when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
    from rich.text import Text

    left = TimeLeft(time.monotonic())

    class LeftColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(left_told(left.at(task.completed, time.monotonic())), style="progress.remaining")

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), LeftColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        # Column names are the user's: nothing in them is markup.
        yield lambda stage, share: bar.update(task, description=stage.replace("[", r"\["), completed=share)


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this (also in VS Code), so that outputs can be drawn anew."""
    loaded = sys.modules.get("IPython")
    shell = None if loaded is None else loaded.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def notebook_bar() -> Iterator[Show]:
    """In the cell, gone when the work is done; needs no widgets."""
    display: Any = sys.modules["IPython"].display
    left, shown, last = TimeLeft(time.monotonic()), bar_html("starting", 0.0, ""), -math.inf
    handle = display.display(display.HTML(shown), display_id=True)

    def show(stage: str, share: float) -> None:
        nonlocal last
        now = time.monotonic()
        told = left_told(left.at(share, now))
        if now - last > _REDRAWN or share >= 1.0:
            last = now
            handle.update(display.HTML(bar_html(stage, share, told)))

    try:
        yield show
    finally:
        handle.update(display.HTML(""))


_REDRAWN = 0.2


def bar_html(stage: str, share: float, told: str) -> str:
    """A bar for a cell; stages hold names of columns, which are the user's.

    >>> "&lt;b&gt;" in bar_html("<b>", 0.5, "")
    True
    """
    after = f" · {told}" if told else ""
    return (
        f'<div style="font-family:sans-serif;font-size:small"><progress value="{share:.3f}" max="1" '
        f'style="width:16em;vertical-align:middle" aria-label="progress"></progress> {share:.0%} '
        f"{html.escape(stage)}{after}</div>"
    )
