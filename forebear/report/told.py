"""How each input acts on a law, in sentences with amounts, read off the law itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from forebear.discovery.action import Action
from forebear.report.amounts import amounts, percent, span
from forebear.report.movement import LEVELS, Change, Movement, Side, movement
from forebear.report.sentences import Name, Sentence, joined
from forebear.twin.sweep import Sweep, chances, padded, stops, sweep, typical
from forebear.twin.twin import Twin

MOST_TOLD = 3
"""inputs whose amounts stand in the sentence about a target"""
# Inputs that are looked at together with others, the strongest first; and stops on the way when that is done.
_MOST_TOGETHER, _STOPS = 6, 5
# Two settings are compared over the same way, which must lie about where data is, though not so closely.
_FURTHER = 9.0
# Effects that differ by so much from one setting of another input to the next are told apart.
_DIFFERS = 0.4
# A lattice of more values is a number that was rounded, and has a median like any other.
_MOST_COUNTS = 30
# A chance that changes by less is told as weak.
_CHANCE = 0.05


class Told(NamedTuple):
    """What one input does to one target."""

    input: str
    side: str
    """level, spread, states, split, skew or chance; "none" where it does nearly nothing, "together" where its own
    part cannot be told from that of the others"""
    verb: str
    detail: Sentence
    """behind the colon"""
    where: Sentence
    """the setting of another input in which this is so, if not the typical one; ends with a comma"""
    strength: float

    def sentence(self, target: str | None) -> Sentence:
        """With the target by its name, or as "it"."""
        verb = (
            self.verb
            if target is not None
            else re.sub(r"the (two states|spread|shape) of \{\}", r"its \1", self.verb)
        )
        before, mark, after = verb.partition("{}")
        whom: Sentence = () if not mark else ("it",) if target is None else (Name(target),)
        rest = (": ", *self.detail) if self.detail else ()
        where = self.where
        if target is not None and where:  # it begins the sentence
            where = ("Where ", *where[1:])
        return (*where, Name(self.input), " ", before, *whom, after, *rest)


def told(twin: Twin, target: str) -> list[Told]:
    """One entry for each input of the target, the strongest first.

    Each input goes from the 5% to the 95% quantile of the data while the others stay typical; what it does is told
    by the side of the law that moves most. Where it does much more at another setting of one of the other inputs,
    that setting is named.
    """
    row, names = typical(twin), twin.ancestors[target]
    plain = {name: _moved(twin, target, sweep(twin, target, name, LEVELS, row=row)) for name in names}
    ranked = sorted(names, key=lambda name: -_strength(plain[name]))
    found, pairs = [], set[frozenset[str]]()
    for place, name in enumerate(ranked):
        others = _elsewhere(twin, target, name, row) if 1 < len(names) and place < _MOST_TOGETHER else []
        found.append(_told(twin, target, name, plain[name], others, pairs))
    return sorted(found, key=lambda one: -one.strength)


def headline(target: str, found: Sequence[Told]) -> Sentence:
    """One sentence about a target: what the strongest inputs do, and the names of the others.

    >>> flow = Told("flow", "spread", "widens {}", ("from 8 to 17 its 90% range grows from 2.1 to 6.4",), (), 1.0)
    >>> "".join(str(getattr(part, "text", part)) for part in headline("T_out", [flow]))
    'flow widens T_out: from 8 to 17 its 90% range grows from 2.1 to 6.4.'
    """
    if not found:
        return ()
    parts: list[str | Name] = []
    for place, one in enumerate(found[:MOST_TOLD]):
        parts += [*(("; ",) if place else ()), *one.sentence(None if place else target)]
    rest = [one.input for one in found[MOST_TOLD:]]
    if rest:
        parts += [". Less is done by ", *joined(rest)]
    return (*parts, ".")


_BY_SHARE = {
    "location": ("moves {}", "move {}"),
    "scale": ("widens or narrows {}", "widen or narrow {}"),
    "shape": ("changes the shape of {}", "change the shape of {}"),
    "dependence": ("changes how {} goes with the others", "change how {} goes with the others"),
}


def told_by_shares(target: str, actions: Mapping[str, Action]) -> Sentence:
    """The same without amounts, for want of a twin: from how each input was seen to act.

    >>> shares = {"a": Action(0.9, 0.1, 0.0), "b": Action(0.7, 0.2, 0.1), "c": Action(0.0, 1.0, 0.0)}
    >>> "".join(str(getattr(part, "text", part)) for part in told_by_shares("y", shares))
    'a and b move y; c widens or narrows it.'
    """
    groups: dict[str, list[str]] = {}
    for name, action in actions.items():
        groups.setdefault(max(_BY_SHARE, key=lambda side: getattr(action, side)), []).append(name)
    parts: list[str | Name] = []
    for side, verbs in _BY_SHARE.items():
        if side in groups:
            before, _, after = verbs[len(groups[side]) > 1].partition("{}")
            whom: str | Name = "it" if parts else Name(target)
            parts += [*(("; ",) if parts else ()), *joined(groups[side]), f" {before}", whom, after]
    return (*parts, ".") if parts else ()


def unit_of(twin: Twin, name: str) -> str:
    """The unit of a column: as the user gave it, or as the name has it at its end, in brackets."""
    inside = re.search(r"[(\[]([^()\[\]]{1,12})[)\]]$", name)
    return twin.units.get(name, inside.group(1).strip() if inside else "")


def _strength(one: Movement | None) -> float:
    return 0.0 if one is None else one.strength


def _moved(twin: Twin, target: str, along: Sweep) -> Movement | None:
    output = twin.outputs[twin.targets.index(target)]
    if output.levels:
        return movement(along._replace(quantiles=_as_chance(twin, target, along)), level=None)
    counts = output.dequantiser.kind == "lattice" and len(output.dequantiser.values) <= _MOST_COUNTS
    if counts or output.dequantiser.kind == "atoms":
        mean = twin.mean(padded(along.rows), outside="ignore")[: len(along.rows), twin.targets.index(target)]
        return movement(along, mean)
    return movement(along)


def _label(twin: Twin, target: str, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """The label whose chance changes most along rows, the last one of several (of no and yes it is yes), and its
    chances."""
    found = chances(twin, target, rows)
    best = int(np.flatnonzero(np.ptp(found, axis=0) > 0.999 * np.ptp(found, axis=0).max() - 1e-9)[-1])
    return best, found[:, best]


def _as_chance(twin: Twin, target: str, along: Sweep) -> np.ndarray:
    """A chance in the place of all quantiles: it moves, and does nothing else."""
    return np.repeat(_label(twin, target, along.rows)[1][:, None], len(LEVELS), axis=1)


class _Setting(NamedTuple):
    """What an input does at another setting of one of the others."""

    input: str
    value: str
    moved: Movement


def _elsewhere(twin: Twin, target: str, name: str, row: np.ndarray) -> list[_Setting]:
    found, whole = [], len(stops(twin, twin.inputs.index(name), _STOPS)[1])
    for other in twin.ancestors[target]:
        if other == name:
            continue
        place = twin.inputs.index(other)
        along, at = stops(twin, place, 5)
        chosen = at if along == "labels" else at[:-1] if along == "angle" else at[[0, -1]]
        for value in chosen[:6]:
            changed = row.copy()
            changed[place] = value
            moved = _moved(
                twin, target, sweep(twin, target, name, LEVELS, row=changed, points=_STOPS, further=_FURTHER)
            )
            if moved is not None and (moved.along == "labels" or len(moved.stops) == whole):
                found.append(_Setting(other, _value(twin, other, float(value), at), moved))
    return found


def _value(twin: Twin, name: str, value: float, among: np.ndarray) -> str:
    column = twin.columns[twin.inputs.index(name)]
    if column.levels:
        return str(column.levels[int(value)])
    return amounts([value, *among.tolist()], unit_of(twin, name))[0]


def _told(
    twin: Twin, target: str, name: str, plain: Movement | None, others: list[_Setting], pairs: set[frozenset[str]]
) -> Told:
    """The entry of one input: at typical values, or where it does much more. `pairs` are those whose part in each
    other's effect is told already."""
    strongest = max(others, key=lambda one: one.moved.strength, default=None)
    where: Sentence = ()
    moved = plain
    if strongest is not None and strongest.moved.side != "none":
        if plain is None or plain.side == "none" or _much_less(plain, strongest.moved):
            moved, where = strongest.moved, ("where ", Name(strongest.input), f" is {strongest.value}, ")
    if moved is None:
        return Told(name, "together", "shapes {} together with the inputs that it goes with", (), (), 0.0)
    output = twin.outputs[twin.targets.index(target)]
    words = _Words(twin, target, name, moved)
    if output.levels:
        verb, detail = words.chance()
        side = "chance" if moved.level.most - moved.level.least > _CHANCE else "none"
    else:
        side = moved.side
        verb, detail = words.of(side)
        detail = (*detail, *words.also(side))
    fresh = [one for one in others if frozenset((name, one.input)) not in pairs]
    remark = () if where or side in ("none", "split") else _differs(twin, target, moved, fresh, bool(output.levels))
    if remark or where:
        named = (part.text for part in (*where, *remark) if isinstance(part, Name))
        pairs.add(frozenset((name, next(named))))
    return Told(name, side, verb, (*detail, *remark), where, moved.strength)


