"""Training that is repeated more slowly when it diverges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import jax.random as jr
from jax.typing import ArrayLike

from forebear.flow.settings import FlowSettings
from forebear.flow.train import Diverged, Loss, Model, Rows, train

_TRIES = 3


def train_steadily(
    models: Model,
    loss: Loss,
    data: Rows,
    held_out: Rows | None,
    masks: ArrayLike,
    settings: FlowSettings,
    *,
    seed: int,
    tick: Callable[[float], None] = lambda share: None,
) -> Model:
    """As `forebear.flow.train.train`, again at a tenth of the rate where it diverges, twice; then it is an error."""
    for tries_left in reversed(range(_TRIES)):
        try:
            return train(models, loss, data, held_out, masks, settings, key=jr.key(seed), tick=tick)
        except Diverged as trouble:
            if not tries_left:
                raise
            settings = replace(settings, rate=settings.rate / 10)
            warnings.warn(f"{trouble}; training again at {settings.rate:g}", RuntimeWarning, stacklevel=2)
    raise AssertionError("the loop above returns or raises")
