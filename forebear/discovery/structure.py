"""How the rows of a table hang together: independent, one after another, or in groups; declared, or judged.

Everything that divides rows asks here: folds for cross-fitting, rows that are tested, subsets of repeated runs. Rows
that hang together stay together, so that no law is judged on the neighbours of the rows that it learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtri
from scipy.stats import f as f_law

from forebear.data.column import Column
from forebear.data.copied_rows import copied_rows
from forebear.data.question import Question
from forebear.data.table import Table
from forebear.data.weights import scaled
from forebear.discovery.residuals import Residualiser, features, latent_features
from forebear.errors import InputError, near_miss

INDEPENDENT, ORDERED, GROUPED, AUTO = "independent", "ordered", "grouped", "auto"

# Stretches of neighbouring rows per fold: long enough that most rows have no neighbour in another fold, short enough
# that no fold misses a large part of a sweep.
_STRETCHES = 6
# Stretches that tested rows are drawn in, of a table that has many more.
_DRAWN_STRETCHES = 40


@dataclass(frozen=True, eq=False)
class RowStructure:
    """What rows have to do with one another.

    >>> RowStructure("grouped", groups=np.array([0, 0, 1, 1]), column="machine").describe()
    "grouped by 'machine'"
    """

    kind: str = INDEPENDENT
    """"independent", "ordered" or "grouped" """
    groups: np.ndarray | None = None
    """(rows,) number of the group of each row"""
    column: str | None = None
    """the column that says which group a row belongs to"""
    why: str = ""
    """what in the data spoke for it; empty when it was declared"""
    drifting: tuple[str, ...] = ()
    """columns that follow the number of the row: whatever drifts looks as if it came from them"""
    doubt: str = ""
    """what speaks against taking the rows so, if anything"""
    weights: np.ndarray | None = None
    """(rows,) how much each row counts, 1 on average; None: all the same"""

    @property
    def name(self) -> str:
        """As in `rows=`: the kind, or the column of the groups."""
        return self.kind if self.column is None else self.column

    def describe(self) -> str:
        """In words."""
        return self.kind if self.column is None else f"grouped by '{self.column}'"

    def take(self, rows: Int[np.ndarray, " some"]) -> RowStructure:
        """The structure of some of the rows."""
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        weights = None if self.weights is None else scaled(self.weights[rows])
        return self if groups is None and weights is None else replace(self, groups=groups, weights=weights)

    def folds(self, rows: int, count: int, rng: np.random.Generator) -> Int[np.ndarray, " rows"]:
        """The fold of each row: rows at random, whole stretches in turn, or whole groups at random.

        >>> RowStructure("ordered").folds(24, 2, np.random.default_rng(0)).tolist()[:6]
        [0, 0, 1, 1, 0, 0]
        """
        if self.kind == ORDERED:
            return np.arange(rows) * (_STRETCHES * count) // rows % count
        if self.groups is not None:
            numbers = int(self.groups.max()) + 1
            if numbers >= count:
                return (rng.permutation(numbers) % count)[self.groups]
        return rng.permutation(rows) % count

    def order(self, rows: int, rng: np.random.Generator) -> Int[np.ndarray, " rows"]:
        """The rows in an order of which any first part is a fair sample: at random, by stretches, or by groups."""
        if self.kind == ORDERED:
            stretch = np.arange(rows) * min(_DRAWN_STRETCHES, rows) // rows
            return np.argsort(rng.permutation(int(stretch.max()) + 1)[stretch], kind="stable")
        if self.groups is not None:
            return np.argsort(rng.permutation(int(self.groups.max()) + 1)[self.groups], kind="stable")
        return rng.permutation(rows)


def declared(rows: str, frame: pd.DataFrame, source: str) -> RowStructure | None:
    """The structure that a user declares with `rows=`; None when it is to be judged.

    >>> declared("machine", pd.DataFrame({"machine": ["b", "a", "b"]}), "the table").groups.tolist()
    [0, 1, 0]
    >>> declared("ordred", pd.DataFrame({"x": [1.0]}), "the table")
    Traceback (most recent call last):
    forebear.errors.InputError: rows='ordred' is neither a structure of rows nor a column of the table. Did you mean \
