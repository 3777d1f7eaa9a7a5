"""Several askers at once: every answer has the digits that it has alone, whoever else asks."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from toys import toy_twin

from forebear.flow.network import Network
from forebear.flow.settings import FlowSettings
from forebear.twin import law as law_module
from forebear.twin.blend import Blend, BlendLaw
from forebear.twin.model import FlowModel
from forebear.twin.quantiles import COUNT, QuantileModel
from forebear.twin.together import KINDS, Ask, Together
from forebear.twin.twin import Twin

TARGETS = ("y", "w")


def spline() -> Twin:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=["a", "b", *TARGETS])
    return toy_twin(table, {target: ("a", "b") for target in TARGETS})


def network(outputs: int, inputs: int, networks: int = 2) -> Network:
    rng = np.random.default_rng(3)
    shapes = [(networks, inputs, 8), (networks, 8, outputs)]
    layers = tuple(jnp.asarray(rng.normal(0, 0.4, shape), jnp.float32) for shape in shapes)
    return Network(layers, tuple(jnp.zeros((networks, shape[2]), jnp.float32) for shape in shapes), "silu")


def flow() -> Twin:
    return replace(spline(), model=FlowModel(network(1, 4), 1, FlowSettings(ode_steps=4)))


def blend() -> Twin:
    twin = spline()
    own = Blend(
        (QuantileModel(network(COUNT, 2, 3)),), (), None, None, np.linspace(-4, 4, 41), np.array([0.8, 0.2]),
        np.array([[-3.0, 3.0], [-3.1, 3.2]]), np.array([[-3.0, -3], [3, 3], [0.5, 0.5]]),
    )  # fmt: skip
    return replace(twin, model=BlendLaw(twin.encoder, (own, own), np.array([1.0, 2.0]), np.array([1.0, 3.0])))


def asks(seed: int = 0, count: int = 24) -> list[Ask]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        rows, kind = int(rng.choice([1, 1, 2, 5, 40])), KINDS[number % 3]
        shape = (int(rng.choice([1, 2, 30])), rows, 2) if kind == "push" else (rows, 2)
        made.append(Ask(kind, rng.normal(size=(rows, 2)), rng.normal(size=shape)))
    return made


@pytest.mark.parametrize("make", [spline, flow, blend])
def test_no_digit_depends_on_who_else_asks(make) -> None:
    together, questions = Together(make().law), asks()
    together.warm(np.random.default_rng(9).normal(size=(50, 2)))
    alone = [together.answer([ask])[0] for ask in questions]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(questions))
        for number, told in zip(order, together.answer([questions[i] for i in order]), strict=True):
            assert np.array_equal(told, alone[number])


@pytest.mark.parametrize("make", [spline, flow, blend])
def test_answers_are_those_of_the_law(make) -> None:
    law, questions = make().law, asks(1)
    own = {"push": law.push, "pull": law.pull, "density": law.log_density}
    for ask, told in zip(questions, Together(law).answer(questions), strict=True):
        np.testing.assert_allclose(told, own[ask.kind](ask.x, ask.at), rtol=2e-4, atol=2e-5)


def test_tiles_in_which_the_place_of_a_row_shows_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    law = spline().law
    real = type(law).push

    def push(self, x, z):
        return real(self, x, z) + (1e-9 * np.arange(len(x))[:, None] if len(x) > 16 else 0.0)

    monkeypatch.setattr(type(law), "push", push)
    together, questions = Together(law), [ask for ask in asks() if ask.kind == "push"]
    together.warm(np.zeros((1, 2)))
    assert together.shared == {16}
    alone = [together.answer([ask])[0] for ask in questions]
    assert all(np.array_equal(a, b) for a, b in zip(together.answer(questions), alone, strict=True))


def test_askers_share_calls() -> None:
    together = Together(spline().law)
    together.warm(np.zeros((1, 2)))
    before = together.calls
    together.answer([Ask("push", np.zeros((1, 2)), np.zeros((2, 1, 2))) for _ in range(32)])
    assert together.calls - before == 4  # 64 rows in tiles of 16


def test_after_warming_up_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Together(spline().law)
    together.warm(np.zeros((1, 2)))
    compiled = [f._cached._cache_size() for f in (law_module._push, law_module._pull)]  # type: ignore[attr-defined]
    with jax.log_compiles(False):
        for seed in range(5):
            together.answer(asks(seed))
    big = Ask("push", np.zeros((9_000, 2)), np.zeros((1, 9_000, 2)))
    assert together.answer([big])[0].shape == (1, 9_000, 2)
    assert [f._cached._cache_size() for f in (law_module._push, law_module._pull)] == compiled  # type: ignore[attr-defined]


def test_a_tile_of_a_blend_is_cut_short_only_where_no_digit_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    law = blend().law
    real, seen = BlendLaw.lines, []

    def lines(self, features, target):
        seen.append(len(features))
        # As a library that rounds differently for one row or two.
        return real(self, features, target) + (1e-12 if len(features) < 3 else 0.0)

    monkeypatch.setattr(BlendLaw, "lines", lines)
    together = Together(law)
    together.warm(np.random.default_rng(9).normal(size=(50, 2)))
    assert together.shorter[8] == (4,)
    seen.clear()
    one = Ask("push", np.ones((1, 2)), np.zeros((1, 1, 2)))
    [alone] = together.answer([one])
    assert set(seen) == {4}
    assert all(np.array_equal(told, alone) for told in together.answer([one] * 8))
    assert set(seen) == {4, 8}
