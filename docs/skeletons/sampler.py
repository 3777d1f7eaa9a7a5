"""A new sampler, to copy: a linear mean with noise of one size.

`fb.discover(table, "y", sampler=LinearSampler())` draws from it, and `found.twin()` is then made of it. `push` is all
a law needs. With `pull` a twin knows latents and quantile maps and can be distilled, saved and exported; with
`log_prob` it knows densities. Add it to `SAMPLERS` in tests/contracts/test_samplers.py and run that file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class LinearLaw:
    """y = x w + spread z, one latent for each output."""

    weights: np.ndarray
    """(1 + features, outputs)"""
    spread: np.ndarray
    """(outputs,)"""
    inputs: tuple[str, ...]

    @property
    def latents(self) -> int:
        """Standard normal numbers that a draw needs."""
        return len(self.spread)

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        """Draws (rows, outputs) from latents z (rows, latents)."""
        return self._mean(given) + self.spread * z

    def pull(self, given: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        """The latents of observed outputs: the inverse of `push`. You may leave it out."""
        return (y - self._mean(given)) / self.spread

    def log_prob(self, given: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        """Log densities (rows,) of all outputs together. You may leave it out."""
        z = self.pull(given, y)
        return (-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - np.log(self.spread)).sum(axis=1)

    def _mean(self, given: pd.DataFrame) -> np.ndarray:
        return _design(given[list(self.inputs)]) @ self.weights


class LinearSampler:
    """Least squares."""

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> LinearLaw:
        """The law of the columns of `y` given those of `given`; nothing is left to chance, so `seed` is not used."""
        x, values = _design(given), y.to_numpy(float)
        weights = np.linalg.lstsq(x, values, rcond=None)[0]
        return LinearLaw(weights, (values - x @ weights).std(axis=0), tuple(given.columns))


def _design(given: pd.DataFrame) -> np.ndarray:
    """A constant and the columns, labels as their codes: numbers are float64, categories have their labels."""
    columns = [given[name].cat.codes if given[name].dtype == "category" else given[name] for name in given]
    return np.column_stack([np.ones(len(given)), *columns])
