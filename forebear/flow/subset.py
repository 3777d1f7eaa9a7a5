"""One flow for every subset of the inputs: trained with random masks, asked with any.

Its latents say whether a subset suffices: given the right inputs the latent of an observed row is standard normal,
whatever the other inputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int, Num, PRNGKeyArray, Shaped

from forebear.data.weights import lesson_rows
from forebear.flow.matching import matching_loss
from forebear.flow.network import Network, stack, unstack
from forebear.flow.settings import FlowSettings
from forebear.flow.single import single
from forebear.flow.solve import integrate
from forebear.flow.train import Rows, Trained, Training


class MaskedNetwork(eqx.Module):
    """A velocity network that is told which units it sees."""

    network: Network
    owners: tuple[int, ...] = eqx.field(static=True)
    """the unit of each feature"""
    units: int = eqx.field(static=True)

    def __call__(
        self,
        zeta: Float[Array, "rows outputs"],
        t: Float[Array, "rows 1"],
        x: Float[Array, "rows features"],
        on: Float[Array, "rows units"],
    ) -> Float[Array, "rows outputs"]:
        """Velocity (rows, outputs) at features x (rows, features), of which the units in `on` (rows, units) count."""
        return self.network(jnp.concatenate([zeta, t, x * on[:, jnp.array(self.owners)], on], axis=1))


class MaskedRows(NamedTuple):
    """What a network of one target learns from: features, and which units it may be shown.

    Training multiplies every column of its one input matrix by what is allowed to the model, so the flags of the
    units travel as columns of ones behind the features, and arrive as the model's own flags.
    """

    features: Any
    """(rows, features)"""
    allowed: Any
    """(rows, units) 1 where a unit may be seen"""
    always: Any
    """(rows, units) 1 where it always is"""

    def packed(self) -> Float[np.ndarray, "rows columns"]:
        """As one matrix."""
        return np.concatenate(self, axis=1)

    @classmethod
    def unpacked(cls, x: Float[Array, "rows columns"], units: int) -> MaskedRows:
        """From one matrix."""
        return cls(*jnp.split(x, [x.shape[1] - 2 * units, x.shape[1] - units], axis=1))


def _loss(
    model: MaskedNetwork, x: Float[Array, "batch features"], y: Float[Array, "batch outputs"], key: PRNGKeyArray
) -> Float[Array, ""]:
    """Flow matching with a fresh mask for each row; x is a packed `MaskedRows`."""
    rows = MaskedRows.unpacked(x, model.units)
    time_key, latent_key, share_key, mask_key = jr.split(key, 4)
    # A share of its own for each row, so that small and large subsets are all well trained.
    share = jr.uniform(share_key, (y.shape[0], 1), y.dtype)
    shown = jr.uniform(mask_key, rows.allowed.shape, y.dtype) < share
    on = jnp.maximum(rows.always, rows.allowed * shown)

    def velocity(zeta: Array, t: Array) -> Array:
        return model(zeta, t, rows.features, on)

    return matching_loss(velocity, y, time_key=time_key, latent_key=latent_key)


@dataclass(frozen=True, eq=False)
class SubsetFlow:
    """Flows of several targets, each cross-fitted, that serve every subset of the units."""

    models: Sequence[Sequence[MaskedNetwork]]
    """by fold, then by target; the model of a fold has not seen the rows of that fold"""
    settings: FlowSettings

    @property
    def folds(self) -> int:
        """How many flows there are of each target."""
        return len(self.models)

    def latents(
        self,
        target: int,
        x: Float[np.ndarray, "rows features"],
        y: Float[np.ndarray, "rows outputs"],
        fold: Int[np.ndarray, " rows"],
        on: Num[np.ndarray, "*of_row units"] | Bool[np.ndarray, "*of_row units"],
    ) -> Float[np.ndarray, "rows outputs"]:
        """Latents (rows, outputs) of standardised y (rows, outputs) given the units `on` (units,) of features x.

        `fold` (rows,) says which model to ask at a row: the one that has not seen it.
        """
        return self._asked(_pull, target, x, y, fold, on)

    def log_scores(
        self,
        target: int,
        x: Float[np.ndarray, "rows features"],
        y: Float[np.ndarray, "rows outputs"],
        fold: Int[np.ndarray, " rows"],
        on: Num[np.ndarray, "*of_row units"] | Bool[np.ndarray, "*of_row units"],
    ) -> Float[np.ndarray, " rows"]:
        """Log densities (rows,) of standardised y (rows, 1), as in `latents`."""
        z, rate = self._asked(_pull_with_density, target, x, y, fold, on).T
        return -0.5 * (z**2 + np.log(2 * np.pi)) + rate

    def quantiles(
        self,
        target: int,
        x: Float[np.ndarray, "rows features"],
        z: Float[np.ndarray, "rows levels"],
        fold: Int[np.ndarray, " rows"],
        on: Num[np.ndarray, "*of_row units"] | Bool[np.ndarray, "*of_row units"],
    ) -> Float[np.ndarray, "rows levels"]:
        """Standardised y (rows, levels) at latents z (rows, levels), as in `latents`."""
        return self._asked(_push, target, x, z, fold, on)

    def _asked(
        self,
        ask: Callable[..., Array],
        target: int,
        x: Float[np.ndarray, "rows features"],
        values: Float[np.ndarray, "rows some"],
        fold: Int[np.ndarray, " rows"],
        on: Num[np.ndarray, "*of_row units"] | Bool[np.ndarray, "*of_row units"],
    ) -> Float[np.ndarray, "rows others"]:
        """What the model that has not seen a row says of it."""
        told: np.ndarray | None = None
        # One mask for all rows, or one for each: a missing cell masks its unit in its row.
        masks = single(on)
        for number, models in enumerate(self.models):
            asked = np.flatnonzero(fold == number)
            # Folds differ a little in size. All are filled up to one size, so that nothing is compiled twice.
            size = len(x) * 5 // (4 * len(self.models)) if len(self.models) > 1 else len(x)
            filled = np.resize(asked, size if 0 < len(asked) <= size else len(asked))
            if not len(filled):
                continue
            mask = masks[filled] if masks.ndim == 2 else masks
            answer = np.asarray(ask(models[target], single(x[filled]), single(values[filled]), mask, self.settings))
            told = np.empty((len(x), answer.shape[1])) if told is None else told
            told[asked] = answer[: len(asked)]
        assert told is not None, "rows that no flow was kept from"
        return told


# A latent is looked at through its ranks. Five steps that crowd where the data is place it as well as eight equal
# ones where a law is narrow (Lorenz-96: off by 0.1), and better than needed elsewhere (Lorenz-63, heat: by 0.0005).
_STEPS = 5


def _velocity(
    model: MaskedNetwork, x: Float[Array, "rows features"], on: Float[Array, "*of_row units"]
) -> Callable[[ArrayLike, Array], Array]:
    """The velocity field at these rows, given the units that are on."""
    every = jnp.broadcast_to(on, (x.shape[0], on.shape[-1]))

    def velocity(t: ArrayLike, zeta: Array) -> Array:
        return model(zeta, jnp.full((zeta.shape[0], 1), t, zeta.dtype), x, every)

    return velocity


@eqx.filter_jit
def _pull(
    model: MaskedNetwork,
    x: Float[Array, "rows features"],
    y: Float[Array, "rows outputs"],
    on: Float[Array, "*of_row units"],
    settings: FlowSettings,
) -> Float[Array, "rows outputs"]:
    return integrate(_velocity(model, x, on), y, settings, backward=True)


@eqx.filter_jit
def _push(
    model: MaskedNetwork,
    x: Float[Array, "rows features"],
    z: Float[Array, "rows levels"],
    on: Float[Array, "*of_row units"],
    settings: FlowSettings,
) -> Float[Array, "rows levels"]:
    repeated = jnp.repeat(x, z.shape[1], axis=0)
    every = on if on.ndim == 1 else jnp.repeat(on, z.shape[1], axis=0)
    return integrate(_velocity(model, repeated, every), z.reshape(-1, 1), settings).reshape(z.shape)


@eqx.filter_jit
def _pull_with_density(
    model: MaskedNetwork,
    x: Float[Array, "rows features"],
    y: Float[Array, "rows 1"],
    on: Float[Array, "*of_row units"],
    settings: FlowSettings,
) -> Float[Array, "rows 2"]:
    """Latents, and the logarithm of how much the flow squeezes the line around them."""
    velocity = _velocity(model, x, on)

    def both(t: ArrayLike, state: Array) -> Array:
        zeta = state[:, :1]
        speed, stretch = jax.jvp(lambda zeta: velocity(t, zeta), (zeta,), (jnp.ones_like(zeta),))
        return jnp.concatenate([speed, stretch], axis=1)

    return integrate(both, jnp.concatenate([y, jnp.zeros_like(y)], axis=1), settings, backward=True)


def prepare_subset_flow(
    x: Float[np.ndarray, "rows features"],
    y: Float[np.ndarray, "targets rows outputs"],
    fold: Int[np.ndarray, " rows"],
    owners: Sequence[int],
    seen: Shaped[np.ndarray, "targets features"],
    allowed: Shaped[np.ndarray, "targets units"],
    always: Shaped[np.ndarray, "targets units"],
    settings: FlowSettings,
    *,
    seed: int,
    observed: Shaped[np.ndarray, "rows units"] | None = None,
    weights: Float[np.ndarray, " rows"] | None = None,
) -> list[Training]:
    """The trainings, one per fold, on features x (rows, features) and standardised y (targets, rows, outputs).

    `owners` gives the unit of each feature. For each target, `seen` (targets, features) says which features are among
    its inputs, `allowed` (targets, units) which units may be masked or not, `always` which are never masked. `fold`
    (rows,) numbers the flow that does not see a row; -1 where all of them do. `observed` (rows, units) is 0 where
    cells of a unit are missing: the unit is masked there. `weights` (rows,) say how much rows count.
    `make_subset_flow` is the way on.
    """
    units = allowed.shape[1]
    shown = np.ones((len(x), units), np.float32) if observed is None else observed.astype(np.float32)
    full = MaskedRows(np.asarray(x, np.float32), shown, shown).packed()
    masks = MaskedRows(seen, allowed, always).packed()
    folds = int(fold.max()) + 1
    size = min(int(np.sum(fold != number)) for number in range(folds))

    def make(rng: np.random.Generator) -> MaskedNetwork:
        network = Network.fresh(
            y.shape[2] + 1 + x.shape[1] + units,
            y.shape[2],
            width=settings.width,
            depth=settings.depth,
            activation=settings.activation,
            rng=rng,
        )
        return MaskedNetwork(network, tuple(owners), units)

    trainings = []
    for number in range(folds):
        rows = np.flatnonzero(fold != number)[:size]
        rng = np.random.default_rng(seed + number)
        stacked = stack([make(rng) for _ in range(len(y))])
        data = Rows(full[rows], y[:, rows], None if weights is None else lesson_rows(weights[rows]))
        trainings.append(Training(stacked, _loss, data, None, masks, settings, seed + number))
    return trainings


def make_subset_flow(trained: Sequence[Trained], targets: int, settings: FlowSettings) -> SubsetFlow:
    """The flow of these trainings, one per fold."""
    return SubsetFlow([unstack(one.models, targets) for one in trained], replace(settings, ode_steps=_STEPS))