'ordered'?
    """
    words = (AUTO, INDEPENDENT, ORDERED)
    if not isinstance(rows, str):
        raise InputError(f"rows must be one of {', '.join(words)} or the name of a column; got {rows!r}")
    if rows == AUTO:
        return None
    if rows in (INDEPENDENT, ORDERED):
        return RowStructure(rows)
    if rows not in frame.columns:
        raise InputError(
            f"rows='{rows}' is neither a structure of rows nor a column of {source}. "
            f"{near_miss(rows, [*words, *map(str, frame.columns)])}"
        )
    groups = np.asarray(pd.factorize(frame[rows])[0])
    if (groups < 0).any():
        raise InputError(
            f"{source}: column '{rows}' says which rows belong together and is empty in row "
            f"{int(np.flatnonzero(groups < 0)[0]) + 1}: fill it, or leave rows= out"
        )
    if groups.max() == 0:
        raise InputError(f"{source}: column '{rows}' has one value only, so it groups no rows: leave rows= out")
    return RowStructure(GROUPED, groups, rows)


# Rows that the judgement looks at, and how many of them it needs at least.
_LOOKED_AT, _FEWEST = 5_000, 60
# Neighbours this many rows apart are compared, and found alike beyond this many standard errors and this correlation.
_LAGS, _SURE, _ALIKE = 5, 4.5, 0.03
# Groups: how many at least, rows in each at least, and the p-value below which their means differ for sure.
_FEWEST_GROUPS, _ROWS_OF_A_GROUP, _SURE_P = 8, 5, 1e-6


def judge(table: Table, questions: Sequence[Question]) -> RowStructure:
    """What the data says of its rows: are neighbours, or rows that share nameplate data, alike beyond what the inputs
    explain?

    >>> from forebear.data.question import ask
    >>> from forebear.data.table import read_columns
    >>> rng = np.random.default_rng(0)
    >>> slow = np.convolve(rng.normal(size=1_019), np.ones(20) / 20, "valid")
    >>> frame = pd.DataFrame({"x": rng.normal(size=1_000), "white": rng.normal(size=1_000), "slow": slow})
    >>> table = read_columns(frame, "the table", list(frame))
    >>> [judge(table, ask(list(frame), "the table", targets=y, candidates="x")).kind for y in ("white", "slow")]
    ['independent', 'ordered']
    """
    if table.rows < _FEWEST:
        return RowStructure()
    copies = _judge_copies(table, questions)
    found = _judge_met(table, questions) if copies is None else _judge_once(table, questions, copies)
    sorted_so = any(_is_sorted(table.columns[question.target]) for question in questions)
    # What follows the number of the row in a table sorted by a target follows the target.
    return replace(found, drifting=() if sorted_so and found.kind != ORDERED else _drifting(table))


def _judge_met(table: Table, questions: Sequence[Question]) -> RowStructure:
    """Of rows that were met once each: groups, neighbours, or an experiment that was laid out so."""
    found = _judge_groups(table, questions) or _judge_neighbours(table, questions)
    if found is None:
        return RowStructure()
    crossed = _crossed(table, questions[0].inputs) if found.kind != INDEPENDENT else None
    if crossed is None:
        return found
    return RowStructure(
        why=f"a designed experiment: every value of '{crossed}' is there with every setting of the other inputs",
        doubt=f"{found.why}. The rows were taken as a designed experiment: if some of them share more than the "
        "inputs say (a machine, a day, a sample), declare that (rows=)",
    )


def _judge_once(table: Table, questions: Sequence[Question], copies: RowStructure) -> RowStructure:
    """Where rows are copied: how the observations hang together, if they do, or else the copies of each."""
    assert copies.groups is not None
    # One row of each at random: the first ones come sooner, the more copies there are.
    order = np.random.default_rng(0).permutation(table.rows)
    rows = np.sort(order[np.unique(copies.groups[order], return_index=True)[1]])
    found = _judge_met(table.take(rows), questions)
    if found.kind == ORDERED:
        return found
    if found.groups is None:
        return copies
    of_observation = np.empty(len(rows), int)
    of_observation[copies.groups[rows]] = found.groups
    return replace(found, groups=of_observation[copies.groups])


def _judge_copies(table: Table, questions: Sequence[Question]) -> RowStructure | None:
    """Rows that are copies of others make groups: every observation is one."""
    groups = copied_rows(list(table.columns.values()), [question.target for question in questions])
    return None if groups is None else RowStructure(GROUPED, groups, why=_copies_told(groups))


def _copies_told(groups: np.ndarray) -> str:
    copies = len(groups) - int(groups.max()) - 1
    return f"{copies:,} of {len(groups):,} rows are copies of others, the same in every column, and count once"


def doubt_of_copies(table: Table, questions: Sequence[Question], structure: RowStructure) -> str:
    """What copies of rows say against rows that were declared to be independent; empty if nothing."""
    found = _judge_copies(table, questions) if structure.kind == INDEPENDENT else None
    if found is None:
        return ""
    return (
        f"{found.why.removesuffix(', and count once')}. Taken as independent, as declared, they make everything look "
        "surer than it is: leave rows= out, and each observation counts once"
    )


def _crossed(table: Table, inputs: Sequence[str]) -> str | None:
    """An input each of whose values is there with every setting of the others, equally often: rows that were laid
    out, not met."""
    own = {name: pd.factorize(table.columns[name].values)[0] for name in inputs}
    levels = {name: int(values.max()) + 1 for name, values in own.items()}
    if any((values < 0).any() for values in own.values()):
        return None  # a cell is empty, so not every setting is there
    for name in inputs:
        others = [other for other in inputs if other != name]
        # A table of this layout has a row at least for each value beside each setting, and there are at least as many
        # settings as any of the others has values. Counting them all first would take the square of the rows.
        if not others or levels[name] < 2 or levels[name] * max(levels[other] for other in others) > table.rows:
            continue
        settings = np.unique(np.stack([own[other] for other in others], axis=1), axis=0, return_inverse=True)[1]
        settings = settings.reshape(-1)
        cells = levels[name] * (int(settings.max()) + 1)
        if settings.max() == 0 or cells > table.rows:
            continue
        counts = np.bincount(own[name] * (int(settings.max()) + 1) + settings, minlength=cells)
        if (counts == counts[0]).all():
            return name
    return None


# Rank correlation with the number of the row from which a column follows it.
_FOLLOWS = 0.9


def _drifting(table: Table) -> tuple[str, ...]:
    """Columns that follow the number of the row, but for those that are sorted by it: these were put in order."""
    names = []
    for name, column in table.columns.items():
        if column.kind != "real":
            continue
        if column.gaps.any():
            column = replace(column, values=column.present)
        if _is_sorted(column):
            continue
        ranks = pd.Series(column.values).rank().to_numpy()
        if abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) > _FOLLOWS:
            names.append(name)
    return tuple(names)


class _Scores(NamedTuple):
    """Location and spread of a target's normal scores, cleared of inputs."""

    target: str
    values: Float[np.ndarray, "rows 2"]
    freedom: int


