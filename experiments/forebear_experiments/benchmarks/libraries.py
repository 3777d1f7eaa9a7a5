"""Pieces that forebear writes by hand, against the library that does the same, on the work that forebear gives them.

Every row says on how many cores it was measured and how busy the machine was before; run it on a quiet one. Where
there is a GPU, `JAX_PLATFORMS=cpu` keeps the comparison on the cores.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forebear_experiments.benchmarks.control import timed_row

_TOLERANCE, _ITERATIONS = 1e-3, 300
_ROUNDS = 5
"""in which a pool that broke is begun again"""


def run(
    sizes: Sequence[int] = (1_000, 3_000, 5_000, 10_000),
    trials: int = 50,
    jobs: int | None = None,
    tables: Sequence[int] = (300, 10_000, 1_000_000),
    steps: int = 1_500,
) -> Iterator[dict[str, Any]]:
    """All rows, four minutes on two cores; most of it goes to the greatest of the `sizes`.

    Arguments:
        sizes: of the matrices that are factorised.
        trials: of MPC that are planned for at once.
        jobs: worker processes; None: one for each core, at most eight.
        tables: rows of the tables that are shuffled.
        steps: of training on each of them.
    """
    from forebear.kernel.threads import cores

    where = {"cores": cores(), "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None}
    workers = min(cores(), 8) if jobs is None else jobs
    for rows in (
        import_rows(),
        lock_rows(),
        lbfgs_rows(trials),
        shuffle_rows(tables, steps),
        worker_rows(workers, 4 * workers),
        cholesky_rows(sizes),
    ):
        for row in rows:
            yield {**row, **where}


# Lazy loading


def import_rows() -> Iterator[dict[str, Any]]:
    """`import forebear`, in fresh processes, against all its names at once and, where it is installed (forebear does
    not need it), against `lazy_loader` with the same names.
    """
    import forebear

    ours = _import_seconds("import forebear")
    everything = "from forebear import *"
    yield timed_row("import forebear", ours, "all its names at once", _import_seconds(everything, repeats=2))
    if find_spec("lazy_loader"):
        homes: dict[str, list[str]] = {}
        for name, home in forebear._HOMES.items():
            homes.setdefault(home.removeprefix("forebear."), []).append(name)
        theirs = _import_seconds(f"import lazy_loader; lazy_loader.attach('forebear', ['control'], {homes})")
        yield timed_row("import forebear", ours, "the same names by lazy_loader", theirs)


def _import_seconds(statement: str, repeats: int = 5) -> float:
    program = f"import time; t = time.perf_counter()\n{statement}\nprint(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    return min(float(subprocess.check_output(command, text=True).split()[-1]) for _ in range(repeats))


# The lock of a run folder


def lock_rows(times: int = 200) -> Iterator[dict[str, Any]]:
    """Taking and leaving a run folder, against `filelock` where it is installed (forebear does not need it)."""
    from forebear.storage.lock import alone_in

    with tempfile.TemporaryDirectory() as folder:

        def ours() -> None:
            for _ in range(times):
                with alone_in(folder):
                    pass

        what = f"taking and leaving a run folder, {times} times"
        if not find_spec("filelock"):
            [seconds] = _least(ours)
            yield {"what": what, "ours_s": seconds}
            return
        from filelock import FileLock  # pyright: ignore[reportMissingImports]

        def theirs() -> None:
            for _ in range(times):
                with FileLock(Path(folder) / "other"):
                    pass

        yield timed_row(what, *_between("filelock", *_least(ours, theirs)))


# L-BFGS for many plans at once


def lbfgs_rows(trials: int, scenarios: int = 64) -> Iterator[dict[str, Any]]:
    """Plans for the heated rod, 20 steps ahead, as in `forebear bench control`: against vmap of optax.lbfgs.

    All are compiled before and stop at the same norm of the gradient. Where actions reach their bounds there is more
    than one minimum, so the mean cost is beside the time, and in how many trials either found the lower one.
    """
    import jax
    import jax.numpy as jnp
    import jax.random as jr
    import optax

    from forebear.control import mpc
    from forebear.control.lbfgs import minimise
    from forebear.control.scenario import draw_noise
    from forebear.systems.heat import NODES
    from forebear_experiments.heat.rig import BOUNDS, cost, final_cost, true_step

    problem = mpc(true_step, cost, BOUNDS, noise=NODES, terminal=final_cost, scenarios=scenarios).problem
    searches = {
        "vmap of optax.lbfgs, zoom line search": optax.scale_by_zoom_linesearch(
            20, initial_guess_strategy="one"
        ),  # its own default
        "vmap of optax.lbfgs, backtracking": optax.scale_by_backtracking_linesearch(30, store_grad=True),
    }
    with jax.enable_x64(True):
        states = jnp.asarray(np.random.default_rng(0).standard_normal((trials, NODES)))
        noise = draw_noise(jr.key(0), (problem.horizon, trials, scenarios, NODES))
        start = jnp.zeros((trials, problem.horizon * len(BOUNDS)))

        def expected(states: Any, flat: Any, noise: Any) -> Any:
            return problem.expected(states, flat.reshape(len(flat), problem.horizon, -1), noise)

        def one(state: Any, flat: Any, noise: Any) -> Any:
            return expected(state[None], flat[None], noise[:, None])[0]

        # Nothing is captured that could be computed while compiling.
        ours = jax.jit(
            lambda states, start, noise: minimise(
                lambda flat: expected(states, flat, noise), start, iterations=_ITERATIONS, tolerance=_TOLERANCE
            )
        )
        ways = [lambda: ours(states, start, noise).x]
        for search in searches.values():
            theirs = jax.jit(jax.vmap(partial(_by_optax, one, search), in_axes=(0, 0, 1)))
            ways.append(partial(theirs, states, start, noise))
        mine, *others = [_timed(way) for way in ways]
        best, *costs = (np.asarray(expected(states, found, noise)) for _, _, found in (mine, *others))
    for name, (compiled, seconds, _), reached in zip(searches, others, costs, strict=True):
        yield {
            **timed_row(f"{trials} plans at once, L-BFGS", mine[1], name, seconds),
            "compile_s": mine[0],
            "baseline_compile_s": compiled,
            "cost": float(best.mean()),
            "baseline_cost": float(reached.mean()),
            "lower_cost": int((best < reached * (1 - 1e-6)).sum()),
            "baseline_lower_cost": int((reached < best * (1 - 1e-6)).sum()),
        }


def _by_optax(objective: Callable[..., Any], search: Any, state: Any, start: Any, noise: Any) -> Any:
    """The loop that optax's guide shows, compiled."""
    import jax
    import jax.numpy as jnp
    import optax

    solver = optax.lbfgs(linesearch=search)

    def value(flat: Any) -> Any:
        return objective(state, flat, noise)

    def step(now: Any) -> Any:
        flat, kept, number = now
        at, gradient = optax.value_and_grad_from_state(value)(flat, state=kept)
        updates, kept = solver.update(gradient, kept, flat, value=at, grad=gradient, value_fn=value)
        return optax.apply_updates(flat, updates), kept, number + 1

    def goes_on(now: Any) -> Any:
        _, kept, number = now
        flat = jnp.linalg.norm(optax.tree.get(kept, "grad")) <= _TOLERANCE
        return (number == 0) | ((number < _ITERATIONS) & ~flat)

    return jax.lax.while_loop(goes_on, step, (start, solver.init(start), 0))[0]


