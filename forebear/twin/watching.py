"""A watch over a twin in operation: rows are added as they come, and it may be asked as often as one likes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebear.errors import InputError, check_whole
from forebear.storage.files import read_json, write_json
from forebear.storage.records import to_record
from forebear.twin.intervals import check_level
from forebear.twin.monitor import UNKNOWN_MARGIN, check_margin, inputs_of, known_rows, latents_of
from forebear.twin.new_rows import read_new
from forebear.watch.features import ORDER_SHARES, InputFeatures, all_scores, features_of
from forebear.watch.misfit import Misfit, misfit_of, no_misfit
from forebear.watch.result import CHANGED, HOLDS
from forebear.watch.stream import Bets, Wealth, factor_of, unlike_of

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

_FORMAT = 1


@dataclass(frozen=True)
class LawWatched:
    """What is known of one law so far."""

    verdict: str
    """"holds" or "changed"; once changed, always changed"""
    e_value: float
    """the largest there ever was: while the law holds it reaches 1/p with probability p at most"""
    since: int | None = None
    """the row with which the change most likely began, counted from 1 over all that were added"""
    follows: tuple[str, ...] = ()
    """the input that the change goes with; none for a plain one"""


@dataclass(frozen=True)
class Watched:
    """The state of a watch: `verdict` is "holds" or "changed"."""

    verdict: str
    targets: Mapping[str, LawWatched]
    rows: int
    """that were added"""
    left_out: int
    """of them, outside what the twin has seen or with gaps"""
    block: int
    """rows after which the laws are looked at"""

    @property
    def changed(self) -> bool:
        """Whether a law is another one."""
        return self.verdict == CHANGED

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        return asdict(self)


class Watch:
    """Watches the laws of a twin over its whole life: `add` rows as they come, in any portions.

    All looks together have a chance of at most `level` of a false alarm, however many there are. Made by
    `Twin.watch`; see there for an example.
    """

    def __init__(self, twin: Twin, reference: Any, level: float, margin: float, memory: int | None, seed: int):
        check_level(level)
        check_margin(margin)
        check_whole("seed", seed, 0)
        if memory is not None:
            check_whole("memory", memory, 1)
        twin.demand("pull", "watch")
        self.twin = twin
        self._known, self._seed = known_rows(twin, reference, seed), seed
        if self._known is None:
            margin = max(margin, UNKNOWN_MARGIN)
        self._names = () if self._known is None else tuple(self._known.other)
        self._rows, self._left_out = 0, 0
        self._numbers: list[int] = []
        """of the first row of every block, from 1"""
        empty = np.zeros((0, len(twin.inputs))), np.zeros((0, len(twin.outputs))), np.zeros((0, len(self._names)))
        self._waiting: tuple[np.ndarray, np.ndarray, np.ndarray] = empty
        self._waiting_numbers: list[int] = []
        misfits = [self._misfit(place) for place in range(len(twin.outputs))]
        factor = memory or max(factor_of(misfit) for misfit in misfits)
        if self._known is not None and self._known.groups is not None and memory is None:
            # Rows of a group share something: a group is as good as one row.
            factor = max(factor, len(self._known.groups) / (int(self._known.groups.max()) + 1))
        features = self._features(empty[0], empty[2])
        bets = Bets.of(features)
        share = level / len(misfits)
        self._laws = [
            Wealth(bets, one, share, margin, float(factor), unlike_of(bets, one, features) if one.stretches else None)
            for one in misfits
        ]

    def __repr__(self) -> str:
        now = self.now()
        laws = "; ".join(f"{t}: {one.verdict}, e = {one.e_value:.3g}" for t, one in now.targets.items())
        return f"<watch after {self._rows:,} rows: {laws}>"

    def _misfit(self, place: int) -> Misfit:
        if self._known is None:
            return no_misfit(1, len(ORDER_SHARES))
        features = self._features(np.zeros((0, len(self.twin.inputs))), np.zeros((0, len(self._names))))
        return self._fitted(features, place, 0)[0]

    def _fitted(self, features: list[InputFeatures], place: int, rows: int) -> tuple[Misfit, np.ndarray]:
        """The misfit of one law, which is always the same, and the design of new rows."""
        known = self._known
        assert known is not None
        own, others = self._divided(features, place)
        return misfit_of(all_scores(known.z[:, place]), own, others, rows, known.ordered, known.groups)

    def _features(self, x: np.ndarray, other: np.ndarray) -> list[InputFeatures]:
        """Of all inputs, those without any left out."""
        found = inputs_of(self.twin, self._known, x, {name: other[:, i] for i, name in enumerate(self._names)})
        features = [features_of(one) for one in found]
        return [one for one in features if one.known.shape[1]]

    def _divided(self, features: list[InputFeatures], place: int) -> tuple[list[InputFeatures], list[InputFeatures]]:
        names = self.twin.ancestors[self.twin.targets[place]]
        return [one for one in features if one.name in names], [one for one in features if one.name not in names]

    @property
    def block(self) -> int:
        """Rows after which the laws are looked at."""
        return self._laws[0].block

    def add(self, rows: Any) -> Watched:
        """New rows, in their order: inputs and targets in one table, as `Twin.monitor` takes them.

        Rows that fill no block wait for more. Columns that were pruned away must be there, or the watch must be made
        on a reference without them.
        """
        table = read_new(self.twin, rows, self.twin.reference.others)
        missing = [name for name in self._names if name not in table.other]
        if missing:
            raise InputError(
                f"rows: no column '{missing[0]}', which the watch also looks at: add it, or watch with "
                "reference= rows that lack it"
            )
        inside = table.inside
        numbers = [self._rows + int(row) + 1 for row in inside]
        self._rows += len(table.x)
        self._left_out += len(table.x) - len(inside)
        other = np.column_stack([np.zeros((len(inside), 0)), *(table.other[name][inside] for name in self._names)])
        self._take((table.x[inside], table.y[inside], other), numbers)
        return self.now()

    def _take(self, new: tuple[np.ndarray, np.ndarray, np.ndarray], numbers: list[int]) -> None:
        x, y, other = (np.concatenate([old, more]) for old, more in zip(self._waiting, new, strict=True))
        numbers, whole = [*self._waiting_numbers, *numbers], len(x) // self.block * self.block
        if whole:
            z = latents_of(self.twin, x[:whole], y[:whole], self._seed).z
            self._bet(z, self._features(x[:whole], other[:whole]))
            self._numbers += numbers[: whole : self.block]
        self._waiting, self._waiting_numbers = (x[whole:], y[whole:], other[whole:]), numbers[whole:]

    def _bet(self, z: np.ndarray, features: list[InputFeatures]) -> None:
        for place, law in enumerate(self._laws):
            if self._known is None:
                design = np.ones((len(z), 1))
            else:
                design = self._fitted(features, place, len(z))[1]
            for start in range(0, len(z), self.block):
                part = slice(start, start + self.block)
                law.add(z[part, place], [one.part(part) for one in features], design[part])

    def now(self) -> Watched:
        """What is known so far."""
        told = {target: self._told(law) for target, law in zip(self.twin.targets, self._laws, strict=True)}
        changed = any(one.verdict == CHANGED for one in told.values())
        return Watched(CHANGED if changed else HOLDS, told, self._rows, self._left_out, self.block)

    def _told(self, law: Wealth) -> LawWatched:
        since = None if law.since_block is None else self._numbers[law.since_block]
        return LawWatched(CHANGED if law.changed else HOLDS, law.highest, since, law.follows)

    def save(self, file: str | Path) -> None:
        """Keep all that is known as JSON; `Twin.watch(state=file)` goes on from there."""
        names = ("x", "y", "other")
        waiting = {name: to_record(array) for name, array in zip(names, self._waiting, strict=True)}
        state = {
            "format": _FORMAT,
            "targets": list(self.twin.targets),
            "block": self.block,
            "level": self._laws[0].level,
            "margin": self._laws[0].margin,
            "rows": self._rows,
            "left_out": self._left_out,
            "numbers": self._numbers,
            "waiting": waiting,
            "waiting_numbers": self._waiting_numbers,
            "laws": [law.state() for law in self._laws],
        }
        write_json(Path(file), state)

    def restore(self, file: str | Path) -> None:
        """Go on from what `save` wrote, for a watch that was made alike."""
        remedy = "start a new watch"
        state = read_json(Path(file), remedy)
        try:
            if state["targets"] != list(self.twin.targets) or state["block"] != self.block:
                raise InputError(f"{file}: of another twin, or another memory=: {remedy}")
            if [state["level"], state["margin"]] != [self._laws[0].level, self._laws[0].margin]:
                raise InputError(f"{file}: of a watch at another level or margin: {remedy}")
            for law, own in zip(self._laws, state["laws"], strict=True):
                law.restore(own)
            x, y, other = (np.array(state["waiting"][name], float) for name in ("x", "y", "other"))
            widths = [len(self.twin.inputs), len(self.twin.outputs), len(self._names)]
            self._waiting = tuple(  # type: ignore[assignment]
                array.reshape(len(state["waiting_numbers"]), width)
                for array, width in zip((x, y, other), widths, strict=True)
            )
            self._waiting_numbers, self._numbers = list(state["waiting_numbers"]), list(state["numbers"])
            self._rows, self._left_out = int(state["rows"]), int(state["left_out"])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{file}: not the state of a watch, or damaged: {remedy}") from None
