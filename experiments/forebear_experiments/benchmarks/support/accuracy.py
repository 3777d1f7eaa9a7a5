"""What the benchmarks of twins share: a twin on the known graph of a system, and distances to its exact laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.systems.laws import Quantile
from forebear.systems.system import System
from forebear.twin.scores import wasserstein

if TYPE_CHECKING:
    from forebear.twin.twin import Twin


def fit(
    system: System,
    ancestors: Mapping[str, Sequence[str]] | None = None,
    *,
    joint: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Twin:
    """The twin that `Found.twin` would make of the system's table, given these inputs of each target.

    The inputs are those of the known graph unless told otherwise: what is measured is the twin, not the selection.
    """
    from forebear.data.table import read_columns
    from forebear.twin.fit import fit_twin
    from forebear.twin.settings import TwinSettings

    inputs = dict(system.ancestors if ancestors is None else ancestors)
    names = {name for own in inputs.values() for name in own} | set(inputs)
    table = read_columns(system.table, "the table", sorted(names))
    return fit_twin(table, inputs, joint=joint, settings=TwinSettings.resolve(settings), seed=seed)


def pick(table: pd.DataFrame, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Some rows of a table, drawn without replacement."""
    return table.iloc[np.sort(rng.permutation(len(table))[:rows])].reset_index(drop=True)


def exact_quantiles(law: Quantile, given: pd.DataFrame, n: int) -> np.ndarray:
    """The n middle quantiles (n, rows) of an exact law: what the sorted draws of a perfect sampler tend to."""
    return law(given, np.broadcast_to(((np.arange(n) + 0.5) / n)[:, None], (n, len(given))))


def exact_draws(law: Quantile, given: pd.DataFrame, n: int, rng: np.random.Generator) -> np.ndarray:
    """n draws (n, rows) of an exact law."""
    return law(given, rng.uniform(1e-12, 1 - 1e-12, (n, len(given))))


def summary(distances: np.ndarray, unit: float = 1.0) -> list[float]:
    """Mean and standard deviation over the inputs, in some unit."""
    return [float(distances.mean() / unit), float(distances.std() / unit)]


class Judge:
    """Distances of draws to an exact law at fixed inputs: Wasserstein-1 at each, and what perfect draws would show.

    A published distance may be to the exact quantiles or to a second sample, in the target's units or in its standard
    deviations: all four are measured.

    >>> from forebear.systems import algebraic
    >>> system = algebraic(rows=50)
    >>> judge = Judge(system.quantiles["y1"], system.table, 200, np.random.default_rng(0), sd=0.3)
    >>> told = judge(judge.second)
    >>> told["w1_to_second_sample"], 0 < told["w1"][0] < 0.1, told["w1"][0] / 0.3 == told["w1_sd"][0]
    ([0.0, 0.0], True, True)
    """

    def __init__(self, law: Quantile, given: pd.DataFrame, n: int, rng: np.random.Generator, sd: float):
        self.quantiles = exact_quantiles(law, given, n)
        self.second = exact_draws(law, given, n, rng)
        self.sd = sd
        self.floor = wasserstein(exact_draws(law, given, n, rng), self.quantiles)
        self.second_floor = wasserstein(exact_draws(law, given, n, rng), self.second)

    def __call__(self, draws: np.ndarray) -> dict[str, Any]:
        """Mean and standard deviation over inputs, of draws (n, rows)."""
        distances, to_second = wasserstein(draws, self.quantiles), wasserstein(draws, self.second)
        return {
            "w1": summary(distances),
            "w1_sd": summary(distances, self.sd),
            "w1_to_second_sample": summary(to_second),
            "w1_to_second_sample_sd": summary(to_second, self.sd),
            "over_floor": float(distances.mean() / self.floor.mean()),
        }

    def perfect(self) -> dict[str, Any]:
        """The same of draws of the exact law."""
        return {
            "w1": summary(self.floor),
            "w1_sd": summary(self.floor, self.sd),
            "w1_to_second_sample": summary(self.second_floor),
            "w1_to_second_sample_sd": summary(self.second_floor, self.sd),
        }
