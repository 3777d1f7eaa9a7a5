"""What shapes how two outputs move together: found once is not enough."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from forebear.discovery import coupling
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import TestResult
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
    looks: list[tuple[tuple[int, int], list[frozenset[str]]]] = []

    def look_again(numbers: Any, doubtful: Any, sure: Any) -> list[Any]:
        assert doubtful == [frozenset()] * 2
        looks.append((numbers, sure))
        return [SimpleNamespace(verdict=second)] * 2

    def test(pair: tuple[int, int], tests: Any, kept: frozenset[str]) -> list[Any]:
        return [] if "c" in kept else [coupling._Finding(pair, "c", tests[0].verdict)]

    monkeypatch.setattr(coupling, "_test", test)
    first: Any = SimpleNamespace(tester=SimpleNamespace(settings=CertificateSettings()), verdict=FOUND)
    searched: Any = SimpleNamespace(look_again=look_again, tests=[first, first])
    one, other = coupling.couple(searched, [_certificate("a"), _certificate("b")])
    assert looks == [((0, 1), [frozenset("ab")] * 2)]
    assert one.kept == kept and ("c" in other.kept) == ("c" in kept)
    assert ("c" in one.actions) == ("c" in kept)