def _much_less(one: Movement, other: Movement) -> bool:
    """In the units of the target, and beside the width of the law at either setting: a law that is many times as wide
    there moves more there by chance alone."""
    least = min(other.strength, _width(one) * other.strength / _width(other))
    return one.strength < _DIFFERS * least


def _width(moved: Movement) -> float:
    return max((moved.spread.least + moved.spread.most) / 2, 1e-300)


def _effect(moved: Movement, side: Side) -> float:
    told = {"spread": moved.spread, "states": moved.spread, "split": moved.spread, "skew": moved.above}
    return told.get(side, moved.level).by


def _differs(twin: Twin, target: str, moved: Movement, others: list[_Setting], chance: bool) -> Sentence:
    """Where the same effect is most and least, if another input makes a great difference to it."""
    best: tuple[float, _Setting, _Setting, float, float] | None = None
    sign = 1.0 if _effect(moved, moved.side) >= 0 else -1.0
    if moved.side == "level":
        # A mean here and a median there are no two ends of one change.
        others = [one for one in others if one.moved.middle == moved.middle]
    for other in {one.input: None for one in others}:
        own = sorted(
            (sign * _effect(one.moved, moved.side), place) for place, one in enumerate(others) if one.input == other
        )
        (low, least), (high, most) = own[0], own[-1]
        if high > 0 and low < _DIFFERS * high and (best is None or high - low > best[0]):
            best = (high - low, others[least], others[most], low, high)
    if best is None:
        return ()
    _, least, most, low, high = best
    if chance:
        by = [percent(low), percent(high)]
    else:
        by = [amounts([size], unit_of(twin, target))[0] for size in (abs(low), high)]
    start = (" (most where ", Name(most.input), f" is {most.value}, by {by[1]}; ")
    if low < -0.25 * high:
        return (*start, f"the other way round, by {by[0]}, where it is {least.value})")
    return (*start, f"least where it is {least.value}, by {by[0]})")


