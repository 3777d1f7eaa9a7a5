"""Training many networks at once: what is compiled, what is shared, what happens when it goes wrong."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.flow.network import Network, stack
from forebear.flow.samplers import FlowSampler, GaussianSampler, MeanSampler
from forebear.flow.settings import FlowSettings
from forebear.flow.subset import prepare_subset_flow
from forebear.flow.train import Diverged, Rows, _advance, fit, train
from forebear.kernel import device, product

SMALL = FlowSettings(width=16, depth=2, steps=100, batch=64)


def rows(models: int, seed: int = 0, count: int = 256) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)).astype(np.float32)
    y = np.stack([np.sin(x[:, [m % 3]]) + 0.3 * rng.normal(size=(count, 1)) for m in range(models)])
    return Rows(x, y.astype(np.float32))


def networks(models: int, inputs: int, outputs: int) -> Network:
    rng = np.random.default_rng(0)
    return stack(
        [Network.fresh(inputs, outputs, width=16, depth=2, activation="silu", rng=rng) for _ in range(models)]
    )


def only(models: Network, number: int) -> Network:
    """One of the stacked models, as a stack of one."""
    return jax.tree.map(lambda a: a[number : number + 1], models)


def assert_close(one: Network, other: Network, atol: float = 1e-3) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


def cached(function: Any) -> int:
    """How many versions of a compiled function there are."""
    return function._cache_size()


def compiled(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith("Compiling")]


@pytest.mark.parametrize("rule", ["nsr-jump", "certified"])
def test_second_discovery_compiles_nothing(rule: str, caplog: pytest.LogCaptureFixture) -> None:
    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(301, 3)), columns=["a", "b", "y"])
        small: dict[str, Any] = {"steps": 40, "subset_steps": 40, "width": 16, "depth": 2, "distilled": 60}
        fb.discover(table, "y", rule=rule, seed=seed, **small)

    jax.clear_caches()
    jax.config.update("jax_log_compiles", True)  # in every thread, as `jax.log_compiles()` would not
    try:
        with caplog.at_level(logging.WARNING):
            run(0)
            assert any("_advance" in message for message in compiled(caplog))
            caplog.clear()
            run(1)
    finally:
        jax.config.update("jax_log_compiles", False)
    assert compiled(caplog) == []


def test_steps_rate_masks_and_schedule_do_not_recompile() -> None:
    models, data = networks(2, 5, 1), rows(2)

    def fit(masks: np.ndarray, **settings: Any) -> None:
        train(models, FlowSampler.loss, data, None, masks, FlowSettings(batch=64, **settings), key=jr.key(0))

    fit(np.ones((2, 3)), steps=40)
    before = cached(_advance)
    fit(np.eye(3)[:2], steps=57, rate=1e-4, schedule="constant", averaging=0.0)
    assert cached(_advance) == before


def test_pruning_compiles_each_kernel_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left, and however many steps: shapes stay the same."""
    functions = (device._block, device._divided, device._energies)
    monkeypatch.setattr(product, "backend", lambda: device)
    before = [cached(f) for f in functions]
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=213) for name in "abcdey"}
    fb.discover(table, "y", rule="nsr-jump", sampler="mean", steps=20, folds=1, distilled=213)
    # One size to choose the hyper-parameters and prune, as there are fewer rows than the choice may use.
    assert [cached(f) - b for f, b in zip(functions, before, strict=True)] == [1, 1, 1]


def test_models_do_not_influence_each_other() -> None:
    """Without noise in the loss each model of three becomes what it becomes alone."""
    models, data, masks = networks(3, 3, 2), rows(3), np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0]], float)
    together = train(models, GaussianSampler.loss, data, None, masks, SMALL, key=jr.key(1))
    for m in range(3):
        part = Rows(data.x, data.y[m : m + 1])
        alone = train(only(models, m), GaussianSampler.loss, part, None, masks[m : m + 1], SMALL, key=jr.key(1))
        assert_close(only(together, m), alone)


