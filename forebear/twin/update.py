"""A twin learns on from new rows: what of them is a new law, which old rows still count, and what it was worth.

Where the law still holds old rows count beside new ones; where it changed they would teach what is no longer so, and
new rows win. The monitor says of which target that has to be asked at all, and since which row; `still_holds` says
where. The old rows themselves are gone in general: the twin then draws them again, at inputs that it kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from forebear.discovery.structure import RowStructure
from forebear.errors import check_whole
from forebear.twin.aside import divided
from forebear.twin.blend import BlendLaw
from forebear.twin.fresh import LIKELY, Asked, Fresh, Known, fresh_rows, holding, structure_of_new
from forebear.twin.given import read_matrix
from forebear.twin.learn_on import Lesson, learned_on, own_networks, with_networks
from forebear.twin.left_over import left_over
from forebear.twin.new_rows import NewTable, read_new
from forebear.twin.provenance import Change, Learned, TargetLearned
from forebear.twin.renew import renewed
from forebear.twin.scores import crps
from forebear.version import __version__
from forebear.watch.result import CHANGED, HOLDS

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

# Old rows that are learned again, at most; the share of all rows that chooses the weights along the training.
_MOST_OLD, _WATCHED = 4_096, 0.15
_DRAWS = 100


def update(twin: Twin, rows: Any, asked: Asked, tick: Callable[[float], None] = lambda share: None) -> Twin:
    """The work of `Twin.update`."""
    check_whole("seed", asked.seed, 0)
    if asked.since is not None:
        check_whole("since", asked.since, 1)
    twin.demand("pull", "update")
    rng = np.random.default_rng(asked.seed)
    table = read_new(twin, rows, list(twin.reference.others))
    fresh, notes = fresh_rows(twin, table, asked, rng)
    tick(0.1)
    trained, kept = _old_rows(twin, fresh, asked, rng), _reference_rows(twin, fresh)
    lesson = _lesson(twin, fresh, trained, rng)
    model = learned_on(twin, lesson, int(rng.integers(2**31)), lambda share: tick(0.1 + 0.6 * share))
    learned = replace(twin, model=model, distillation=None)
    better = _better(twin, learned, lesson, asked.seed)
    learned = replace(twin, model=_chosen(twin, model, better), distillation=None) if better.any() else twin
    missing = _missing(twin, fresh, learned)
    if better.any() or any(missing.values()):
        learned = renewed(learned, fresh, kept, trained, asked.seed)
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
    holds = holding(twin, fresh, np.concatenate([x, fresh.x[before]]))
    # Of a law that these rows already know as new, they are no old rows.
    holds[len(x) :] *= ~fresh.new[before]
    return Known(np.concatenate([x, fresh.x[before]]), np.concatenate([y, fresh.y[before]]), holds)


def _reference_rows(twin: Twin, fresh: Fresh) -> Known:
    """Rows that were set aside before."""
    kept = twin.reference
    x = kept.x if len(kept) else np.zeros((0, len(twin.inputs)))
    y = kept.y if len(kept) else np.zeros((0, len(twin.targets)))
    return Known(x, y, holding(twin, fresh, x), kept.other if len(kept) else None)


def _lesson(twin: Twin, fresh: Fresh, old: Known, rng: np.random.Generator) -> Lesson:
    """Old and new rows together, with the weights that they have for each law."""
    learn = ~fresh.judges & ~fresh.gone
    x, y = np.concatenate([old.x, fresh.x[learn]]), np.concatenate([old.y, fresh.y[learn]])
    spread = [target.dequantiser.spread(y[:, i], rng) for i, target in enumerate(twin.outputs)]
    likely = np.where(old.holds > LIKELY, old.holds, 0.0)
    now = fresh.new[learn] * fresh.counts[learn, None]
    weights = np.concatenate([likely, now])
    if twin.joint:
        weights = weights.min(axis=1, keepdims=True)
    structure = structure_of_new(twin, fresh.table, fresh.places[learn])
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
    old: Any = twin.model
    return with_networks(model, [own_networks(model if won else old, len(better), i) for i, won in enumerate(better)])


def _missing(twin: Twin, fresh: Fresh, learned: Twin) -> dict[str, tuple[str, ...]]:
    """Columns that a law follows now and does not have: those that the monitor named, and those that latents of the
    new law still go with once it has learned all that its own inputs tell."""
    changed = [
        target for target, told in fresh.told.targets.items() if told.verdict == CHANGED and told.until is None
    ]
    left = left_over(learned, fresh, changed) if changed else {}
    return {
        target: tuple(
            dict.fromkeys(
                name
                for name in (*fresh.told.targets[target].follows, *left[target])
                if name not in twin.ancestors[target]
            )
        )
        if target in changed
        else ()
        for target in twin.targets
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
    still = np.flatnonzero(kept.holds[:, place] > LIKELY)
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
    return Change(means[0], means[1], len(rows))
