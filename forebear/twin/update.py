"""A twin learns on from new rows: what of them is a new law, which old rows still count, and what it was worth.

Where the law still holds old rows count beside new ones; where it changed they would teach what is no longer so, and
new rows win. The monitor says of which target that has to be asked at all, and since which row; `still_holds` says
where. The old rows themselves are gone in general: the twin then draws them again, at inputs that it kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from forebear.data.weights import read_weights, scaled
from forebear.discovery.structure import GROUPED, ORDERED, RowStructure
from forebear.errors import InputError, check_whole
from forebear.twin.aside import divided
from forebear.twin.blend import BlendLaw
from forebear.twin.given import raw_frame, read_matrix
from forebear.twin.learn_on import Lesson, learned_on, own_networks, with_networks
from forebear.twin.new_rows import UNKNOWN, NewTable, read_new
from forebear.twin.provenance import Change, Learned, TargetLearned
from forebear.twin.renew import renewed
from forebear.twin.scores import crps
from forebear.version import __version__
from forebear.watch.faults import faulty_rows
from forebear.watch.holding import still_holds
from forebear.watch.laws import LawVerdict
from forebear.watch.result import CHANGED, HOLDS

if TYPE_CHECKING:
    from forebear.twin.twin import Twin
    from forebear.watch.result import Monitored

FEWEST = 20
"""rows below which there is nothing to learn"""
# Share of the new rows that judges when the twin does not say; at most so many. Shares that choose the weights.
_TEST, _MOST_JUDGES, _WATCHED = 0.2, 2_000, 0.15
# Old rows that are learned again, at most; an old row counts where its law holds more likely than not.
_MOST_OLD, _LIKELY = 4_096, 0.5
_DRAWS = 100


class Asked(NamedTuple):
    """The arguments of `Twin.update`."""

    old: Any
    since: int | None
    weights: str | None
    rediscover: bool
    level: float
    seed: int


@dataclass(frozen=True, eq=False)
class Known:
    """Old rows, and how likely the law of each target still holds at them."""

    x: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows targets"]
    holds: Float[np.ndarray, "rows targets"]
    other: Float[np.ndarray, "rows others"] | None = None
    """of the columns beside them that the twin's reference has; None: not known"""

    def frame(self, twin: Twin) -> pd.DataFrame:
        """With labels, by name."""
        told = raw_frame(twin.columns, self.x) | raw_frame(twin.outputs, self.y)
        if self.other is not None:
            told |= raw_frame(twin.reference.others, self.other)
        return pd.DataFrame(told, index=pd.RangeIndex(len(self.x)))


@dataclass(frozen=True, eq=False)
class Fresh:
    """New rows that can be learned from, and what the monitor says of them."""

    table: NewTable
    places: np.ndarray
    """numbers of these rows in the user's table, from 0"""
    told: Monitored
    counts: Float[np.ndarray, " rows"]
    new: Bool[np.ndarray, "rows targets"]
    """rows of the law that holds now"""
    gone: Bool[np.ndarray, " rows"]
    """rows of a change that has ended: of no law that was, or is"""
    since: Mapping[str, int | None]
    judges: Bool[np.ndarray, " rows"]
    """set aside"""

    @property
    def x(self) -> np.ndarray:
        """Their inputs."""
        return self.table.x[self.places]

    @property
    def y(self) -> np.ndarray:
        """Their targets."""
        return self.table.y[self.places]

    def frame(self, some: np.ndarray) -> pd.DataFrame:
        """Some of them as the user gave them."""
        return self.table.frame.iloc[self.places[some]].reset_index(drop=True)

    def verdict(self, target: str) -> LawVerdict:
        """What the monitor says of a law."""
        return self.told.targets[target]


