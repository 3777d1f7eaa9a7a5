"""One page shows the method, and few calls lie between the user and the loss."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick import KERNEL, TINY

import forebear as fb
from forebear.discovery import certify, pipeline, problem
from forebear.flow.samplers import FlowSampler

PACKAGE = str(Path(fb.__file__).parent)
QUICK: dict[str, Any] = {**TINY, **KERNEL, "distilled": 60, "subset_steps": 20, "tested": 200}
MOST_CALLS = 9


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(211, 3)), columns=["a", "b", "c"])
    return data.assign(y=data["b"] + rng.normal(size=211))


def calls(frame: FrameType | None) -> list[str]:
    """The functions of forebear on a stack, innermost first."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


def test_few_calls_lie_between_discover_and_the_loss(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings run in a thread: what waits for it in the main one counts too."""
    stacks: list[list[str]] = []
    loss, main = FlowSampler.loss, threading.main_thread().ident

    def watched(*arguments: Any) -> Any:
        here = calls(sys._getframe())
        there = calls(sys._current_frames()[main or 0]) if threading.get_ident() != main else []
        stacks.append([*here, *there])
        return loss(*arguments)

    monkeypatch.setattr(FlowSampler, "loss", staticmethod(watched))
    fb.discover(table, "y", **QUICK)
    for stack in stacks:
        between = stack[: stack.index("discover")]
        assert len(between) <= MOST_CALLS, between
    assert stacks


def test_the_page_is_a_page() -> None:
    assert len(Path(pipeline.__file__).read_text(encoding="utf-8").splitlines()) <= 110


def test_stages_are_plain_functions_that_can_be_called_one_by_one(table: pd.DataFrame) -> None:
    """What `discover` answers, from the stages alone: no folder, no process, no bar, in any order that fits."""
    from forebear.discovery.distil import draw
    from forebear.discovery.laws import fit_laws
    from forebear.discovery.prepare import Asked, prepare
    from forebear.discovery.trace import trace

    asked = Asked(table, "y", None, (), None, None, "certified", "fast", "flow", False, 1, 0, QUICK)
    ready = prepare(asked, jobs=1).problem
    rows = problem.read(ready, 0)
    drawn = draw(ready, 0, rows, fit_laws(ready, 0, rows))
    traced = [trace(ready, 0, 0, drawn)]
    certified = pipeline.certify(ready, 0, traced, certify.search_sets(ready, 0))
    [result] = pipeline.conclude(ready, 0, drawn, traced, certified).values()
    found = fb.discover(table, "y", **QUICK)
    assert result.chosen == found.ancestors["y"]
    assert result.path.nsr == found.runs[0]["y"].nsr
    assert result.certificate == found.certified[0]["y"]


def test_a_listener_hears_every_stage_and_every_note(table: pd.DataFrame) -> None:
    heard: list[Any] = []
    singular = {**QUICK, "sampler": "mean", "folds": 1, "distilled": 400, "nugget": 1e-300}
    with pytest.warns(RuntimeWarning, match="the kernel was singular"):
        found = fb.discover(table, "y", progress=heard.append, **singular)
    shares = [event.share for event in heard if isinstance(event, fb.Progress)]
    assert shares == sorted(shares) and shares[-1] == 1.0
    words = " ".join(event.stage for event in heard if isinstance(event, fb.Progress))
    assert all(word in words for word in ("training", "pruning", "certifying"))
    assert tuple(event.text for event in heard if isinstance(event, fb.Note)) == found.notes != ()
    assert "run" not in words.split()


def test_the_runs_are_told_apart_where_there_are_several(table: pd.DataFrame) -> None:
    heard: list[Any] = []
    fb.discover(table, "y", progress=heard.append, runs=2, rule="nsr-jump", **{**QUICK, "sampler": "mean"})
    words = {event.stage.partition(":")[0] for event in heard if isinstance(event, fb.Progress)}
    assert {"run 1", "run 2"} <= words <= {"run 1", "run 2", "done"}
