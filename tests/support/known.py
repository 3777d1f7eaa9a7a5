"""Latents that are known, so that no flow has to be trained: what the test of dependence makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forebear.data.table import Column
from forebear.discovery.dependence import Features, HostTest, TestResult, all_latent_features, judge, probe_candidate
from forebear.discovery.effective import RowDependence, autocorrelation, memory_beyond_inputs
from forebear.discovery.residuals import Residualiser, features


def real(values: np.ndarray) -> Features:
    """Features of a column of numbers."""
    return Features(features(Column("x", "real", values)))


def slow(values: np.ndarray) -> Features:
    """The same where rows follow each other."""
    own = features(Column("x", "real", values))
    return Features(own, autocorrelation(own))


def evidence(
    z: np.ndarray, x: Features, kept: Sequence[Features] = (), dependence: RowDependence | None = None
) -> TestResult:
    """The test of one removed input, from latents z (rows,)."""
    clearing = Residualiser([one.values for one in kept], len(z))
    return judge("x", clearing(all_latent_features(z)), probe_candidate([x], kept), clearing, dependence)


def host_test(columns: Mapping[str, Features], kept: Sequence[str] = ()) -> HostTest:
    """Every column is a candidate of its own."""
    return HostTest.of(columns, kept, {name: [name] for name in columns if name not in kept})


def dependence_of(z: np.ndarray, inputs: Sequence[Features]) -> RowDependence:
    """How slow latents (rows,) are beyond their inputs, as a certificate has it."""
    memories = [one.memory for one in inputs if one.memory is not None]
    memory = memory_beyond_inputs(all_latent_features(z), [one.values for one in inputs], memories)
    return RowDependence(len(z), latents=np.tile(memory.max(axis=0), (len(memory), 1)))


def autoregressive(rng: np.random.Generator, rows: int, memory: float, series: int = 1) -> np.ndarray:
    """Series (series, rows) of variance 1 in which each value remembers a share of the one before."""
    from scipy.signal import lfilter

    steps = rng.normal(size=(series, rows)) * np.sqrt(1 - memory**2)
    steps[:, 0] = rng.normal(size=series)
    return np.asarray(lfilter([1.0], [1.0, -memory], steps, axis=1))
