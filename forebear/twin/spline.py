"""One pass in place of the ODE: conditional quantile maps that are monotone by construction.

A network places points of the quantile curve, ever higher from left to right; a smooth monotone curve goes through
them. Quantiles never cross, a leap between two modes is two points close together, and latents and densities come in
closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from forebear.flow.network import Network
from forebear.twin.across import piece_across, steps_across
from forebear.twin.model import TwinModel

# The least step between points: across, as a share of the range, and up, against a slope of one. Both keep the
# chords finite where the law is nearly a point, or leaps from one mode to another.
LEAST_STEP, LEAST_SLOPE = 1e-3, 1e-4


class SplineModel(TwinModel):
    """One network per target. In an autoregressive model each also sees the targets before it, which makes it joint.

    A joint flow and its student have the same law but not the same latents: the student's follow the order of the
    targets (the Knothe-Rosenblatt map).
    """

    networks: Network
    """from features, then in an autoregressive model the targets, to what `Spline.of` takes"""
    reach: float = eqx.field(static=True)
    """the latents between which the points lie"""
    autoregressive: bool = eqx.field(static=True)

    @property
    def shape(self) -> dict[str, int | float | bool]:
        """What describes the model beside its networks."""
        return {"reach": self.reach, "autoregressive": self.autoregressive}

    @property
    def latents(self) -> int:
        """One for each target."""
        return len(self.networks.weights[0])

    @property
    def rises(self) -> bool:
        """By construction, if each target has its own latent alone."""
        return not self.autoregressive or self.latents == 1

    def push(self, x: Float[Array, "rows features"], z: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """The spline of each target at its latent."""
        if self.autoregressive:
            return self._in_turn(x, z)
        outputs = self.networks.across(x)
        across, up = steps_across(outputs, self.reach, LEAST_STEP, LEAST_SLOPE)
        return _Piece(*piece_across(across, up, outputs[0], self.reach, z.T)).up(z.T).T

    def pull(self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]) -> Float[Array, "rows targets"]:
        """The inverse, in closed form."""
        return self.pull_with_slope(x, y)[0]

    def pull_with_slope(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> tuple[Float[Array, "rows targets"], Float[Array, "rows slopes"]]:
        """Latents and log |dz/dy|, of all targets together when the model is autoregressive."""
        splines = self._splines(self._known(x, y) if self.autoregressive else x)
        z = splines.inverse(y.T)
        slope = -jnp.log(splines.slope(z)).T
        return z.T, slope.sum(axis=1, keepdims=True) if self.autoregressive else slope

    def _splines(self, x: Float[Array, "*some features"]) -> Spline:
        """Splines (targets, rows) from features (rows, features), or (targets, rows, features)."""
        return Spline.of(self.networks(x), self.reach)

    def _known(
        self, x: Float[Array, "rows features"], y: Float[Array, "rows targets"]
    ) -> Float[Array, "targets rows more"]:
        """What each network sees (targets, rows, features): the inputs, and the targets before its own."""
        targets = y.shape[1]
        before = jnp.tril(jnp.ones((targets, targets), y.dtype), -1)
        return jnp.stack([jnp.concatenate([x, y * before[i]], axis=1) for i in range(targets)])

    def _in_turn(
        self, x: Float[Array, "rows features"], z: Float[Array, "rows targets"]
    ) -> Float[Array, "rows targets"]:
        y = jnp.zeros_like(z)
        for i in range(z.shape[1]):
            alone = jax.tree.map(lambda layer, i=i: layer[i : i + 1], self.networks)
            [outputs] = alone(jnp.concatenate([x, y], axis=1))
            y = y.at[:, i].set(Spline.of(outputs, self.reach)(z[:, i]))
        return y


class Spline(eqx.Module):
    """Quantile maps (…), each through points (z_k, y_k) of its own: rational quadratics between them, straight tails.

    The slope at a point is the harmonic mean of those of the two chords beside it, so that the map is smooth, and
    monotone without any condition on the points.

    >>> line = Spline.of(jnp.array([3.0] + [0.0] * 8), reach=2.0)
    >>> jax.vmap(line)(jnp.array([-5.0, 0.0, 1.5])).round(2).tolist()
    [-2.0, 3.0, 4.5]
    >>> round(line.inverse(jnp.array(4.5)).item(), 3)
    1.5
    """

    z: Array
    """(…, points), from -reach to reach"""
    y: Array
    chords: Array
    """(…, points - 1), their slopes"""
    slopes: Array
    """(…, points)"""

    @classmethod
    def of(cls, outputs: Float[Array, "*some said"], reach: float) -> Spline:
        """From what a network says (…, 1 + 2 (points - 1)): the middle of the curve, its steps across and up."""
        count = outputs.shape[-1] // 2
        share = LEAST_STEP + (1 - count * LEAST_STEP) * jax.nn.softmax(outputs[..., 1 : count + 1])
        across = 2 * reach * share
        # Exponential below, so that small spreads are within reach; linear above, so that extrapolation stays tame.
        up = 2 * reach / count * (LEAST_SLOPE + 1 + jax.nn.elu(outputs[..., count + 1 :]))
        # Sums over the steps before a point, as products with a matrix; heights are counted from the middle one.
        before = np.triu(np.ones((count, count + 1), np.float32), 1)
        chords = up / across
        pairs = 2 * chords[..., 1:] * chords[..., :-1] / (chords[..., 1:] + chords[..., :-1])
        return cls(
            across @ before - reach,
            outputs[..., :1] + up @ (before - before[:, [count // 2]]),
            chords,
            jnp.concatenate([chords[..., :1], pairs, chords[..., -1:]], axis=-1),
        )

    def __call__(self, z: Float[Array, "*some"]) -> Float[Array, "*some"]:
        """The quantiles at latents z (…)."""
        return self._piece(z, self.z).up(z)

    def slope(self, z: Float[Array, "*some"]) -> Float[Array, "*some"]:
        """dy/dz at latents z (…)."""
        return self._piece(z, self.z).slope(z)

    def inverse(self, y: Float[Array, "*some"]) -> Float[Array, "*some"]:
        """The latents of values y (…)."""
        return self._piece(y, self.y).across(y)

    def _piece(self, at: Float[Array, "*some"], points: Float[Array, "*some points"]) -> _Piece:
        """The piece of the curve in which each value lies; the first and the last serve beyond the ends too."""
        passed = at[..., None] >= points[..., 1:-1]
        here = jnp.sum(passed, axis=-1, keepdims=True)

        def pick(values: Array, place: Array) -> Array:
            return jnp.take_along_axis(values, place, axis=-1)[..., 0]

        return _Piece(
            pick(self.z, here),
            pick(self.z, here + 1),
            pick(self.y, here),
            pick(self.y, here + 1),
            pick(self.chords, here),
            pick(self.slopes, here),
            pick(self.slopes, here + 1),
        )


class _Piece(NamedTuple):
    """One rational quadratic from (z, y) = (left, low) to (right, high), with straight continuations."""

    left: Array
    right: Array
    low: Array
    high: Array
    chord: Array
    start: Array
    """slope at the left end"""
    end: Array

    def up(self, z: Array) -> Array:
        share = jnp.clip((z - self.left) / (self.right - self.left), 0, 1)
        both = share * (1 - share)
        bend = self.chord + (self.start + self.end - 2 * self.chord) * both
        inside = self.low + (self.high - self.low) * (self.chord * share**2 + self.start * both) / bend
        return inside + self.start * jnp.minimum(z - self.left, 0) + self.end * jnp.maximum(z - self.right, 0)

    def slope(self, z: Array) -> Array:
        share = jnp.clip((z - self.left) / (self.right - self.left), 0, 1)
        both = share * (1 - share)
        bend = self.chord + (self.start + self.end - 2 * self.chord) * both
        rising = self.end * share**2 + 2 * self.chord * both + self.start * (1 - share) ** 2
        return self.chord**2 * rising / bend**2

    def across(self, y: Array) -> Array:
        rise = jnp.clip(y - self.low, 0, self.high - self.low)
        height, bend = self.high - self.low, self.start + self.end - 2 * self.chord
        a = height * (self.chord - self.start) + rise * bend
        b = height * self.start - rise * bend
        # The root of a s^2 + b s = chord * rise that lies in [0, 1], in the form that loses no digits.
        share = 2 * self.chord * rise / (b + jnp.sqrt(jnp.maximum(b**2 + 4 * a * self.chord * rise, 0)))
        tails = jnp.minimum(y - self.low, 0) / self.start + jnp.maximum(y - self.high, 0) / self.end
        return self.left + (self.right - self.left) * jnp.clip(share, 0, 1) + tails
