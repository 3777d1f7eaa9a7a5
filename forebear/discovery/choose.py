"""Choose: rules that read what was found out about a target, and say which candidates are its ancestors.

A rule is a callable from a `Path` to the names of the candidates that it keeps. One that sets `needs_certificate` is
also given the `Certificate` of the target, and the stages that make it are run. Computing and deciding are apart: a
new rule costs no new stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from forebear.discovery.certificate import Certificate
from forebear.discovery.path import Path
from forebear.errors import InputError, near_miss


@runtime_checkable
class Rule(Protocol):
    """Chooses from what was found out about one target.

    With `needs_certificate = True` among its attributes it is called as rule(path, certificate), without as
    rule(path).
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[str]:
        """The candidates to keep: called with a `Path`, and a `Certificate` where that is needed."""
        ...


class Certified:
    """The rule "certified": the smallest set whose latents know nothing of the other candidates.

    `starts` are rules that read the path and say where the search for that set begins, beside the empty set.

    >>> from types import SimpleNamespace
    >>> Certified()(None, SimpleNamespace(kept=("a", "b")))
    ('a', 'b')
    """

    needs_certificate = True

    def __init__(self, starts: Sequence[Rule] | None = None):
        self.starts = (LargestJump(),) if starts is None else tuple(starts)

    def __call__(self, path: Path, certificate: Certificate) -> tuple[str, ...]:
        """The candidates of the certified set, in table order."""
        return certificate.kept


class LargestJump:
    """The published rule, "nsr-jump": the set just before the largest rise of the noise-to-signal ratio.

    The step to the empty set counts, so that a single candidate can be the answer. When no removal raises the ratio
    at all, nothing is needed and the answer is the empty set.

    >>> from types import SimpleNamespace
    >>> path = SimpleNamespace(increments=(0.01, 0.6, 0.1), remaining=lambda step: ("abc"[step:]))
    >>> LargestJump()(path)
    'bc'
    """

    def __call__(self, path: Path) -> tuple[str, ...]:
        """The candidates to keep, in table order."""
        jumps = path.increments
        step = int(np.argmax(jumps)) if jumps and max(jumps) > 0 else len(jumps)
        return path.remaining(step)


RULES: Mapping[str, Callable[[], Rule]] = {"certified": Certified, "nsr-jump": LargestJump}
"""the names that `discover(rule=…)` knows"""


def find_rule(rule: str | Rule) -> Rule:
    """A rule by its name, or the rule itself.

    >>> find_rule("nsr-jmp")
    Traceback (most recent call last):
    forebear.errors.InputError: unknown rule 'nsr-jmp'. Did you mean 'nsr-jump'?
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise InputError(f"unknown rule '{rule}'. {near_miss(rule, RULES)}")
        return RULES[rule]()
    if not callable(rule):
        raise InputError(f"rule must be a name or a callable from a path to names; got {rule!r}")
    return rule


def needs_certificate(rule: Rule) -> bool:
    """Whether a rule reads the certificate, so that one has to be made."""
    return bool(getattr(rule, "needs_certificate", False))


def choose(rule: Rule, path: Path, certificate: Certificate | None) -> tuple[str, ...]:
    """What the rule keeps, or an `InputError` if that is not among the candidates."""
    chosen = rule(path) if certificate is None else rule(path, certificate)
    strays = [candidate for candidate in chosen if candidate not in path.candidates]
    if strays:
        raise InputError(
            f"the rule chose '{strays[0]}', which is not among the candidates. "
            f"{near_miss(strays[0], path.candidates)}"
        )
    return tuple(chosen)
