"""What shapes how outputs move together: two of them, or three."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forebear.data.table import Column
from forebear.discovery import coupling
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import Features, TestResult
from forebear.discovery.residuals import Residualiser, features
from forebear.discovery.tester import CertificateSettings

CLEAR, FOUND = TestResult(1.0, 0.5, 0.0, 1, ("c",)), TestResult(9.0, 1e-9, 0.1, 1, ("c",))


def _certificate(kept: str) -> Certificate:
    verdicts = dict.fromkeys("abc", CLEAR)
    return Certificate((kept,), True, True, verdicts, CLEAR, {}, {kept: Action(1.0, 0.0, 0.0, 0.0)}, 0.01)


@pytest.mark.parametrize(("second", "kept"), [(CLEAR, ("a",)), (FOUND, ("a", "c"))])
def test_a_pair_that_fails_is_tested_again(
    second: TestResult, kept: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow that serves every subset finds `c` between the outputs; that of the pair says whether it stays."""
    looks: list[tuple[tuple[int, ...], list[frozenset[str]]]] = []

    def look_again(numbers: Any, doubtful: Any, sure: Any) -> list[Any]:
        assert doubtful == [frozenset()] * 2
        looks.append((numbers, sure))
        return [SimpleNamespace(verdict=second)] * 2

    def test(outputs: tuple[int, ...], tests: Any, kept: frozenset[str]) -> list[Any]:
        return [] if "c" in kept else [coupling._Finding(outputs, "c", tests[0].verdict)]

    monkeypatch.setattr(coupling, "_test", test)
    first: Any = SimpleNamespace(tester=SimpleNamespace(settings=CertificateSettings()), verdict=FOUND)
    searched: Any = SimpleNamespace(look_again=look_again, tests=[first, first])
    one, other = coupling.couple(searched, [_certificate("a"), _certificate("b")])
    assert looks == [((0, 1), [frozenset("ab")] * 2)]
    assert one.kept == kept and ("c" in other.kept) == ("c" in kept)
    assert ("c" in one.actions) == ("c" in kept)


def test_three_outputs_that_are_tied_where_no_two_of_them_are() -> None:
    """`c` says whether the product of the three signs is positive or negative; any two outputs are independent."""
    rng = np.random.default_rng(0)
    rows = 2_000
    c = rng.choice([-1.0, 1.0], rows)
    first, second = rng.normal(size=(2, rows))
    third = np.abs(rng.normal(size=rows)) * np.sign(first * second) * c
    clearing = Residualiser([], rows)
    column = features(Column("c", "real", c))

    def tests(z: np.ndarray) -> Any:
        tester = SimpleNamespace(
            settings=CertificateSettings(),
            dependence=None,
            removed=lambda kept: {} if "c" in kept else {"c": [Features(column)]},
            clearing=lambda kept: ([], clearing),
        )
        return SimpleNamespace(tester=tester, latents=lambda kept: z)

    three = [tests(z) for z in (first, second, third)]
    searched: Any = SimpleNamespace(tests=three, look_again=lambda numbers, *_: [three[n] for n in numbers])
    found = coupling.couple(searched, [_certificate("a") for _ in three])
    assert [one.kept for one in found] == [("a", "c")] * 3
    searched.tests = three[:2]
    assert [one.kept for one in coupling.couple(searched, [_certificate("a")] * 2)] == [("a",)] * 2