def _timed(way: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the first call less those of a later one, seconds of the quickest of three, and the answer."""
    import jax

    started = time.perf_counter()
    jax.block_until_ready(way())
    first = time.perf_counter() - started
    [seconds] = _least(lambda: jax.block_until_ready(way()), warm=False)
    return max(0.0, first - seconds), seconds, way()


# The order of rows in training


def shuffle_rows(tables: Sequence[int], steps: int) -> Iterator[dict[str, Any]]:
    """A training of the preset's network and batch, in both orders; one step of it is the time over `steps`."""
    for rows in tables:
        ours, theirs = (_training(rows, steps, sort=sort) for sort in (False, True))
        seconds = _least(ours, theirs)
        yield {
            **timed_row(
                f"training on {rows:,} rows, {steps:,} steps",
                *_between("jax.random.permutation of all rows in each epoch", *seconds),
            ),
            "step_ms": 1e3 * seconds[0] / steps,
            "baseline_step_ms": 1e3 * seconds[1] / steps,
            "loss": ours(),
            "baseline_loss": theirs(),
        }


def _training(rows: int, steps: int, *, sort: bool) -> Callable[[], float]:
    """Trains a network of the default size on a line; gives its loss on the first rows."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import jax.random as jr
    import optax

    from forebear.flow.network import Network
    from forebear.flow.settings import FlowSettings
    from forebear.flow.shuffle import rows_at

    settings = FlowSettings()
    batch = min(settings.batch, rows)
    batches = rows // batch
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(rows, 3)), jnp.float32)
    network = Network.fresh(3, 1, width=settings.width, depth=settings.depth, activation=settings.activation, rng=rng)
    arrays, static = eqx.partition(network, eqx.is_array)
    optimiser = optax.adam(1e-3)

    def loss(arrays: Any, x: Any) -> Any:
        return jnp.mean((eqx.combine(arrays, static)(x) - x[:, :1]) ** 2)

    def learn(now: Any, x: Any) -> Any:
        arrays, state = now
        updates, state = optimiser.update(jax.grad(loss)(arrays, x), state)
        return optax.apply_updates(arrays, updates), state

    def ours(number: Any, now: Any, x: Any) -> Any:
        key = jr.fold_in(jr.key(0), number // batches)
        return learn(now, x[rows_at(number % batches * batch + jnp.arange(batch), rows, key)])

    def theirs(number: Any, now: Any, x: Any) -> Any:
        trained, order = now
        place = number % batches
        order = jax.lax.cond(
            place == 0, lambda: jr.permutation(jr.fold_in(jr.key(0), number // batches), rows), lambda: order
        )
        return learn(trained, x[jax.lax.dynamic_slice(order, (place * batch,), (batch,))]), order

    @jax.jit
    def trained(arrays: Any, x: Any) -> Any:
        begin = arrays, optimiser.init(arrays)
        if not sort:
            return loss(jax.lax.fori_loop(0, steps, lambda i, now: ours(i, now, x), begin)[0], x[:10_000])
        (arrays, _), _ = jax.lax.fori_loop(0, steps, lambda i, now: theirs(i, now, x), (begin, jnp.arange(rows)))
        return loss(arrays, x[:10_000])

    return lambda: float(trained(arrays, x))


# Worker processes


class _Piece(NamedTuple):
    folder: str
    """where each try leaves a file"""
    number: int
    steps: int
    mortal: bool
    """its process is killed the first time"""


def worker_rows(jobs: int, pieces: int, steps: int = 1_000) -> Iterator[dict[str, Any]]:
    """Pieces that import JAX, compile and train for so many steps; in fresh processes, then with one of them killed.

    The pools break when one of their processes dies, and do not say which piece it was at: here a loop begins them
    again with what is missing. "lost" are the pieces without a result when that happens; "tries" counts what was
    begun, a second time too. Ours tries the piece once more by itself.
    """
    pools = {
        "loky (joblib), begun again": partial(_by_pool, _loky),
        "ProcessPoolExecutor, begun again": partial(_by_pool, _standard),
    }
    for killed in (False, True):
        ours, *others = [_worked(way, jobs, pieces, steps, killed) for way in (_by_workers, *pools.values())]
        what = f"{pieces} pieces in {jobs} worker processes" + (", one of them killed" if killed else "")
        for name, theirs in zip(pools, others, strict=True):
            row = timed_row(what, ours.seconds, name, theirs.seconds)
            if killed:
                row |= {"tries": ours.tries, "baseline_tries": theirs.tries}
                row |= {
                    "lost": ours.lost,
                    "baseline_lost": theirs.lost,
                    "told": ours.told,
                    "baseline_told": theirs.told,
                }
            yield row


class _Worked(NamedTuple):
    seconds: float
    tries: int
    lost: int
    told: str


def _worked(way: Callable[..., tuple[int, str]], jobs: int, pieces: int, steps: int, killed: bool) -> _Worked:
    with tempfile.TemporaryDirectory() as folder:
        todo = [_Piece(folder, number, steps, mortal=killed and number == jobs) for number in range(pieces)]
        started = time.perf_counter()
        lost, told = way(todo, jobs)
        return _Worked(time.perf_counter() - started, len(list(Path(folder).iterdir())), lost, told)


def _work_on(piece: _Piece) -> float:
    tries = len(list(Path(piece.folder).glob(f"{piece.number}-*")))
    (Path(piece.folder) / f"{piece.number}-{tries}").touch()
    result = _trained(piece) if piece.steps else 0.0
    if piece.mortal and not tries:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return result


def _trained(piece: _Piece) -> float:
    os.environ["JAX_PLATFORMS"] = "cpu"  # a GPU has no room for so many processes
    import jax
    import jax.numpy as jnp

    def step(number: Any, weights: Any) -> Any:
        return weights - 1e-3 * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(weights)

    x = jnp.full((64, 64), (piece.number + 1) / 64)
    weights = jax.jit(lambda weights: jax.lax.fori_loop(0, piece.steps, step, weights))(jnp.ones((64, 64)))
    return float(weights.sum())


def _by_workers(pieces: Sequence[_Piece], jobs: int) -> tuple[int, str]:
    from forebear.run.workers import work

    failed = [result for _, result in work(_work_on, pieces, jobs) if isinstance(result, BaseException)]
    return len(failed), ", ".join(map(str, failed))


def _by_pool(pool: Callable[[int], Executor], pieces: Sequence[_Piece], jobs: int) -> tuple[int, str]:
    lost: list[int] = []
    told: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        with pool(jobs) as executor:
            tasks = {piece: executor.submit(_work_on, piece) for piece in pieces}
            errors = {piece: task.exception() for piece, task in tasks.items()}
        pieces = [piece for piece, error in errors.items() if error]
        if not pieces:
            break
        lost.append(len(pieces))
        told.update(f"{type(error).__name__}: {str(error).splitlines()[0]}" for error in errors.values() if error)
    return (lost[0] if lost else 0), "; ".join(told)


def _loky(jobs: int) -> Executor:
    from joblib.externals.loky import ProcessPoolExecutor as Loky

    return Loky(jobs)


def _standard(jobs: int) -> Executor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


# Cholesky factorisation


def cholesky_rows(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """A kernel of six inputs, too rough to be truncated, factorised and solved with; on idle cores and on crowded
    ones, where a busy process stands beside every second core.

    The library is scipy, with as many threads of BLAS as it takes, and with one.
    """
    from forebear.kernel.cholesky import cholesky_solve
    from forebear.kernel.threads import cores, one_thread

    for rows in sizes:
        matrix, y = _rough(rows)
        for busy in (0, max(1, cores() // 2)):
            what = f"Cholesky, {rows:,} rows, " + (f"{busy} of {cores()} cores busy" if busy else "idle cores")
            ways = {
                "forebear": partial(cholesky_solve, y=y),
                "scipy's cho_factor, all threads of BLAS": partial(_by_scipy, y=y),
                "scipy's cho_factor, one thread": partial(_by_scipy, y=y, limit=one_thread),
            }
            with _crowd(busy):
                done = [_factorised(way, matrix) for way in ways.values()]
            (ours, solution), *others = done
            alone = others[-1][1]
            for name, (seconds, other) in zip([*ways][1:], others, strict=True):
                yield {
                    **timed_row(what, ours, name, seconds),
                    "residual": _residual(matrix, solution, y),
                    "baseline_residual": _residual(matrix, other, y),
                    "baseline_bits_as_with_one_thread": bool(np.array_equal(other, alone)),
                }


def _rough(rows: int) -> tuple[np.ndarray, np.ndarray]:
    from forebear.kernel.host import gram

    rng = np.random.default_rng(0)
    matrix = gram(3 * rng.normal(size=(6, 1, rows)), range(6))
    matrix[np.diag_indices(rows)] += 0.01
    return matrix, rng.normal(size=(rows, 1))


def _by_scipy(matrix: np.ndarray, y: np.ndarray, limit: Callable[[], Any] = nullcontext) -> np.ndarray:
    """In place as well: a symmetric matrix in C order is its own transpose in Fortran's."""
    from scipy.linalg import cho_factor, cho_solve

    with limit():
        factor = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
        return cho_solve(factor, y, check_finite=False)


def _factorised(way: Callable[[np.ndarray], Any], matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """Least seconds, of as many repeats as are soon done, and the solution."""
    seconds, solution = [], np.empty(0)
    while len(seconds) < 3 and sum(seconds) < 3:
        scratch = matrix.copy()
        started = time.perf_counter()
        solution = way(scratch)
        seconds.append(time.perf_counter() - started)
    return min(seconds), solution


def _residual(matrix: np.ndarray, solution: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(matrix @ solution - y).max())


@contextmanager
def _crowd(count: int) -> Iterator[None]:
    """So many other processes that never rest, and end with this one."""
    program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"
    busy = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        if busy:
            time.sleep(0.5)  # until they are at it
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _between(name: str, ours: float, theirs: float) -> tuple[float, str, float]:
    return ours, name, theirs


def _least(*ways: Callable[[], Any], repeats: int = 3, warm: bool = True) -> list[float]:
    """Seconds of each, in turn, so that a busy moment of the machine hits none of them alone."""
    for way in ways if warm else ():
        way()
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, own in zip(ways, seconds, strict=True):
            started = time.perf_counter()
            way()
            own.append(time.perf_counter() - started)
    return [min(own) for own in seconds]
