"""The law of a table that no single learner knows best: networks, networks that hear what trees say, and a forest.

Held-out rows have weighed them (`blend_fit.py`). Every law is a table of values at fixed latents, `knots.py`, and so
is their mixture: a quantile map with an inverse and a density, whatever it is made of. Where most rows have one
value, how often it comes and what comes otherwise are joined in one table, `atom.py`; of two values, and of labels,
how likely each is makes the table, `votes.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from scipy.special import ndtr

from forebear.data.scaling import Encoder
from forebear.trees.arrays import Trees
from forebear.twin.atom import Atom
from forebear.twin.batches import in_pieces
from forebear.twin.knots import LATENTS, MIXED, mixed, rows_line
from forebear.twin.law import Part, TwinLaw
from forebear.twin.mass import log_normal
from forebear.twin.model import TwinModel
from forebear.twin.quantiles import OWN_LATENTS, QuantileModel
from forebear.twin.stacking import straightened
from forebear.twin.votes import Cells

# Rows whose tables are made at once.
_ROWS, _MIXED_ROWS = 4_096, 512
# A forest's law is widened by this share of its own spread, and by this much of the target's: it ends where its
# values end, and may sit on one of them.
_SOFTER, _LEAST_WIDTH = 0.1, 1e-3
SUMMARIES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""quantiles of the forest that networks are told, beside the means of forest and boosted trees"""