def update(twin: Twin, rows: Any, asked: Asked, tick: Callable[[float], None] = lambda share: None) -> Twin:
    """The work of `Twin.update`."""
    check_whole("seed", asked.seed, 0)
    if asked.since is not None:
        check_whole("since", asked.since, 1)
    twin.demand("pull", "update")
    rng = np.random.default_rng(asked.seed)
    table = read_new(twin, rows, list(twin.reference.others))
    fresh, notes = _fresh(twin, table, asked, rng)
    tick(0.1)
    trained, kept = _old_rows(twin, fresh, asked, rng), _reference_rows(twin, fresh)
    lesson = _lesson(twin, fresh, trained, rng)
    model = learned_on(twin, lesson, int(rng.integers(2**31)), lambda share: tick(0.1 + 0.6 * share))
    learned = replace(twin, model=model, distillation=None)
    better = _better(twin, learned, lesson, asked.seed)
    learned = replace(twin, model=_chosen(twin, model, better), distillation=None) if better.any() else twin
    learned = renewed(learned, fresh, kept, trained, asked.seed)
    missing = _missing(twin, fresh)
    found: dict[str, tuple[str, ...]] = {}
    if asked.rediscover and any(missing.values()):
        from forebear.twin.rediscover import rediscovered

        learned, found, more = rediscovered(twin, learned, fresh, trained, missing, asked.seed)
        notes += more
    tick(0.9)
    targets = {
        target: _told(twin, learned, fresh, kept, place, better, missing, found, asked.seed)
        for place, target in enumerate(twin.targets)
    }
    entry = Learned(
        datetime.now(UTC).isoformat(timespec="seconds"),
        len(table.x),
        len(fresh.places),
        _fingerprint(table),
        targets,
        tuple(notes),
        twin.provenance[-1].fingerprint if twin.provenance else twin.table,
        __version__,
    )
    tick(1.0)
    return replace(learned, provenance=(*twin.provenance, entry))


def _fingerprint(table: NewTable) -> str:
    return sha256(np.ascontiguousarray(np.column_stack([table.x, table.y])).tobytes()).hexdigest()


def _fresh(twin: Twin, table: NewTable, asked: Asked, rng: np.random.Generator) -> tuple[Fresh, list[str]]:
    """The rows that can be learned from: inside the old range or beyond it, but without gaps, strange labels and
    sensors that are stuck."""
    strange = np.zeros(len(table.x), bool)
    for values, columns in ((table.x, twin.columns), (table.y, twin.outputs)):
        for place, column in enumerate(columns):
            strange |= bool(column.levels) & (values[:, place] == UNKNOWN)
    usable = ~table.lacking & ~strange
    notes = [] if usable.all() else [f"{int((~usable).sum()):,} rows have gaps or labels the twin does not know"]
    told = _monitored(twin, table, usable, asked)
    stuck = np.zeros(len(usable), bool)
    stuck[np.flatnonzero(usable)] = faulty_rows(told.faults, int(usable.sum()))
    if stuck.any():
        names = sorted({fault.column for fault in told.faults if fault.kind == "stuck"})
        notes.append(f"{int(stuck.sum()):,} rows in which {' and '.join(names)} is stuck are left out")
        usable &= ~stuck
        told = _monitored(twin, table, usable, asked)
    places = np.flatnonzero(usable)
    counts = np.ones(len(places))
    if asked.weights is not None:
        counts = scaled(read_weights(table.frame, asked.weights, "rows"))[places]
    new, gone, since = _stretches(twin, told, places, asked.since)
    for target, verdict in told.targets.items():
        if verdict.verdict == CHANGED and verdict.until is not None and asked.since is None:
            ends = f"{places[verdict.since - 1] + 1:,} to {places[verdict.until - 1] + 1:,}" if verdict.since else ""
            notes.append(f"{target}: a change in rows {ends} has ended, and is not learned")
    if (new & ~gone[:, None]).any(axis=1).sum() < FEWEST:
        raise InputError(
            f"rows: {int((new & ~gone[:, None]).any(axis=1).sum())} of {len(table.x)} rows can be learned from, and "
            f"{FEWEST} are needed: give more rows, or an earlier since="
        )
    some, _ = divided(len(places), _judges(twin, len(places)), rng, _structure(twin, table, places))
    judges = np.zeros(len(places), bool)
    judges[some] = True
    return Fresh(table, places, told, counts, new, gone, since, judges & ~gone), notes


def _monitored(twin: Twin, table: NewTable, usable: np.ndarray, asked: Asked) -> Monitored:
    if usable.sum() < FEWEST:
        raise InputError(
            f"rows: {int(usable.sum())} of {len(table.x)} rows have no gaps, known labels and sensors that move, and "
            f"{FEWEST} are needed: give more rows"
        )
    frame = table.frame.iloc[np.flatnonzero(usable)].reset_index(drop=True)
    return twin.monitor(frame, level=asked.level, seed=asked.seed)


