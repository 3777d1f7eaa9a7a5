"""The kernel stage against the plain reference, at hundreds of inputs, and at the edge of what can be solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from forebear.discovery import path as pruning
from forebear.discovery.choose import LargestJump
from forebear.discovery.path import MANY, prune
from forebear.errors import InputError
from forebear.kernel import device, factors, host
from forebear.kernel.cholesky import cholesky_solve
from forebear.kernel.product import Dense, Tiled
from forebear.kernel.profiles import RBF
from forebear.kernel.ridge import ridge
from forebear.kernel.solve import InMemory, _solve_on_device, _solve_on_host
from forebear.kernel.truncated import truncated_solve
from forebear.kernel.tune import Choice, choose, cross_errors
from forebear.kinds.category import Category
from forebear.kinds.periodic import Periodic
from forebear.storage.records import from_record, to_record

ROWS, INPUTS = 40, 6


class Variable(NamedTuple):
    """A column without its values."""

    name: str
    levels: tuple[object, ...] = ()
    period: float | None = None


class Problem(NamedTuple):
    points: np.ndarray
    plain: list[np.ndarray]
    """the k of every factor, from its definition"""
    y: np.ndarray
    units: dict[str, tuple[int, ...]]
    nugget: float


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Inputs of mixed kinds, some in groups, some kept (latents are such), and a target that uses a few."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Sampled, so that few shapes are compiled: the number of factors never changes.
    kinds = draw(st.lists(st.sampled_from(["real", "periodic", "category"]), min_size=INPUTS, max_size=INPUTS))
    lengthscales = draw(st.lists(st.sampled_from([0.3, 1.0, 2.5, 8.0]), min_size=INPUTS, max_size=INPUTS))
    embedded, plain = [], []
    y = 0.3 * rng.normal(size=ROWS)
    for number, (kind, lengthscale) in enumerate(zip(kinds, lengthscales, strict=True)):
        if kind == "category":
            x = rng.integers(0, 3, ROWS).astype(float)
            embedded.append(Category().embed(x, Variable("x"), lengthscale))
            plain.append(reference.category(x))
        elif kind == "periodic":
            x = rng.uniform(-7, 7, ROWS)
            embedded.append(Periodic().embed(x, Variable("x", period=2.5), lengthscale))
            plain.append(reference.periodic(x, 2.5, lengthscale))
        else:
            x = rng.normal(size=ROWS)
            embedded.append(factors.real(x, lengthscale))
            plain.append(reference.real(x, lengthscale))
        y += np.sin((number + 1) * x) * rng.integers(0, 2)
    # Units of one, two or three factors; what is in none of them is a latent or a kept input.
    removable = draw(st.integers(1, INPUTS))
    order = rng.permutation(INPUTS)[:removable].tolist()
    units: dict[str, tuple[int, ...]] = {}
    while order:
        size = draw(st.integers(1, min(3, len(order))))
        units[f"u{len(units)}"] = tuple(order[:size])
        order = order[size:]
    nugget = draw(st.sampled_from([1e-3, 0.1, 1.0, 30.0]))
    return Problem(factors.stack(embedded, ROWS), plain, y, units, nugget)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_paths_equal_the_reference(problem: Problem) -> None:
    """Targets that walk together, and part where their paths do, take the steps that each would take alone."""
    targets = np.stack([problem.y, np.roll(problem.y, 1), problem.y**2], axis=1)
    paths = prune(problem.points, targets, problem.units, problem.nugget)
    for path, y in zip(paths, targets.T, strict=True):
        slow = reference.prune(problem.plain, y, problem.units, problem.nugget)
        assert path.removed == slow.removed
        np.testing.assert_allclose(path.nsr, slow.nsr, rtol=0, atol=1e-8)
        for step, shares in enumerate(slow.scores):
            for place, unit in enumerate(path.candidates):
                expected = shares.get(unit, np.nan)
                np.testing.assert_allclose(path.scores[step, place], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rows", [3_000, 3_217])
def test_blockwise_factorisation_solves(rows: int) -> None:
    rng = np.random.default_rng(0)
    low = rng.normal(size=(rows, 40))
    matrix, y = low @ low.T + np.eye(rows), rng.normal(size=(rows, 2))
    solution = cholesky_solve(matrix.copy(), y, block=700)
    assert solution is not None
    np.testing.assert_allclose(matrix @ solution, y, atol=1e-9)
    matrix[-1, -1] = -1.0
    assert cholesky_solve(matrix, y) is None


def test_factorisation_does_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    low = rng.normal(size=(3_217, 40))
    matrix, y = low @ low.T + np.eye(len(low)), rng.normal(size=(len(low), 2))
    solutions = []
    for count in (1, 2, 3, 16):
        monkeypatch.setattr("forebear.kernel.cholesky.cores", lambda count=count: count)
        solutions.append(cholesky_solve(matrix.copy(), y))
    assert all(np.array_equal(solution, solutions[0]) for solution in solutions)


@pytest.mark.parametrize("rows", [1_500, 2_017])
@pytest.mark.parametrize("nugget", [0.01, 1.0])
def test_an_early_stop_of_the_factorisation_loses_nothing(rows: int, nugget: float) -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_t(4, size=(3, 1, rows)) / 3  # with outliers, which few columns see
    y = np.stack([np.sin(3 * points[0, 0]), points[1, 0] * points[2, 0]], axis=1)
    kernel = np.asarray(Dense.of(points).entries)
    early = truncated_solve(InMemory(kernel), y, nugget)
    assert early is not None
    np.testing.assert_allclose(early, np.linalg.solve(kernel + nugget * np.eye(rows), y), rtol=0, atol=1e-8)


@pytest.mark.parametrize("rows", [30, 2_017])
@pytest.mark.parametrize("width", [1, 3])
def test_a_product_with_few_rows_at_a_time_is_the_product(rows: int, width: int) -> None:
    rng = np.random.default_rng(0)
    matrix, vectors = rng.normal(size=(rows, rows)), rng.normal(size=(rows, width))
    np.testing.assert_allclose(InMemory(matrix) @ vectors, matrix @ vectors, atol=1e-11)


@pytest.mark.parametrize("nugget", [0.0, 1e-12])
def test_a_rough_kernel_is_left_to_the_whole_factorisation(nugget: float) -> None:
    rng = np.random.default_rng(0)
    kernel = Dense.of(rng.normal(size=(8, 1, 1_500)) * 4)
    y = rng.normal(size=(1_500, 1))
    assert truncated_solve(InMemory(np.asarray(kernel.entries)), y, nugget) is None
    alpha = kernel.solve(y, nugget)
    np.testing.assert_allclose(np.asarray(kernel.entries) @ alpha + nugget * alpha, y, atol=1e-9)


def test_a_kernel_that_is_never_held_gives_the_same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 1, 1_203))
    y = np.stack([np.sin(x[0, 0]) + x[1, 0], x[2, 0] * x[1, 0]], axis=1)
    units = {"a": (0,), "bc": (1, 2), "d": (3,)}
    held = prune(x / 3, y, units, nugget=1.0)
    monkeypatch.setattr(pruning, "dense_rows", lambda: 1_000)
    for one, other in zip(held, prune(x / 3, y, units, nugget=1.0), strict=True):
        assert one.removed == other.removed
        np.testing.assert_allclose(one.nsr, other.nsr, rtol=1e-8)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6)


def test_a_target_that_never_varies_is_all_noise() -> None:
    x = np.random.default_rng(0).normal(size=(2, 1, 50))
    still, moving = prune(x, np.stack([np.zeros(50), x[0, 0]], axis=1), {"a": (0,), "b": (1,)}, nugget=1.0)
    assert still.nsr == (1.0, 1.0, 1.0) and (still.scores[0] == 0).all()
    assert moving.removed == ("b", "a")


def test_a_walk_goes_on_from_the_fits_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 1, 300))
    y = np.stack([np.sin(x[0, 0]) + x[1, 0], x[2, 0] * x[1, 0]], axis=1)
    units = {name: (place,) for place, name in enumerate("abcd")}
    fits = pruning.Fits()
    whole = prune(x, y, units, nugget=1.0, fits=fits)
    last = fits.found.pop(())
    asked = []

    def counted(kernel: Dense, *rest: Any) -> Any:
        asked.append(kernel)
        return ridge(kernel, *rest)

    monkeypatch.setattr(pruning, "ridge", counted)
    again = prune(x, y, units, nugget=1.0, fits=fits)
    assert len(asked) == 1 and fits.found[()] == last
    assert to_record(again) == to_record(whole)


def test_a_rough_kernel_that_does_not_fit_is_refused_with_the_number_that_would() -> None:
    points = np.random.default_rng(0).normal(size=(8, 1, 1_500)) * 4
    with pytest.raises(InputError, match=r"1,500 distilled rows are too many .* take at most 15,000"):
        Tiled.of(points).solve(np.ones((1_500, 1)), 1e-9)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_the_device_makes_the_kernels_that_the_host_makes(problem: Problem) -> None:
    inputs, units = list(range(INPUTS)), list(problem.units.values())
    alpha = np.stack([problem.y, problem.y**2], axis=1)
    here, there = host.gram(problem.points, inputs), device.gram(problem.points, inputs)
    np.testing.assert_allclose(here, there, rtol=1e-13)
    rest = host.gram(problem.points, [number for number in inputs if number not in (1, 3)])
    through = [here - host.divide_out(here, problem.points, unit) * 0.5 ** len(unit) for unit in units]
    expected = [np.diag(alpha.T @ matrix @ alpha) for matrix in through]
    for of, kernel in ((host, here), (device, there)):
        np.testing.assert_allclose(of.divide_out(kernel, problem.points, [1, 3]), rest, rtol=1e-13)
        np.testing.assert_allclose(of.product(problem.points, inputs, alpha), here @ alpha, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(of.columns(problem.points, inputs, np.array([2, 0])), here[:, [2, 0]], rtol=1e-13)
        for form in (kernel, inputs):
            found = of.energies(form, problem.points, alpha, units)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(problems(), st.integers(5, ROWS))
def test_variation_is_what_a_fit_loses_where_inputs_come_from_other_rows(problem: Problem, some: int) -> None:
    inputs, units = list(range(INPUTS)), list(problem.units.values())
    alpha = np.stack([problem.y, problem.y**2], axis=1)
    # From its definition: the members of a unit are taken from each of the first rows in turn, and the fits averaged.
    k = np.stack(problem.plain)
    fit = np.prod((1 + k) / 2, axis=0)[:some] @ alpha
    expected = []
    for unit in units:
        averaged = np.zeros_like(fit)
        for other in range(some):
            mixed = k[:, :some].copy()
            mixed[list(unit)] = k[list(unit), other][:, None]
            averaged += np.prod((1 + mixed) / 2, axis=0) @ alpha / some
        expected.append(np.mean((fit - averaged) ** 2, axis=0))
    for of in (host, device):
        average = of.group_means(problem.points, units, some)
        for form in (of.gram(problem.points, inputs), inputs):
            lost, variance = of.variations(form, problem.points, alpha, units, average, some)
            np.testing.assert_allclose(lost, expected, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(variance, fit.var(axis=0), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("law", ["mean", "interaction", "spread", "modes"])
def test_variation_ranks_what_is_needed_first_among_many_inputs(law: str) -> None:
    """With energies needed inputs come in the middle of these paths: most pairs of rows are alike in most inputs."""
    rng = np.random.default_rng(7)
    x, z = rng.normal(size=(25, 600))[:24], rng.normal(size=600)
    a, b, c = x[3], x[12], x[22]
    y = {
        "mean": a + 0.7 * np.sin(2 * b) + 0.5 * c + 0.5 * z,
        "interaction": a * b + 0.5 * c + 0.4 * z,
        "spread": a + np.exp(0.6 * b) * z + 0.5 * c,
        "modes": np.sign(z) * (1 + np.abs(a)) + 0.7 * b + 0.5 * c + 0.2 * z,
    }[law]
    points = np.concatenate([x / 3.0, z[None]])[:, None]
    candidates = {f"x{number}": (number,) for number in range(24)}
    [path] = prune(points, ((y - y.mean()) / y.std())[:, None], candidates, 1.0, scores="variation")
    first = sorted(path.candidates, key=dict(zip(path.candidates, -path.scores[0], strict=True)).__getitem__)
    assert set(first[:3]) == {"x3", "x12", "x22"} == set(path.removed[-3:])
    useless = [score for name, score in zip(path.candidates, path.scores[0], strict=True) if name not in first[:3]]
    assert max(useless) < 0.05


@settings(max_examples=20, deadline=None)
@given(problems(), st.sets(st.integers(0, INPUTS - 1), max_size=3))
def test_divided_out_equals_rebuilt(problem: Problem, members: set[int]) -> None:
    left = [number for number in range(INPUTS) if number not in members]
    less = Dense.of(problem.points).without(sorted(members))
    np.testing.assert_allclose(less.entries, Dense.of(problem.points[left]).entries, atol=1e-14)


def test_the_device_solves_as_the_host_does() -> None:
    rng = np.random.default_rng(0)
    low = rng.normal(size=(60, 80))
    matrix, y = low @ low.T, rng.normal(size=(60, 2))
    with jax.enable_x64(True):
        ours = _solve_on_device(matrix, y, 0.5)
        assert np.isnan(_solve_on_device(-matrix, y, 0.5)).any()
    np.testing.assert_allclose(ours, _solve_on_host(matrix, y, 0.5), rtol=1e-9)


def wide(inputs: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(inputs, 1, rows))
    return x / 5.0, np.sin(x[0, 0]) + x[1, 0] * x[2, 0] + 0.1 * rng.normal(size=rows)


def test_two_hundred_inputs_in_log_space() -> None:
    """The factors' logarithms are summed and the largest taken out before anything can overflow or vanish."""
    inputs, rows, nugget = 200, 100, 1.0
    points, y = wide(inputs, rows)
    squares = (points[:, 0, :, None] - points[:, 0, None, :]) ** 2
    logs = np.log1p(np.exp(-squares.astype(np.longdouble) / 2))
    total = logs.sum(axis=0)
    scale = total.max()
    kernel = np.exp(total - scale).astype(float)
    fit = reference.fit(kernel, y, float(np.exp(np.log(nugget) - scale)))
    without = np.array([np.exp(total - logs[j] - scale) for j in range(inputs)], float)
    shares = np.array([fit.alpha @ (kernel - w) @ fit.alpha for w in without]) / fit.signal

    ours = ridge(Dense.of(points), y[:, None], nugget * 0.5**inputs)
    np.testing.assert_allclose(ours.nsr[0], fit.nsr, rtol=1e-8, atol=0)
    energy = Dense.of(points).energies(ours.alpha, [[j] for j in range(inputs)])
    np.testing.assert_allclose(energy[:, 0] / ours.signal, shares, rtol=1e-6)


