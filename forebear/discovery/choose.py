"""Rules that read a pruning path and say which units are the ancestors.

A rule is any callable from a `Path` to the names of the units it keeps, so a new rule costs no refit.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from forebear.discovery.path import Path


@runtime_checkable
class Rule(Protocol):
    """Chooses from a finished path."""

    def __call__(self, path: Path) -> tuple[str, ...]:
        """The units to keep, in table order."""
        ...


class LargestJump:
    """The published rule, "nsr-jump": the set just before the largest rise of the noise-to-signal ratio.

    The step to the empty set counts, so that a single unit can be the answer. When no removal raises the ratio
    at all, nothing is needed and the answer is the empty set.

    >>> from types import SimpleNamespace
    >>> path = SimpleNamespace(increments=(0.01, 0.6, 0.1), remaining=lambda step: ("abc"[step:]))
    >>> LargestJump()(path)
    'bc'
    """

    def __call__(self, path: Path) -> tuple[str, ...]:
        """The units to keep, in table order."""
        jumps = path.increments
        step = int(np.argmax(jumps)) if jumps and max(jumps) > 0 else len(jumps)
        return path.remaining(step)


RULES = {"nsr-jump": LargestJump}
"""the names that `discover(rule=…)` knows"""
