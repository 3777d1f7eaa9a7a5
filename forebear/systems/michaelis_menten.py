"""Michaelis-Menten kinetics as a jump process: molecules of substrate, enzyme, complex and product."""

from __future__ import annotations

import numpy as np
import pandas as pd

from forebear.systems._paths import numbered, positive
from forebear.systems.system import System

MOLECULES = 6.023e23 * 1e-15
"""molecules in the volume at one mole per litre"""
START = (301, 120, 0, 0)
RATES = (1e6 / MOLECULES, 0.1, 0.1)
CHANGES = np.array([[-1, -1, 1, 0], [1, 1, -1, 0], [0, 1, -1, 1]])
"""binding S1 + S2 -> S3, unbinding S3 -> S1 + S2, conversion S3 -> S4 + S2"""


def michaelis_menten(
    paths: int = 2_000,
    duration: float = 50.0,
    interval: float = 0.1,
    random_start: bool = True,
    seed: int = 0,
) -> System:
    """Changes of the four counts over `interval`, by exact stochastic simulation (Higham 2008).

    x1 substrate, x2 enzyme, x3 complex, x4 product. No rate reads x4, so (x1, x2, x3) is a Markov process of
    its own and strictly the law of each of the four changes depends on x1, x2 and x3 and not on x4: that is
    the graph given. For dx4, the conversions, x1 and x2 act only through complexes bound and converted within
    one interval, an effect of second order in `interval`: a finite sample may well show x3 alone.
    dx3 = -dx2 in every row. The unbinding rate is 0.1, where Higham has 1e-4.

    `random_start` draws x1 and x4 from {0..301}, x2 and x3 from {0..120}. The fixed start, (301, 120, 0, 0),
    obeys x2 + x3 = 120 and x1 + x3 + x4 = 301 for ever: two columns then fix the others, x4 can stand in for
    an ancestor, and no data can tell. No closed-form law is known: `quantiles` is empty.

    >>> data = michaelis_menten(paths=2, duration=1.0, random_start=False)
    >>> data.table.shape, data.table.loc[0, ["x1", "x2", "x3", "x4"]].tolist()
    ((20, 8), [301, 120, 0, 0])
    """
    positive(paths=paths, interval=interval, duration=duration)
    rng = np.random.default_rng(seed)
    start = np.tile(START, (paths, 1))
    if random_start:
        start = rng.integers(0, (301, 120, 120, 301), size=(paths, 4), endpoint=True)
    counts = _reactions(start, max(round(duration / interval), 1), interval, rng)
    changes = counts @ CHANGES
    before = start[:, None, :] + np.cumsum(changes, axis=1) - changes
    candidates, targets = numbered("x", 4), numbered("dx", 4)
    values = np.concatenate([before, changes], axis=2).reshape(-1, 8)
    return System(
        name="michaelis-menten",
        table=pd.DataFrame(values, columns=list(candidates + targets)),
        targets=targets,
        candidates=candidates,
        ancestors=dict.fromkeys(targets, candidates[:3]),
    )


def _reactions(start: np.ndarray, bins: int, interval: float, rng: np.random.Generator) -> np.ndarray:
    """How often each reaction fired in each interval: shape (paths, bins, 3).

    Every path that is still running fires one reaction per turn of the loop. Only the interval an event falls
    into is noted; the states at the recording times are sums of these counts.
    """
    counts = np.zeros((len(start), bins, 3), dtype=np.int64)
    alive, state, time = np.arange(len(start)), start.copy(), np.zeros(len(start))
    first, second, third = RATES
    while len(alive):
        bind = first * state[:, 0] * state[:, 1]
        unbind = bind + second * state[:, 2]
        total = unbind + third * state[:, 2]
        # with nothing left to react the wait is infinite, and the path is done
        wait = rng.standard_exponential(len(alive))
        time = time + np.divide(wait, total, out=np.full_like(wait, np.inf), where=total > 0)
        level = rng.random(len(alive)) * total
        running = time < bins * interval
        alive, state, time = alive[running], state[running], time[running]
        which = (level >= bind).astype(np.int64) + (level >= unbind)
        which = which[running]
        # rounding may put an event of the last instant into a bin that does not exist
        slot = np.minimum((time / interval).astype(np.int64), bins - 1)
        counts[alive, slot, which] += 1
        state = state + CHANGES[which]
    return counts