def _stretches(
    twin: Twin, told: Monitored, places: np.ndarray, since: int | None
) -> tuple[np.ndarray, np.ndarray, dict[str, int | None]]:
    """Which rows are of the law that holds now, and which of a change that has ended."""
    new, gone = np.ones((len(places), len(twin.targets)), bool), np.zeros(len(places), bool)
    begins: dict[str, int | None] = {}
    for place, target in enumerate(twin.targets):
        verdict = told.targets[target]
        begins[target] = None
        if since is not None:
            new[:, place], begins[target] = places >= since - 1, int(since)
        elif verdict.verdict == CHANGED and verdict.since is not None:
            # Where it may as well have begun with the first row, it has.
            at_once = verdict.since_interval is not None and verdict.since_interval[0] == 1
            first, last = 0 if at_once else verdict.since - 1, verdict.until
            if last is None:
                new[:first, place], begins[target] = False, int(places[first]) + 1
            else:
                gone[first:last] = True
    return new, gone, begins


def _judges(twin: Twin, rows: int) -> int:
    return int(min(_MOST_JUDGES, round((twin.settings.test or _TEST) * rows)))


def _structure(twin: Twin, table: NewTable, places: np.ndarray) -> RowStructure:
    """How the new rows hang together: as those of the twin did."""
    column = twin.reference.column
    if column and column in table.frame.columns:
        codes = np.asarray(pd.factorize(table.frame[column])[0])[places]
        return RowStructure(GROUPED, groups=np.unique(codes, return_inverse=True)[1], column=column)
    return RowStructure(ORDERED) if twin.reference.ordered else RowStructure()


def _asks(twin: Twin, fresh: Fresh, place: int, asked_since: bool) -> bool:
    """Whether the law of a target may have changed for good."""
    verdict = fresh.verdict(twin.targets[place])
    return asked_since or (verdict.verdict == CHANGED and verdict.until is None)


def _holding(twin: Twin, fresh: Fresh, x: np.ndarray) -> np.ndarray:
    """How likely the law of each target still holds at some inputs (rows, targets)."""
    found = np.ones((len(x), len(twin.targets)))
    features, own = twin.encoder.single(x), twin.encoder.single(fresh.x)
    numbers = fresh.told.numbers - 1
    for place, target in enumerate(twin.targets):
        if not _asks(twin, fresh, place, fresh.since[target] is not None):
            continue
        seen = twin.encoder.mask(twin.ancestors[target]) > 0
        now = fresh.new[numbers, place]
        if now.sum() < FEWEST:
            continue
        z = fresh.told.latents[now, place]
        found[:, place] = still_holds(z, own[numbers[now]][:, seen], features[:, seen])
    return np.tile(found.min(axis=1, keepdims=True), (1, found.shape[1])) if twin.joint else found


def _old_rows(twin: Twin, fresh: Fresh, asked: Asked, rng: np.random.Generator) -> Known:
    """What is learned again: rows that the user still has, or draws of the twin at inputs that it kept; and those of
    the new rows that are of the old law."""
    if asked.old is None:
        x = twin.rows[rng.permutation(len(twin.rows))[:_MOST_OLD]]
        y = twin.sample(x, n=1, seed=int(rng.integers(2**31)), outside="ignore")[0]
    else:
        given = read_new(twin, asked.old, (), "old")
        inside = given.inside[rng.permutation(len(given.inside))[:_MOST_OLD]]
        x, y = given.x[inside], given.y[inside]
    before = ~fresh.new.all(axis=1) & ~fresh.gone & ~fresh.judges
    holds = _holding(twin, fresh, np.concatenate([x, fresh.x[before]]))
    # Of a law that these rows already know as new, they are no old rows.
    holds[len(x) :] *= ~fresh.new[before]
    return Known(np.concatenate([x, fresh.x[before]]), np.concatenate([y, fresh.y[before]]), holds)


def _reference_rows(twin: Twin, fresh: Fresh) -> Known:
    """Rows that were set aside before."""
    kept = twin.reference
    x = kept.x if len(kept) else np.zeros((0, len(twin.inputs)))
    y = kept.y if len(kept) else np.zeros((0, len(twin.targets)))
    return Known(x, y, _holding(twin, fresh, x), kept.other if len(kept) else None)


