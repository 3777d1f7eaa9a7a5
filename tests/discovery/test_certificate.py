"""Certified selection: the test of latent independence, the search, and the whole rule."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import forebear as fb
from forebear.data.question import Question
from forebear.data.table import Column
from forebear.discovery.action import Action, action
from forebear.discovery.certify import certify_targets
from forebear.discovery.dependence import (
    Residualiser,
    TestResult,
    features,
    judge,
    judge_each,
    judge_pairs,
    latent_features,
    probe_candidate,
    result_of,
)
from forebear.discovery.search import SetEvidence, search, weigh
from forebear.discovery.tester import CertificateSettings, SetTests
from forebear_experiments.benchmarks.support.suite import SUITE

QUICK: dict[str, Any] = {"steps": 200, "distilled": 300, "width": 32, "depth": 2}
"""a cheap pruning path: the certificate does not need a good one"""


def real(values: np.ndarray) -> np.ndarray:
    return features(Column("x", "real", values))


def p_value(z: np.ndarray, x: np.ndarray, kept: list[np.ndarray]) -> float:
    clearing = Residualiser(kept, len(z))
    return judge(clearing(latent_features(z)), probe_candidate("x", [real(x)], kept), clearing).p_value


@pytest.mark.parametrize("dependence", ["independent", "proxy", "curved"])
def test_level_holds_with_dependent_inputs(dependence: str) -> None:
    """Latents that carry a misfit in the kept input, beside an input that depends on it: no false alarms."""
    rng = np.random.default_rng(1)
    rows, pairs = 1_000, 200
    p_values = []
    for _ in range(pairs):
        kept, noise, own = rng.normal(size=(3, rows))
        x = {"independent": own, "proxy": kept + 0.1 * own, "curved": kept**2 + 0.3 * own}[dependence]
        misfit = noise * (1 + 0.1 * np.tanh(kept)) + 0.1 * np.sin(2 * kept)
        p_values.append(p_value(misfit, x, [real(kept)]))
    low, high = binom.ppf([0.005, 0.995], pairs, 0.05) / pairs
    assert low <= np.mean(np.array(p_values) < 0.05) <= high


@pytest.mark.parametrize("acts", ["location", "scale", "shape"])
def test_every_kind_of_dependence_is_seen(acts: str) -> None:
    rng = np.random.default_rng(2)
    x, noise, heavy = rng.normal(size=4_000), rng.normal(size=4_000), rng.laplace(scale=2**-0.5, size=4_000)
    z = {"location": noise + 0.2 * x, "scale": noise * np.exp(0.2 * x), "shape": np.where(x > 0, noise, heavy)}[acts]
    clearing = Residualiser([], len(z))
    verdict = judge(clearing(latent_features(z)), probe_candidate("x", [real(x)], []), clearing)
    assert verdict.p_value < 1e-4
    assert min(verdict.order, 3) == ["location", "scale", "shape"].index(acts) + 1


def test_pure_interactions_show_only_jointly() -> None:
    rng = np.random.default_rng(3)
    a, b, noise = rng.normal(size=(3, 3_000))
    z = 0.5 * np.sign(a * b) + noise
    clearing = Residualiser([], len(z))
    latents = clearing(latent_features(z))
    units = {"a": [real(a)], "b": [real(b)]}
    alone = judge_each(latents, units, [], clearing)
    jointly = result_of([*alone.values(), *judge_pairs(latents, units, clearing)])
    assert min(result_of([one]).p_value for one in alone.values()) > 1e-3
    assert jointly.p_value < 1e-10 and set(jointly.candidates) == {"a", "b"}


@pytest.mark.parametrize(("inputs", "needed"), [("ab", "b"), ("abc", "b"), ("a", "")])
def test_all_the_rest_has_a_p_value_also_when_it_is_one_input(inputs: str, needed: str) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(1_000, len(inputs))), columns=list(inputs))
    table["y"] = rng.normal(size=1_000) + (3 * table[needed] if needed else 0)
    [certificate] = fb.discover(table, "y", subset_steps=300, **QUICK).certified[0].values()
    assert certificate.kept == tuple(needed)
    assert certificate.jointly is not None and certificate.jointly.p_value > certificate.level


@pytest.mark.parametrize("units", [2, 5, 40])
def test_pairs_equal_one_product_at_a_time(units: int) -> None:
    """All products of two units at once, as matrices, against the definition of the statistic."""
    rng = np.random.default_rng(units)
    rows = 600
    kept, *columns = rng.normal(size=(units + 1, rows))
    clearing = Residualiser([real(kept)], rows)
    latents = clearing(latent_features(rng.normal(size=rows) + 0.2 * columns[0] * columns[1]))
    named = {f"u{n}": [real(column)] for n, column in enumerate(columns)}
    each = 2 if units * (units - 1) // 2 * 4 <= 6_000 else 1
    cleared = {name: clearing(one[:, :each]) for name, [one] in named.items()}
    slow = {}
    for a, b in combinations(named, 2):
        for i, j, k in product(range(each), range(each), range(latents.shape[1])):
            terms = latents[:, k] * cleared[a][:, i] * cleared[b][:, j]
            blocks = terms.reshape(20, 30).mean(axis=1)
            variance = max(terms.var(), 30 * np.mean((blocks - terms.mean()) ** 2))
            slow[a, b, i, j, k] = np.sqrt(rows - clearing.count) * abs(terms.mean()) / np.sqrt(variance)
    fast = judge_pairs(latents, named, clearing)
    assert sum(one.tests for one in fast) == len(slow)
    best = max(fast, key=lambda one: one.statistic)
    assert best.statistic == pytest.approx(max(slow.values()), rel=1e-9)
    assert best.candidates == max(slow, key=slow.__getitem__)[:2]


class Look:
    """A tester of y with candidates a, b and c that finds out of a set whatever of `needed` is not in it."""

    question = Question("y", ("a", "b", "c"), {name: (name,) for name in "abc"}, ())
    settings = CertificateSettings()

    def __init__(self, needed: str, shift: float):
        self.needed, self.shift = needed, shift

    def latents(self, kept: frozenset[str]) -> np.ndarray:
        return np.zeros(1)

    def test(self, kept: frozenset[str], z: np.ndarray) -> SetEvidence:
        sure = TestResult(9.0, 1e-9, 0.1, 1, ("a",), self.shift)
        nothing = TestResult(1.0, 0.5, 0.0, 1, ())
        out = {name: sure if name in self.needed else nothing for name in "abc" if name not in kept}
        return SetEvidence(out, nothing, frozenset(set(self.needed) - kept))

    def action(self, without: frozenset[str], unit: str, z: np.ndarray) -> Action:
        return Action(1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("first", "closer", "answer"), [("ab", "a", ("a",)), ("a", "ab", ("a", "b")), ("a", "a", ("a",)), ("a", "", ())]
)
def test_the_second_look_drops_what_is_not_needed_and_adds_what_is(
    first: str, closer: str, answer: tuple[str, ...]
) -> None:
    class Looks:
        tests = (SetTests(Look(first, 0.02)),)  # type: ignore[arg-type]

        def look_again(self, numbers: list[int], doubtful: Any, sure: Any) -> list[SetTests]:
            return [SetTests(Look(closer, 0.2))]  # type: ignore[arg-type]

    [certificate] = certify_targets(Looks(), [[()]])  # type: ignore[arg-type]
    assert certificate.kept == answer and certificate.passes


def test_weighing_asks_for_significance_and_size() -> None:
    sure_but_tiny = TestResult(9.0, 1e-15, 1e-5, 1, ("a",))
    large_but_unsure = TestResult(2.0, 0.3, 0.1, 1, ("b",))
    both = TestResult(9.0, 1e-15, 0.1, 1, ("c",))
    verdicts = {"a": sure_but_tiny, "b": large_but_unsure, "c": both}
    matters = CertificateSettings(least_effect=1e-3, least_shift=0.0).matters
    assert weigh(verdicts, None, 0.05, matters).rejected == {"c"}
    pair = TestResult(9.0, 1e-15, 0.1, 1, ("a", "b"))
    assert weigh({"a": sure_but_tiny, "b": large_but_unsure}, pair, 0.05, matters).rejected == {"a", "b"}


def test_shift_is_measured_in_deviations_of_the_target() -> None:
    """Given x, a moves the mean of y by a hundredth of its deviation, which is most of what x leaves open."""
    rng = np.random.default_rng(0)
    x, a, w = rng.normal(size=(3, 4_000))
    table = pd.DataFrame({"x": x, "a": a, "y": x + 0.01 * a + 0.005 * w})
    fast: dict[str, Any] = {"steps": 200, "subset_steps": 1_000, "distilled": 100}
    found = fb.discover(table, "y", least_shift=0.0, **fast)
    assert found.ancestors == {"y": ("x", "a")}
    certificate = found.certificates["y"]
    assert 0.002 < certificate.loc["a", "shift"] < 0.02 < 0.1 < certificate.loc["a", "effect"]
    found = fb.discover(table, "y", least_shift=0.03, **fast)
    assert found.ancestors == {"y": ("x",)}
    assert found.summary() == "y <- x (negligible: a)"


def slow_series(count: int, rng: np.random.Generator, memory: float = 0.9) -> np.ndarray:
    series = rng.normal(size=(2, count))
    for row in range(1, count):
        series[:, row] = memory * series[:, row - 1] + np.sqrt(1 - memory**2) * series[:, row]
    return series


def test_rows_that_follow_each_other_do_not_feign_dependence() -> None:
    """A latent and an input that are both slow, and independent: tested as if rows were, three in four are found."""
    clearing = Residualiser([], rows=2_000)

    def p_value(seed: int) -> float:
        z, x = slow_series(2_000, np.random.default_rng(seed))
        return judge(clearing(latent_features(z)), probe_candidate("x", [real(x)], []), clearing).p_value

    assert np.mean([p_value(seed) < 0.05 for seed in range(60)]) < 0.2


def test_search_adds_interactions_whole_and_drops_the_useless() -> None:
    def examine(kept: frozenset[str]) -> SetEvidence:
        outside = [u for u in "abcd" if u not in kept]
        verdicts = {u: TestResult(1.0, 0.5, 0.0, 1, (u,)) for u in outside}
        missing = {"a", "b"} - kept
        jointly = TestResult(20.0, 0.0, 0.3, 1, ("a", "b")) if len(missing) == 2 else None
        return SetEvidence(verdicts, jointly, frozenset(missing))

    for start in ("", "a", "cd", "abcd"):
        assert search(examine, start) == {"a", "b"}


@pytest.mark.parametrize("name", ["y3", "interaction", "weak", "counts"])
def test_hard_systems_are_exact(name: str) -> None:
    system = SUITE[name](seed=0)
    found = fb.discover(system.table, **system.options(), **QUICK)
    assert {t: set(a) for t, a in found.ancestors.items()} == {t: set(a) for t, a in system.ancestors.items()}
    if name == "y3":
        assert found.effects["y3"].loc["x2", "acts"] == "shape"
        certificate = found.certificates["y3"]
        assert certificate.loc["x2", "kept"] and certificate.loc["x2", "p_value"] < 1e-6
        assert not certificate.loc["x1", "kept"] and certificate.loc["x1", "p_value"] > 0.01


def test_scale_effects_are_called_scale_and_results_survive_saving(tmp_path) -> None:
    system = SUITE["y1"](seed=1)
    found = fb.discover(system.table, **system.options(), out=tmp_path / "run", **QUICK)
    assert found.ancestors == {"y1": ("x1",)}
    assert found.effects["y1"].loc["x1", "acts"] == "scale"
    again = fb.load(tmp_path / "run")
    assert again.to_dict() == found.to_dict()
    pd.testing.assert_frame_equal(again.certificates["y1"], found.certificates["y1"])
    edge = found.graph.edges["x1", "y1"]
    assert edge["p_value"] < 1e-6 and edge["effect"] > 0.05
    document = found.to_dict()["targets"]["y1"]
    assert set(document["certificate"]) == set(system.candidates)


def test_noise_has_no_ancestors() -> None:
    system = SUITE["noise"](seed=3)
    assert fb.discover(system.table, **system.options(), **QUICK).ancestors == {"y": ()}


def test_groups_kept_inputs_and_categories() -> None:
    rng = np.random.default_rng(4)
    rows = 3_000
    table = pd.DataFrame(rng.normal(size=(rows, 4)), columns=["a", "b", "c", "d"])
    table["kind"] = rng.choice(["u", "v", "w"], size=rows)
    spread = np.where(table["kind"] == "u", 0.5, 1.5)
    table["y"] = table["a"] + table["b"] * rng.normal(size=rows) + spread * rng.normal(size=rows)
    found = fb.discover(table, "y", keep=["a"], groups={"pair": ["b", "c"]}, **QUICK)
    assert set(found.ancestors["y"]) == {"a", "pair", "kind"}
    assert list(found.certificates["y"].index) == ["pair", "d", "kind"]


def test_equally_good_sets_are_listed() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=3_000)
    twin = x + 1e-3 * rng.normal(size=3_000)
    table = pd.DataFrame({"a": x, "b": twin, "c": rng.normal(size=3_000), "y": x * rng.normal(size=3_000)})
    found = fb.discover(table, "y", **QUICK)
    assert found.ancestors["y"] in (("a",), ("b",))
    [(other, certificate)] = found.alternatives["y"].items()
    assert {found.ancestors["y"], other} == {("a",), ("b",)}
    assert {unit for unit, kept in certificate["kept"].to_dict().items() if kept} == set(other)
    p_values = certificate["p_value"].to_dict()
    assert p_values.pop(other[0]) < 1e-6
    assert min(p_values.values()) > 0.01


def test_a_negligible_effect_adds_no_edge_however_many_rows() -> None:
    rng = np.random.default_rng(6)
    rows = 500_000
    x = rng.normal(size=(rows, 2))
    table = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] + 0.02 * x[:, 1] + rng.normal(size=rows))
    options = {**QUICK, "tested": 200_000, "subset_steps": 500}
    found = fb.discover(table, "y", **options)
    verdict = found.certified[0]["y"].tests["b"]
    assert verdict.p_value < 1e-3 and verdict.effect < 1e-3
    assert found.ancestors["y"] == ("a",)


@pytest.mark.slow
def test_memory_of_the_pendulum() -> None:
    """Lag 1 alone tells the hidden speed exactly; to a tenth of a deviation, a later lag does as well."""
    system = fb.systems.pendulum(episodes=200, lags=4)
    exact = fb.discover(system.table, **system.options(), distilled=1_000)
    assert exact.ancestors == {"dtheta": ("lag 0", "lag 1")}
    assert exact.alternatives == {"dtheta": {}}
    rough = fb.discover(system.table, **system.options(), distilled=1_000, least_shift=0.1)
    for kept in (rough.ancestors["dtheta"], *rough.alternatives["dtheta"]):
        assert len(kept) == 2
    assert rough.alternatives["dtheta"]


def test_an_input_that_shapes_only_the_dependence_of_two_outputs() -> None:
    """Each output is standard normal whatever the inputs are; `a` sets their correlation."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame(rng.normal(size=(4_000, 3)), columns=["a", "b", "c"])
    w = rng.normal(size=(2, 4_000))
    correlation = np.tanh(2 * table["a"])
    table["y1"], table["y2"] = w[0], correlation * w[0] + np.sqrt(1 - correlation**2) * w[1]
    joint = fb.discover(table, ["y1", "y2"], joint=True, **QUICK)
    assert joint.ancestors == {"y1": ("a",), "y2": ("a",)}
    assert joint.effects["y1"].loc["a", "acts"] == "dependence"
    assert joint.certificates["y1"].loc["a", "p_value"] < 1e-6
    apart = fb.discover(table, ["y1", "y2"], **QUICK)
    assert apart.ancestors == {"y1": (), "y2": ()}
    assert "dependence" not in apart.effects["y1"]


