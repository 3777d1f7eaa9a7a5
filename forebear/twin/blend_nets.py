"""The networks of a blend: in which ways they learn, on which rows, and what they say of the rows that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from forebear.data.weights import lesson_rows, weighted_rows
from forebear.flow.network import Network, stack
from forebear.flow.settings import FlowSettings
from forebear.flow.train import Rows, Training, fit
from forebear.run.notes import told
from forebear.twin.blend import assisted_table
from forebear.twin.quantiles import COUNT, QuantileModel, law_loss


class Lesson(NamedTuple):
    """A target to be learned: features (rows, features) that it may see, and its values in standardised units."""

    features: np.ndarray
    y: np.ndarray
    """(rows,) spread out"""
    plain: np.ndarray
    """(rows,) a lattice's values where they are: what trees are grown on"""
    mask: np.ndarray
    """(features,) 1 for those that it may see"""


class Part(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    learn: np.ndarray
    judge: np.ndarray


class Way(NamedTuple):
    """In which way a network learns a law."""

    assisted: bool
    """it hears what trees say, and learns what their mean leaves"""
    share: float
    """of the likelihood in what it is after; the rest is the CRPS"""


WAYS = (Way(False, 0.0), Way(False, 0.3), Way(True, 0.0), Way(True, 0.3))
"""the distance alone, or the density as well: which serves a table better is for held-out rows to say"""


@dataclass(frozen=True, eq=False)
class Learner:
    """Trains networks on a lesson, one at a time.

    All of them see the same columns, and those that hear no trees have theirs hidden: so all trainings are one
    program, compiled once.
    """

    lesson: Lesson
    summaries: np.ndarray
    """(rows, summaries) what trees say of rows that they have not seen"""
    centre: np.ndarray
    """(rows,) the mean by the trees"""
    spread: float
    """of what it leaves"""
    rng: np.random.Generator
    weights: np.ndarray | None = None
    """(rows,) how much each counts; None: all the same"""

    def train(self, way: Way, part: Part, settings: FlowSettings, decay: float = 0.0) -> Network:
        """One network, stopped where it serves the judging rows best; `decay` keeps its weights small."""
        x = np.concatenate([self.lesson.features, self.summaries], axis=1)
        mask = np.concatenate([self.lesson.mask, np.full(self.summaries.shape[1], float(way.assisted))])
        values = (self.lesson.y - self.centre) / self.spread if way.assisted else self.lesson.y
        y = np.stack([values, *(np.full(len(values), share) for share in (way.share, decay))], axis=1)[None]
        sizes = {"width": settings.width, "depth": settings.depth, "activation": settings.activation}
        fresh = stack([Network.fresh(x.shape[1], COUNT, rng=self.rng, **sizes)])
        judging = part.judge
        if self.weights is not None:
            judging = judging[weighted_rows(self.weights[judging], len(judging))]
        learn, judge = (Rows(x[rows], y[:, rows]) for rows in (part.learn, judging))
        if self.weights is not None:
            learn = learn._replace(draws=lesson_rows(self.weights[part.learn]))
        seed = int(self.rng.integers(2**31))
        trained = told(fit(Training(fresh, law_loss, learn, judge, mask[None], settings, seed))).models
        seen = jnp.asarray(mask, jnp.float32)[None, :, None]
        return replace(trained, weights=(trained.weights[0] * seen, *trained.weights[1:]))

    def tables(self, way: Way, network: Network, rows: np.ndarray) -> Float[np.ndarray, "1 rows latents"]:
        """What a network says of some rows."""
        model = self.model(way, [network])
        features = self.lesson.features[rows]
        if not way.assisted:
            return model.tables(features)
        return assisted_table(model, features, self.summaries[rows], self.centre[rows], self.spread)

    def model(self, way: Way, networks: Sequence[Network]) -> QuantileModel:
        """Networks that learned in one way, as an ensemble that sees what it may see."""
        width = self.lesson.features.shape[1] + (self.summaries.shape[1] if way.assisted else 0)
        weights, biases = (
            tuple(jnp.concatenate(layers) for layers in zip(*(getattr(one, name) for one in networks), strict=True))
            for name in ("weights", "biases")
        )
        return QuantileModel(Network((weights[0][:, :width], *weights[1:]), biases, networks[0].activation))
