"""What a discovery found, as a plain record: no figures, no twins, no files beside its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from forebear.data.checked import TableUse
from forebear.data.question import Question
from forebear.discovery.certificate import Certificate
from forebear.discovery.path import Path
from forebear.discovery.verdict import contradicted
from forebear.errors import InputError, listed, near_miss
from forebear.kernel.settings import ENERGY
from forebear.storage.files import read_json, write_json
from forebear.storage.folder import RESULT
from forebear.storage.records import RecordError, from_record, to_record

FORMAT = 2
"""of a saved record; a newer one is refused"""
RECORD_FILE = RESULT


@dataclass(frozen=True)
class Discovery:
    """Which inputs shape the law of each target, and how that was found.

    Candidates are columns, or groups under their names. Kept inputs count as ancestors: the law is conditioned on
    them.
    """

    questions: Mapping[str, Question]
    """by target"""
    runs: tuple[Mapping[str, Path], ...]
    """the pruning path of every target, for each run"""
    choices: tuple[Mapping[str, tuple[str, ...]], ...]
    """the candidates chosen for every target, for each run"""
    certified: tuple[Mapping[str, Certificate], ...]
    """the certificate of every target, for each run; empty mappings under another rule"""
    settings: Mapping[str, Any]
    seconds: float
    notes: tuple[str, ...] = ()
    """what went otherwise than asked: a training that diverged and was repeated, a nugget that was raised"""
    use: TableUse | None = None
    """what was done to columns and cells of the table; None in records of versions before 0.4"""
    agreed: Mapping[str, Certificate] = field(default_factory=dict)
    """with several runs: the certificate, on all rows, of the set that more than half of them chose"""

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets, in the order they were asked for."""
        return tuple(self.questions)

    @property
    def frequencies(self) -> dict[str, dict[str, float]]:
        """For each target the share of runs that chose each candidate."""
        return {
            target: {
                candidate: sum(candidate in choice[target] for choice in self.choices) / len(self.choices)
                for candidate in question.candidates
            }
            for target, question in self.questions.items()
        }

    @property
    def ancestors(self) -> dict[str, tuple[str, ...]]:
        """For each target the candidates that more than half of the runs chose, and the kept inputs, in table
        order."""
        found = {}
        for target, shares in self.frequencies.items():
            chosen = {candidate for candidate, share in shares.items() if share > 0.5} | set(
                self.questions[target].always
            )
            found[target] = tuple(candidate for candidate in self.order(target) if candidate in chosen)
        return found

    def agreed_sets(self) -> dict[str, frozenset[str]]:
        """For each target the candidates among its ancestors, without what is always kept."""
        return {t: frozenset(names) - set(self.questions[t].always) for t, names in self.ancestors.items()}

    def order(self, target: str) -> tuple[str, ...]:
        """Kept inputs and candidates of a target in table order, a group where its first column stands.

        >>> question = Question("y", ("a", "b", "c"), {"pair": ("a", "c")}, ("b",))
        >>> Discovery({"y": question}, ({},), ({"y": ()},), ({},), {}, 0.0).order("y")
        ('pair', 'b')
        """
        question = self.questions[target]
        candidate_of = {column: candidate for candidate, columns in question.candidates.items() for column in columns}
        return tuple(dict.fromkeys(candidate_of.get(column, column) for column in question.inputs))

    def inputs(self) -> tuple[str, ...]:
        """Kept inputs and candidates of all targets, each once."""
        return tuple(dict.fromkeys(candidate for target in self.questions for candidate in self.order(target)))

    def columns(self, target: str) -> tuple[str, ...]:
        """The ancestors of a target with groups written out, in table order."""
        question = self.questions[target]
        chosen = {
            name for candidate in self.ancestors[target] for name in question.candidates.get(candidate, (candidate,))
        }
        return tuple(name for name in question.inputs if name in chosen)

    def union(self, targets: Iterable[str] | None = None) -> tuple[str, ...]:
        """The ancestors of several targets together (of all by default)."""
        chosen = list(self.questions) if targets is None else list(targets)
        for target in chosen:
            self.check_target(target)
        everything = {candidate for target in chosen for candidate in self.ancestors[target]}
        ordered = [candidate for target in chosen for candidate in self.order(target)]
        return tuple(dict.fromkeys(candidate for candidate in ordered if candidate in everything))

    @property
    def scored_by(self) -> str:
        """What the scores of paths are, "energy" or "variation"; runs of earlier versions know energies alone."""
        return self.settings.get("scores", ENERGY)

    def first_scores(self, target: str) -> dict[str, float]:
        """The score of every candidate of a target while all are there, in the first run."""
        path = self.runs[0][target]
        return {candidate: float(score) for candidate, score in zip(path.candidates, path.scores[0], strict=True)}

    def certificate(self, target: str) -> Certificate | None:
        """The certificate of a target, with several runs that of the set that most of them chose; None under a rule
        that makes none.

        Outputs of a joint law have no such certificate: theirs is that of the first run that chose the set or, where
        none did, of the first run, which certifies nothing of the set that is agreed on.
        """
        if target in self.agreed:
            return self.agreed[target]
        made = [run[target] for run in self.certified if target in run]
        if len(made) < 2:
            return made[0] if made else None
        fitting = [one for one in made if set(one.kept) == self.agreed_sets()[target]]
        if fitting:
            return fitting[0]
        chosen = listed(made[0].kept) or "nothing"
        reason = f"the runs disagree, and the certificate is that of the first, which chose {chosen}"
        return replace(made[0], verdict=contradicted(made[0].verdict, [reason]))

    def certificates(self) -> Mapping[str, Certificate]:
        """Of every target, or an `InputError` under a rule that makes none."""
        if not self.certified[0]:
            raise InputError(f"rule '{self.settings['rule']}' makes no certificates: discover with rule='certified'")
        return {target: one for target in self.targets if (one := self.certificate(target)) is not None}

    def check_target(self, target: str) -> None:
        """Refuse what is not a target, with the near miss named."""
        if target not in self.questions:
            raise InputError(f"'{target}' is not a target of this result. {near_miss(target, self.questions)}")


