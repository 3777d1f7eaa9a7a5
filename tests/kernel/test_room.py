"""Memory of kernels that is used again, and how much of it a process keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import forebear as fb
from forebear.kernel import room as memory
from forebear.kernel.room import give_back, kept_bytes, room, square


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(memory, "_kept", [])
    yield


def _use(*sizes: int) -> list[np.ndarray]:
    """Take matrices of these sizes in a room, and give them back."""
    with room():
        taken = [square(rows) for rows in sizes]
        for matrix in taken:
            give_back(matrix)
    return taken


def test_the_next_room_takes_over_what_was_given_back() -> None:
    first = _use(3, 3)
    assert kept_bytes() == 2 * 9 * 8
    again = _use(3, 3)
    assert {id(matrix) for matrix in again} == {id(matrix) for matrix in first}


def test_rooms_beside_each_other_share_nothing() -> None:
    [kept] = _use(3)
    with room():
        outer = square(3)
        [inner] = _use(3)
        assert outer is kept and inner is not kept
        give_back(outer)
    assert kept_bytes() == 2 * 9 * 8


def test_what_was_not_given_back_is_not_kept() -> None:
    with room():
        square(3)
    assert kept_bytes() == 0


def test_other_sizes_go() -> None:
    _use(3, 3)
    _use(4)
    assert kept_bytes() == 16 * 8


def test_no_more_than_a_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST_KEPT", 2 * 9 * 8 + 1)
    _use(3, 3, 3)
    assert kept_bytes() == 2 * 9 * 8
    _use(50)
    assert kept_bytes() == 0


def test_a_discovery_gives_the_same_numbers_in_memory_that_is_used_again() -> None:
    table = fb.systems.lorenz63(trajectories=1).table
    options = {"targets": ["dx1"], "candidates": ["x1", "x2", "x3"], "rule": "nsr-jump", "steps": 5}
    fresh = fb.discover(table, **options, distilled=300)
    assert kept_bytes() == 300**2 * 8
    memory._kept[0].fill(np.nan)
    again = fb.discover(table, **options, distilled=300)
    assert again.paths["dx1"].equals(fresh.paths["dx1"])
