"""The test of any set of candidates of one target, on the latents of real rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from forebear.data.question import Question
from forebear.data.weights import mean_of, scaled
from forebear.discovery.action import Action, action
from forebear.discovery.atoms import beside, given_no_atom, inside, of_part
from forebear.discovery.dependence import (
    PLAIN_SHARE,
    Features,
    HostTest,
    MaxStatistic,
    TestResult,
    all_latent_features,
    detectable,
    probe_candidate,
    result_of,
    sidak,
    tails_test,
)
from forebear.discovery.dependence_device import DeviceFeatures, DeviceTest
from forebear.discovery.effective import RowDependence
from forebear.discovery.learned import PROMISING, LearnedProbe
from forebear.discovery.residuals import LATENT_ORDERS, Residualiser, latent_features
from forebear.discovery.search import SetEvidence, weigh
from forebear.errors import InputError, below_one, check_fields, or_none, positive, whole
from forebear.flow.subset import SubsetFlow
from forebear.storage.checkpoint import Journal

# Rows from which a flow is trained at full length.
_PLENTY = 2_000
# Rows, in multiples of those that are tested, from which one flow will do.
_MANY_TIMES = 4


@dataclass(frozen=True)
class CertificateSettings:
    """The test of independence, the flow behind it, and what a verdict asks for."""

    level: float = 0.01
    """chance of adding a useless candidate to a set that suffices, over all its removed candidates"""
    family: str = "target"
    """what the level is for: each "target", or "all" of them together"""
    least_effect: float = 3e-4
    """a dependence that explains less than this share of the variance of every feature of the latent, which is what
    the kept inputs leave open, is negligible, however significant"""
    least_shift: float = 1e-3
    """a dependence that moves the law by less than this share of the target's own standard deviation is negligible
    too. Where the inputs determine the target almost wholly, what is left is the error of a network"""
    margin: float = 0.06
    """what a removed candidate may still explain, as a share of what the kept inputs leave open, for a verdict to be
    "certified": its 95% upper limit must lie below"""
    tested: int = 10_000
    """rows whose latents are tested in the search, at most"""
    confirmed: int = 100_000
    """rows beside those of the search on which its answer is tested, at most"""
    subset_steps: int | None = None
    """training steps of the flow that serves every subset; None: 700, and 100 more for each candidate, between 1,000
    and 2,000, and fewer for fewer than 2,000 rows"""

    def __post_init__(self) -> None:
        check_fields(self, _CHECKS)

    def steps_for(self, candidates: int, rows: int = _PLENTY) -> int:
        """Training steps where there are so many candidates and rows: more candidates have more subsets, and fewer
        rows are learned by heart sooner.

        >>> settings = CertificateSettings()
        >>> settings.steps_for(3), settings.steps_for(50), settings.steps_for(3, rows=300)
        (1000, 2000, 300)
        """
        if self.subset_steps is not None:
            return self.subset_steps
        return round(min(2_000, max(1_000, 700 + 100 * candidates)) * min(1.0, max(0.3, rows / _PLENTY)))

    def withholds(self, rows: int) -> bool:
        """Whether there are rows enough to keep all that are tested from the training of a single flow."""
        return rows >= _MANY_TIMES * self.tested

    def rows_of_answer(self, rows: int) -> int:
        """On how many of so many rows the answer is tested: others than the search has read, where there are enough.

        >>> settings = CertificateSettings()
        >>> [settings.rows_of_answer(rows) for rows in (5_000, 30_000, 100_000, 10_000_000)]
        [5000, 20000, 40000, 100000]
        """
        if rows < 2 * self.tested:
            return rows
        return min(self.confirmed, (rows // 2 if self.withholds(rows) else rows) - self.tested)

    def matters(self, result: TestResult) -> bool:
        """Whether an effect is large enough to count, if it is there at all."""
        return result.effect >= self.least_effect and result.shift >= self.least_shift


def _family(what: str, value: object) -> None:
    if value not in ("target", "all"):
        raise InputError(f"{what} must be 'target' or 'all'; got {value!r}")


_CHECKS = {
    "level": positive(most=1.0),
    "family": _family,
    "least_effect": below_one,
    "least_shift": below_one,
    "margin": positive(most=1.0),
    "tested": whole(100),
    "confirmed": whole(100),
    "subset_steps": or_none(whole()),
}

# What the regression behind `unexplained` sees: bounded features of each input, and products of inputs.
_BOUNDED, _MOST_PRODUCTS, _ROWS_PER_PRODUCT = 4, 100, 10


class SetTrial(NamedTuple):
    """The test of a set under way: what single candidates show, which is fast, and how to go on to the rest."""

    glance: SetEvidence
    """without pairs and trees"""
    go_on: Callable[[], SetEvidence] | None = None
    """None: there is no more to say"""

    def finish(self) -> SetEvidence:
        """All the evidence. Where something is missing already, that pairs or trees may show more does not matter."""
        return self.go_on() if self.glance.passes and self.go_on is not None else self.glance


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
    columns: Mapping[str, Features]
    """features of every input column, for the test"""
    owners: Sequence[int]
    settings: CertificateSettings
    parts: Int[np.ndarray, " rows"]
    """0 or 1: the part of the rows that a learned probe of the other part is tried on"""
    level: float
    """of this target"""
    dependence: RowDependence | None = None
    """of the rows; None: they are independent"""
    stock: DeviceFeatures | None = None
    """the same features on a GPU, if there is one"""
    notes: tuple[str, ...] = ()
    """of the training of the flow"""
    observed: Float[np.ndarray, "rows candidates"] | None = None
    """0 where cells of a candidate are missing; None: nowhere"""
    weights: Float[np.ndarray, " rows"] | None = None
    """how much each row counts, 1 on average; None: all the same"""
    atoms: Float[np.ndarray, "atoms 2"] | None = None
    """where the atoms of the target lie, from and to, if most rows are in one: the others are tested apart as well"""

    def on(self, kept: frozenset[str]) -> Float[np.ndarray, " candidates"]:
        """The mask of a set, kept inputs included."""
        mask = np.zeros(len(self.places))
        mask[[self.places[candidate] for candidate in (*kept, *self.question.always)]] = 1
        return mask

    def start(
        self,
        kept: frozenset[str],
        z: Float[np.ndarray, " rows"],
        apart: Float[np.ndarray, " rows"] | None = None,
    ) -> SetTrial:
        """Begin the test of a set, from its latents z (rows,): every candidate outside it alone. `apart` are those of
        the rows outside atoms, by the law given that no atom comes."""
        if kept.issuperset(self.question.candidates):
            return SetTrial(weigh({}, None, self.level, self.settings.matters))
        whole = self._whole(kept)
        if whole is not None:
            # Where an input of the set is missing, others stand in for it: that says nothing about the set.
            enough = len(whole) >= _FEWEST_WHOLE
            if not enough:
                return SetTrial(self._untold(kept))
            return self._complete(whole).start(kept, z[whole], None if apart is None else apart[whole])
        test = self._test(kept)
        latents = test.clear(all_latent_features(z))
        unexplained = self.unexplained(kept)
        alone = test.each(latents)
        families = len(alone) + 1

        def in_units(result: TestResult, rows: float, tests: int) -> TestResult:
            seen = detectable(rows, PLAIN_SHARE * self.level / families, max(1, tests))
            return result._replace(shift=float(np.sqrt(result.effect)) * unexplained, detectable=seen)

        def weighed(jointly: TestResult) -> SetEvidence:
            return weigh(tests, in_units(jointly, fewest, plain), self.level, self.settings.matters)

        def pairs_and_trees() -> SetEvidence:
            fixed = result_of([*alone.values(), *test.pairs(latents)])
            evidence = weighed(fixed)
            if evidence.passes:
                evidence = weighed(self._with_trees(fixed, kept, latents[:, :LATENT_ORDERS], test))
            return evidence

        outside = {} if apart is None else self._outside_atoms(kept, apart)
        results = {c: beside(result_of([one]), outside.get(c)) for c, one in alone.items()}
        tests = {c: in_units(result, alone[c].rows, alone[c].plain_tests) for c, result in results.items()}
        fewest, plain = min(one.rows for one in alone.values()), sum(one.plain_tests for one in alone.values())
        return SetTrial(weighed(result_of(alone.values())), pairs_and_trees)

    def _outside_atoms(self, kept: frozenset[str], apart: Float[np.ndarray, " rows"]) -> dict[str, TestResult]:
        """The test of every candidate on the rows outside the atoms of the target alone, if there are some."""
        rows = np.flatnonzero(~np.isnan(apart))
        if len(rows) < _FEWEST_OUTSIDE:
            return {}
        test = self.on_rows(rows)._test(kept)
        found = test.each(test.clear(all_latent_features(apart[rows])))
        return {name: of_part(result_of([one]), len(rows) / len(apart)) for name, one in found.items()}

    def _whole(self, kept: frozenset[str]) -> Int[np.ndarray, " whole"] | None:
        """Rows on which no cell of the set is missing; None: all."""
        if self.observed is None:
            return None
        return np.flatnonzero(self.observed[:, self.on(kept) > 0].all(axis=1))

    def rows_of(self, kept: frozenset[str]) -> int:
        """Rows that a set is tested on."""
        whole = self._whole(kept)
        return len(self.x) if whole is None else len(whole)

    def on_rows(self, rows: Int[np.ndarray, " some"], parts: Int[np.ndarray, " some"] | None = None) -> SetTester:
        """The same test on some of the rows, which may be divided into other parts."""
        dependence, lags = self.dependence, max(1, len(rows) // 3)
        if dependence is not None:
            memory = None if dependence.latents is None else dependence.latents[:, :lags]
            groups = None if dependence.groups is None else np.unique(dependence.groups[rows], return_inverse=True)[1]
            dependence = replace(dependence, rows=len(rows), groups=groups, latents=memory)
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            fold=self.fold[rows],
            columns={
                name: Features(own.values[rows], None if own.memory is None else own.memory[:, :lags], own.untold)
                for name, own in self.columns.items()
            },
            parts=self.parts[rows] if parts is None else parts,
            dependence=dependence,
            stock=None,
            observed=None if self.observed is None else self.observed[rows],
            weights=None if self.weights is None else scaled(self.weights[rows]),
        )

    def _complete(self, whole: Int[np.ndarray, " whole"]) -> SetTester:
        """The same test on rows that have all cells of a set, where it takes nothing else into account."""
        return replace(self.on_rows(whole), observed=None)

    def _untold(self, kept: frozenset[str]) -> SetEvidence:
        """Of a set that hardly any row has whole, nothing can be told."""
        nothing = {name: TestResult(0.0, 1.0, 0.0, 1, (name,), rows=0.0) for name in self.removed(kept)}
        return weigh(nothing, TestResult(0.0, 1.0, 0.0, 1, (), rows=0.0), self.level, self.settings.matters)

    def _with_trees(
        self,
        fixed: TestResult,
        kept: frozenset[str],
        latents: Float[np.ndarray, "rows orders"],
        test: HostTest | DeviceTest,
    ) -> TestResult:
        """What the list of features and a learned probe say together."""
        on = self.on(kept)
        given = [place for place, owner in enumerate(self._seen_owners) if on[owner]]
        weighing = test.clear if isinstance(test, HostTest) and self.weights is not None else None
        own = latents if weighing is None else weighing.plain(latents)
        freedom, worth = (len(own) - test.count, 1.0) if weighing is None else (weighing.freedom, weighing.worth)

        def asked(few: bool) -> tuple[LearnedProbe, MaxStatistic]:
            probe = LearnedProbe.fit(own, self._seen, self.parts, given, weights=self.weights, few=few)
            return probe, probe.measure(test.clear, freedom, self.dependence, worth)

        probe, found = asked(few=True)
        if found.statistic >= PROMISING:
            probe, found = asked(few=False)
        p_value = sidak(found.statistic, found.tests)
        limit = max(fixed.limit, found.limit)
        if p_value > fixed.p_value:
            return fixed._replace(p_value=min(1.0, 2 * fixed.p_value), limit=limit)
        behind: tuple[str, ...] = ()
        if 2 * p_value <= self.level:
            removed = {
                candidate: [n for n, owner in enumerate(self._seen_owners) if owner == self.places[candidate]]
                for candidate in self.question.candidates
                if candidate not in kept
            }
            behind = probe.behind(found.order, test.clear, removed)
        strongest = found.statistic, min(1.0, 2 * p_value), found.correlation, found.order, behind
        return TestResult(*strongest, limit=limit, rows=fixed.rows)

    @cached_property
    def _seen_places(self) -> np.ndarray:
        """Features of the target's own inputs that vary on these rows."""
        return np.flatnonzero(self.x.std(axis=0) > 0)

    @property
    def _seen(self) -> Float[np.ndarray, "rows seen"]:
        return self.x[:, self._seen_places].astype(np.float32)

    @property
    def _seen_owners(self) -> list[int]:
        return [self.owners[place] for place in self._seen_places]

    def _test(self, kept: frozenset[str]) -> HostTest | DeviceTest:
        candidates = {
            candidate: names for candidate, names in self.question.candidates.items() if candidate not in kept
        }
        if self.stock is None or self.dependence is not None or self.weights is not None:
            return HostTest.of(self.columns, self._inside(kept), candidates, self.dependence, self.weights)
        return DeviceTest(self.stock, self._inside(kept), candidates)

    def action(self, without: frozenset[str], candidate: str, z: Float[np.ndarray, " rows"]) -> Action:
        """How a candidate acts that is not in the set: what the latents z (rows,) of the set show of it."""
        whole = self._whole(without | {candidate})
        if whole is not None and len(whole) >= _FEWEST_WHOLE:
            return self._complete(whole).action(without, candidate, z[whole])
        test = self._test(without)
        given = [self.columns[name] for name in self._inside(without)]
        probe = probe_candidate(self.removed(without)[candidate], given)
        return action(test.clear(latent_features(z)), test.clear(probe.own.values))

    def tails(self, kept: frozenset[str], candidate: str, z: Float[np.ndarray, " rows"]) -> float:
        """p-value of "both tails together hold as much, whatever a candidate outside the set says".

        The test of the set asks so many things that a change of the tails alone must be large to be seen among them;
        this is for a candidate of which that is asked by itself.
        """
        whole = self._whole(kept)
        if whole is not None:
            if len(whole) < _FEWEST_WHOLE:
                return 1.0
            return self._complete(whole).tails(kept, candidate, z[whole])
        _, clear = self.clearing(kept)
        return tails_test(candidate, z, self.removed(kept)[candidate], clear, self.dependence)

    def unexplained(self, kept: frozenset[str]) -> float:
        """What the inputs of the set leave open of the target, as a share of its standard deviation.

        By regression on features of the inputs, the inputs themselves and their products, which bounded features miss
        in the tails; either half of the rows is judged by what the other half says, so that many inputs beside few
        rows do not seem to explain everything.
        """
        whole = self._whole(kept)
        if whole is not None and len(whole) >= _FEWEST_WHOLE:
            return self._complete(whole).unexplained(kept)
        inside = self.x[:, self.on(kept)[list(self.owners)] > 0]
        most = min(_MOST_PRODUCTS, len(self.x) // _ROWS_PER_PRODUCT - inside.shape[1])
        crossed = [inside[:, i] * inside[:, j] for i in range(inside.shape[1]) for j in range(i + 1)][: max(0, most)]
        bounded = [self.columns[name].values[:, :_BOUNDED] for name in self._inside(kept)]
        root = np.ones(len(self.x)) if self.weights is None else np.sqrt(self.weights)
        design = np.column_stack([np.ones(len(self.x)), *bounded, inside, *crossed]).astype(float) * root[:, None]
        y = self.y[:, 0] * root
        left = np.empty(len(self.y))
        for part in (0, 1):
            learn, asked = self.parts != part, self.parts == part
            squares = design[learn].T @ design[learn]
            squares[np.diag_indices(len(squares))] += 1e-6 * max(1.0, float(squares.max(initial=0.0)))
            slope = cho_solve(cho_factor(squares, check_finite=False), design[learn].T @ y[learn])
            left[asked] = y[asked] - design[asked] @ slope
        return float(min(left.std() / (y - root * mean_of(self.y[:, 0], self.weights)).std(), 1.0))

    def removed(self, kept: frozenset[str]) -> dict[str, list[Features]]:
        """Features of the columns of every candidate outside the set."""
        return {
            candidate: [self.columns[name] for name in columns]
            for candidate, columns in self.question.candidates.items()
            if candidate not in kept
        }

    def clearing(self, kept: frozenset[str]) -> tuple[list[Features], Residualiser]:
        """Features of the columns inside the set, and how to clear with them."""
        given = [self.columns[name] for name in self._inside(kept)]
        return given, Residualiser([one.values for one in given], len(self.x), weights=self.weights)

    def _inside(self, kept: frozenset[str]) -> list[str]:
        """Columns of the set, and those that are always kept."""
        outside = {n for candidate, names in self.question.candidates.items() if candidate not in kept for n in names}
        return [name for name in self.question.inputs if name not in outside]

    def latents(self, kept: frozenset[str]) -> Float[np.ndarray, " rows"]:
        """Latents (rows,) of the real rows, given the set."""
        return self.flow.latents(self.number, self.x, self.y, self.fold, self._masks(kept))[:, 0]

    def latents_apart(self, kept: frozenset[str], z: Float[np.ndarray, " rows"]) -> np.ndarray | None:
        """Latents (rows,) of rows outside atoms by the law given the set and that no atom comes, from their latents z
        by the whole law; NaN inside. None where the target has no atoms, or where most rows are outside them."""
        if self.atoms is None:
            return None
        within = inside(self.y[:, 0], self.atoms)
        if within.mean() < _MOSTLY_INSIDE or (~within).sum() < _FEWEST_OUTSIDE:
            return None
        masks = self._masks(kept)
        edges = [
            [self.flow.latents(self.number, self.x, np.full_like(self.y, at), self.fold, masks)[:, 0] for at in atom]
            for atom in self.atoms
        ]
        return np.where(within, np.nan, given_no_atom(z, self.y[:, 0], self.atoms, np.asarray(edges)))

    def _masks(self, kept: frozenset[str], rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """What a law of the set sees: one mask (candidates,), or where cells are missing one for each row."""
        mask = self.on(kept)
        return mask if self.observed is None else mask * self.observed[rows]

    def _lacking(self, kept: frozenset[str], rows: Int[np.ndarray, " some"]) -> np.ndarray:
        """Rows on which an input of the set is missing, so that its law is not scored there. All candidates together
        are asked as they are: what they lack is lacking for everyone."""
        if self.observed is None or kept.issuperset(self.question.candidates):
            return np.zeros(len(rows), bool)
        return np.any(self.observed[rows][:, self.on(kept) > 0] == 0, axis=1).reshape(-1)

    def draws(
        self, rows: Int[np.ndarray, " some"], z: Float[np.ndarray, " some"], fold: int | None = None
    ) -> Float[np.ndarray, " some"]:
        """Standardised targets (some,) at some rows and latents z, given all candidates: by the flow that has not
        seen a row, or by that of one fold."""
        folds = self.fold[rows] if fold is None else np.full(len(rows), fold)
        masks = self._masks(frozenset(self.question.candidates), rows)
        return self.flow.quantiles(self.number, self.x[rows], z[:, None], folds, masks)[:, 0]

    @cached_property
    def scored(self) -> Int[np.ndarray, " scored"]:
        """Rows that laws are scored on: all, or evenly spaced ones."""
        return np.linspace(0, len(self.x) - 1, min(_SCORED, len(self.x))).astype(int)

    def log_scores(self, kept: frozenset[str], every: int = 1) -> Float[np.ndarray, " scored"]:
        """Log densities of the scored rows, or of every so many of them, in standard deviations of the target, given
        the set; infinite where an input of the set is missing."""
        rows = self.scored[::every]
        masks = self._masks(kept, rows)
        scores = self.flow.log_scores(self.number, self.x[rows], self.y[rows], self.fold[rows], masks)
        return np.where(self._lacking(kept, rows), np.inf, scores)

    @cached_property
    def ranked(self) -> Int[np.ndarray, " ranked"]:
        """Rows whose CRPS is computed, which takes many draws each: some of those that are scored."""
        return self.scored[:: -(-len(self.scored) // _RANKED)]

    def crps(self, kept: frozenset[str]) -> Float[np.ndarray, " ranked"]:
        """Continuous ranked probability scores, in standard deviations of the target, given the set."""
        rows, levels = self.ranked, (np.arange(_LEVELS) + 0.5) / _LEVELS
        z = np.tile(ndtri(levels), (len(rows), 1))
        quantiles = self.flow.quantiles(self.number, self.x[rows], z, self.fold[rows], self._masks(kept, rows))
        beyond = self.y[rows] - quantiles
        scores = 2 * (beyond * (levels - (beyond < 0))).mean(axis=1)
        return np.where(self._lacking(kept, rows), np.nan, scores)


# Rows outside the atoms are tested apart where so many at least are there, and this share of all is in an atom. Where
# fewer are, a test on all rows sees the others well enough.
_FEWEST_OUTSIDE, _MOSTLY_INSIDE = 60, 0.5
# Rows without a gap in a set below which nothing is said of it.
_FEWEST_WHOLE = 100
# Rows whose densities are scored, and whose CRPS is, at most; quantiles that a CRPS is an average over.
_SCORED, _RANKED, _LEVELS = 4_000, 500, 20


class SetTests:
    """The evidence on sets of one target: each set is tested once, and what a closer look says of it counts.

    The journal holds what was tested before, here or by an earlier process. `part_of` are the tests on all rows, and
    the numbers of these rows among them: latents are then those that all rows have already.
    """

    def __init__(
        self,
        tester: SetTester,
        journal: Journal[frozenset[str], SetEvidence] | None = None,
        part_of: tuple[SetTests, Int[np.ndarray, " rows"]] | None = None,
    ):
        self.tester, self.part_of = tester, part_of
        self.journal = Journal[frozenset[str], SetEvidence]() if journal is None else journal
        self._closer: dict[frozenset[str], SetEvidence] = {}
        self._glances: dict[frozenset[str], SetEvidence] = {}
        self._last: tuple[frozenset[str], SetTrial] | None = None
        self._latents: dict[frozenset[str], np.ndarray] = {}
        self._apart: dict[frozenset[str], np.ndarray | None] = {}
        self._scores: dict[frozenset[str], np.ndarray] = {}

    def examine(self, kept: frozenset[str]) -> SetEvidence:
        """The evidence on a set."""
        if kept in self._closer:
            return self._closer[kept]
        return self.journal.load_or(kept, lambda: self._trial(kept).finish())

    def glance(self, kept: frozenset[str]) -> SetEvidence:
        """The evidence on a set as far as single candidates show it, which takes a fraction of the time.

        Whether all of it is known plays no part: a run that is taken up again must go the same way.
        """
        if kept in self._closer:
            return self._closer[kept]
        return self._glances[kept] if kept in self._glances else self._trial(kept).glance

    def _trial(self, kept: frozenset[str]) -> SetTrial:
        """The test of a set; the last one is kept, since a set that passes at a glance is examined next."""
        if self._last is None or self._last[0] != kept:
            self._last = None  # it holds much memory
            self._last = kept, self.tester.start(kept, self.latents(kept), self.latents_apart(kept))
            self._glances[kept] = self._last[1].glance
        return self._last[1]

    def take_over(self, closer: SetTests) -> None:
        """From now on, what a closer look says of the sets that it was asked about; a glance that rejects a set is
        all there is to say of it."""
        self._closer.update({kept: evidence for kept, evidence in closer._glances.items() if not evidence.passes})
        self._closer.update(closer.journal.found)

    def action(self, kept: frozenset[str], candidate: str) -> Action:
        """How a candidate of the set acts."""
        without = kept - {candidate}
        return self.tester.action(without, candidate, self.latents(without))

    def tails(self, kept: frozenset[str], candidate: str) -> float:
        """See `SetTester.tails`."""
        return self.tester.tails(kept, candidate, self.latents(kept))

    def latents(self, kept: frozenset[str]) -> Float[np.ndarray, " rows"]:
        """Latents (rows,) of the real rows, given the set; computed once."""
        if self.part_of is not None:
            whole, rows = self.part_of
            return whole.latents(kept)[rows]
        if kept not in self._latents:
            self._latents[kept] = self.tester.latents(kept)
        return self._latents[kept]

    def latents_apart(self, kept: frozenset[str]) -> Float[np.ndarray, " rows"] | None:
        """Those of rows outside atoms, see `SetTester.latents_apart`; computed once."""
        if self.part_of is not None:
            whole, rows = self.part_of
            apart = whole.latents_apart(kept)
            return None if apart is None else apart[rows]
        if kept not in self._apart:
            self._apart[kept] = self.tester.latents_apart(kept, self.latents(kept))
        return self._apart[kept]

    def log_scores(self, kept: frozenset[str]) -> Float[np.ndarray, " scored"]:
        """Log densities of the scored rows, given the set; computed once."""
        if kept not in self._scores:
            self._scores[kept] = self.tester.log_scores(kept)
        return self._scores[kept]
