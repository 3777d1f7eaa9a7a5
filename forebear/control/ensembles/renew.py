"""Which inputs the dynamics need, asked again of the data that came in while learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from forebear.control.ensembles.loop import Progress, Renew
from forebear.data.column import Column
from forebear.data.copies import find_copies
from forebear.errors import InputError

_CONSTANT = 1e-9


@dataclass(frozen=True)
class Names:
    """Of the columns of a table of transitions."""

    state: tuple[str, ...]
    action: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """States, then actions."""
        return self.state + self.action

    @property
    def targets(self) -> tuple[str, ...]:
        """The increment of every state."""
        return tuple(f"d_{name}" for name in self.state)

    def seen(self, row: np.ndarray) -> tuple[str, ...]:
        """The inputs where a row of a mask is not zero.

        >>> Names(("x", "y"), ("u",)).seen(np.array([1.0, 0.0, 1.0]))
        ('x', 'u')
        """
        return tuple(name for name, shown in zip(self.inputs, row, strict=True) if shown)

    def table(self, x: Float[np.ndarray, "rows inputs"], y: Float[np.ndarray, "rows states"]) -> pd.DataFrame:
        """Transitions: states and actions x (rows, inputs), increments y (rows, states).

        >>> Names(("x",), ("u",)).table(np.zeros((1, 2)), np.ones((1, 1))).to_dict("list")
        {'x': [0.0], 'u': [0.0], 'd_x': [1.0]}
        """
        return pd.DataFrame(np.concatenate([x, y], axis=1), columns=[*self.inputs, *self.targets])


@dataclass(frozen=True)
class Renewal:
    """How often the inputs are discovered anew, and how."""

    every: int
    """trials"""
    rows: int = 5_000
    """of the data so far, at random and at most"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of `forebear.discover`"""

    def due(self, trial: int) -> bool:
        """Whether the inputs are asked for after so many trials."""
        return trial > 0 and trial % self.every == 0

    def seen(self, table: pd.DataFrame, names: Names, seed: int) -> np.ndarray:
        """1 for the inputs that some increment needs, 0 for those that none does.

        The candidates are the states. Actions stay in, for a planner that does not see an action believes that it
        costs nothing and does nothing; so do states that are no candidates, and those that have not moved yet.
        """
        from forebear.api.discover import discover

        few = table if len(table) <= self.rows else table.sample(self.rows, random_state=seed)
        moving = [name for name in few.columns if few[name].to_numpy().std() > _CONSTANT]
        options = {"targets": names.targets, "candidates": names.state, **self.options}
        targets, candidates = (_chosen(options.pop(kind), moving) for kind in ("targets", "candidates"))
        if not targets or not candidates:
            raise InputError("rediscover_every: no increment or no candidate varies in the data so far")
        settled = _copied(few, targets, [*candidates, *names.action])
        asked = [name for name in targets if name not in settled]
        needed = set(settled.values())
        if asked:
            keep = [name for name in names.action if name in moving]
            found = discover(few, asked, candidates, keep, seed=seed, progress=False, **options)
            needed |= {name for ancestors in found.ancestors.values() for name in ancestors}
        return np.array([float(name in needed or name not in candidates) for name in names.inputs])


def _copied(table: pd.DataFrame, targets: Sequence[str], inputs: Sequence[str]) -> dict[str, str]:
    """Increments that are an input, rescaled: there is nothing to discover, the input is needed."""
    columns = [Column(name, "real", table[name].to_numpy(float)) for name in [*inputs, *targets]]
    pairs = find_copies(columns)
    return {target: name for name, target in pairs if target in targets and name in inputs}


def _chosen(names: str | Sequence[str], moving: Sequence[str]) -> list[str]:
    wanted = [names] if isinstance(names, str) else list(names)
    return [name for name in wanted if name in moving]


def renewed(renewal: Renewal | None, names: Names, seeds: Sequence[int | None]) -> Renew | None:
    """What `Task.renew` asks, for runs with these seeds; None leaves a run's inputs as they are."""
    if renewal is None:
        return None

    def renew(done: Progress) -> np.ndarray:
        seen = done.seen.copy()
        for run, seed in enumerate(seeds):
            if renewal.due(done.trial) and seed is not None:
                seen[run] = renewal.seen(names.table(*done.data(run)), names, seed)
        return seen

    return renew
