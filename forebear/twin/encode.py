"""Raw numbers to network numbers and back, on numpy arrays at the faces and on JAX arrays inside.

A raw matrix holds numbers only: a category is its code, the place of its label among the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode

Numbers = Any
"""a numpy array, or a JAX array or tracer; what comes back is of the same library"""


class InputCode(eqx.Module):
    """Input columns (rows, inputs) as the features (rows, width) of `forebear.data.scaling.Encoder`.

    >>> code = InputCode.of([ColumnCode("a", "real", 1.0, 2.0), ColumnCode("b", "category", levels=("u", "v"))])
    >>> code(np.array([[5.0, 1.0]])).tolist()
    [[2.0, 0.0, 1.0]]
    """

    centre: Numbers
    scale: Numbers
    period: Numbers
    kinds: tuple[str, ...] = eqx.field(static=True)
    sizes: tuple[int, ...] = eqx.field(static=True)
    """levels of each column; 0 unless it is a category"""

    @classmethod
    def of(cls, codes: Sequence[ColumnCode]) -> InputCode:
        """The code of several columns side by side."""
        return cls(
            np.array([code.centre for code in codes]),
            np.array([code.scale for code in codes]),
            np.array([code.period or 1.0 for code in codes]),
            tuple(code.kind for code in codes),
            tuple(len(code.levels) for code in codes),
        )

    def __call__(self, x: Numbers) -> Numbers:
        """Features (rows, width), a column's features side by side, columns in order."""
        xp = _library(x)
        real, angle, label = (self._places(kind) for kind in ("real", "periodic", "category"))
        turn = 2 * np.pi * x[:, angle] / self.period[angle]
        waves = xp.stack([xp.cos(turn), xp.sin(turn)], axis=2).reshape(len(x), 2 * len(angle))
        parts = [(x[:, real] - self.centre[real]) / self.scale[real], np.sqrt(np.float32(2)) * waves]
        parts += [(x[:, [i]] == xp.arange(self.sizes[i])).astype(x.dtype) for i in label]
        owners = [*real, *np.repeat(angle, 2), *(i for i in label for _ in range(self.sizes[i]))]
        return xp.concatenate(parts, axis=1)[:, np.argsort(np.array(owners, int), kind="stable")]

    def _places(self, kind: str) -> np.ndarray:
        return np.array([place for place, own in enumerate(self.kinds) if own == kind], int)


class _Values(eqx.Module):
    """The tables of a `Dequantiser`, its cells on the standardised scale."""

    values: Numbers
    low: Numbers
    high: Numbers
    shift: Numbers
    kind: str = eqx.field(static=True)

    def collapse(self, y: Numbers, raw: Numbers) -> Numbers:
        """Standardised y (rows,) to values of the data; `raw` is y in the data's units."""
        if self.kind == "continuous":
            return raw
        passed = jnp.searchsorted(self.high, y, side="right")
        here = jnp.minimum(passed, len(self.values) - 1)
        if self.kind == "lattice":
            return self.values[here]
        atom = (passed < len(self.values)) & (y >= self.low[here])
        return jnp.where(atom, self.values[here], raw - self.shift[passed])


class OutputCode(eqx.Module):
    """Standardised outputs (rows, targets) back to the data's values, lattices and atoms included, inside JAX.

    At the faces `Dequantiser.collapse` does the same in double precision.

    >>> coin = Dequantiser("lattice", np.array([0.0, 1.0]), np.array([-0.5, 0.5]), np.array([0.5, 1.5]))
    >>> code = OutputCode.of(np.array([0.5, 0.0]), np.array([0.5, 2.0]), [coin, Dequantiser("continuous")])
    >>> code(jnp.array([[0.4, 3.0]])).tolist()
    [[1.0, 6.0]]
    """

    centre: Numbers
    scale: Numbers
    targets: tuple[_Values, ...]

    @classmethod
    def of(cls, centre: np.ndarray, scale: np.ndarray, dequantisers: Sequence[Dequantiser]) -> OutputCode:
        """The code of targets with this scaling."""
        tables = [
            _Values(d.values, (d.low - c) / s, (d.high - c) / s, d.shift, d.kind)
            for d, c, s in zip(dequantisers, centre, scale, strict=True)
        ]
        return cls(centre, scale, tuple(tables))

    def __call__(self, y: Numbers) -> Numbers:
        """Raw values (rows, targets)."""
        raw = y * self.scale + self.centre
        if all(table.kind == "continuous" for table in self.targets):
            return raw
        return jnp.stack([t.collapse(y[:, i], raw[:, i]) for i, t in enumerate(self.targets)], axis=1)


def _library(x: Numbers) -> Any:
    return np if isinstance(x, np.ndarray) else jnp
