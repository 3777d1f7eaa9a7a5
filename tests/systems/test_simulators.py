"""The simulators: their statistics, their exact laws, and the sampler made of those laws.

What all of them have in common is tested in tests/contracts/test_systems.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from small_systems import SMALL

from forebear import systems
from forebear.errors import InputError
from forebear.systems import System
from forebear.systems.laws import normal_laplace_cdf, normal_laplace_upper
from forebear.systems.pendulum import DT, GRAVITY, TORQUE, wrap

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@lru_cache
def small(name: str) -> System:
    return SMALL[name]()


def pick(system: System, *names: str) -> pd.DataFrame:
    return pd.DataFrame({name: system.table[name] for name in names})


def arrays(system: System) -> dict[str, np.ndarray]:
    return {str(name): system.table[name].to_numpy(dtype=float) for name in system.table.columns}


def test_two_points() -> None:
    system = small("algebraic")
    y, root = system.table["y2"].to_numpy(), np.sqrt(system.table["x3"].to_numpy())
    law = system.quantiles["y2"]
    np.testing.assert_allclose(np.abs(y), root)
    np.testing.assert_array_equal(law(system.table, np.full(len(y), 0.49)), -root)
    np.testing.assert_array_equal(law(system.table, np.full(len(y), 0.51)), root)
    assert abs((y > 0).mean() - 0.5) < 0.02


@pytest.mark.parametrize("weight", [0.0, 1e-8, 1e-3, 0.3, 0.9, 1 - 1e-8, 1.0])
def test_normal_plus_laplace_against_quadrature(weight: float) -> None:
    s, b = max(np.sqrt(1 - weight), 1e-300), np.sqrt(weight / 2)
    for y in (-5.0, -1.3, -0.2, 0.0, 0.7, 4.0):

        def at(v: float, y: float = y) -> float:
            # over the Laplace part, whose modulus is b times a standard exponential
            return float(np.exp(-v) * (stats.norm.cdf((y - b * v) / s) + stats.norm.cdf((y + b * v) / s)) / 2)

        # a small s makes the normal factor a step: split there, and once on either side of it
        kink = abs(y) / b if b else 1.0
        cuts = sorted({min(max(v, 0.0), 60.0) for v in (0, kink - 9 * s, kink, kink + 9 * s, 60)})
        pieces = (integrate.quad(at, *ends, epsabs=1e-13) for ends in zip(cuts, cuts[1:], strict=False))
        exact = sum(value for value, _ in pieces)
        assert float(normal_laplace_cdf(np.array(y), s, b)) == pytest.approx(exact, abs=1e-10)


def test_normal_plus_laplace_inverse() -> None:
    rng = np.random.default_rng(0)
    weight = np.concatenate([[0.0, 1.0, 1e-16, 1e-9, 1 - 1e-12], rng.uniform(0, 1, 200)])
    s, b = np.sqrt(1 - weight), np.sqrt(weight / 2)
    y = np.linspace(0.0, 6.0, 61)[:, None]
    tail = normal_laplace_cdf(-y, s, b)
    np.testing.assert_allclose(normal_laplace_upper(np.log(tail), s, b), np.broadcast_to(y, tail.shape), atol=1e-8)
    far = normal_laplace_upper(np.full(len(weight), -700.0), s, b)
    assert np.isfinite(far).all()
    assert far[0] == pytest.approx(-stats.norm.ppf(np.exp(-700.0)), rel=1e-9)
    assert far[1] == pytest.approx((700.0 - np.log(2)) * b[1], rel=1e-9)


def test_normal_plus_laplace_against_draws() -> None:
    rng, n = np.random.default_rng(1), 200_000
    rows = pd.DataFrame({"x2": np.full(n, 0.1)})
    weight = np.sin(0.1 * np.pi)
    y = np.sqrt(1 - weight) * rng.standard_normal(n) + np.sqrt(weight / 2) * rng.laplace(size=n)
    law = small("algebraic").quantiles["y3"]
    for p in (*LEVELS, 0.001, 0.999):
        q = law(rows.head(1), np.array([p]))[0]
        assert abs((y <= q).mean() - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_lorenz63_statistics() -> None:
    data = systems.lorenz63()
    assert data.table.shape == (50_000, 6)
    spread = data.table.to_numpy().std(axis=0)
    np.testing.assert_allclose(spread[:3], [8.45, 9.89, 9.69], rtol=0.05)
    np.testing.assert_allclose(spread[3:], [0.70, 1.00, 1.65], rtol=0.03)
    table = arrays(data)
    assert table["x3"].mean() == pytest.approx(25.6, rel=0.03)
    assert 0.05 * np.abs(table["x1"]).mean() == pytest.approx(0.351, rel=0.03)


def test_lorenz63_residual_is_the_increment_less_the_drift() -> None:
    increments, residuals = small("lorenz63").table, small("lorenz63-residual").table
    np.testing.assert_array_equal(increments["x1"], residuals["x1"])
    drift = 10 * (increments["x2"] - increments["x1"]) * 0.01
    np.testing.assert_allclose(increments["dx1"] - residuals["R1"], drift, atol=1e-13)


def test_lorenz96_statistics() -> None:
    data = systems.lorenz96()
    x = data.table[list(data.candidates)].to_numpy()
    dx = data.table[list(data.targets)].to_numpy()
    assert x.shape == dx.shape == (10_000, 10)
    assert x.mean() == pytest.approx(2.59, rel=0.06)
    assert x.std() == pytest.approx(4.38, rel=0.04)
    # one trajectory of 100 time units: the sites of one run differ by a tenth
    assert dx.std() == pytest.approx(0.275, rel=0.1)
    drift = (np.roll(x, -1, 1) - np.roll(x, 2, 1)) * np.roll(x, 1, 1) - x + 10
    assert 1 - (dx - 0.01 * drift).var() / dx.var() == pytest.approx(0.996, abs=0.002)
    assert data.ancestors["dx1"] == ("x1", "x2", "x9", "x10")
    assert data.ancestors["dx5"] == ("x3", "x4", "x5", "x6")
    np.testing.assert_allclose(x[1:], (x + dx)[:-1], atol=1e-12)


def test_lorenz96_leaves_jax_as_it_was() -> None:
    import jax
    import jax.numpy as jnp

    before = jax.config.jax_enable_x64  # type: ignore[attr-defined]
    small("lorenz96")
    assert jax.config.jax_enable_x64 == before  # type: ignore[attr-defined]
    assert jnp.ones(1).dtype == (jnp.float64 if before else jnp.float32)


def test_kraichnan_orszag_statistics() -> None:
    table = arrays(systems.kraichnan_orszag(trajectories=1_000, steps=300))
    residual = table["dx3"] - (table["x2"] ** 2 - table["x1"] ** 2) * 0.001
    assert residual.std() == pytest.approx(3.16e-3, rel=0.01)
    # from N(0, 4 I): E (x1 x3)^2 = 16, E (x2^2 - x1^2)^2 = 64
    drift = (table["x1"] * table["x3"], table["x2"] ** 2 - table["x1"] ** 2)
    rms = [np.sqrt((v**2).mean()) for v in drift]
    np.testing.assert_allclose(rms, [4.0, 8.0], rtol=0.15)


def test_algebraic_moments() -> None:
    table = arrays(small("algebraic"))
    assert table["y3"].std() == pytest.approx(1.0, rel=0.05)
    from_half = np.abs(table["x2"] - 0.5)
    heavy, light = table["y3"][from_half < 0.2], table["y3"][from_half > 0.45]
    assert stats.kurtosis(heavy) > 1.0 > 0.7 > stats.kurtosis(light)


def test_heat_statistics() -> None:
    table = arrays(systems.heat())
    r = systems.heat_matrices()[0][0, 1] / 2
    assert r == pytest.approx(0.162)
    rms = [np.sqrt((v**2).mean()) for v in (2 * r * table["x1"], 2 * r * table["x2"], 3.6 * table["u1"])]
    # the state grows without bound in mean square, so rare trajectories weigh on its size
    np.testing.assert_allclose(rms, [0.222, 0.195, 0.209], rtol=0.15)
    assert 0.2 * np.sqrt((table["x1"] ** 2).mean()) == pytest.approx(0.137, rel=0.15)


def test_heat_interior_nodes() -> None:
    data = systems.heat(trajectories=20, steps=50, nodes=(1, 5))
    assert data.ancestors == {"dx1": ("x1", "x2", "u1"), "dx5": ("x4", "x5", "x6")}
    y = data.oracle().fit(data.table, pick(data, "dx5"), seed=0).push(data.table, np.zeros((1000, 1)))[:, 0]
    rest = (arrays(data)["dx5"] - y) / arrays(data)["x5"]
    assert rest.std() == pytest.approx(0.2, rel=0.1)


def test_pendulum_statistics_and_lag_identity() -> None:
    data = systems.pendulum()
    assert data.table.shape == (95_500, 21)
    angles, table = data.table.to_numpy()[:, :10], arrays(data)
    now, step = angles[:, 0], table["dtheta"]
    assert angles.min() >= -np.pi and angles.max() < np.pi
    assert step.std() == pytest.approx(0.182, rel=0.03)
    assert (np.abs(step) > 0.4 - 1e-12).mean() == pytest.approx(0.009, abs=0.003)
    last = wrap(now - angles[:, 1])
    assert np.corrcoef(last, step)[0, 1] == pytest.approx(0.989, abs=0.003)
    # what the last step and the torque do not explain is one noise times sin(theta)
    free = (np.abs(step) < 0.399) & (np.abs(np.sin(now)) > 0.05)
    rest = (step - last - DT**2 * TORQUE * table["u_0"])[free] / (DT**2 * GRAVITY * np.sin(now[free]))
    assert rest.mean() == pytest.approx(1.0, abs=0.01)
    assert rest.std() == pytest.approx(0.3, rel=0.02)
    assert abs(np.corrcoef(rest, table["u_1"][free])[0, 1]) < 0.02


def test_pendulum_windows_stay_inside_an_episode() -> None:
    episodes, steps, lags = 7, 13, 4
    data = systems.pendulum(episodes, steps, lags=lags, seed=3)
    raw = systems.pendulum_episodes(episodes, steps, seed=3)
    rows = []
    for _, part in raw.groupby("episode"):
        theta, u = part["theta"].to_numpy(), part["u"].to_numpy()
        for n in range(lags, steps):
            past = slice(n, n - lags - 1 if n > lags else None, -1)
            rows.append([*wrap(theta[past]), *u[past], theta[n + 1] - theta[n]])
    np.testing.assert_array_equal(data.table.to_numpy(), np.array(rows))
    assert data.groups["lag 4"] == ("theta_4", "u_4")
    assert data.periodic == {f"theta_{k}": 2 * np.pi for k in range(5)}


def test_pendulum_law_at_the_speed_limit_and_across_the_cut() -> None:
    law = small("pendulum").quantiles["dtheta"]
    rows = pd.DataFrame({"theta_0": [-3.1, 1.5], "theta_1": [3.1, 1.1], "u_0": [0.0, 2.0]})
    y = law(rows, np.array([0.5, 0.5]))
    assert y[0] == pytest.approx(2 * np.pi - 6.2 + DT**2 * GRAVITY * np.sin(-3.1))
    assert y[1] == 0.4


def test_langevin_is_stationary_and_needs_two_lags() -> None:
    data = systems.langevin(trajectories=400, points=40, burn_in=8_000)
    table = data.table
    assert table.shape == (400 * 30, 11)
    assert (arrays(data)["x_0"] ** 2).mean() == pytest.approx(0.914, rel=0.02)
    # consecutive rows of a trajectory overlap: the newest value of one is the second of the next
    np.testing.assert_array_equal(table["x_1"].to_numpy()[1:30], table["x_0"].to_numpy()[:29])
    np.testing.assert_allclose((table["x_0"] + table["dx"]).to_numpy()[:29], table["x_0"].to_numpy()[1:30])

    def explained(*lags: int) -> float:
        x = table[[f"x_{k}" for k in lags]].to_numpy()
        powers = [np.ones(len(x))]
        for degree in np.ndindex(*(4,) * len(lags)):
            if 0 < sum(degree) <= 3:
                powers.append(np.prod(x ** np.array(degree), axis=1))
        a, y = np.stack(powers, axis=1), table["dx"].to_numpy()
        return 1 - (y - a @ np.linalg.lstsq(a, y)[0]).var() / y.var()

    assert explained(0) == pytest.approx(0.22, abs=0.04)
    assert explained(0, 1) == pytest.approx(0.80, abs=0.02)
    assert explained(0, 1, 2) == pytest.approx(0.812, abs=0.02)


def test_michaelis_menten_fixed_start() -> None:
    data = systems.michaelis_menten(paths=300, random_start=False)
    values = data.table.to_numpy().reshape(300, 500, 8)
    x, dx = values[..., :4], values[..., 4:]
    assert np.issubdtype(values.dtype, np.integer)
    assert (x >= 0).all()
    assert (x[..., 1] + x[..., 2] == 120).all()
    assert (x[..., 0] + x[..., 2] + x[..., 3] == 301).all()
    np.testing.assert_array_equal(x[:, 1:], (x + dx)[:, :-1])
    np.testing.assert_allclose((x + dx)[:, -1].mean(axis=0), [23, 97, 23, 254], atol=1.2)
    np.testing.assert_allclose(dx.std(axis=(0, 1)), [1.39, 1.56, 1.56, 0.73], rtol=0.03)
    zeros = (dx == 0).mean(axis=(0, 1))
    assert 0.31 < zeros.min() < 0.34 and 0.59 < zeros.max() < 0.63


def test_michaelis_menten_first_interval_against_the_rates() -> None:
    data = systems.michaelis_menten(paths=20_000, duration=0.01, interval=0.01, seed=2)
    table = arrays(data)
    bind, complexes = 1e6 / 6.023e8 * table["x1"] * table["x2"], 0.1 * table["x3"]
    # over so short a time the expected change is rate times time, to about a per cent of the traffic
    slack = 1e-4 * (bind + complexes).mean()
    for target, rate in {"dx1": complexes - bind, "dx2": 2 * complexes - bind, "dx4": complexes}.items():
        error = 4 * table[target].std() / np.sqrt(len(rate))
        assert table[target].mean() == pytest.approx(0.01 * rate.mean(), abs=error + slack)
    assert (table["dx2"] == -table["dx3"]).all()
    assert [table[name].max() for name in data.candidates] == [301, 120, 120, 301]


def test_michaelis_menten_outlives_exhaustion() -> None:
    table = systems.michaelis_menten(paths=3, duration=2_000.0, interval=100.0).table
    last = table.groupby(np.arange(len(table)) // 20).last()
    assert (last[["dx1", "dx2", "dx3", "dx4"]] == 0).to_numpy().all()


def test_oracle_of_several_targets() -> None:
    system = small("lorenz63")
    y = pick(system, "dx3", "dx1")
    law = system.oracle().fit(system.table, y, seed=5)
    z = np.random.default_rng(0).standard_normal((len(y), 2))
    drawn = law.push(system.table, z)
    assert law.latents == 2 and drawn.shape == (len(y), 2)
    x1, x2 = arrays(system)["x1"], arrays(system)["x2"]
    expected = 0.1 * (x2 - x1) + 0.05 * np.abs(x1) * z[:, 1]
    np.testing.assert_allclose(drawn[:, 1], expected)
    alone = system.oracle().fit(system.table, pick(system, "dx3"), seed=0).push(system.table, z[:, :1])
    np.testing.assert_array_equal(drawn[:, :1], alone)
    # given inputs, the latents of the data are independent between targets: one joint law, not two
    mean = law.push(system.table, np.zeros_like(z))
    latent = (y.to_numpy() - mean) / (law.push(system.table, np.ones_like(z)) - mean)
    assert abs(np.corrcoef(latent[:, 0], latent[:, 1])[0, 1]) < 4 / np.sqrt(len(y))


@pytest.mark.parametrize("far", [6.0, 9.0, 30.0])
def test_oracle_in_the_tails(far: float) -> None:
    system = small("algebraic")
    law = system.oracle().fit(system.table, pick(system, "y1", "y2", "y3"), seed=0)
    shape = (len(system.table), 3)
    up, down = law.push(system.table, np.full(shape, far)), law.push(system.table, np.full(shape, -far))
    assert np.isfinite(up).all()
    np.testing.assert_allclose(up, -down, rtol=1e-9)
    np.testing.assert_allclose(up[:, 0], far * system.table["x1"].abs())


def test_a_plain_quantile_map_stays_finite() -> None:
    system = System(
        name="logistic",
        table=pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 0.0]}),
        targets=("y",),
        candidates=("x",),
        ancestors={"y": ("x",)},
        quantiles={"y": lambda rows, p: rows["x"].to_numpy() + np.log(p / (1 - p))},
    )
    law = system.oracle().fit(system.table, pick(system, "y"), seed=0)
    assert np.isfinite(law.push(system.table, np.array([[40.0], [-40.0]]))).all()


def test_oracle_errors() -> None:
    data = small("lorenz96")
    with pytest.raises(InputError, match="'lorenz96' has no exact law for 'dx1'. Train a sampler instead."):
        data.oracle().fit(data.table, pick(data, "dx1"), seed=0)
    data = small("heat")
    with pytest.raises(InputError, match="no exact law for 'dx2'. Did you mean 'dx1'"):
        data.oracle().fit(data.table, pd.DataFrame({"dx2": [0.0]}), seed=0)
    with pytest.raises(InputError, match="also needs the columns 'x2', 'u1'"):
        data.oracle().fit(pick(data, "x1"), pick(data, "dx1"), seed=0)
    law = data.oracle().fit(data.table, pick(data, "dx1"), seed=0)
    with pytest.raises(InputError, match="shape"):
        law.push(data.table, np.zeros(len(data.table)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: systems.lorenz63(steps=0),
        lambda: systems.lorenz96(sites=3),
        lambda: systems.heat(nodes=(0,)),
        lambda: systems.pendulum(steps=5, lags=5),
        lambda: systems.langevin(points=10, lags=9),
        lambda: systems.michaelis_menten(interval=0.0),
        lambda: systems.lorenz63(burn_in=-1),
    ],
)
def test_impossible_sizes_are_refused(call: Callable[[], System]) -> None:
    with pytest.raises(InputError, match="must be"):
        call()


def test_import_is_light() -> None:
    code = "import sys, forebear.systems; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
