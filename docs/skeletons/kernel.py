"""A kernel of your own: how fast similarity falls with distance. Copy, rename, change one line."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import forebear as fb


@dataclass(frozen=True)
class RationalQuadratic(fb.Kernel):
    """Many lengthscales at once: (1 + d^2 / (2 a))^-a; a large `a` is the squared exponential."""

    a: float = 1.0

    def __call__(self, squared: Any, xp: Any) -> Any:
        """k at squared distances; `xp` is numpy on a CPU and jax.numpy on a GPU."""
        return (1 + squared / (2 * self.a)) ** -self.a


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1_000, 3)), columns=["a", "b", "c"])
    table["y"] = table["b"] + np.exp(table["c"]) * rng.normal(size=1_000)
    found = fb.discover(table, "y", kernel=RationalQuadratic(a=2.0), steps=300, distilled=500)
    print(found.summary())
