"""Everything a report shows, as plain numbers and strings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forebear.data.checked import USE_HEAD, cells_of_use
from forebear.data.table import Table
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.dependence import TestResult
from forebear.discovery.record import Discovery
from forebear.report.evidence import LawEvidence
from forebear.report.points import data_points
from forebear.report.provenance import provenance, source_file
from forebear.report.sentences import Name, Sentence, answers, because, shaped_by
from forebear.report.told import Told, headline, told, told_by_shares
from forebear.report.verdicts import UNTESTED, rows_told, sentence_of, verdict_told
from forebear.report.weights import joint_numbers, twin_numbers
from forebear.twin.validate import Scores, Validation

_BINS = 20
_CURVE = 51
# Scores of every step are listed for so many candidates at most; beyond, those of the first step are.
_MOST_SCORED = 24
_MOST_RUNS = 50


def contents(found: Discovery, table: Table | None, evidence: LawEvidence | None) -> dict[str, Any]:
    """The document inside the page; `json.dumps` takes it as it is."""
    ancestors, frequencies, sentences = found.ancestors, found.frequencies, answers(found, evidence)
    return {
        "inputs": list(found.inputs()),
        "targets": [
            {
                "name": target,
                "sentence": _parts(sentences[target]),
                "because": [_parts(part) for part in because(found, target, evidence)],
                **_told(found, target, evidence),
                **_target(found, target, ancestors[target], frequencies[target], evidence),
            }
            for target in found.targets
        ],
        "runs": len(found.runs),
        "rows": None if table is None else table.rows,
        "structure": _structure(found),
        "source": source_file(table),
        "judged": None if evidence is None or evidence.validation is None else _judged(evidence),
        "twin": None if evidence is None else twin_numbers(evidence.twin, _observed(found, table)),
        "joint": None if evidence is None or evidence.joint is None else joint_numbers(evidence.joint),
        "points": None if evidence is None or table is None else data_points(evidence.twin, table),
        "hasTable": table is not None,
        "columns": _columns(found),
        "about": provenance(found, table),
    }


# Beyond so many targets nobody reads a sentence about each, and effects are told from the certificates alone.
_MOST_TOLD = 48


def _told(found: Discovery, target: str, evidence: LawEvidence | None) -> dict[str, Any]:
    """What each input does to the law, in words: the first sentence of the page, and one for each fan chart."""
    certificate = found.certificate(target)
    if evidence is None or len(found.targets) > _MOST_TOLD:
        words = () if certificate is None else told_by_shares(target, certificate.actions)
        return {"headline": _parts(words or shaped_by(found, target)), "acts": []}
    acts = told(evidence.twin, target)
    words = headline(target, acts) or shaped_by(found, target)
    return {"headline": _parts(words), "acts": [_act(target, one) for one in acts]}


def _act(target: str, one: Told) -> dict[str, Any]:
    return {"input": one.input, "side": one.side, "sentence": [*_parts(one.sentence(target)), "."]}


def _structure(found: Discovery) -> dict[str, Any]:
    """How rows were taken to hang together, and why where that is worth a line at the top."""
    return {"kind": str(found.settings.get("rows", "independent")), "told": rows_told(found)}


def _columns(found: Discovery) -> dict[str, Any] | None:
    """What became of every column of the table."""
    if found.use is None:
        return None
    return {
        "head": list(USE_HEAD),
        "rows": [list(cells_of_use(use)) for use in found.use.columns],
        "told": found.use.told(),
    }


def _observed(found: Discovery, table: Table | None) -> dict[str, np.ndarray]:
    if table is None:
        return {}
    return {target: table.columns[target].present for target in found.targets}


def _target(
    found: Discovery, target: str, ancestors: Sequence[str], shares: Mapping[str, float], evidence: LawEvidence | None
) -> dict[str, Any]:
    certificate = found.certificate(target)
    keep = found.questions[target].always
    validation = None if evidence is None else evidence.validation
    student = None if evidence is None or evidence.twin.distillation is None else evidence.twin.distillation[target]
    verdict = verdict_told(found, target, evidence)
    return {
        "state": UNTESTED if verdict is None else verdict.word,
        "why": [] if verdict is None else [sentence_of(reason) for reason in verdict.reasons],
        "ancestors": [{"name": u, "kept": u in keep, "frequency": shares.get(u, 1.0)} for u in ancestors],
        "groups": {u: list(c) for u, c in found.questions[target].candidates.items() if c != (u,)},
        "frequencies": {candidate: _short(share) for candidate, share in shares.items()}
        if len(found.runs) > 1
        else None,
        "path": _path(found, target),
        "certificate": None if certificate is None else _certificate(certificate),
        "classes": [] if certificate is None else [list(names) for names in certificate.classes],
        "cost": None if certificate is None else _cost(certificate),
        "effects": [] if certificate is None else _actions(certificate.actions),
        "alternatives": [] if certificate is None else _alternatives(certificate),
        "calibration": None if validation is None else _calibration(validation, target),
        "student": None if student is None else _short(student["w1"]),
    }


def _parts(sentence: Sentence) -> list[str | dict[str, str]]:
    return [{"name": part.text} if isinstance(part, Name) else part for part in sentence]


def _path(found: Discovery, target: str) -> dict[str, Any]:
    path, chosen = found.runs[0][target], found.choices[0][target]
    scores = path.scores if len(path.candidates) <= _MOST_SCORED else path.scores[:1]
    return {
        "units": list(path.candidates),
        "removed": list(path.removed),
        "nsr": [_short(v) for v in path.nsr],
        "scores": [[_short(v) for v in row] for row in scores.tolist()],
        "scored": found.scored_by,
        "chosen": list(chosen),
        "enough": [set(path.remaining(step)) >= set(chosen) for step in range(len(path.nsr))],
        "others": [[_short(v) for v in run[target].nsr] for run in found.runs[1:_MOST_RUNS]],
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "rows": [_verdict(u, u in certificate.kept, v, certificate) for u, v in certificate.tests.items()],
        "jointly": None if certificate.jointly is None else _verdict("", False, certificate.jointly, certificate),
        "passes": certificate.passes,
        "agrees": certificate.agrees,
        "level": certificate.level,
        "negligible": list(certificate.negligible),
        "margin": certificate.margin,
        "tested": certificate.rows,
        "fresh": certificate.fresh,
        "halves": [list(chosen) for chosen in certificate.halves],
    }


def _verdict(candidate: str, kept: bool, verdict: TestResult, certificate: Certificate) -> dict[str, Any]:
    return {
        "unit": candidate,
        "kept": kept,
        "p": _short(verdict.p_value),
        "effect": _short(verdict.effect),
        "limit": _short(verdict.limit),
        "limitUnits": _short(math.sqrt(verdict.limit) * certificate.open_share * certificate.deviation),
        "detectable": _short(verdict.detectable),
        "shift": _short(verdict.shift),
        "statistic": _short(verdict.statistic),
        "moves": ("location", "scale", "shape")[min(verdict.order, 3) - 1],
    }


def _cost(certificate: Certificate) -> dict[str, Any] | None:
    """Held-out scores of the pruned law against the full one, and of laws on fewer and fewer inputs."""
    cost = certificate.cost
    if cost is None:
        return None
    frame = certificate.cost_frame()
    return {
        "scores": [
            {"score": str(name), **{str(what): _short(value) for what, value in row.items()}}
            for name, row in frame.to_dict("index").items()
        ],
        "curve": [
            {"kept": list(point.kept), "loss": _short(point.log_loss), "share": _short(point.share)}
            for point in cost.curve
        ],
        "enough": _enough(certificate),
    }


# What counts as nearly all that the chosen inputs bring.
_NEARLY_ALL = 0.99


def _enough(certificate: Certificate) -> dict[str, Any] | None:
    """The fewest inputs that bring nearly all, where these are fewer than were chosen."""
    points = () if certificate.cost is None else certificate.cost.curve
    fewer = [p for p in points if p.share >= _NEARLY_ALL and p.kept and len(p.kept) < len(certificate.kept)]
    if not fewer:
        return None
    fewest = min(fewer, key=lambda point: len(point.kept))
    return {"kept": list(fewest.kept), "share": _short(fewest.share)}


def _actions(actions: Mapping[str, Action]) -> list[dict[str, Any]]:
    return [{"unit": u, **{k: _short(v) for k, v in action._asdict().items()}} for u, action in actions.items()]


def _alternatives(certificate: Certificate) -> list[dict[str, Any]]:
    """Each set, with the least p-value among what it leaves out: the closest it comes to being rejected."""
    found = []
    for kept, verdicts in certificate.alternatives.items():
        out = {candidate: verdict.p_value for candidate, verdict in verdicts.items() if candidate not in kept}
        closest = min(out, key=lambda candidate: out[candidate], default=None)
        found.append({"kept": list(kept), "closest": closest, "p": None if closest is None else _short(out[closest])})
    return found


def _judged(evidence: LawEvidence) -> dict[str, Any]:
    assert evidence.validation is not None
    return {"rows": evidence.validation.rows, "what": evidence.judged_on}


def _calibration(validation: Validation, target: str) -> dict[str, Any]:
    scores: Scores = validation.scores[target]
    pit = validation.pit[:, list(validation.scores).index(target)]
    levels = np.linspace(0, 1, _CURVE)
    inside = np.searchsorted(np.sort(np.abs(2 * pit - 1)), levels, side="right") / len(pit)
    return {
        "rows": len(pit),
        "pit": np.histogram(pit, _BINS, (0, 1))[0].tolist(),
        "curve": [_short(v) for v in inside],
        "coverage": [[level, _short(share)] for level, share in scores.coverage.items()],
        "crps": _short(scores.crps),
        "crpsInterval": [_short(v) for v in scores.crps_interval],
        "std": _short(scores.std),
        "uniformity": _short(scores.uniformity),
        "uniformityP": _short(scores.uniformity_p_value),
        "independenceP": None if scores.independence_p_value is None else _short(scores.independence_p_value),
        "worse": None if scores.worse_by is None else _short(scores.worse_by),
        "worseInterval": None if scores.worse_interval is None else [_short(v) for v in scores.worse_interval],
    }


def _short(value: float) -> float | None:
    """Five digits: more than is shown, and a page of 200 targets stays small."""
    return None if not math.isfinite(value) else float(f"{value:.5g}")
