"""Results for tests of the report: made by hand, or of tiny laws of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd

import forebear as fb
from forebear.data.dequantise import Dequantiser
from forebear.data.question import Question
from forebear.data.scaling import ColumnCode
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import TestResult
from forebear.discovery.embed import Lengthscales
from forebear.discovery.path import Path
from forebear.discovery.record import Discovery
from forebear.flow.network import Network
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.twin import RANGE_QUANTILES, Range, Target, Twin

HOSTILE_INPUT = "\"a'&<b>\u2028\u2029</script><script>window.hacked=1</script>"
HOSTILE_TARGET = "</script><img src=x onerror=window.hacked=2> 雪 __proto__"
HOSTILE_LEVEL = "<svg/onload=window.hacked=3>"
TINY: dict[str, Any] = {"steps": 60, "width": 16, "depth": 2}


def verdict(p_value: float, effect: float = 0.0, units: Sequence[str] = ()) -> TestResult:
    return TestResult(3.0, p_value, effect, 2, tuple(units), np.sqrt(effect))


def made_by_hand(
    targets: Sequence[str],
    units: Sequence[str],
    ancestors: Mapping[str, Sequence[str]],
    *,
    seed: int = 0,
    certified: bool = True,
    **fields: Any,
) -> fb.Found:
    """A result that nobody computed; `fields` change those of every certificate."""
    rng = np.random.default_rng(seed)
    questions, paths, choices, certificates = {}, {}, {}, {}
    for target in targets:
        own = tuple(ancestors.get(target, ()))
        gone = [unit for unit in units if unit not in own]
        removed = (*gone, *own)
        scores = np.full((len(units) + 1, len(units)), np.nan)
        for step in range(len(units)):
            left = [units.index(unit) for unit in removed[step:]]
            scores[step, left] = np.sort(rng.random(len(left)))
        nsr = np.concatenate([np.full(len(gone) + 1, 0.3), np.linspace(0.6, 1, len(own))])
        questions[target] = Question(target, tuple(units), {unit: (unit,) for unit in units}, ())
        lengths = Lengthscales({unit: 1.0 for unit in units}, 1.0)
        paths[target] = Path(tuple(units), removed, tuple(nsr.tolist()), scores, (1.0,) * (len(units) + 1), lengths)
        choices[target] = own
        plain = Certificate(
            own,
            True,
            True,
            {u: verdict(0.0, 0.4, (u,)) if u in own else verdict(float(rng.uniform(0.1, 1))) for u in units},
            verdict(0.41, units=gone[:1]) if gone else None,
            {},
            {u: Action(*(float(v) for v in rng.dirichlet(np.ones(3)))) for u in own},
            0.01,
        )
        certificates[target] = replace(plain, **fields)
    settings = {"preset": "fast", "rule": "certified" if certified else "nsr-jump", "runs": 1, "seed": 7}
    found = Discovery(questions, (paths,), (choices,), (certificates if certified else {},), settings, 1.5)
    return fb.Found(found)


def changed(found: fb.Found, **fields: Any) -> fb.Found:
    """The same result with some fields of its record changed."""
    return fb.Found(replace(found.record, **fields), found.table)


def full_size_twin(targets: Sequence[str], inputs: Sequence[str], ancestors: Mapping[str, Sequence[str]]) -> Twin:
    """As large as a distilled twin of these targets is, with weights that were never trained."""
    rng = np.random.default_rng(0)
    codes = tuple(ColumnCode(name, "real", 0.0, 1.0) for name in inputs)
    masks = np.array([[name in ancestors[target] for name in inputs] for target in targets], float)
    sizes = [len(inputs), 48, 48, 25]
    weights = [rng.normal(0, n**-0.5, (len(targets), n, m)) for n, m in zip(sizes[:-1], sizes[1:], strict=True)]
    weights[0] *= masks[:, :, None]
    biases = [np.zeros((len(targets), size)) for size in sizes[1:]]
    layers, shifts = (tuple(jnp.asarray(a, jnp.float32) for a in arrays) for arrays in (weights, biases))
    span = Range(-3.0, 3.0, tuple(np.linspace(-2.3, 2.3, len(RANGE_QUANTILES)).tolist()))
    return Twin(
        codes,
        tuple(Target(name, Dequantiser("continuous"), 0.0, 1.0) for name in targets),
        {target: tuple(ancestors[target]) for target in targets},
        SplineModel(Network(layers, shifts, "silu"), 4.0, autoregressive=False),
        joint=False,
        ranges=(span,) * len(inputs),
        rows=rng.normal(size=(500, len(inputs))),
        settings=TwinSettings(),
    )


def every_kind() -> tuple[pd.DataFrame, fb.Found]:
    """A table with inputs and targets of every kind, names that would like to be markup, and what was found in it."""
    rng = np.random.default_rng(0)
    rows = 800
    table = pd.DataFrame({"a": rng.normal(50, 3, rows), "heading": rng.uniform(0, 360, rows)})
    table["kind"] = rng.choice(["plain", HOSTILE_LEVEL, "third"], rows)
    table["n"] = rng.integers(0, 9, rows)
    table[HOSTILE_INPUT] = rng.normal(size=rows)
    noise = rng.normal(size=(3, rows))
    turn = np.cos(np.deg2rad(table["heading"]))
    table["y"] = 2 * turn + 0.2 * (table["a"] - 50) * noise[0] + np.where(table["kind"] == "plain", 3, -1)
    counted = rng.poisson(1 + table["n"] / 2)
    table["count"] = np.where(counted > 6, counted + 3, counted)  # 7 to 9 never come
    table["rain"] = np.maximum(0, 0.5 * (table["a"] - 50) + noise[1])
    table["label"] = np.where(noise[2] + table[HOSTILE_INPUT] > 0, "yes", HOSTILE_LEVEL)
    table[HOSTILE_TARGET] = table[HOSTILE_INPUT] + 0.3 * noise[0]
    ancestors = {
        "y": ("a", "heading", "kind"),
        "count": ("n",),
        "rain": ("a",),
        "label": (HOSTILE_INPUT,),
        HOSTILE_TARGET: (HOSTILE_INPUT,),
    }
    inputs = ["a", "heading", "kind", "n", HOSTILE_INPUT]
    made = made_by_hand(list(ancestors), inputs, ancestors)
    quick: dict[str, Any] = {
        "distilled": 40,
        "nugget": 1.0,
        "lengthscale": 1.0,
        "latent_lengthscale": 1.0,
        "steps": 5,
    }
    quick |= {"width": 8, "depth": 1, "rule": lambda path: path.candidates[:1]}
    found = fb.discover(table, list(ancestors), periodic={"heading": 360.0}, **quick)
    return table, changed(found, choices=made.choices, certified=made.certified, runs=made.runs)
