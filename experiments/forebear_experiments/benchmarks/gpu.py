"""What a GPU makes of it: repeats, many models trained at once, and the ceilings of the kernel stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from forebear.errors import InputError

# Of one NVIDIA H200, from its data sheet: bytes per second from memory, and operations per second in double precision
# without and with its matrix units.
_BYTES, _OPERATIONS, _MATRIX_OPERATIONS = 4.8e12, 34e12, 67e12
# What an exponential costs in operations, about: a polynomial of degree 11 and the scaling.
_EXPONENTIAL = 30


def run(runs: int = 10, trajectories: int = 50, models: int = 40, draws: int = 30_000) -> Iterator[dict[str, Any]]:
    """Rows: the training of `models` models beside one; building and factorising a kernel of `draws` rows, each as a
    share of what an H200 can do; all six targets of Lorenz-63, `runs` times; the whole graph of Lorenz-96 with so
    many sites beside one target of it.
    """
    import jax

    if jax.default_backend() == "cpu":
        raise InputError("this benchmark needs a GPU, and JAX sees none: install jax[cuda12] where there is one")
    yield _training(models)
    yield from _kernel(draws)
    yield _repeats(runs, trajectories)
    yield _graph(models)


def _warm(work: Callable[[], Any]) -> tuple[float, Any]:
    work()  # compiles
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _repeats(runs: int, trajectories: int) -> dict[str, Any]:
    import forebear

    plain = forebear.systems.lorenz63(trajectories=trajectories)
    residual = forebear.systems.lorenz63(trajectories=trajectories, residuals=True)
    table = plain.table.assign(**{target: residual.table[target] for target in residual.targets})
    targets = [*plain.targets, *residual.targets]
    truth = {**plain.ancestors, **residual.ancestors}
    seconds, found = _warm(lambda: forebear.discover(table, targets, list(plain.candidates), runs=runs))
    exact = sum(set(chosen[t]) == set(truth[t]) for chosen in found.choices for t in targets)
    return {
        "what": f"Lorenz-63, six targets, {runs} runs of {round(0.8 * len(table)):,} rows, certified, warm",
        "ours_s": seconds,
        "exact_sets": f"{exact} of {runs * len(targets)}",
    }


def _graph(sites: int) -> dict[str, Any]:
    import forebear

    system = forebear.systems.lorenz96(sites)
    options: dict[str, Any] = {"distilled": 2_000}
    one, _ = _warm(lambda: forebear.discover(system.table, **system.options("dx1"), **options))
    everything, found = _warm(lambda: forebear.discover(system.table, **system.options(), **options))
    exact = sum(set(found.ancestors[t]) == set(system.ancestors[t]) for t in system.targets)
    return {
        "what": f"Lorenz-96 with {sites} sites, every target, certified, warm",
        "ours_s": everything,
        "baseline": f"one target, {sites} times",
        "baseline_s": one * sites,
        "ratio": one * sites / everything,
        "multiple_of_one_target": everything / one,
        "exact_sets": f"{exact} of {sites}",
    }


def _training(models: int) -> dict[str, Any]:
    import jax

    from forebear.flow.network import stack
    from forebear.flow.samplers import FlowSampler
    from forebear.flow.train import Rows, train

    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 10)).astype(np.float32)
    sampler = FlowSampler()

    def work(count: int) -> Callable[[], Any]:
        y = rng.normal(size=(count, len(x), 1)).astype(np.float32)
        untrained = stack([sampler.make(x.shape[1], 1, rng=rng) for _ in range(count)])
        masks, key = np.ones((count, x.shape[1])), jax.random.key(0)
        settings = sampler.settings
        return lambda: jax.block_until_ready(
            train(untrained, sampler.loss, Rows(x, y), None, masks, settings, key=key)
        )

    (one, _), (many, _) = _warm(work(1)), _warm(work(models))
    return {
        "what": f"training of {models} models at once",
        "ours_s": many,
        "baseline": f"one model, {models} times",
        "baseline_s": one * models,
        "ratio": one * models / many,
        "multiple_of_one_model": many / one,
    }


def _kernel(draws: int) -> list[dict[str, Any]]:
    import jax

    from forebear.kernel import device
    from forebear.kernel.product import Dense

    inputs = 4
    points = np.random.default_rng(0).normal(size=(inputs, 1, draws))
    build, _ = _warm(lambda: jax.block_until_ready(device.gram(points, range(inputs))))
    kernel = Dense.of(points)
    y = np.sin(points[0, 0])[:, None]
    solve, alpha = _warm(lambda: kernel.solve(y, 0.1))
    score, _ = _warm(lambda: kernel.energies(alpha, [[j] for j in range(inputs)]))
    entries = float(draws) ** 2
    return [
        {
            "what": f"{what} of a kernel of {draws:,} rows and {inputs} inputs",
            "ours_s": seconds,
            "share_of_peak_bytes": round(moved / seconds / _BYTES, 3),
            "share_of_peak_operations": round(operations / seconds / peak, 3),
        }
        for what, seconds, moved, operations, peak in (
            ("building", build, 8 * entries, inputs * entries * (_EXPONENTIAL + 5), _OPERATIONS),
            ("factorisation and solution", solve, 8 * entries * 3, draws**3 / 3, _MATRIX_OPERATIONS),
            ("scores", score, 8 * entries, inputs * entries * (_EXPONENTIAL + 8), _OPERATIONS),
        )
    ]