@dataclass(frozen=True, eq=False)
class Assistants:
    """Trees whose word is an input of networks: their means and quantiles, and a mean that combines them."""

    boosted: Trees
    """of all folds: their sum is the mean times the number of folds"""
    folds: int
    forest: Trees
    base: np.ndarray
    """(3,) the combined mean: a number, and the weights of both means"""
    spread: float
    """of what the combined mean leaves"""

    def summaries(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows summaries"]:
        """What the trees say of rows that they have not seen."""
        mean = self.boosted.values(features)[..., 0].sum(axis=0) / self.folds
        return summarised(mean, forest_values(self.forest, features))

    def centre(self, summaries: Float[np.ndarray, "rows summaries"]) -> Float[np.ndarray, " rows"]:
        """The combined mean."""
        return self.base[0] + summaries[:, :2] @ self.base[1:]


def summarised(
    mean: Float[np.ndarray, " rows"], values: Float[np.ndarray, "rows values"]
) -> Float[np.ndarray, "rows summaries"]:
    """Means of boosted trees and of a forest, and quantiles of the forest, as inputs of networks."""
    quantiles = np.quantile(values, SUMMARIES, axis=1)
    return np.stack([mean, values.mean(axis=1), *quantiles], axis=1).astype(np.float32)


def forest_values(forest: Trees, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows values"]:
    """All values that the leaves of a forest hold for each row."""
    return np.moveaxis(forest.values(features), 0, 1).reshape(len(features), -1)


def forest_table(values: Float[np.ndarray, "rows values"]) -> Float[np.ndarray, "rows latents"]:
    """The law of a forest: its values evenly weighed, a little softened."""
    places = (ndtr(LATENTS) * values.shape[1] - 0.5).clip(0, values.shape[1] - 1)
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, values.shape[1] - 1)
    ordered = np.sort(values, axis=1)
    table = ordered[:, below] + (places - below) * (ordered[:, above] - ordered[:, below])
    width = _SOFTER * values.std(axis=1) + _LEAST_WIDTH
    return table + width[:, None] * LATENTS


@eqx.filter_jit
def _tables(model: TwinModel, x: Array) -> Array:
    """(members, rows, latents) of a model whose targets are members of an ensemble."""
    shape = (x.shape[0], model.latents)
    told = jax.vmap(lambda z: model.push(x, jnp.full(shape, z, x.dtype)))(jnp.asarray(LATENTS, x.dtype))
    return jnp.transpose(told, (2, 1, 0))


def member_tables(model: TwinModel, x: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "members rows latents"]:
    """The table of each member at each row."""

    if isinstance(model, QuantileModel):
        return model.tables(x)

    def asked(rows: Array) -> tuple[Array]:
        return (jnp.swapaxes(_tables(model, rows), 0, 1),)

    [told] = in_pieces(asked, lambda piece: (x[piece],), len(x), 2 * model.latents)
    return np.swapaxes(told, 0, 1)


@dataclass(frozen=True, eq=False)
class Blend:
    """The law of one target in its standardised units, given features of the inputs."""

    plain: tuple[TwinModel, ...]
    """ensembles that see the features"""
    assisted: tuple[TwinModel, ...]
    """ensembles that are told what the trees say, and learn what their mean leaves"""
    assistants: Assistants | None
    forest: Trees | None
    """the forest as a law of its own"""
    marginal: np.ndarray
    """(latents,) the law whatever the inputs; empty where it has no weight"""
    weights: np.ndarray
    """of the ensembles in their order, the forest and the marginal law"""
    knots: np.ndarray
    """(2, knots) the map of latents that held-out rows asked for"""
    reach: np.ndarray
    """(3, features) the ends of the data, and how far the target moves with each: correlations"""
    correction: QuantileModel | None = None
    """the law that the latents turned out to have on later rows (`learn_on.py`); None: standard normal"""
    atom: Atom | None = None
    """the value that most rows have; all else is about the other rows"""
    cells: Cells | None = None
    """of two values or of labels: nothing else is needed"""

    def line(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows 2 points"]:
        """The law as a table at each row: latents, and values."""
        latents, values = self._plain_line(features) if self.cells is None else self.cells.table(features)
        if self.correction is not None:
            seen = self.correction.quantiles(features)[0]
            latents = rows_line(latents, seen, np.broadcast_to(OWN_LATENTS, seen.shape))[0]
        return np.stack([latents, values], axis=1)

    def _plain_line(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = self.table(features)
        latents = np.broadcast_to(straightened(self.knots, MIXED), values.shape)
        return (latents, values) if self.atom is None else self.atom.joined(features, latents, values)

    def table(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows mixed"]:
        """The mixture's values at the latents `MIXED`, before they are straightened."""
        tables = self.parts(features)
        told = mix(tables, np.repeat(self.weights / [len(own) for own in tables], [len(own) for own in tables]))
        return told + unknown(self.reach, features)[:, None] * MIXED

    def parts(self, features: Float[np.ndarray, "rows features"]) -> list[np.ndarray]:
        """The tables of each law: (members, rows, latents), one by one."""
        found = [member_tables(model, features) for model in self.plain]
        if self.assistants is not None:
            told = self.assistants.summaries(features)
            found += self.assisted_tables(features, told)
        if self.forest is not None:
            found.append(forest_table(forest_values(self.forest, features))[None])
        if len(self.marginal):
            found.append(np.broadcast_to(self.marginal, (1, len(features), len(LATENTS))))
        return found

    def assisted_tables(self, features: np.ndarray, told: np.ndarray) -> list[np.ndarray]:
        """The tables of the networks that are told summaries (rows, summaries)."""
        assert self.assistants is not None
        return [
            assisted_table(model, features, told, self.assistants.centre(told), self.assistants.spread)
            for model in self.assisted
        ]


def reach_of(
    features: Float[np.ndarray, "rows features"], y: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "3 features"]:
    """The least and the greatest value of each feature, and how closely the target follows it."""
    x = features - features.mean(axis=0)
    moves = np.abs(x.T @ (y - y.mean())) / np.maximum(np.linalg.norm(x, axis=0) * np.linalg.norm(y - y.mean()), 1e-30)
    return np.stack([features.min(axis=0), features.max(axis=0), moves]).astype(float)


def unknown(
    reach: Float[np.ndarray, "3 features"], features: Float[np.ndarray, "rows features"]
) -> Float[np.ndarray, " rows"]:
    """The spread that is added beyond the data: how far the target may have moved since their ends, in deviations.

    Trees stay where they are beyond the last row, and networks that hear them agree with them: without this they
    would be sure there.

    >>> reach = np.array([[-1.0, -1.0], [1.0, 1.0], [0.9, 0.0]])
    >>> unknown(reach, np.array([[0.0, 9.0], [3.0, 0.0]])).tolist()
    [0.0, 1.8]
    """
    low, high, moves = reach
    beyond = np.maximum(np.maximum(low - features, features - high), 0.0)
    return np.sqrt(((beyond * moves) ** 2).sum(axis=1))


def assisted_table(
    model: TwinModel, features: np.ndarray, told: np.ndarray, centre: np.ndarray, spread: float
) -> Float[np.ndarray, "members rows latents"]:
    """The tables of networks that learned what `centre` (rows,) leaves, in units of `spread`."""
    tables = member_tables(model, np.concatenate([features, told], axis=1))
    return centre[:, None] + spread * tables


def mix(tables: list[np.ndarray], weights: Float[np.ndarray, " laws"]) -> Float[np.ndarray, "rows mixed"]:
    """The table of the mixture of all members of all laws, in pieces of bounded memory."""
    rows = tables[0].shape[1]
    pieces = [slice(start, start + _MIXED_ROWS) for start in range(0, max(rows, 1), _MIXED_ROWS)]
    return np.concatenate([mixed(np.concatenate([own[:, part] for own in tables]), weights) for part in pieces])


class Tabled(NamedTuple):
    """The law of one target at some rows: values (rows, points) at latents (rows, points)."""

    rows: slice
    target: int
    latents: np.ndarray
    values: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class BlendLaw(TwinLaw):
    """Blends side by side, one for each target, with the scaling around them."""

    encoder: Encoder
    blends: tuple[Blend, ...]
    centre: np.ndarray
    """(targets,)"""
    scale: np.ndarray

    @property
    def latents(self) -> int:
        """One for each target."""
        return len(self.blends)

    @property
    def lacks(self) -> Mapping[Part, str]:
        """Compiled code cannot ask trees; `Twin.core` distils the law first."""
        return {"networks": "it blends networks with trees"}

    @property
    def rises(self) -> bool:
        """Each is a quantile map."""
        return True

    def push(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values off the tables."""
        return self.pushed(self._tables(x), z)

    def pushed(self, tables: Iterable[Tabled], z: np.ndarray) -> np.ndarray:
        """The same, once the tables of the rows are known."""
        found = np.empty(z.shape)
        for rows, i, latents, values in tables:
            found[:, rows, i] = rows_line(z[:, rows, i].T.astype(float), latents, values)[0].T
        return found

    def pull(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Latents off the tables."""
        return self.pulled(self._tables(x), y)[0]

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """That of the latents times the slope of the table."""
        return self.density(self._tables(x), y)

    def density(self, tables: Iterable[Tabled], y: np.ndarray) -> np.ndarray:
        """The same, once the tables of the rows are known."""
        z, slope = self.pulled(tables, y)
        return log_normal(z) + np.log(slope)

    def pulled(self, tables: Iterable[Tabled], y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Latents and slopes off the tables."""
        z, slope = np.empty(y.shape), np.empty(y.shape)
        for rows, i, latents, values in tables:
            told = rows_line(y[rows, i, None], values, latents)
            z[rows, i], slope[rows, i] = (one[:, 0] for one in told)
        return z, slope

    def line(self, x: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
        """Latents and values (rows, points) of one law at each row, to be read many times."""
        some = replace(self, blends=self.blends[target : target + 1], centre=self.centre[[target]])
        parts = list(replace(some, scale=self.scale[[target]])._tables(x))
        return np.concatenate([one.latents for one in parts]), np.concatenate([one.values for one in parts])

    def _tables(self, x: np.ndarray) -> Iterator[Tabled]:
        """In pieces of bounded memory."""
        features = self.encoder.single(x)
        for start in range(0, max(len(x), 1), _ROWS):
            rows = slice(start, min(start + _ROWS, len(x)))
            # Often one row is asked about many times, as for a density: it is answered once.
            different, place = np.unique(features[rows], axis=0, return_inverse=True)
            for i in range(self.latents):
                yield self.tabled(rows, i, self.lines(different, i)[place])

    def lines(self, features: Float[np.ndarray, "rows features"], target: int) -> Float[np.ndarray, "rows 2 points"]:
        """The law of one target as a table at each row: latents, and values in the units of the data."""
        line = self.blends[target].line(features)
        line[:, 1] = line[:, 1] * self.scale[target] + self.centre[target]
        return line

    def tabled(self, rows: slice, target: int, lines: Float[np.ndarray, "rows 2 points"]) -> Tabled:
        """The lines of some rows, and whose they are."""
        return Tabled(rows, target, lines[:, 0], lines[:, 1])
