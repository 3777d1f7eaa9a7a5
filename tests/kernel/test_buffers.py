"""Memory of kernels that is used again, and how much of it a process keeps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import forebear as fb
from forebear.discovery import trace
from forebear.kernel.buffers import BufferPool


def use(pool: BufferPool, *sizes: int) -> list[np.ndarray]:
    """Take matrices of these sizes, and give them back."""
    taken = [pool.take(rows) for rows in sizes]
    for matrix in taken:
        pool.give(matrix)
    pool.trim()
    return taken


@pytest.fixture
def pool() -> BufferPool:
    return BufferPool(most_bytes=10_000_000)


def test_the_next_takes_over_what_was_given_back(pool: BufferPool) -> None:
    first = use(pool, 3, 3)
    assert pool.nbytes == 2 * 9 * 8
    again = use(pool, 3, 3)
    assert {id(matrix) for matrix in again} == {id(matrix) for matrix in first}


def test_nobody_shares_a_matrix(pool: BufferPool) -> None:
    use(pool, *[3] * 8)
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: pool.take(3), range(32)))
    assert len({id(matrix) for matrix in taken}) == 32 and pool.nbytes == 0


def test_what_was_not_given_back_is_not_kept(pool: BufferPool) -> None:
    pool.take(3)
    pool.trim()
    assert pool.nbytes == 0


def test_other_sizes_go(pool: BufferPool) -> None:
    use(pool, 3, 3)
    use(pool, 4)
    assert pool.nbytes == 16 * 8


def test_no_more_than_a_little_is_kept() -> None:
    pool = BufferPool(most_bytes=2 * 9 * 8 + 1)
    use(pool, 3, 3, 3)
    assert pool.nbytes == 2 * 9 * 8
    use(pool, 50)
    assert pool.nbytes == 0


def test_a_discovery_gives_the_same_numbers_in_memory_that_is_used_again(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "POOL", pool)
    table = fb.systems.lorenz63(trajectories=1).table
    options = {"targets": ["dx1"], "candidates": ["x1", "x2", "x3"], "rule": "nsr-jump", "steps": 5}
    fresh = fb.discover(table, **options, distilled=300)
    assert pool.nbytes == 300**2 * 8
    waiting = pool.take(300)
    waiting.fill(np.nan)
    pool.give(waiting)
    again = fb.discover(table, **options, distilled=300)
    assert again.paths["dx1"].equals(fresh.paths["dx1"])