def save_discovery(record: Discovery, folder: FilePath) -> None:
    """Write the record to a folder, whole or not at all."""
    write_json(folder / RECORD_FILE, {"format": FORMAT, **to_record(record)})


def saved_before(record: Discovery, folder: FilePath) -> Discovery | None:
    """What a folder holds already, if it is this record but for the time that it took: a run that was finished."""
    if not (folder / RECORD_FILE).is_file():
        return None
    before = load_discovery(folder)
    one, other = (json.dumps(to_record(replace(each, seconds=0.0))) for each in (before, record))
    return before if one == other else None


def load_discovery(folder: FilePath) -> Discovery:
    """What `save_discovery` wrote, or an `InputError` that says what to do.

    >>> load_discovery(FilePath("no/such/run"))
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/run: there is no finished run in this folder (found.json is missing)
    """
    file = folder / RECORD_FILE
    if not file.is_file():
        raise InputError(f"{folder}: there is no finished run in this folder ({RECORD_FILE} is missing)")
    record = read_json(file)
    try:
        if record["format"] > FORMAT:
            raise InputError(f"{file}: written by a newer forebear (format {record['format']}): update this one")
        plain = from_format_1(record) if record["format"] == 1 else record
        found = from_record(Discovery, {name: value for name, value in plain.items() if name != "format"})
        _check_whole(found)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, RecordError, ValueError):
        raise InputError(
            f"{file}: this is not a forebear result, or it is damaged: run the discovery again"
        ) from None
    return found


def from_format_1(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of format 1 (before 2026-11-18) in today's layout."""

    def question(old: Mapping[str, Any]) -> dict[str, Any]:
        return _renamed(old, {"units": "candidates", "keep": "always"})

    def path(old: Mapping[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in old.items() if not name.endswith("lengthscale")}
        scales = {"inputs": old["lengthscale"], "latents": old["latent_lengthscale"]}
        return {**_renamed(rest, {"units": "candidates"}), "lengthscales": scales}

    def result(old: Mapping[str, Any]) -> dict[str, Any]:
        return _renamed(old, {"units": "candidates"})

    def results(old: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {name: result(one) for name, one in old.items()}

    def certificate(old: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **_renamed(old, {"verdicts": "tests"}),
            "tests": results(old["verdicts"]),
            "jointly": None if old["jointly"] is None else result(old["jointly"]),
            "alternatives": [[other["kept"], results(other["verdicts"])] for other in old["alternatives"]],
        }

    return {
        **record,
        "questions": {old["target"]: question(old) for old in record["questions"]},
        "runs": [{target: path(old) for target, old in run.items()} for run in record["runs"]],
        "certified": [{target: certificate(old) for target, old in run.items()} for run in record["certified"]],
    }


def _renamed(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}


def _check_whole(found: Discovery) -> None:
    """Every run has an answer for every target, or a ValueError."""
    runs = (found.runs, found.choices, found.certified)
    if not found.questions or not found.runs or len({len(of) for of in runs}) > 1:
        raise ValueError("no targets, or no runs")
    targets = set(found.questions)
    if not all(set(run) == targets for run in (*found.runs, *found.choices)):
        raise ValueError("a target without an answer")
    if not all(set(run) in (set(), targets) for run in found.certified):
        raise ValueError("certificates of other targets")
    for target, question in found.questions.items():
        named = {name for names in question.candidates.values() for name in names} | set(question.always)
        if question.target != target or named != set(question.inputs):
            raise ValueError("candidates that are not the inputs")
        for run in found.runs:
            if set(run[target].candidates) != set(question.candidates):
                raise ValueError("a path of other candidates")