def _lesson(twin: Twin, fresh: Fresh, old: Known, rng: np.random.Generator) -> Lesson:
    """Old and new rows together, with the weights that they have for each law."""
    learn = ~fresh.judges & ~fresh.gone
    x, y = np.concatenate([old.x, fresh.x[learn]]), np.concatenate([old.y, fresh.y[learn]])
    spread = [target.dequantiser.spread(y[:, i], rng) for i, target in enumerate(twin.outputs)]
    likely = np.where(old.holds > _LIKELY, old.holds, 0.0)
    now = fresh.new[learn] * fresh.counts[learn, None]
    weights = np.concatenate([likely, now])
    if twin.joint:
        weights = weights.min(axis=1, keepdims=True)
    structure = _structure(twin, fresh.table, fresh.places[learn])
    watched = np.zeros(len(x), bool)
    for first, rows, own in ((0, len(old.x), RowStructure()), (len(old.x), int(learn.sum()), structure)):
        some, _ = divided(rows, max(1, round(_WATCHED * rows)), rng, own)
        watched[first + some] = True
    return Lesson(x, np.stack(spread, axis=1), weights, watched)


def _losses(twin: Twin, x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """CRPS (rows, targets)."""
    draws = twin.sample(x, n=_DRAWS, seed=seed, outside="ignore")
    return np.stack([crps(draws[..., i], y[:, i]) for i in range(y.shape[1])], axis=1)


def _better(before: Twin, after: Twin, lesson: Lesson, seed: int) -> Bool[np.ndarray, " laws"]:
    """Of which laws the rows that were watched speak for the new one."""
    rows = np.flatnonzero(lesson.watched)
    y = np.stack([t.collapser.collapse(lesson.y[rows, i]) for i, t in enumerate(before.outputs)], axis=1)
    gain = _losses(before, lesson.x[rows], y, seed) - _losses(after, lesson.x[rows], y, seed)
    if before.joint:
        gain = (gain / np.array([t.scale for t in before.outputs])).mean(axis=1, keepdims=True)
    return (gain * lesson.weights[rows]).sum(axis=0) > 0


def _chosen(twin: Twin, model: Any, better: np.ndarray) -> Any:
    """The model with the laws that were worth it."""
    if isinstance(model, BlendLaw):
        assert isinstance(twin.model, BlendLaw)
        pairs = zip(model.blends, twin.model.blends, better, strict=True)
        return replace(model, blends=tuple(new if won else old for new, old, won in pairs))
    return with_networks(
        model, [own_networks(model if won else twin.model, len(better), i) for i, won in enumerate(better)]
    )


def _missing(twin: Twin, fresh: Fresh) -> dict[str, tuple[str, ...]]:
    """Columns that a law follows now and does not have."""
    return {
        target: tuple(name for name in told.follows if name not in twin.ancestors[target])
        if told.verdict == CHANGED and told.until is None
        else ()
        for target, told in fresh.told.targets.items()
    }


def _told(
    twin: Twin,
    learned: Twin,
    fresh: Fresh,
    kept: Known,
    place: int,
    better: np.ndarray,
    missing: Mapping[str, tuple[str, ...]],
    found: Mapping[str, tuple[str, ...]],
    seed: int,
) -> TargetLearned:
    target, verdict = twin.targets[place], fresh.verdict(twin.targets[place])
    word = HOLDS if verdict.verdict == CHANGED and verdict.until is not None else verdict.verdict
    judges = np.flatnonzero(fresh.judges & fresh.new[:, place])
    still = np.flatnonzero(kept.holds[:, place] > _LIKELY)
    return TargetLearned(
        word,
        bool(better[0 if twin.joint else place]),
        fresh.since[target],
        int((fresh.new[:, place] & ~fresh.judges & ~fresh.gone).sum()),
        float(len(still) / len(kept.x)) if len(kept.x) else 1.0,
        _change(twin, learned, fresh.frame(judges), target, seed),
        _change(twin, learned, kept.frame(twin).iloc[still], target, seed),
        missing[target],
        found.get(target),
    )


def _change(before: Twin, after: Twin, frame: pd.DataFrame, target: str, seed: int) -> Change | None:
    if not len(frame):
        return None
    rows = frame.reset_index(drop=True)
    means = []
    for twin in (before, after):
        place = twin.targets.index(target)
        y = read_matrix(rows, [twin.outputs[place]], "rows")[:, 0]
        draws = twin.sample(rows, n=_DRAWS, seed=seed, outside="ignore")
        means.append(float(crps(draws[..., place], y).mean()))
    return Change(*means, len(rows))
