"""Work on a dask cluster: the data is scattered once, every unit of work is a task, a lost worker loses a try.

>>> from dask.distributed import Client, LocalCluster      # doctest: +SKIP
>>> with LocalCluster(n_workers=4, threads_per_worker=1) as cluster, Client(cluster) as client:   # doctest: +SKIP
...     found = forebear.discover(table, "y", runs=10, jobs=client)

Any cluster that a `dask.distributed.Client` connects to will do: one of this machine (LocalCluster), of a batch
system (SLURMCluster of dask-jobqueue), of several GPUs (a worker for each, with its own CUDA_VISIBLE_DEVICES). Every
worker needs forebear in the version of the client. One piece runs in a worker process at a time whatever its threads,
since JAX uses all cores it is given; so start workers with one thread each, and with as many cores as they may use.
Results are those of `jobs=1`, bit for bit, on machines of one kind.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forebear.run.workers import Died

# A worker that comes back after a crash, or the first of a batch system, may take a while.
_PATIENCE = 300.0
_ONE_AT_A_TIME = threading.Lock()


def work(function: Callable[[Any], Any], pieces: Sequence[Any], client: Any) -> Iterator[tuple[int, Any]]:
    """(place of the piece, its result or the exception that stands for it), as they come."""
    tries = Tries(len(pieces))
    for places in tries:
        with Tasks(client, function) as tasks:
            for place in places:
                tasks.submit(place, _call, pieces[place])
            for place, answer in tasks.answers():
                if not tries.again(place, answer):
                    yield place, answer


def _call(function: Callable[[Any], Any], piece: Any) -> Any:
    return function(piece)


class Tries:
    """Which pieces to try together: first all, then those that were lost one by one: one may have killed them all.

    >>> tries = Tries(3)
    >>> [(places, tries.again(1, Died("was lost"))) for places in tries]
    [([0, 1, 2], True), ([1], False)]
    """

    def __init__(self, pieces: int):
        self.pieces, self.lost, self.first = pieces, dict[int, None](), True

    def __iter__(self) -> Iterator[list[int]]:
        yield list(range(self.pieces))
        self.first = False
        yield from ([place] for place in self.lost)

    def again(self, place: int, answer: Any) -> bool:
        """Whether a piece with this answer is to be tried once more."""
        if self.first and isinstance(answer, Died):
            self.lost[place] = None
            return True
        return False


class Tasks:
    """Tasks that share one object, which is scattered to every worker; those still waiting go when the block is left.

    dask itself gives a task whose worker dies to another one, three times (`distributed.scheduler.allowed-failures`).
    What can still be lost is the shared object, with the last worker that held it: the tasks then answer `Died`, and
    whoever submitted them may do so again.
    """

    def __init__(self, client: Any, shared: Any):
        self.client = client
        client.wait_for_workers(1, timeout=_PATIENCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dask wonders about the size of what is scattered
            try:
                self.shared = client.scatter(shared, broadcast=True, hash=False)
            except ValueError:  # a worker came or went meanwhile: tasks fetch it from the one that has it
                self.shared = client.scatter(shared, hash=False)
        self.labels: dict[Any, Any] = {}

    def submit(self, label: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task that calls function(shared, *arguments); arguments may be futures of earlier tasks."""
        future = self.client.submit(_alone, function, self.shared, *arguments, pure=False)
        self.labels[future] = label
        return future

    def put(self, value: Any) -> Any:
        """A future of something that is known, to be an argument of tasks."""
        return self.client.scatter(value, hash=False)

    def answers(self) -> Iterator[tuple[Any, Any]]:
        """(label, result or exception) of every task as it is done."""
        from distributed import as_completed

        for future in as_completed(list(self.labels)):
            yield self.labels.pop(future), _answer(future)

    def __enter__(self) -> Tasks:
        return self

    def __exit__(self, *reason: object) -> None:
        self.client.cancel([*self.labels, self.shared])
        self.labels.clear()


def _answer(future: Any) -> Any:
    """The result, or the exception of the task; `Died` where it is the cluster's and not the task's own."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return future.result()
    except KilledWorker as error:
        worker = getattr(error.last_worker, "address", "?")
        return Died(f"was killed again and again (the last one at {worker}), most likely for lack of memory")
    except (CancelledError, FutureCancelledError, OSError) as error:
        return Died(f"was lost with the data ({type(error).__name__}), most likely killed for lack of memory")
    except Exception as error:
        return error


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    # Two at once in a process would share JAX's threads and the settings of BLAS, and the bits would depend on luck.
    with _ONE_AT_A_TIME:
        return function(*arguments)
