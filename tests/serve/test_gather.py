"""Requests at the same time: together in few calls, each with its own answer, and nobody waits for nothing."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plant import plant_twin

from forebear.errors import InputError
from forebear.serve.gather import GatheredLaw, Gatherer
from forebear.serve.operations import OPERATIONS
from forebear.twin.together import Ask, Together
from forebear.twin.twin import Twin

ROW = {"load": 1.0, "mode": "eco", "heading": 1.5, "oil": 60.0}


def gathered(twin: Twin, most: int = 32, tell: Any = None) -> tuple[Twin, Gatherer]:
    together = Together(twin.law)
    gatherer = Gatherer(together, most, tell or (lambda asked: None))
    return replace(twin, model=GatheredLaw(twin.law, gatherer)), gatherer  # type: ignore[arg-type]


def questions() -> list[tuple[str, dict[str, Any]]]:
    y = {"power": 1.0, "trips": 1, "state": "worn"}
    many = []
    for number in range(12):
        given = [{**ROW, "load": 0.5 + 0.1 * number}] * (1 + number % 3)
        many += [("sample", {"given": given, "n": 20, "seed": number}), ("mean", {"given": given})]
        many += [("latent", {"given": given, "y": [y] * len(given), "seed": number})]
        many += [("log_density", {"given": given, "y": [y] * len(given)}), ("quantile", {"given": given, "q": 0.3})]
    return many


def test_the_answer_of_a_request_does_not_depend_on_others() -> None:
    asked, gatherer = gathered(plant_twin())
    alone = [OPERATIONS[name].answer(asked, content) for name, content in questions()]

    def ask(one: tuple[str, dict[str, Any]]) -> Any:
        with gatherer.at_work():
            return OPERATIONS[one[0]].answer(asked, one[1])

    for _ in range(3):
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(ask, questions())) == alone
    gatherer.close()


def test_those_at_work_are_waited_for_and_nobody_else() -> None:
    calls: list[int] = []
    asked, gatherer = gathered(plant_twin(), tell=calls.append)
    OPERATIONS["mean"].answer(asked, {"given": ROW})
    assert calls == [1]
    ready = threading.Barrier(8)

    def ask(_: int) -> None:
        with gatherer.at_work():
            ready.wait()
            asked.law.push(np.ones((1, 4)), np.zeros((1, 1, 3)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert sum(calls) == 9 and max(calls) > 1
    gatherer.close()


def test_whoever_is_alone_is_answered_in_its_own_thread() -> None:
    """And those who come meanwhile are answered together, once that is done."""
    threads: list[str] = []
    inside, go_on, calls = threading.Event(), threading.Event(), []

    class Slow(Together):
        def answer(self, asks: Any) -> Any:
            threads.append(threading.current_thread().name)
            if len(threads) == 1:
                inside.set()
                go_on.wait(30)
            return super().answer(asks)

    gatherer = Gatherer(Slow(plant_twin().law), 32, calls.append)
    one = Ask("push", np.ones((1, 4)), np.zeros((1, 1, 3)))

    def ask() -> Any:
        with gatherer.at_work():
            return gatherer.ask(one)

    with ThreadPoolExecutor(4, thread_name_prefix="asker") as pool:
        first = pool.submit(ask)
        assert inside.wait(30)
        others = [pool.submit(ask) for _ in range(3)]
        while len(gatherer._waiting) < 3:
            time.sleep(0.001)
        go_on.set()
        assert all(np.array_equal(other.result(30), first.result(30)) for other in others)
    assert calls == [1, 3] and threads[0].startswith("asker") and threads[1] == "forebear-gather"
    gatherer.close()


def test_what_goes_wrong_for_whoever_is_alone_stops_nobody_else() -> None:
    class Fails(Together):
        def answer(self, asks: Any) -> Any:
            raise InputError("no")

    gatherer = Gatherer(Fails(plant_twin().law), 32)
    for _ in range(2):
        with gatherer.at_work(), pytest.raises(InputError, match="no"):
            gatherer.ask(Ask("push", np.ones((1, 4)), np.zeros((1, 1, 3))))
    gatherer.close()
    gatherer._thread.join(10)
    assert not gatherer._thread.is_alive()


def test_at_most_so_many_are_answered_in_one_call() -> None:
    calls: list[int] = []
    asked, gatherer = gathered(plant_twin(), most=3, tell=calls.append)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: asked.law.push(np.ones((1, 4)), np.zeros((1, 1, 3))), range(30)))
    assert sum(calls) == 30 and max(calls) <= 3
    gatherer.close()


def test_what_goes_wrong_reaches_him_who_asked_alone() -> None:
    class Fails(Together):
        def answer(self, asks: Any) -> Any:
            if any(ask.x[0, 0] == 7 for ask in asks):
                raise InputError("seven is refused")
            return super().answer(asks)

    gatherer = Gatherer(Fails(plant_twin().law), 32)

    def ask(value: float) -> Any:
        with gatherer.at_work():
            return gatherer.ask(Ask("push", np.full((1, 4), value), np.zeros((1, 1, 3))))

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, value) for value in (1.0, 7.0, 2.0, 3.0)]
    with pytest.raises(InputError, match="seven"):
        asked[1].result()
    assert all(asked[place].result().shape == (1, 1, 3) for place in (0, 2, 3))


def test_a_closed_gatherer_still_answers_those_who_were_in() -> None:
    asked, gatherer = gathered(plant_twin())
    before = asked.law.push(np.ones((1, 4)), np.zeros((1, 1, 3)))
    gatherer.close()
    gatherer._thread.join(10)
    assert not gatherer._thread.is_alive()
    assert np.array_equal(asked.law.push(np.ones((1, 4)), np.zeros((1, 1, 3))), before)
