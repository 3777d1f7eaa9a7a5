"""The estimate of the time left, and where bars are shown."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forebear.run import bars
from forebear.run.bars import TimeLeft, in_notebook, left_told, notebook_bar, terminal_bar
from forebear.run.events import Note, Progress, listening, silent


def stages(seconds: list[float], shares: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Moments, a tenth of a second apart, and the share of the work that is told then."""
    ends, done = np.cumsum([0.0, *seconds]), np.cumsum([0.0, *shares])
    now = np.arange(0.0, ends[-1], 0.1)
    return now, np.interp(now, ends, done)


@pytest.mark.parametrize(
    ("seconds", "shares"),
    [([60.0], [1.0]), ([40.0, 10.0, 20.0], [0.2, 0.6, 0.2]), ([5.0, 60.0], [0.9, 0.1]), ([50.0, 25.0], [0.1, 0.9])],
    ids=["even", "three stages", "slow end", "slow start"],
)
def test_the_estimate_never_leaps_and_ends_near_nothing(seconds: list[float], shares: list[float]) -> None:
    """Whatever the stages take: from one look to the next it moves by little more than the clock."""
    left = TimeLeft(0.0)
    told = [(now, left.at(share, now)) for now, share in zip(*stages(seconds, shares), strict=True)]
    known = np.array([(now, one) for now, one in told if one is not None])
    assert len(known) > 100
    leaps = np.abs(np.diff(known[:, 1]))
    # By the clock, and by a small part of what is told.
    assert (leaps <= 0.1 + 0.05 * np.maximum(known[:-1, 1], 5)).all()
    assert (known[:, 1] >= 0).all() and known[-1, 1] < 0.15 * sum(seconds)


def test_even_work_is_counted_down_by_the_clock() -> None:
    left = TimeLeft(0.0)
    for now, share in zip(*stages([100.0], [1.0]), strict=True):
        told = left.at(share, now)
        assert told is None or told == pytest.approx(100 - now, abs=0.5)


def test_nothing_is_told_before_something_is_known() -> None:
    left = TimeLeft(0.0)
    assert left.at(0.5, 0.1) is None and left.at(0.001, 100.0) is None and left_told(None) == ""


def test_steps_of_the_words_are_coarse() -> None:
    """So that a line does not flicker: over ten minutes of work few different lines."""
    assert len({left_told(float(second)) for second in range(600)}) < 20


def test_a_bar_in_a_terminal_goes_when_the_work_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal_bar() as show:
        show("training [bold]y[/bold]", 0.5)
    assert capsys.readouterr().out == ""


class Handle:
    """Of an output of a notebook that can be drawn anew."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, made: str) -> None:
        self.shown.append(made)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    """A notebook around this process."""
    made = Handle()

    def display(first: str, display_id: bool) -> Handle:
        assert display_id
        made.update(first)
        return made

    ipython = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()), display=SimpleNamespace(HTML=str, display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return made


def test_a_notebook_shows_a_bar_without_being_asked(handle: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "_REDRAWN", -1.0)
    assert in_notebook()
    with listening(None) as tell:
        tell(Progress("training <y>", 0.5))
        tell(Note("a word on the side"))
    first, half, last = handle.shown
    assert "0%" in first and "50% training &lt;y&gt;" in half and last == ""


def test_a_bar_is_drawn_a_few_times_a_second_and_goes_after_an_error(handle: Handle) -> None:
    def interrupted() -> None:
        with notebook_bar() as show:
            for place in range(1_000):
                show("training", place / 1_000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(handle.shown) < 20 and handle.shown[-1] == ""


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["plain Python", "IPython in a terminal"])
def test_other_places_are_no_notebook(monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not in_notebook()
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: False))
    with listening(None) as tell:
        assert tell is silent
