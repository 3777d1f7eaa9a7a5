"""A discovery on a real cluster of worker processes: the same bits as on one, also when a worker is killed midway."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mortal import Mortal
from quick import QUICK

import forebear as fb
from forebear.run.engine import Unfinished

distributed = pytest.importorskip("distributed")

# dask warns of its own housekeeping (ports in use, workers that are slow to start).
pytestmark = pytest.mark.filterwarnings("default")

SMALL: dict[str, Any] = {**QUICK, "runs": 2}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import dask.config

    settings = {"distributed.scheduler.allowed-failures": 2, "distributed.admin.log-format": "%(message)s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    return data.assign(y=data["b"] + rng.normal(size=400), s=data["a"] * rng.normal(size=400))


def answers(found: fb.Found) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "seconds"}


class Killer(threading.Thread):
    """Kills the first worker that is seen at work after some task is done."""

    def __init__(self, client: Any, parts: Path):
        super().__init__(daemon=True)
        self.client, self.parts, self.killed, self.stop = client, parts, "", False
        self.pids = client.run(os.getpid)

    def run(self) -> None:
        while not self.killed and not self.stop:
            time.sleep(0.02)
            busy = [worker for worker, tasks in self.client.processing().items() if tasks]
            if busy and any(self.parts.rglob("draws.safetensors")):
                with suppress(KeyError, ProcessLookupError):
                    os.kill(self.pids[busy[0]], signal.SIGKILL)
                    self.killed = busy[0]


@pytest.mark.slow
def test_same_bits_with_a_worker_killed_in_the_middle(client: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    killer = Killer(client, tmp_path / "run")
    killer.start()
    try:
        spread = fb.discover(table, ["y", "s"], jobs=client, out=tmp_path / "run", **SMALL)
    finally:
        killer.stop = True
        killer.join()
    assert killer.killed, "the run was over before a worker could be killed"
    alone = fb.discover(table, ["y", "s"], out=tmp_path / "alone", **SMALL)
    assert answers(spread) == answers(alone)
    assert not (tmp_path / "run" / "parts").exists()
    # What was done on a cluster is taken up by one process, and nothing is computed again.
    again = fb.discover(table, ["y", "s"], out=tmp_path / "run", **SMALL)
    assert answers(again) == answers(alone) and again.seconds < alone.seconds


def test_a_task_that_kills_every_worker_is_named(client: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    quick: dict[str, Any] = {"rule": "nsr-jump", "folds": 1, "candidates": ["a", "b"], **SMALL}
    out = tmp_path / "run"
    with pytest.raises(
        Unfinished, match=r"^run \d: y: its worker process was (killed again|lost with the data).*; the other"
    ):
        fb.discover(table, "y", sampler=Mortal(str(tmp_path), 100), jobs=client, out=out, **quick)
    assert len(list((out / "pieces").iterdir())) == 1


def test_pieces_of_any_kind(client: Any) -> None:
    from forebear.run.engine import spread

    assert list(spread(abs, [-1, 2, -3], client)) == [(-1, 1), (2, 2), (-3, 3)]


def test_a_client_that_is_closed_is_refused(client: Any, table: pd.DataFrame) -> None:
    closed = distributed.Client(client.scheduler.address)
    closed.close()
    with pytest.raises(fb.InputError, match="this dask client is closed: connect a new one"):
        fb.discover(table, "y", jobs=closed, **SMALL)
