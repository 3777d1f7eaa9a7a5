"""What a twin has learned after it was fitted: an entry for each update, which travels with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from forebear.storage.records import to_record


class Change(NamedTuple):
    """A mean CRPS on rows that no training has seen, by the twin before and after; lower is better."""

    before: float
    after: float
    rows: int


@dataclass(frozen=True)
class TargetLearned:
    """What an update did to the law of one target."""

    law: str
    """what the monitor said before: "holds", "changed" or "cannot tell" """
    learned: bool
    """whether the law is another one now; False: what it learned was no better on rows kept apart"""
    since: int | None = None
    """the first row of the new law, counted from 1"""
    rows: int = 0
    """new rows that it learned from"""
    old_share: float = 1.0
    """of the old rows, those at which the law still held and that were learned again beside the new ones"""
    on_new: Change | None = None
    """on new rows set aside"""
    on_old: Change | None = None
    """on rows set aside before, where the law still holds: what is forgotten shows here"""
    missing: tuple[str, ...] = ()
    """inputs that the law now follows and did not have; none: the set still suffices"""
    rediscovered: tuple[str, ...] | None = None
    """its inputs by a new discovery, where there was one"""


@dataclass(frozen=True)
class Learned:
    """One update."""

    when: str
    """UTC"""
    rows: int
    """new rows that were given"""
    used: int
    """of them, those that can be learned from"""
    fingerprint: str
    """of their inputs and targets"""
    targets: Mapping[str, TargetLearned]
    notes: tuple[str, ...] = ()
    before: str = ""
    """fingerprint of the table, or of the rows, that the twin had learned last"""
    forebear: str = ""
    """its version"""

    @property
    def learned(self) -> bool:
        """Whether any law is another one now; if not, the twin is the one that it was."""
        return any(told.learned or told.rediscovered is not None for told in self.targets.values())

    @property
    def suffices(self) -> bool:
        """Whether the inputs of every law still suffice, or were found again."""
        return all(not told.missing or told.rediscovered is not None for told in self.targets.values())

    def summary(self) -> str:
        """A line for each target, then what else there is to say."""
        return "\n".join([*(_line(target, told) for target, told in self.targets.items()), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        return {**to_record(self), "learned": self.learned, "suffices": self.suffices}


def _line(target: str, told: TargetLearned) -> str:
    said = {"changed": "the law changed", "holds": "the law held"}.get(
        told.law, "whether the law held cannot be told"
    )
    since = f" since row {told.since:,}" if told.since is not None else ""
    parts = [f"{said}{since}"]
    if told.rediscovered is not None:
        parts.append(f"it was fitted anew on {', '.join(told.rediscovered) or 'no input'}")
    elif told.learned:
        kept = f" and {told.old_share:.0%} of the old ones" if told.law == "changed" else ""
        parts.append(f"learned on with {told.rows:,} new rows{kept}")
    else:
        parts.append("it stays: what it learned was no better on rows kept apart")
    for name, change in (("new", told.on_new), ("old", told.on_old)):
        if change is not None and (told.learned or told.rediscovered is not None):
            parts.append(f"CRPS on {change.rows:,} {name} rows {change.before:.3g} -> {change.after:.3g}")
    if told.missing:
        parts.append(f"its inputs no longer suffice: it follows {' and '.join(told.missing)}")
    return f"{target}: {'; '.join(parts)}"