@pytest.mark.slow
def test_path_of_two_hundred_inputs_is_finite() -> None:
    points, y = wide(200, 60)
    [path] = prune(points, y[:, None], {f"x{i}": (i,) for i in range(200)}, nugget=1.0)
    nsr = np.array(path.nsr)
    assert np.isfinite(nsr).all() and nsr.min() >= 0 and nsr.max() <= 1
    assert sorted(path.removed) == sorted(path.candidates)
    assert np.isfinite(path.scores[0]).all()


def test_several_removed_at_once_leave_the_same_few() -> None:
    points, y = wide(120, 400)
    units = {f"x{i}": (i,) for i in range(120)}
    [one], [many] = (prune(points, y[:, None], units, 1.0, drop=drop) for drop in (0.0, 0.25))
    assert LargestJump()(one) == LargestJump()(many) == ("x0", "x1", "x2")
    assert one.fits == tuple(range(121)) and max(many.fits) < 120 - MANY
    # A fit of its own for each of the last steps, one for several before.
    last = many.fits[-MANY - 1 :]
    assert last == tuple(range(last[0], last[0] + MANY + 1))
    assert sorted(many.removed) == sorted(one.removed) and len(many.nsr) == 121
    shared = np.flatnonzero(np.diff(many.fits) == 0)
    assert len(shared) and all(many.increments[step] == 0 for step in shared)
    restored = from_record(pruning.Path, to_record(many))
    assert restored.fits == many.fits and restored.frame()["fit"].tolist() == list(many.fits)