def test_flows_have_noise_of_their_own() -> None:
    """The first of several flows draws what it would draw alone; a twin of it at the second place does not."""
    models = networks(1, 5, 1)
    twins = jax.tree.map(lambda a: jnp.concatenate([a, a]), models)
    single = rows(1)
    double = Rows(single.x, np.concatenate([single.y, single.y]))
    alone = train(models, FlowSampler.loss, single, None, np.ones((1, 3)), SMALL, key=jr.key(1))
    both = train(twins, FlowSampler.loss, double, None, np.ones((2, 3)), SMALL, key=jr.key(1))
    assert_close(only(both, 0), alone)
    apart = jnp.abs(only(both, 1).weights[0] - alone.weights[0]).max()
    assert float(apart) > 1e-2


def test_masked_features_are_never_seen() -> None:
    models, data = networks(2, 3, 1), rows(2)
    masks = np.array([[1, 0, 1], [0, 1, 0]])
    fitted = train(models, MeanSampler.loss, data, None, masks, SMALL, key=jr.key(0))
    moved = np.abs(np.asarray(fitted.weights[0] - models.weights[0])).max(axis=2)
    assert ((moved > 1e-4) == masks).all()


def test_held_out_rows_choose_the_weights() -> None:
    """Sixty rows of noise are learned by heart; the weights that serve other rows best come early."""
    rng = np.random.default_rng(0)
    data, held_out = (
        Rows(rng.normal(size=(n, 3)).astype("f"), rng.normal(size=(1, n, 1)).astype("f")) for n in (60, 2_000)
    )
    models = networks(1, 3, 1)
    settings = FlowSettings(steps=1_000, batch=60, rate=5e-3)

    def error(fitted: Network, at: Rows) -> float:
        model = jax.tree.map(lambda a: a[0], fitted)
        return float(MeanSampler.loss(model, jnp.asarray(at.x), jnp.asarray(at.y[0]), jr.key(0)))

    last = train(models, MeanSampler.loss, data, None, np.ones((1, 3)), settings, key=jr.key(0))
    best = train(models, MeanSampler.loss, data, held_out, np.ones((1, 3)), settings, key=jr.key(0))
    assert error(last, data) < 0.1 < 0.5 < error(best, data)
    assert error(best, held_out) < error(last, held_out) / 2


def small_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"x": rng.normal(size=300)})
    return x, pd.DataFrame({"y": x["x"] * rng.normal(size=300)})


def test_divergence_is_tried_again_more_slowly_and_then_told() -> None:
    sampler = FlowSampler(FlowSettings(steps=50, width=16, depth=4, rate=1e6))
    with pytest.raises(Diverged, match="at a rate of 10000") as caught:
        sampler.fit(*small_table(), seed=0)
    notes = caught.value.__notes__
    assert [note.split("; ")[1] for note in notes] == ["training again at 100000", "training again at 10000"]


def test_the_flow_of_every_subset_is_tried_again_as_well() -> None:
    x, y = (frame.to_numpy(np.float32) for frame in small_table())
    ones, wild = np.ones((1, 1)), FlowSettings(steps=50, width=16, depth=4, rate=1e6)
    first, _ = prepare_subset_flow(x, y[None], np.arange(300) % 2, [0], ones, ones, 0 * ones, wild, seed=0)
    with pytest.raises(Diverged, match="at a rate of 10000"):
        fit(first)


def test_divergence_that_a_smaller_rate_cures_is_only_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def touchy(*args: Any, **kwargs: Any) -> Any:
        if args[5].rate > 1e-2:
            raise Diverged("training diverged")
        return train(*args, **kwargs)

    monkeypatch.setattr("forebear.flow.train.train", touchy)
    sampler = FlowSampler(replace(SMALL, rate=5e-2))
    with pytest.warns(RuntimeWarning, match="training diverged; training again at 0.005"):
        law = sampler.fit(*small_table(), seed=0)
    assert_close(law.model, FlowSampler(replace(SMALL, rate=5e-3)).fit(*small_table(), seed=0).model, atol=1e-6)


def test_discovery_works_in_a_program_that_uses_double_precision() -> None:
    table = pd.concat(small_table(), axis=1)
    with jax.enable_x64(True):
        found = fb.discover(table, "y", steps=50, subset_steps=50, width=16, depth=2, distilled=100)
        assert jnp.ones(1).dtype == jnp.float64
    assert found.ancestors == {"y": ("x",)}
