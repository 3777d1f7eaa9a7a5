"""Many tests at once: which of them are rejected at a level for all, and adjusted p-values."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


def holm(p_values: Mapping[str, float], level: float) -> set[str]:
    """The names rejected at a family-wise level, by Holm's step-down rule.

    >>> sorted(holm({"a": 0.001, "b": 0.03, "c": 0.02}, level=0.05))
    ['a', 'b', 'c']
    >>> sorted(holm({"a": 0.001, "b": 0.03, "c": 0.04}, level=0.05))
    ['a']
    """
    rejected: set[str] = set()
    for place, name in enumerate(sorted(p_values, key=lambda n: p_values[n])):
        if p_values[name] * (len(p_values) - place) > level or math.isnan(p_values[name]):
            break
        rejected.add(name)
    return rejected


def adjusted(p_values: Mapping[str, float], method: str) -> dict[str, float]:
    """p-values that can be compared with a level for all tests together.

    "holm" controls the chance of a single false rejection, "fdr" the share of false ones among the rejected, however
    the tests depend on each other (Benjamini and Yekutieli 2001).

    >>> {name: round(p, 4) for name, p in adjusted({"a": 0.001, "b": 0.03, "c": 0.02}, "holm").items()}
    {'a': 0.003, 'b': 0.04, 'c': 0.04}
    >>> {name: round(p, 4) for name, p in adjusted({"a": 0.001, "b": 0.03, "c": 0.02}, "fdr").items()}
    {'a': 0.0055, 'b': 0.055, 'c': 0.055}
    """
    names = sorted(p_values, key=lambda name: p_values[name])
    values, count = np.array([p_values[name] for name in names]), len(names)
    if method == "holm":
        raised = np.maximum.accumulate(values * np.arange(count, 0, -1))
    else:
        harmonic = float((1 / np.arange(1, count + 1)).sum())
        raised = np.minimum.accumulate((values * count * harmonic / np.arange(1, count + 1))[::-1])[::-1]
    found = dict(zip(names, np.minimum(raised, 1.0), strict=True))
    return {name: float(found[name]) for name in p_values}
