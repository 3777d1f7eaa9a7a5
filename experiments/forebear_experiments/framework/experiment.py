"""What a published experiment consists of, and what its repeats have to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebear.systems import System

JUMP, CERTIFIED = "nsr-jump", "certified"
RULES = {JUMP: "published rule", CERTIFIED: "certified rule"}

Rows = list[dict[str, Any]]


class Claim(NamedTuple):
    """A statement of the publication, or one of ours, beside what was measured."""

    claim: str
    published: str | float | None
    """None: not in the publication"""
    measured: str | float
    holds: bool
    why: str = ""
    """where it does not hold: what the data says instead"""


@dataclass(frozen=True)
class Part:
    """One discovery of an experiment: data, targets, settings."""

    make: Callable[..., System]
    """the data; takes `seed`"""
    quick: Callable[..., System] | None = None
    """less of it; None: a quick version goes without this part"""
    name: str = ""
    targets: tuple[str, ...] = ()
    """all of the system's by default"""
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """target -> the published ancestors"""
    joint: bool = False
    paper: Mapping[str, Any] = field(default_factory=dict)
    """published settings that differ from the preset "paper" """
    fast: Mapping[str, Any] = field(default_factory=dict)
    """settings that differ from the preset "fast" """
    runs: int | None = None
    """repeat it no more than so often"""


@dataclass(frozen=True)
class Experiment:
    """A published experiment: its parts, how often they are repeated, and what is claimed.

    One that discovers nothing has no parts; all its findings are measured, with one set of settings.
    """

    title: str
    parts: tuple[Part, ...]
    claims: Callable[[Findings], list[Claim]]
    runs: int
    repeats: str = "data, training and distillation are drawn anew in every run"
    measures: Mapping[str, Callable[..., Rows]] = field(default_factory=dict)
    """units of work beside the parts, made once and under the preset "fast": (seed, quick) -> rows"""
    resumes: bool = False
    """whether its measures take a third argument: a folder of their own, to go on from when they are interrupted"""
    figure: Callable[[Findings], Figure] | None = None
    """what was measured, drawn; parts have figures of their own"""
    decided: str = ""
    """what was decided where text and scripts of the publication differ, or say nothing"""


@dataclass(frozen=True)
class Findings:
    """What the repeats of an experiment found."""

    experiment: Experiment
    answers: Mapping[str, Sequence[Mapping[str, Any]]]
    """part -> the record of every run, see `forebear_experiments.framework.work`"""
    measured: Mapping[str, Rows]

    def chosen(self, part: str, target: str, rule: str) -> list[tuple[str, ...]]:
        """The set that a rule chose for a target in every run, kept inputs included."""
        return [tuple(record["targets"][target][rule]) for record in self.answers[part]]

    def removed(self, part: str, target: str) -> list[tuple[str, ...]]:
        """The order in which candidates went, in every run."""
        return [tuple(record["targets"][target]["removed"]) for record in self.answers[part]]

    def targets(self, part: str) -> list[str]:
        """The targets of a part."""
        return list(self.answers[part][0]["targets"])

    def truth(self, part: str, target: str) -> tuple[str, ...] | None:
        """The ancestors that the equations give; None where they are not known."""
        known = self.answers[part][0]["targets"][target]["truth"]
        return None if known is None else tuple(known)


def set_claims(findings: Findings, part: Part) -> list[Claim]:
    """For each target and rule: the right set in every run.

    The published rule is held against the published set. The certified one is held against the equations where they
    are known, which is the same set unless the experiment says otherwise.
    """
    claims = []
    for target in findings.targets(part.name) if part.name in findings.answers else ():
        published = part.published.get(target)
        for rule in RULES:
            wanted = published if rule == JUMP else findings.truth(part.name, target) or published
            if wanted is not None:
                claims.append(exact_claim(findings, part.name, target, rule, wanted, published))
    return claims


def exact_claim(
    findings: Findings, part: str, target: str, rule: str, wanted: Sequence[str], published: Sequence[str] | None
) -> Claim:
    """One set, one rule: right in every run."""
    chosen = findings.chosen(part, target, rule)
    right = sum(set(names) == set(wanted) for names in chosen)
    label = f"{part}: " if part else ""
    why = ""
    if rule == JUMP and right < len(chosen):
        last = [set(order[len(order) - len(set(wanted) & set(order)) :]) for order in findings.removed(part, target)]
        outlast = sum(names <= set(wanted) for names in last)
        why = f"the right inputs outlast the others in {outlast} of {len(chosen)} runs; the largest jump is elsewhere"
    elif right < len(chosen):
        why = _extra(findings, part, target, wanted)
    return Claim(
        f"{label}{target} ← {named(wanted)} ({RULES[rule]})",
        None if published is None else named(published),
        f"{right} of {len(chosen)}" if right == len(chosen) else f"{right} of {len(chosen)}: {tally(chosen)}",
        right == len(chosen),
        why,
    )


def _extra(findings: Findings, part: str, target: str, wanted: Sequence[str]) -> str:
    """What the certificate says of the inputs that it keeps beyond those wanted."""
    tested = [
        record["targets"][target]["certificate"][name]
        for record in findings.answers[part]
        for name in record["targets"][target][CERTIFIED]
        if name not in wanted
    ]
    if not tested:
        return "an input that is needed was not found"
    least, most = min(one["p_value"] for one in tested), max(one["shift"] for one in tested)
    return (
        f"what is kept beyond them has p-values from {least:.2g} and moves the law by at most {100 * most:.1f}% of "
        "the deviation, where 1% counts; it is chance, which the level of 0.05 a target allows, or carried by "
        "variables that are not in the table"
    )


def named(names: Sequence[str]) -> str:
    """A set as it is printed.

    >>> named(["x1", "x2"]), named([])
    ('x1, x2', 'none')
    """
    return ", ".join(names) or "none"


def tally(sets: Sequence[Sequence[str]]) -> str:
    """How often each set occurs, most frequent first.

    >>> tally([("a",), ("a",), ("a", "b")])
    '{a} 2, {a, b} 1'
    """
    counts = Counter(tuple(names) for names in sets)
    return ", ".join(f"{{{named(names)}}} {count}" for names, count in counts.most_common())
