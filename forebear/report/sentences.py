"""The answer for one target in a sentence that a person would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forebear.discovery.certificate import Certificate
from forebear.discovery.record import Discovery


class Name(NamedTuple):
    """A column or group inside a sentence, kept apart from our words so that a page can set it off."""

    text: str


Sentence = tuple[str | Name, ...]


def plain(sentence: Sentence) -> str:
    """The sentence as text.

    >>> plain((Name("y"), " depends on ", Name("a"), "."))
    'y depends on a.'
    """
    return "".join(part.text if isinstance(part, Name) else part for part in sentence)


def p_text(p_value: float) -> str:
    """A p-value as it is said: two digits, and no more zeros than anyone reads.

    >>> p_text(0.4142), p_text(0.0), p_text(0.99999)
    ('p = 0.41', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def answers(found: Discovery) -> dict[str, Sentence]:
    """For each target what shapes it, and what is known of everything else.

    >>> from forebear.data.question import Question
    >>> found = Discovery({"y": Question("y", ("a",), {"a": ("a",)}, ())}, ({},), ({"y": ("a",)},), ({},),
    ...                   {"rule": "nsr-jump"}, 0.0)
    >>> plain(answers(found)["y"])
    "y depends on a. The rule 'nsr-jump' makes no certificate: whether anything else is needed was not tested."
    """
    ancestors, shares = found.ancestors, found.frequencies
    known = {name for question in found.questions.values() for name in question.inputs} - set(found.targets)
    sentences = {}
    for target, question in found.questions.items():
        chosen = tuple(candidate for candidate in ancestors[target] if candidate not in question.always)
        everything = known <= set(question.inputs)
        sentences[target] = _answer(found, target, chosen, shares[target], everything)
    return sentences


def _answer(
    found: Discovery, target: str, chosen: Sequence[str], shares: Mapping[str, float], everything: bool
) -> Sentence:
    certificate = found.certificate(target)
    start = (Name(target), *_depends(found, target, chosen, shares))
    if certificate is None:
        rule = found.settings["rule"]
        return (*start, f". The rule '{rule}' makes no certificate: whether anything else is needed was not tested.")
    if set(certificate.kept) != set(chosen):
        return (*start, ". The runs disagree; the evidence shown is of the first, which chose ", *_set(certificate))
    return (*start, *_rest(certificate, everything), *_others(certificate))


def _set(certificate: Certificate) -> Sentence:
    return (*(_joined(certificate.kept) if certificate.kept else ("nothing",)), ".")


def _depends(found: Discovery, target: str, chosen: Sequence[str], shares: Mapping[str, float]) -> Sentence:
    keep, runs = found.questions[target].always, len(found.runs)
    often = {u: "" if shares[u] == 1 else f" ({round(shares[u] * runs)} of {runs} runs)" for u in chosen}
    beside: Sentence = (", beside ", *_joined(keep), " (kept by request)") if keep else ()
    if not chosen:
        return (" depends on none of the candidates", *beside)
    return (" depends on ", *_joined(chosen, list(often.values())), *beside)


def _rest(certificate: Certificate, everything: bool) -> Sentence:
    """What is known of the candidates that were removed; `everything`: all inputs of the table were offered."""
    together = certificate.jointly
    if together is None:
        return (", which is all that was offered.",)
    p = p_text(together.p_value)
    if not certificate.passes:
        story = "they are not" if len(certificate.kept) > 1 else "that is not"
        return (
            f", but {story} the whole story: ",
            *_joined(together.candidates),
            " still shows in its law, ",
            p,
            ".",
        )
    if not certificate.kept:
        nothing = "; its law is the same whatever they are"
    else:
        nothing = "; nothing else in the table is needed" if everything else "; no other candidate is needed"
    if certificate.negligible:
        verb = "shows" if len(certificate.negligible) == 1 else "show"
        return (nothing, ". ", *_joined(certificate.negligible), f" {verb} too, but too weakly to count.")
    if together.p_value < certificate.level:
        return (nothing, f": what the rest still shows is too weak to count, {p}.")
    return (nothing, f", {p}.")


def _others(certificate: Certificate) -> Sentence:
    sets = list(certificate.alternatives)
    if not sets or not certificate.passes:
        return ()
    if len(sets) == 1:
        return (" So would ", *_joined(sets[0]), " do.")
    return (f" {len(sets)} other sets would do as well.",)


def _joined(names: Sequence[str], after: Sequence[str] | None = None) -> Sentence:
    """a, b and c, each followed by a remark."""
    parts: list[str | Name] = []
    for place, name in enumerate(names):
        if place:
            parts.append(" and " if place == len(names) - 1 else ", ")
        parts.append(Name(name))
        if after is not None and after[place]:
            parts.append(after[place])
    return tuple(parts)
