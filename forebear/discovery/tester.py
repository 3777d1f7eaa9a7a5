"""The test of any set of candidates of one target, on the latents of real rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from forebear.data.question import Question
from forebear.discovery.action import Action, action
from forebear.discovery.dependence import (
    HostTest,
    Residualiser,
    TestResult,
    latent_features,
    probe_candidate,
    result_of,
)
from forebear.discovery.dependence_device import DeviceFeatures, DeviceTest
from forebear.discovery.search import SetEvidence, weigh
from forebear.errors import below_one, check_fields, or_none, positive, whole
from forebear.flow.subset import SubsetFlow
from forebear.storage.checkpoint import Journal


@dataclass(frozen=True)
class CertificateSettings:
    """The test of independence and the flow behind it."""

    level: float = 0.01
    """chance of adding a useless candidate to a set that suffices, over all its removed candidates"""
    least_effect: float = 1e-3
    """a dependence that explains less than this share of the variance of every feature of the latent is negligible,
    however significant"""
    least_shift: float = 0.01
    """a dependence that moves the law by less than this share of the target's standard deviation is negligible too.
    Where the inputs determine the target almost wholly (increments of a simulator), whatever moves the small rest
    would count otherwise; set it to 0 where that rest is what you are after"""
    tested: int = 10_000
    """rows whose latents are tested, at most"""
    subset_steps: int | None = None
    """training steps of the flow that serves every subset; None: 700, and 100 more for each candidate, between 1,000
    and 2,000"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    def steps_for(self, candidates: int) -> int:
        """Training steps where there are so many candidates: more of them have more subsets.

        >>> CertificateSettings().steps_for(3), CertificateSettings().steps_for(50)
        (1000, 2000)
        """
        return min(2_000, max(1_000, 700 + 100 * candidates)) if self.subset_steps is None else self.subset_steps

    def matters(self, result: TestResult) -> bool:
        """Whether an effect is large enough to count, if it is there at all."""
        return result.effect >= self.least_effect and result.shift >= self.least_shift


_CHECKS = {
    "level": positive(most=1.0),
    "least_effect": below_one,
    "least_shift": below_one,
    "tested": whole(100),
    "subset_steps": or_none(whole()),
}

_MOST_PRODUCTS = 200


