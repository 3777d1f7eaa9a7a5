"""The verdict as a reader is told it: that of the certificate, unless something else speaks against it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from forebear.data.cells import p_text
from forebear.discovery.certificate import Certificate
from forebear.discovery.cost import SURE, Difference
from forebear.discovery.record import Discovery
from forebear.discovery.verdict import Verdict, contradicted
from forebear.errors import listed
from forebear.report.evidence import LawEvidence
from forebear.twin.validate import Scores

UNTESTED = "untested"
"""in the place of a verdict, under a rule that makes no certificate"""

# p-values below which rows that a twin has not seen contradict a certificate. Both tests see a twin that was trained
# too briefly as well, and a page may have many targets, so neither is as strict as the certificate itself.
_DEPENDS, _UNEVEN = 1e-3, 1e-4


def verdict_told(found: Discovery, target: str, evidence: LawEvidence | None = None) -> Verdict | None:
    """The verdict on what was found for a target, and its reasons; None where nothing was tested.

    `evidence` is how the law of the target does on rows that its twin has not seen.
    """
    certificate = found.certificate(target)
    if certificate is None:
        return None
    reasons: list[str] = []
    if evidence is not None and evidence.validation is not None:
        scores = evidence.validation.scores.get(target)
        rows = evidence.validation.rows
        reasons += [] if scores is None else against(scores, f"{rows:,} {evidence.judged_on}", rows)
    return contradicted(certificate.verdict, reasons)


def speaks_for(certificate: Certificate, found: Discovery, target: str) -> bool:
    """Whether the certificate is one of the set that was found."""
    return set(certificate.kept) == set(found.ancestors[target]) - set(found.questions[target].always)


def against(scores: Scores, rows: str, count: int = 0) -> list[str]:
    """What validation says against a set, in words; `rows` are those that it looked at, `count` how many.

    >>> good = Scores(0.5, (0.4, 0.6), 0.1, 0.1, {}, 0.02, 0.4, 0.3, 0.0, 1.0)
    >>> against(good, "80 rows set aside")
    []
    >>> from dataclasses import replace
    >>> against(replace(good, independence_p_value=1e-5), "80 rows set aside")[0]
    'on 80 rows set aside the latents still depend on the inputs (p < 0.0001): a law trained for longer may mend it'
    """
    reasons = []
    remedy = "a law trained for longer may mend it"
    if scores.independence_p_value is not None and scores.independence_p_value < _DEPENDS:
        p = p_text(scores.independence_p_value)
        reasons.append(f"on {rows} the latents still depend on the inputs ({p}): {remedy}")
    if scores.uniformity_p_value < _UNEVEN:
        reasons.append(f"{rows} do not lie evenly in their laws ({p_text(scores.uniformity_p_value)}): {remedy}")
    short = _too_few_inside(scores, count)
    if short is not None:
        reasons.append(f"only {scores.coverage[short]:.0%} of {rows} lie in their {short:.0%} intervals: {remedy}")
    if scores.worse_by is not None and scores.worse_interval is not None:
        lost = Difference(scores.worse_by, *scores.worse_interval)
        if lost.costs(SURE):
            reasons.append(
                f"on {rows} the law on all candidates is better, by {lost.difference:.2g} in CRPS "
                f"(95% interval {lost.low:.2g} to {lost.high:.2g})"
            )
    return reasons


# So many standard errors, and so large a share, below its level is more than chance, and more than anyone would pass
# over. Intervals that are a little too wide mislead nobody about what was found.
_SHORT, _SHORT_SHARE = 3.3, 0.03


def _too_few_inside(scores: Scores, count: int) -> float | None:
    """The level of a central interval that holds too few rows, if there is one.

    >>> told = Scores(0.5, (0.4, 0.6), 0.1, 0.1, {0.5: 0.49, 0.9: 0.83}, 0.02, 0.4, 0.3, 0.0, 1.0)
    >>> _too_few_inside(told, 600), _too_few_inside(told, 60)
    (0.9, None)
    """
    for level, share in scores.coverage.items():
        error = math.sqrt(level * (1 - level) / max(count, 1))
        if count and level - share > max(_SHORT * error, _SHORT_SHARE):
            return level
    return None


def share_text(share: float) -> str:
    """A share in per cent, with two digits.

    >>> share_text(0.01412), share_text(0.26), share_text(1.0), share_text(0.00003)
    ('1.4%', '26%', '100%', '0.003%')
    """
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.2g}%"


def limit_text(certificate: Certificate) -> str:
    """What all removed candidates together could still explain, and the p-value of their test.

    >>> limit_text(Certificate((), True, True, {}, None, {}, {}, 0.01))
    '-'
    """
    if certificate.jointly is None:
        return "-"
    p = p_text(certificate.jointly.p_value)
    return f"cannot be told ({p})" if certificate.limit >= 1 else f"at most {share_text(certificate.limit)} ({p})"


def sentence_of(reason: str) -> str:
    """A reason as a sentence of its own.

    >>> sentence_of("'a' is only just needed: more rows would tell")
    "'a' is only just needed: more rows would tell."
    """
    return f"{reason[:1].upper()}{reason[1:]}."


def with_stand_ins(names: Iterable[str], classes: Sequence[Sequence[str]]) -> list[str]:
    """Names, each followed by those that can stand in for it.

    >>> with_stand_ins(["load", "RH_1"], [("RH_1", "RH_6", "RH_9")])
    ['load', 'RH_1 (or RH_6, RH_9)']
    """
    instead = {name: others for name, *others in classes}
    return [f"{name} (or {', '.join(instead[name])})" if name in instead else name for name in names]


def other_sets(certificate: Certificate) -> list[tuple[str, ...]]:
    """Sets that would do as well, but for those that differ by a single stand-in, which is named beside its input."""
    swapped = {
        frozenset(certificate.kept) - {name} | {other} for name, *others in certificate.classes for other in others
    }
    return [kept for kept in certificate.alternatives if frozenset(kept) not in swapped] if certificate.passes else []


def rows_told(found: Discovery) -> str | None:
    """How rows were taken to hang together, where that was judged and is not the plain case.

    >>> rows_told(Discovery({}, (), (), (), {"rows": "ordered", "rows_why": "neighbours are alike"}, 0.0))
    'ordered, because neighbours are alike'
    >>> rows_told(Discovery({}, (), (), (), {"rows": "independent", "rows_why": ""}, 0.0)) is None
    True
    """
    settings = found.settings
    kind, why = str(settings.get("rows", "independent")), str(settings.get("rows_why", ""))
    drifting = [str(name) for name in settings.get("rows_drifting", ())]
    if not why and not drifting:
        return None
    verb = "follows" if len(drifting) == 1 else "follow"
    because = f", because {why}" if why else ""
    return kind + because + (f"; {listed(drifting)} {verb} the number of the row" if drifting else "")
