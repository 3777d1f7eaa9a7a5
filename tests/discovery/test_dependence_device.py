"""The test of dependence as a GPU makes it, against the host's; it runs on any device that JAX has."""

from __future__ import annotations

import numpy as np
import pytest

from forebear.data.table import Column
from forebear.discovery.dependence import Features, HostTest, MaxStatistic, all_latent_features
from forebear.discovery.dependence_device import DeviceFeatures, DeviceTest
from forebear.discovery.residuals import features

ROWS = 2_500


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {f"x{n}": features(Column(f"x{n}", "real", rng.normal(size=ROWS))) for n in range(12)}
    made["level"] = features(Column("level", "category", rng.integers(0, 4, ROWS).astype(float)))
    made["angle"] = features(Column("angle", "periodic", rng.uniform(0, 6, ROWS), period=6.0))
    made["copy"] = made["x0"].copy()
    return made


UNITS = {f"x{n}": (f"x{n}",) for n in range(9)} | {
    "pair": ("x9", "x10"),
    "mixed": ("level", "angle"),
    "copy": ("copy",),
}


def same(ours: MaxStatistic, theirs: MaxStatistic) -> bool:
    """Names and counts to the letter, numbers up to rounding."""
    told = [(one.order, one.candidates, one.tests, one.plain_tests) for one in (ours, theirs)]
    numbers = [(one.statistic, one.correlation, one.plain, one.limit, one.rows) for one in (ours, theirs)]
    return told[0] == told[1] and np.allclose(*numbers, rtol=1e-6)


@pytest.mark.parametrize("kept", [(), ("x0",), ("x0", "x3", "pair"), ("x0", "x1", "x2", "mixed")])
def test_device_and_host_agree(columns: dict[str, np.ndarray], kept: tuple[str, ...]) -> None:
    inside = [name for unit in kept for name in UNITS[unit]]
    outside = {unit: names for unit, names in UNITS.items() if unit not in kept}
    host = HostTest.of({name: Features(own) for name, own in columns.items()}, inside, outside)
    device = DeviceTest(DeviceFeatures.of(columns), inside, outside)
    rng = np.random.default_rng(1)
    z = all_latent_features(rng.normal(size=ROWS) * (1 + 0.1 * columns["x5"][:, 0]) + 0.1 * columns["x6"][:, 1])
    latents = host.clear(z)
    assert device.count == host.count
    assert device.clear(z) == pytest.approx(latents, abs=1e-8)
    expected, found = host.each(latents), device.each(latents)
    assert list(expected) == list(found)
    for unit, theirs in expected.items():
        assert same(found[unit], theirs), (unit, found[unit], theirs)
    # A copy of a kept input is explained altogether: there is nothing to test.
    assert (found["copy"].tests == 0) == ("x0" in kept)
    theirs = host.pairs(latents)
    [ours] = device.pairs(latents)
    best = max(theirs, key=lambda one: one.statistic)
    assert same(ours, best._replace(tests=sum(one.tests for one in theirs)))


def test_one_unit_has_no_pairs(columns: dict[str, np.ndarray]) -> None:
    device = DeviceTest(DeviceFeatures.of(columns), ["x1"], {"x0": ("x0",)})
    latents = device.clear(all_latent_features(np.random.default_rng(0).normal(size=ROWS)))
    [ours] = device.pairs(latents)
    assert ours.tests == 0 and ours.candidates == ()
