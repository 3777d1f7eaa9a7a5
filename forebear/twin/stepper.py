"""One draw at a time, for loops that cannot wait: a distilled twin by numpy alone, arrays in and arrays out."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from forebear.data.scaling import Encoder, FeatureMap
from forebear.errors import InputError
from forebear.twin.spline import LEAST_SLOPE, LEAST_STEP, SplineModel

if TYPE_CHECKING:
    from forebear.twin.twin import Twin


class Stepper:
    """A distilled twin as a function of one row of inputs and its latents.

    The numbers are those of `Twin.core`, in some tens of microseconds: compiled code takes longer to be called than
    a network as small as this takes to be computed. `Twin.stepper` makes one.
    """

    def __init__(self, student: Twin):
        model = student.model
        assert isinstance(model, SplineModel), "a twin's student is a spline"
        self.inputs, self.targets, self.latents = student.inputs, student.targets, model.latents
        self._features = _RowFeatures(student.encoder)
        self._layers = [
            (np.asarray(weight), np.asarray(bias)[:, None])
            for weight, bias in zip(model.networks.weights, model.networks.biases, strict=True)
        ]
        self._reach, self._in_turn = model.reach, model.autoregressive
        self._centre, self._scale = (
            np.array([getattr(target, name) for target in student.outputs]) for name in ("centre", "scale")
        )
        self._lattices = [
            (i, target.collapser) for i, target in enumerate(student.outputs) if target.collapser.kind != "continuous"
        ]

    def __call__(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Targets (targets,) at inputs x (inputs,), in the order of `inputs`, from latents z (latents,): a draw where
        these are standard normal. Categories are codes on both sides; a missing cell is NaN."""
        x, z = np.asarray(x, np.float64), np.asarray(z, np.float64)
        if x.shape != (len(self.inputs),) or z.shape != (self.latents,):
            raise InputError(
                f"a step takes one row of {len(self.inputs)} inputs and {self.latents} latents; got x of shape "
                f"{x.shape} and z of shape {z.shape}"
            )
        features = self._features(x)
        told = self._one_by_one(features, z) if self._in_turn else self._curves(self._said(features, slice(None)), z)
        y = told * self._scale + self._centre
        for i, collapser in self._lattices:
            y[i] = collapser.collapse(y[i : i + 1])[0]
        return y

    def _one_by_one(self, features: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Targets of a joint law: each also hears those before it."""
        seen = np.concatenate([features, np.zeros(len(z), np.float32)])
        for i in range(len(z)):
            [seen[len(features) + i]] = self._curves(self._said(seen, slice(i, i + 1)), z[i : i + 1])
        return seen[len(features) :].astype(float)

    def _said(self, seen: np.ndarray, which: slice) -> Float[np.ndarray, "networks said"]:
        """What some of the networks say."""
        hidden = seen[None]
        for number, (weight, bias) in enumerate(self._layers):
            if number:
                # silu, by a function that overflows nowhere
                half = 0.5 * hidden
                hidden = half + half * np.tanh(half)
            hidden = hidden @ weight[which] + bias[which]
        return hidden[:, 0]

    def _curves(self, said: Float[np.ndarray, "networks said"], z: np.ndarray) -> np.ndarray:
        """The quantile curves of `Spline` at a latent each."""
        count, span = said.shape[1] // 2, 2 * self._reach
        share, rise = said[:, 1 : count + 1], said[:, count + 1 :]
        share = np.exp(share - share.max(axis=1, keepdims=True))
        share *= (1 - count * LEAST_STEP) / share.sum(axis=1, keepdims=True)
        across = span * (LEAST_STEP + share)
        up = span / count * (LEAST_SLOPE + 1 + np.maximum(rise, 0) + np.expm1(np.minimum(rise, 0)))
        ends = across.cumsum(axis=1) - self._reach
        # A curve has a dozen pieces: from here on, plain numbers are faster than arrays of them.
        curves = zip(said[:, 0].tolist(), across.tolist(), up.tolist(), ends.tolist(), z.tolist(), strict=True)
        return np.array([_at(*curve) for curve in curves])


def _at(middle: float, across: list[float], up: list[float], ends: list[float], z: float) -> float:
    """The curve whose pieces are so wide and so high, and end at these latents, at latent z: see `Spline`."""
    last = len(ends) - 1
    here = bisect_right(ends, z, 0, last)
    width, height, end = across[here], up[here], ends[here]
    chord, half = height / width, len(ends) // 2
    # Heights are counted from the middle point, which lies before piece number `half`.
    low = middle + sum(up[half:here]) if here >= half else middle - sum(up[here:half])
    start_slope = _harmonic(chord, up[here - 1] / across[here - 1]) if here else chord
    end_slope = _harmonic(chord, up[here + 1] / across[here + 1]) if here < last else chord
    beyond = z - end
    along = min(max((beyond + width) / width, 0.0), 1.0)
    both = along * (1 - along)
    bend = chord + (start_slope + end_slope - 2 * chord) * both
    inside = low + height * (chord * along * along + start_slope * both) / bend
    return inside + start_slope * min(beyond + width, 0.0) + end_slope * max(beyond, 0.0)


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other)


class _RowFeatures:
    """The features of one row: those of `FeatureMap`, with all that does not depend on the row done before."""

    def __init__(self, encoder: Encoder):
        numbers = encoder.numbers
        self._plain = all(curve == "line" for curve in numbers.curves)
        self._owners = np.array(numbers.owners, int)
        self._centre, self._by = np.asarray(numbers.centre), numbers.factor / numbers.scale
        self._numbers: FeatureMap = numbers

    def __call__(self, x: Float[np.ndarray, " inputs"]) -> Float[np.ndarray, " features"]:
        if self._plain:
            return ((x[self._owners] - self._centre) * self._by).astype(np.float32)
        return self._numbers(x[None])[0].astype(np.float32)
