"""Network numbers back to raw numbers, on JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import Numbers


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