@pytest.mark.parametrize("members", [1, 2])
def test_memory_does_not_grow_with_the_number_of_inputs(members: int) -> None:
    rows, inputs = 600, 200
    matrix = rows * rows * 8
    with jax.enable_x64(True):
        points, everything = jnp.zeros((inputs, 1, rows)), jnp.arange(inputs)
        kernel, alpha = jnp.zeros((rows, rows)), jnp.zeros((rows, 1))
        units = jnp.zeros((inputs // members, members), int)
        compiled = [
            device._block.lower(points, everything, inputs, jnp.arange(rows), profile=RBF()).compile(),
            device._divided.lower(kernel, points, everything, inputs, profile=RBF()).compile(),
            device._energies.lower(kernel, points, alpha, units, inputs, profile=RBF()).compile(),
        ]
    for one in compiled:
        memory = one.memory_analysis()
        assert memory is not None
        assert memory.temp_size_in_bytes < 3 * matrix  # rows x rows x inputs would be 200 of them


def test_callers_precision_is_left_alone() -> None:
    assert jnp.ones(1).dtype == jnp.float32
    points, y = wide(3, 20)
    kernel = Dense.of(points)
    fit = ridge(kernel, y[:, None], 1.0)
    assert kernel.entries.dtype == fit.alpha.dtype == jnp.float64
    assert jnp.ones(1).dtype == jnp.float32
    assert not jax.config.read("jax_enable_x64")


def test_precision_is_restored_after_an_error() -> None:
    with pytest.raises(FloatingPointError):
        ridge(Dense(jnp.full((3, 3), jnp.nan), np.zeros((1, 1, 3))), np.ones((3, 1)), 1.0)
    assert jnp.ones(1).dtype == jnp.float32


def test_singular_kernel_raises_the_nugget_and_says_so() -> None:
    x = np.repeat(np.random.default_rng(0).normal(size=30), 2)
    points = factors.stack([factors.real(x, 1.0)], 60)
    kernel = Dense.of(points)
    y = np.sin(x)[:, None]
    fit = ridge(kernel, y, 1e-30)
    assert fit.nugget > 1e-30
    assert 0 <= fit.nsr[0] <= 1
    residual = (np.asarray(kernel.entries) + fit.nugget * np.eye(60)) @ fit.alpha - y
    assert np.abs(residual).max() < 1e-3
    [path] = prune(points, y, {"x": (0,)}, nugget=1e-30)
    assert path.nuggets[0] == pytest.approx(2 * fit.nugget)
    assert "nugget" in path.frame()


def test_regular_kernel_keeps_the_nugget() -> None:
    points, y = wide(3, 20)
    [path] = prune(points, y[:, None], {"a": (0,), "b": (1,)}, nugget=0.7)
    assert path.nuggets == (0.7, 0.7, 0.7)


def plain_cross_error(kernel: np.ndarray, y: np.ndarray, nugget: float) -> float:
    half = y.shape[1] // 2
    halves = np.arange(half), np.arange(half, 2 * half)
    errors = []
    for fit, test in (halves, halves[::-1]):
        for one in range(len(y)):
            for other in range(len(y)):
                if one != other or len(y) == 1:
                    alpha = np.linalg.solve(kernel[np.ix_(fit, fit)] + nugget * np.eye(half), y[one, fit])
                    errors.append(np.mean((kernel[np.ix_(test, fit)] @ alpha - y[other, test]) ** 2))
    return float(np.mean(errors))


@pytest.mark.parametrize("samplers", [1, 2, 3])
@pytest.mark.parametrize("rows", [40, 41])
def test_cross_errors_equal_the_reference(samplers: int, rows: int) -> None:
    rng = np.random.default_rng(samplers)
    x = rng.normal(size=(2, rows))
    kernel = reference.product([reference.real(x[0], 1.0), reference.real(x[1], 2.0)], rows)
    y = np.sin(x[0]) + 0.3 * rng.normal(size=(samplers, rows))
    nuggets = np.array([0.01, 1.0, 20.0])
    expected = [plain_cross_error(kernel, y, nugget) for nugget in nuggets]
    ours = cross_errors(kernel, np.stack([y, -y], axis=2), nuggets)
    np.testing.assert_allclose(ours, np.stack([expected, expected], axis=1), rtol=1e-9)


def test_choice_follows_roughness_and_noise() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 300))

    def of(values: np.ndarray) -> Callable[[float], np.ndarray]:
        return lambda lengthscale: factors.stack([factors.real(values, lengthscale)], 300)

    y = np.stack([0.5 * x + 0.5 * z, 0.5 * x + np.sign(np.sin(4 * z))], axis=1)
    smooth, rough_in_z = choose(of(x), of(z), y[None])
    assert smooth.lengthscale >= 2.0 and smooth.latent_lengthscale >= 1.0
    assert rough_in_z.latent_lengthscale == 0.3
    clean = np.sin(3 * x) * np.ones((2, 1))
    noisy = clean + 2.0 * rng.normal(size=(2, 300))
    of_clean, of_noisy = choose(of(x), of(z), np.stack([clean, noisy], axis=2))
    assert of_clean.nugget < of_noisy.nugget


def test_what_two_samplers_do_not_share_is_noise() -> None:
    """Each sampler's draws are smooth, so one alone would be followed; the other one tells what is real."""
    x = np.random.default_rng(0).normal(size=300)
    wiggles = np.stack([np.sin(9 * x), np.cos(7 * x)])
    draws = 0.3 * x + wiggles
    grid = {"lengthscales": (0.3, 4.0), "latent_lengthscales": (1.0,), "nuggets": (0.01, 1.0)}

    def inputs(lengthscale: float) -> np.ndarray:
        return factors.stack([factors.real(x, lengthscale)], 300)

    def latents(_: float) -> np.ndarray:
        return np.empty((0, 1, 300))

    assert choose(inputs, latents, draws[:1, :, None], **grid) == [Choice(0.3, 1.0, 0.01)]
    assert choose(inputs, latents, draws[..., None], **grid)[0].lengthscale == 4.0