def _scores(table: Table, laws: Sequence[tuple[str, Sequence[str]]]) -> list[_Scores]:
    """Of the target of every law, cleared of its inputs."""
    clearings: dict[tuple[str, ...], Residualiser] = {}
    found = []
    for target, names in laws:
        inputs = tuple(names)
        if inputs not in clearings:
            clearings[inputs] = Residualiser([features(table.columns[name]) for name in inputs], table.rows)
        clear = clearings[inputs]
        ranks = pd.Series(table.columns[target].values).rank().to_numpy()
        known = ~np.isnan(ranks)
        moments = np.zeros((len(ranks), 2))
        moments[known] = latent_features(ndtri((ranks[known] - 0.5) / known.sum()))[:, :2]
        found.append(_Scores(target, clear(moments), table.rows - clear.count))
    return found


def _judge_neighbours(table: Table, questions: Sequence[Question]) -> RowStructure | None:
    """Rows that follow each other, or that were sorted by a target, which says nothing of how they were met."""
    part = table.take(np.arange(min(table.rows, _LOOKED_AT)))
    sorted_by = [question.target for question in questions if _is_sorted(table.columns[question.target])]
    targets = {question.target for question in questions}
    for target, values, freedom in _scores(part, _laws_of_order(questions, sorted_by)):
        spread = np.maximum((values**2).sum(axis=0), 1e-300)
        alike = np.stack([(values[lag:] * values[:-lag]).sum(axis=0) / spread for lag in range(1, _LAGS + 1)])
        if alike.max() > max(_SURE / np.sqrt(freedom), _ALIKE):
            return RowStructure(
                ORDERED,
                why=f"neighbouring rows have '{target}' alike beyond what "
                f"{'the inputs explain' if target in targets else 'the target explains'} "
                f"(correlation {alike.max():.2f})",
            )
    return RowStructure(why=f"the rows are sorted by '{sorted_by[0]}'") if sorted_by else None


