"""The answer for one target in a sentence that a person would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forebear.data.cells import p_text
from forebear.discovery.certificate import Certificate
from forebear.discovery.record import Discovery
from forebear.discovery.verdict import CANNOT_TELL, CERTIFIED, MISSING, Verdict
from forebear.report.evidence import LawEvidence
from forebear.report.verdicts import other_sets, share_text, speaks_for, verdict_told


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


def answers(found: Discovery, evidence: LawEvidence | None = None) -> dict[str, Sentence]:
    """For each target what shapes it, and what is known of everything else.

    `evidence` may speak against a certificate, see `forebear.report.verdicts`.

    >>> from forebear.data.question import Question
    >>> found = Discovery({"y": Question("y", ("a",), {"a": ("a",)}, ())}, ({},), ({"y": ("a",)},), ({},),
    ...                   {"rule": "nsr-jump"}, 0.0)
    >>> plain(answers(found)["y"])
    "y depends on a. The rule 'nsr-jump' makes no certificate: whether anything else is needed was not tested."
    """
    known = {name for question in found.questions.values() for name in question.inputs} - set(found.targets)
    sentences = {}
    for target, question in found.questions.items():
        everything = known <= set(question.inputs)
        sentences[target] = _answer(found, target, verdict_told(found, target, evidence), everything)
    return sentences


def _answer(found: Discovery, target: str, verdict: Verdict | None, everything: bool) -> Sentence:
    certificate = found.certificate(target)
    if certificate is None or verdict is None:
        rule = found.settings["rule"]
        untold = f". The rule '{rule}' makes no certificate: whether anything else is needed was not tested."
        return (Name(target), *_depends(found, target, ()), untold)
    if not speaks_for(certificate, found, target):
        start = (Name(target), *_depends(found, target, ()))
        return (*start, ". The runs disagree; the evidence shown is of the first, which chose ", *_set(certificate))
    start = (Name(target), *_depends(found, target, certificate.classes))
    after = [part for part in (_weak(certificate), _others(certificate)) if part]
    rest = _rest(certificate, verdict.word, everything)
    return (*start, *rest, *(piece for part in after for piece in (" ", *part)))


def because(found: Discovery, target: str, evidence: LawEvidence | None = None) -> list[Sentence]:
    """What stands behind a verdict, beside its reasons: all other inputs, rows not seen, and the cost of pruning."""
    certificate, verdict = found.certificate(target), verdict_told(found, target, evidence)
    if certificate is None or verdict is None:
        rule = found.settings["rule"]
        return [(f"The rule '{rule}' makes no certificate: whether anything else is needed was not tested.",)]
    known = {name for question in found.questions.values() for name in question.inputs} - set(found.targets)
    told: list[Sentence] = []
    if not speaks_for(certificate, found, target):
        told.append(("The runs disagree; the evidence shown is of the first, which chose ", *_set(certificate)))
    elif verdict.word == CERTIFIED:
        told.append(_all_else(certificate, known <= set(found.questions[target].inputs)))
    told += [*_unlike(found, target), *(part for part in (_weak(certificate), _others(certificate)) if part)]
    stand_ins = [*certificate.classes] if verdict.word == CERTIFIED else []
    told += [
        ("In the place of ", Name(name), ", ", *joined(others, " or "), " would do as well.")
        for name, *others in stand_ins
    ]
    return [*told, *([] if verdict.word != CERTIFIED else _borne_out(target, evidence))]


def _unlike(found: Discovery, target: str) -> list[Sentence]:
    """Inputs that some runs chose only, and those that are there by request."""
    shares, keep, runs = found.frequencies[target], found.questions[target].always, len(found.runs)
    some = [name for name in found.ancestors[target] if name not in keep and shares[name] < 1]
    told: list[Sentence] = [(Name(u), f" was chosen in {round(shares[u] * runs)} of {runs} runs.") for u in some]
    verb = "is" if len(keep) == 1 else "are"
    return [*told, *([(*joined(keep), f" {verb} there by request.")] if keep else [])]


def _borne_out(target: str, evidence: LawEvidence | None) -> list[Sentence]:
    """What rows that the law has not seen say for it."""
    checks = None if evidence is None else evidence.validation
    if evidence is None or checks is None or target not in checks.scores:
        return []
    scores = checks.scores[target]
    told: list[Sentence] = []
    if 0.9 in scores.coverage:
        told.append(
            (f"Of {checks.rows:,} {evidence.judged_on}, {scores.coverage[0.9]:.0%} lie in their 90% intervals.",)
        )
    if scores.worse_interval is not None and scores.crps > 0:
        most = max(scores.worse_interval[1], 0.0) / scores.crps
        cost = "nothing that shows" if most == 0 else f"at most {share_text(most)} of the accuracy"
        told.append((f"Leaving the other inputs out costs {cost} there (CRPS).",))
    return told


def shaped_by(found: Discovery, target: str) -> Sentence:
    """Which inputs a target depends on, and nothing else."""
    return (Name(target), *_depends(found, target, ()), ".")


def _all_else(certificate: Certificate, everything: bool) -> Sentence:
    """That no other input is needed, and how much of one could have been missed."""
    if certificate.jointly is None:
        return ("All that was offered is needed.",)
    most = f"could still explain at most {share_text(certificate.limit)} of what is left open (95% limit)."
    if not certificate.kept:
        return (f"None of the inputs is needed: together they {most}",)
    return (f"{'Nothing else in the table' if everything else 'No other candidate'} is needed: all else {most}",)


def _set(certificate: Certificate) -> Sentence:
    return (*(joined(certificate.kept) if certificate.kept else ("nothing",)), ".")


def _depends(found: Discovery, target: str, classes: Sequence[Sequence[str]]) -> Sentence:
    shares, keep, runs = found.frequencies[target], found.questions[target].always, len(found.runs)
    chosen = [candidate for candidate in found.ancestors[target] if candidate not in keep]
    instead = {name: others for name, *others in classes}
    after = {
        name: (
            *((" (or ", *joined(instead[name], " or "), ")") if name in instead else ()),
            *(() if shares[name] == 1 else (f" ({round(shares[name] * runs)} of {runs} runs)",)),
        )
        for name in chosen
    }
    beside: Sentence = (", beside ", *joined(keep), " (kept by request)") if keep else ()
    if not chosen:
        certificate = found.certificate(target)
        open_still = certificate is not None and certificate.verdict.word == CANNOT_TELL
        told = "showed no dependence on any" if open_still else "depends on none"
        return (f" {told} of the candidates", *beside)
    return (" depends on ", *joined(chosen, after=after), *beside)


def _rest(certificate: Certificate, verdict: str, everything: bool) -> Sentence:
    """What may be said of the candidates that were removed; `everything`: all inputs of the table were offered."""
    together = certificate.jointly
    if verdict == MISSING:
        story = "they are not" if len(certificate.kept) > 1 else "that is not"
        if together is None or not together.candidates:
            return (f", but {story} the whole story.",)
        verb = "shows" if len(together.candidates) == 1 else "show"
        still = f" still {verb} in its law, {p_text(together.p_value)}."
        return (f", but {story} the whole story: ", *joined(together.candidates), still)
    if verdict == CANNOT_TELL:
        return (", as far as these rows can tell.",)
    if together is None:
        return (", which is all that was offered.",)
    limit = share_text(certificate.limit)
    if not certificate.kept:
        most = f"what any of them could still explain is at most {limit} of it (95% limit)."
        return (f"; its law is the same whatever they are: {most}",)
    nothing = "nothing else in the table" if everything else "no other candidate"
    most = f"what any other input could still explain is at most {limit} of what is left open (95% limit)."
    return (f"; {nothing} is needed: {most}",)


def _weak(certificate: Certificate) -> Sentence:
    if not certificate.negligible or not certificate.passes:
        return ()
    verb = "shows" if len(certificate.negligible) == 1 else "show"
    return (*joined(certificate.negligible), f" {verb} too, but too weakly to count.")


def _others(certificate: Certificate) -> Sentence:
    sets = other_sets(certificate)
    if not sets:
        return ()
    if len(sets) == 1:
        return ("So would ", *(joined(sets[0]) if sets[0] else ("no input at all",)), " do.")
    return (f"{len(sets)} other sets would do as well.",)


def joined(names: Sequence[str], last: str = " and ", after: Mapping[str, Sentence] | None = None) -> Sentence:
    """a, b and c, each followed by a remark."""
    parts: list[str | Name] = []
    for place, name in enumerate(names):
        if place:
            parts.append(last if place == len(names) - 1 else ", ")
        parts += [Name(name), *(() if after is None else after[name])]
    return tuple(parts)