@pytest.mark.parametrize("joint", [False, True])
def test_lattice_and_atomic_inputs_and_targets_and_groups(joint: bool) -> None:
    rng = np.random.default_rng(9)
    rows = 4_000
    table = pd.DataFrame({"count": rng.poisson(2.0, rows), "idle_count": rng.poisson(2.0, rows)})
    table["dose"] = np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(size=rows))
    table["idle_dose"] = np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(size=rows))
    table["u"], table["v"] = rng.normal(size=(2, rows))
    spread = np.where(table["dose"] > 0, 1.5, 0.5)
    table["level"] = table["count"] + spread * rng.normal(size=rows)
    table["events"] = rng.poisson(np.exp(0.5 * table["u"] + 0.5 * table["v"]))
    found = fb.discover(table, ["level", "events"], groups={"uv": ["u", "v"]}, joint=joint, **QUICK)
    assert found.ancestors == {"level": ("count", "dose"), "events": ("uv",)}


def test_other_rules_have_no_certificate() -> None:
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "y"])
    found = fb.discover(table, "y", rule="nsr-jump", **QUICK)
    with pytest.raises(fb.InputError, match="rule 'nsr-jump' makes no certificates"):
        _ = found.certificates


def test_a_switch_that_widens_a_law_acts_on_its_scale() -> None:
    """Features of a column of two values repeat each other, and must not count several times."""
    rng = np.random.default_rng(0)
    switch, noise = rng.integers(0, 2, 5_000).astype(float), rng.normal(size=5_000)
    wide = noise * (1 + 2 * switch)
    ranks = (np.argsort(np.argsort(wide)) + 0.5) / len(wide)
    clearing = Residualiser([], len(wide))
    split = action(clearing(latent_features(ndtri(ranks))), clearing(real(switch)[:, :5]))
    assert split.scale > 0.8 and split.location < 0.05