def _laws_of_order(questions: Sequence[Question], sorted_by: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """What is to be white in the order of the rows if they do not follow each other: what the inputs leave open of
    each target. In a table that was sorted by a target this one is in order whatever the rows are; then it is what
    this target leaves open of each input, and of other targets. An input that is white is as good as shuffled."""
    laws: dict[tuple[str, Sequence[str]], None] = {}
    for question in questions:
        if question.target in sorted_by:
            laws.update(dict.fromkeys((name, (question.target,)) for name in question.inputs))
        else:
            others = [name for name in sorted_by if name not in question.inputs]
            laws[question.target, (*question.inputs, *others)] = None
    return list(laws)


def _is_sorted(column: Column) -> bool:
    """Whether rows are in the order of a column: up or down, or one label after another."""
    values = column.present
    steps = np.diff(values)
    if column.levels:
        return int((steps != 0).sum()) == len(np.unique(values)) - 1
    return bool((steps >= 0).all() or (steps <= 0).all())


def _judge_groups(table: Table, questions: Sequence[Question]) -> RowStructure | None:
    """Rows that share the values of nameplate columns, and a hidden effect beside them."""
    chosen = np.sort(np.random.default_rng(0).permutation(table.rows)[: 2 * _LOOKED_AT])
    part = table.take(chosen)
    for names, groups in _nameplates(table).items():
        own, rows_each = np.unique(groups[chosen], return_inverse=True)[1], np.bincount(groups).mean()
        numbers = int(own.max()) + 1
        if numbers < _FEWEST_GROUPS or rows_each < _ROWS_OF_A_GROUP:
            continue
        mine = [question for question in questions if set(names) & set(question.inputs)]
        plate = features(part.columns[names[0]])[:, : (numbers - 1) // 2]
        of_plate = Residualiser([plate], part.rows, pairs=False)
        laws = [(question.target, [name for name in question.inputs if name not in names]) for question in mine]
        for target, values, _ in _scores(part, laws):
            if _between(of_plate(values), own, numbers, of_plate.count) < _SURE_P:
                shared = " and ".join(f"'{name}'" for name in names[:2])
                return RowStructure(
                    GROUPED,
                    groups,
                    None,
                    f"rows with the same {shared} have '{target}' alike beyond what the inputs explain: "
                    f"{int(groups.max()) + 1} groups",
                )
    return None


def _nameplates(table: Table) -> Mapping[tuple[str, ...], np.ndarray]:
    """Columns of numbers that divide the rows into the same groups, and that division.

    One column alone counts only if the rows of every group follow each other: a design has levels, too.
    """
    divisions: dict[bytes, tuple[list[str], np.ndarray]] = {}
    for name, column in table.columns.items():
        if column.kind != "real" or column.gaps.any():
            continue
        groups = pd.factorize(column.values)[0]
        if _FEWEST_GROUPS <= groups.max() + 1 <= table.rows // _ROWS_OF_A_GROUP:
            divisions.setdefault(groups.tobytes(), ([], groups))[0].append(name)
    return {
        tuple(names): groups
        for names, groups in divisions.values()
        if len(names) > 1 or int((np.diff(groups) != 0).sum()) == groups.max()
    }


def _between(values: Float[np.ndarray, "rows 2"], groups: np.ndarray, numbers: int, used: int) -> float:
    """p-value of equal means of all groups, the smaller one of location and spread."""
    counts = np.bincount(groups, minlength=numbers)
    means = np.stack([np.bincount(groups, one, minlength=numbers) for one in values.T], axis=1) / counts[:, None]
    between = (counts[:, None] * means**2).sum(axis=0)
    within = ((values - means[groups]) ** 2).sum(axis=0)
    above, below = max(1, numbers - used), max(1, len(values) - numbers)
    return float(f_law.sf(between / above / np.maximum(within / below, 1e-300), above, below).min())
