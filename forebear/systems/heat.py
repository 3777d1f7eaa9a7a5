"""A heated rod in ten nodes, controlled at both ends, with noise proportional to the temperature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.systems._paths import column, numbered, positive
from forebear.systems.laws import Gaussian
from forebear.systems.system import System

NODES, CONDUCTIVITY, DT, NOISE, LARGEST_CONTROL = 10, 0.01, 0.2, 0.2, 0.1
STATES, CONTROLS = numbered("x", NODES), numbered("u", 2)


def heat_matrices() -> tuple[np.ndarray, np.ndarray]:
    """`L` and `B` of `dX = L X + B U + X w`: shapes (10, 10) and (10, 2).

    Neumann conditions double the flux at the ends: through them the control enters, only there.

    >>> L, B = heat_matrices()
    >>> L[0, :3].round(3).tolist(), B[0].round(3).tolist()
    ([-0.324, 0.324, 0.0], [3.6, 0.0])
    """
    spacing = 1.0 / (NODES - 1)
    laplacian = np.diag(np.full(NODES, -2.0)) + np.eye(NODES, k=1) + np.eye(NODES, k=-1)
    laplacian[0, 1] = laplacian[-1, -2] = 2.0
    inflow = np.zeros((NODES, 2))
    inflow[0, 0] = inflow[-1, 1] = 2 * DT / spacing
    return CONDUCTIVITY * DT / spacing**2 * laplacian, inflow


def heat(trajectories: int = 200, steps: int = 200, seed: int = 0, nodes: Sequence[int] = (1, 10)) -> System:
    """One-step increments of the stochastic heat equation under random boundary controls.

    `X' = X + L X + B U + X w`, w ~ N(0, 0.2^2) per node and step, X0 ~ N(0, I), U ~ U(-0.1, 0.1)^2. `nodes`
    says which increments are targets: the two ends, as published, or any others. Given state and control each
    increment is normal, with mean in the neighbours and spread in the node itself.

    >>> heat(trajectories=2, steps=5).ancestors
    {'dx1': ('x1', 'x2', 'u1'), 'dx10': ('x9', 'x10', 'u2')}
    >>> heat(trajectories=2, steps=5, nodes=[4]).ancestors
    {'dx4': ('x3', 'x4', 'x5')}
    """
    positive(trajectories=trajectories, steps=steps)
    if not nodes or not set(nodes) <= set(range(1, NODES + 1)):
        raise InputError(f"`nodes` must be some of 1 to {NODES}; got {list(nodes)}")
    rng = np.random.default_rng(seed)
    transfer, inflow = heat_matrices()
    x = rng.standard_normal((trajectories, NODES))
    record = np.empty((steps, trajectories, 2 * NODES + 2))
    for n in range(steps):
        u = rng.uniform(-LARGEST_CONTROL, LARGEST_CONTROL, (trajectories, 2))
        dx = x @ transfer.T + u @ inflow.T + x * rng.normal(0.0, NOISE, x.shape)
        record[n] = np.hstack([x, u, dx])
        x = x + dx
    wanted = [*range(NODES + 2), *(NODES + 1 + i for i in nodes)]
    targets = tuple(f"dx{i}" for i in nodes)
    values = record.swapaxes(0, 1).reshape(-1, record.shape[-1])[:, wanted]
    terms = {target: _terms(i) for target, i in zip(targets, nodes, strict=True)}
    return System(
        name="heat",
        table=pd.DataFrame(values, columns=[*STATES, *CONTROLS, *targets]),
        targets=targets,
        candidates=STATES + CONTROLS,
        ancestors={target: tuple(terms[target]) for target in targets},
        quantiles={
            target: Gaussian(partial(_mean, terms[target]), partial(_std, f"x{i}"))
            for target, i in zip(targets, nodes, strict=True)
        },
    )


def _terms(node: int) -> dict[str, float]:
    """Coefficients of the mean increment of a node, zeros left out."""
    row = np.hstack([matrix[node - 1] for matrix in heat_matrices()])
    return {name: float(value) for name, value in zip(STATES + CONTROLS, row, strict=True) if value}


def _mean(terms: dict[str, float], given: pd.DataFrame) -> np.ndarray:
    return np.sum([value * column(given, name) for name, value in terms.items()], axis=0)


def _std(name: str, given: pd.DataFrame) -> np.ndarray:
    return NOISE * np.abs(column(given, name))