class _Words(NamedTuple):
    """The verb and the amounts for one movement."""

    twin: Twin
    target: str
    name: str
    moved: Movement

    def of(self, side: Side) -> tuple[str, Sentence]:
        """By the side of the law that moves most."""
        return {
            "level": self._level,
            "spread": self._spread,
            "states": self._states,
            "split": self._split,
            "skew": self._skew,
            "none": self._nothing,
        }[side]()

    def also(self, side: Side) -> Sentence:
        """A second side that moves too, in a few words."""
        level, spread = self.moved.level, self.moved.spread
        wide = (spread.least + spread.most) / 2
        labels = self.moved.along == "labels"  # which have no order: nothing goes from the first to the last
        if side == "level" and (labels or spread.one_way) and spread.most > 1.3 * spread.least > 0:
            if labels:
                return (", and ", *self._between(spread, "90% range"))
            grows = "grows" if spread.by > 0 else "shrinks"
            return (f", and its 90% range {grows} {self._span(spread)}",)
        if side in ("spread", "skew") and (labels or level.one_way) and level.most - level.least > 0.3 * wide:
            if labels:
                return (", and ", *self._between(level, self.moved.middle))
            return (f", and its {self.moved.middle} goes {self._span(level)}",)
        return ()

    def _amounts(self, *values: float) -> list[str]:
        return amounts(values, unit_of(self.twin, self.target))

    def _way(self) -> str:
        """From where to where the input goes."""
        return span(self.moved.stops[0], self.moved.stops[-1], unit_of(self.twin, self.name))

    def _span(self, told: Change) -> str:
        """From where to where the target goes."""
        return span(told.start, told.end, unit_of(self.twin, self.target))

    def _at(self, stop: int) -> str:
        if self.moved.labels:
            return self.moved.labels[stop]
        unit = unit_of(self.twin, self.name)
        return "near " + amounts([self.moved.stops[stop], *self.moved.stops.tolist()], unit)[0]

    def _straight(self, told: Change) -> bool:
        return self.moved.along == "number" and told.one_way

    def _between(self, told: Change, what: str) -> Sentence:
        low, high = self._amounts(told.least, told.most)
        ends = f"between {low} ({self._at(told.least_at)}) and {high} ({self._at(told.most_at)})"
        return (f"its {what} lies {ends}",)

    def _level(self) -> tuple[str, Sentence]:
        told = self.moved.level
        if not self._straight(told):
            return "moves {}", self._between(told, self.moved.middle)
        verb = "raises {}" if told.by > 0 else "lowers {}"
        return verb, (f"{self._way()} its {self.moved.middle} goes {self._span(told)}",)

    def _spread(self) -> tuple[str, Sentence]:
        told = self.moved.spread
        if not self._straight(told):
            return "changes the spread of {}", self._between(told, "90% range")
        verb, grows = ("widens {}", "grows") if told.by > 0 else ("narrows {}", "shrinks")
        return verb, (f"{self._way()} its 90% range {grows} {self._span(told)}",)

    def _states(self) -> tuple[str, Sentence]:
        told = self.moved.apart
        if not self._straight(told):
            low, high = self._amounts(told.least, told.most)
            where = f"{low} ({self._at(told.least_at)}) to {high} ({self._at(told.most_at)})"
            return "changes how far apart the two states of {} lie", (where,)
        verb = "drives the two states of {} apart" if told.by > 0 else "brings the two states of {} together"
        return verb, (f"{self._way()} their distance goes {self._span(told)}",)

    def _split(self) -> tuple[str, Sentence]:
        apart = self.moved.states[:, 1] - self.moved.states[:, 0]
        widest = int(np.nanargmax(apart))
        lower, upper, share = self.moved.states[widest]
        low, high = self._amounts(lower, upper)
        where = f"for {self._at(widest)}" if self.moved.labels else self._at(widest)
        often = (
            "about half of the time each"
            if abs(share - 0.5) < 0.06
            else (f"{percent(1 - share)} and {percent(share)} of the time")
        )
        text = f"{where} it lies at about {low} or {high}, {often}"
        return "splits {} in two", (text,)

    def _skew(self) -> tuple[str, Sentence]:
        above, below = self.moved.above, self.moved.below
        more = above.end / max(above.start, 1e-300) > below.end / max(below.start, 1e-300)
        a, b, c, d = self._amounts(above.start, above.end, below.start, below.end)
        text = f"{self._way() if self.moved.along == 'number' else 'from end to end'} its 90% range reaches "
        return f"skews {{}} {'upwards' if more else 'downwards'}", (
            f"{text}{b} above its median instead of {a}, and {d} below it instead of {c}",
        )

    def _nothing(self) -> tuple[str, Sentence]:
        told = self.moved.level
        most = self._amounts(told.most - told.least)[0]
        return "hardly changes {}", (f"its {self.moved.middle} by {most} at most, the other inputs being typical",)

    def chance(self) -> tuple[str, Sentence]:
        """Of a category: the label whose chance changes most."""
        told = self.moved.level
        row = np.repeat(typical(self.twin)[None], len(self.moved.stops), axis=0)
        row[:, self.twin.inputs.index(self.name)] = self.moved.stops
        place, _ = _label(self.twin, self.target, row)
        label = str(self.twin.outputs[self.twin.targets.index(self.target)].levels[place])
        if told.most - told.least <= _CHANCE:
            return "hardly changes {}", (f"the chance of '{label}' by {percent(told.most - told.least)} at most",)
        if not self._straight(told):
            low, high = percent(told.least), percent(told.most)
            ends = f"{low} ({self._at(told.least_at)}) and {high} ({self._at(told.most_at)})"
            return "moves {}", (f"the chance of '{label}' lies between {ends}",)
        a, b = percent(told.start), percent(told.end)
        verb = "makes '{label}' likelier for {}" if told.by > 0 else "makes '{label}' less likely for {}"
        return verb.replace("{label}", label.replace("{", "(").replace("}", ")")), (
            f"{self._way()} its chance goes from {a} to {b}",
        )
