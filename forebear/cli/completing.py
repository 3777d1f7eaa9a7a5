"""Names that the shell completes; only dictionaries are read, so that the Tab key answers at once."""

from __future__ import annotations

from collections.abc import Iterable


def experiments(incomplete: str) -> Iterable[tuple[str, str]]:
    """Experiments that begin so, each with what it is about.

    >>> [name for name, _ in experiments("lorenz63")]
    ['lorenz63', 'lorenz63-residual']
    """
    from forebear.reproduce import EXPERIMENTS

    return [(name, about) for name, (_, about) in EXPERIMENTS.items() if name.startswith(incomplete)]


def benches(incomplete: str) -> Iterable[tuple[str, str]]:
    """Benchmarks that begin so, each with what it measures.

    >>> [name for name, _ in benches("lor")]
    ['lorenz63']
    """
    from forebear.benchmarks import BENCHES

    return [(name, about) for name, about in BENCHES.items() if name.startswith(incomplete)]
