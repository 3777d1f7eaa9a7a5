"""What a varied table is: rows, targets, what is true of them, and how `discover` is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

Sets = frozenset[str] | tuple[frozenset[str], ...]
"""the one right answer, or all that are as good as one another"""


@dataclass(frozen=True)
class VariedTable:
    """A generated table with a known truth.

    >>> table = varied({"a": np.zeros(3), "b": np.ones(3)}, np.arange(3.0), "a", keep=["b"])
    >>> table.candidates("y"), table.accepts("y", {"a", "b"}), table.accepts("y", {"b"})
    ({'a': ('a',)}, True, False)
    """

    frame: pd.DataFrame
    targets: tuple[str, ...]
    truth: Mapping[str, Sets]
    """target -> its ancestors; kept columns may be named or left out"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """for `forebear.discover`: periodic, rows, groups, keep, candidates"""
    undecidable: bool = False
    """the rows cannot decide: "cannot tell" is the right verdict, whatever the set"""

    def candidates(self, target: str) -> dict[str, tuple[str, ...]]:
        """What may be removed for a target: a group under its name, or a column under its own."""
        asked = self.options.get("candidates")
        names = asked[target] if isinstance(asked, Mapping) else asked
        kept = set(self.kept())
        others = [name for name in self.frame if name not in self.targets] if names is None else list(names)
        groups = {name: tuple(columns) for name, columns in self.options.get("groups", {}).items()}
        group_of = {column: name for name, columns in groups.items() for column in columns}
        units = dict.fromkeys(group_of.get(str(name), str(name)) for name in others if name not in kept)
        return {unit: groups.get(unit, (unit,)) for unit in units}

    def kept(self) -> tuple[str, ...]:
        """Columns that are conditioned on and never removed."""
        return tuple(self.options.get("keep", ()))

    def accepted(self, target: str) -> tuple[frozenset[str], ...]:
        """Every right answer for a target, without the columns that are kept anyway."""
        sets = self.truth[target]
        every = (sets,) if isinstance(sets, frozenset) else sets
        return tuple(own - set(self.kept()) for own in every)

    def accepts(self, target: str, chosen: set[str] | frozenset[str]) -> bool:
        """Whether a set of ancestors is right."""
        return frozenset(chosen) - set(self.kept()) in self.accepted(target)


@dataclass(frozen=True)
class Kind:
    """A kind of table: a name, and what draws one. Called with a seed, it gives the same table every time."""

    name: str
    draw: Callable[[np.random.Generator], VariedTable]

    def __call__(self, seed: int) -> VariedTable:
        """The table of a seed. The name is part of the seed, so that no two kinds share their numbers."""
        return self.draw(np.random.default_rng([seed, *self.name.encode()]))


def varied(
    inputs: Mapping[str, Any], y: np.ndarray, truth: str = "", undecidable: bool = False, **options: Any
) -> VariedTable:
    """A table with one target, y; `truth` holds the names of its ancestors, with blanks between."""
    frame = pd.DataFrame(dict(inputs)).assign(y=y)
    return VariedTable(frame, ("y",), {"y": frozenset(truth.split())}, options, undecidable)


def normals(rng: np.random.Generator, rows: int, number: int) -> dict[str, np.ndarray]:
    """Independent normal inputs x1, x2, …

    >>> list(normals(np.random.default_rng(0), 5, 2))
    ['x1', 'x2']
    """
    return {f"x{i + 1}": rng.normal(size=rows) for i in range(number)}


def autoregressive(rng: np.random.Generator, rows: int, memory: float) -> np.ndarray:
    """A stationary series of variance one, whose neighbours have this correlation.

    >>> series = autoregressive(np.random.default_rng(0), 50_000, 0.9)
    >>> bool(abs(series.var() - 1) < 0.1), bool(abs(np.corrcoef(series[1:], series[:-1])[0, 1] - 0.9) < 0.01)
    (True, True)
    """
    from scipy.signal import lfilter

    drive = np.sqrt(1 - memory**2) * rng.normal(size=rows)
    drive[0] = rng.normal()
    return np.asarray(lfilter([1.0], [1.0, -memory], drive))


def walk(rng: np.random.Generator, rows: int) -> np.ndarray:
    """A random walk, in units of its own standard deviation."""
    path = np.cumsum(rng.normal(size=rows))
    return (path - path.mean()) / path.std()


def runs(rows: int, number: int) -> np.ndarray:
    """The number of the run that each row belongs to: runs of rows that follow each other, as equal as can be.

    >>> runs(7, 3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    return np.arange(rows) * number // rows