@dataclass(frozen=True, eq=False)
class SetTester:
    """Tests any set of candidates of one target on the latents of real rows. Pure: the same set, the same answer."""

    question: Question
    number: int
    """of the target, among those of the flow"""
    flow: SubsetFlow
    x: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    places: Mapping[str, int]
    """candidate -> its number in the flow's masks"""
    columns: Mapping[str, np.ndarray]
    """features of every input column, for the test"""
    owners: Sequence[int]
    settings: CertificateSettings
    stock: DeviceFeatures | None = None
    """the same features on a GPU, if there is one"""
    notes: tuple[str, ...] = ()
    """of the training of the flow"""

    def on(self, kept: frozenset[str]) -> Float[np.ndarray, " candidates"]:
        """The mask of a set, kept inputs included."""
        mask = np.zeros(len(self.places))
        mask[[self.places[candidate] for candidate in (*kept, *self.question.always)]] = 1
        return mask

    def test(self, kept: frozenset[str], z: Float[np.ndarray, " rows"]) -> SetEvidence:
        """The evidence on a set, from its latents z (rows,)."""
        settings = self.settings
        if kept.issuperset(self.question.candidates):
            return weigh({}, None, settings.level, settings.matters)
        test = self._test(kept)
        latents = test.clear(latent_features(z))
        unexplained = self._unexplained(kept, test.clear)

        def in_units(result: TestResult) -> TestResult:
            return result._replace(shift=float(np.sqrt(result.effect)) * unexplained)

        alone = test.each(latents)
        tests = {candidate: in_units(result_of([one])) for candidate, one in alone.items()}
        evidence = weigh(tests, in_units(result_of(alone.values())), settings.level, settings.matters)
        if not evidence.passes:
            # Something is missing: that pairs may show more of it does not matter.
            return evidence
        jointly = result_of([*alone.values(), *test.pairs(latents)])
        return weigh(tests, in_units(jointly), settings.level, settings.matters)

    def _test(self, kept: frozenset[str]) -> HostTest | DeviceTest:
        candidates = {
            candidate: names for candidate, names in self.question.candidates.items() if candidate not in kept
        }
        if self.stock is None:
            return HostTest(self.columns, self._inside(kept), candidates)
        return DeviceTest(self.stock, self._inside(kept), candidates)

    def action(self, without: frozenset[str], candidate: str, z: Float[np.ndarray, " rows"]) -> Action:
        """How a candidate acts that is not in the set: what the latents z (rows,) of the set show of it."""
        test = self._test(without)
        given = [self.columns[name] for name in self._inside(without)]
        probe = probe_candidate(candidate, self.removed(without)[candidate], given)
        return action(test.clear(latent_features(z)), test.clear(probe.values))

    def _unexplained(self, kept: frozenset[str], clear: Callable[[np.ndarray], np.ndarray]) -> float:
        """What the inputs of the set leave open of the target, as a share of its standard deviation: an upper bound.

        Beside the bounded features of the clearing, the inputs themselves and their products, which those miss in the
        tails.
        """
        inside = self.x[:, self.on(kept)[list(self.owners)] > 0]
        products = [inside[:, i] * inside[:, j] for i in range(inside.shape[1]) for j in range(i + 1)]
        powers = np.column_stack([inside, *products[:_MOST_PRODUCTS]])
        left, powers = clear(self.y), clear(powers.astype(float))
        squares = powers.T @ powers
        squares[np.diag_indices(len(squares))] += 1e-9 * max(1.0, float(squares.max(initial=0.0)))
        left = left - powers @ cho_solve(cho_factor(squares, check_finite=False), powers.T @ left)
        return float(left.std() / self.y.std())

    def removed(self, kept: frozenset[str]) -> dict[str, list[np.ndarray]]:
        """Features of the columns of every candidate outside the set."""
        return {
            candidate: [self.columns[name] for name in columns]
            for candidate, columns in self.question.candidates.items()
            if candidate not in kept
        }

    def clearing(self, kept: frozenset[str]) -> tuple[list[np.ndarray], Residualiser]:
        """Features of the columns inside the set, and how to clear with them."""
        given = [self.columns[name] for name in self._inside(kept)]
        return given, Residualiser(given, len(self.x))

    def _inside(self, kept: frozenset[str]) -> list[str]:
        """Columns of the set, and those that are always kept."""
        outside = {n for candidate, names in self.question.candidates.items() if candidate not in kept for n in names}
        return [name for name in self.question.inputs if name not in outside]

    def latents(self, kept: frozenset[str]) -> Float[np.ndarray, " rows"]:
        """Latents (rows,) of the real rows, given the set."""
        return self.flow.latents(self.number, self.x, self.y, self.fold, self.on(kept))[:, 0]


class SetTests:
    """The evidence on sets of one target: each set is tested once, and what a closer look says of it counts.

    The journal holds what was tested before, here or by an earlier process.
    """

    def __init__(self, tester: SetTester, journal: Journal[frozenset[str], SetEvidence] | None = None):
        self.tester = tester
        self.journal = Journal[frozenset[str], SetEvidence]() if journal is None else journal
        self._closer: dict[frozenset[str], SetEvidence] = {}
        self._latents: dict[frozenset[str], np.ndarray] = {}

    def examine(self, kept: frozenset[str]) -> SetEvidence:
        """The evidence on a set."""
        if kept in self._closer:
            return self._closer[kept]
        return self.journal.load_or(kept, lambda: self.tester.test(kept, self.latents(kept)))

    def take_over(self, closer: SetTests) -> None:
        """From now on, what a closer look says of the sets that it was asked about."""
        self._closer.update(closer.journal.found)

    def action(self, kept: frozenset[str], candidate: str) -> Action:
        """How a candidate of the set acts."""
        without = kept - {candidate}
        return self.tester.action(without, candidate, self.latents(without))

    def latents(self, kept: frozenset[str]) -> Float[np.ndarray, " rows"]:
        """Latents (rows,) of the real rows, given the set; computed once."""
        if kept not in self._latents:
            self._latents[kept] = self.tester.latents(kept)
        return self._latents[kept]
