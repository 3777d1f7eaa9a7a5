"""Repeats of a discovery on a dask cluster of this machine, beside the same repeats in one process: time and bits."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

from forebear.errors import InputError
from forebear.storage.records import to_record


def run(workers: int = 2, runs: int = 4, trajectories: int = 10, **arguments: Any) -> list[dict[str, Any]]:
    """Three rows, all of Lorenz-63 with three increments: a cluster, a cluster of which a worker is killed midway,
    and plain worker processes; the baseline is one process. All but the plain processes have compiled before.

    `trajectories` of 1,000 rows each; what else is given goes to `forebear.discover`.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("this benchmark needs dask: pip install 'forebear[cluster]'") from None
    import forebear

    system = forebear.systems.lorenz63(trajectories=trajectories)

    def discover(jobs: Any, repeats: int = runs) -> tuple[float, Any]:
        started = time.perf_counter()
        found = forebear.discover(system.table, **system.options(), runs=repeats, jobs=jobs, **arguments)
        answer = to_record(found.runs)
        return time.perf_counter() - started, answer

    discover(1, 2)
    alone, truth = discover(1)
    rows = []
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with Client(cluster) as client:
            discover(client, 2 * workers)  # every worker compiles
            for what, killed in (("", False), (", one killed midway", True)):
                pids: Any = client.run(os.getpid)
                victim = threading.Timer(0.4 * alone / workers, _kill, [next(iter(pids.values()))])
                if killed:
                    victim.start()
                seconds, answer = discover(client)
                victim.cancel()
                rows.append((f"{workers} dask workers{what}", seconds, answer))
    rows.append((f"{workers} processes, cold", *discover(workers)))
    return [
        {
            "what": f"Lorenz-63, {len(system.table):,} rows, {runs} runs: {what}",
            "ours_s": seconds,
            "baseline": "jobs=1",
            "baseline_s": alone,
            "ratio": alone / seconds,
            "same_bits": answer == truth,
        }
        for what, seconds, answer in rows
    ]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
