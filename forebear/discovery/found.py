"""The result of a discovery."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import networkx as nx
import pandas as pd

from forebear.data.question import Question
from forebear.data.stored import load_table, save_table
from forebear.data.table import Table, open_frame, read_columns
from forebear.discovery.certificate import Certificate
from forebear.discovery.path import Path
from forebear.errors import InputError, near_miss
from forebear.flow.sampler import Sampler
from forebear.run.progress import progress as show_progress
from forebear.storage.files import read_json, write_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebear.twin.twin import Twin

FORMAT = 1
"""of a saved result; a newer one is refused"""


@dataclass(frozen=True)
class Found:
    """Which inputs shape the law of each target, and how that was found.

    Kept inputs count as ancestors: the law is conditioned on them. Groups appear under their names.
    """

    questions: Mapping[str, Question]
    """by target"""
    runs: tuple[Mapping[str, Path], ...]
    """the pruning path of every target, for each run"""
    choices: tuple[Mapping[str, tuple[str, ...]], ...]
    """the units chosen for every target, for each run"""
    certified: tuple[Mapping[str, Certificate], ...]
    """the certificate of every target, for each run; empty mappings under another rule"""
    settings: Mapping[str, Any]
    seconds: float
    table: Table | None = field(default=None, repr=False, compare=False)
    """the columns that were used; None for a result that was saved without them"""
    notes: tuple[str, ...] = ()
    """what went otherwise than asked: a training that diverged and was repeated, a nugget that was raised"""
    sampler: Sampler | None = field(default=None, repr=False, compare=False)
    """the user's own, for the twin; not saved"""

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets, in the order they were asked for."""
        return tuple(self.questions)

    @property
    def ancestors(self) -> dict[str, tuple[str, ...]]:
        """For each target the units that more than half of the runs chose, kept inputs included."""
        return {target: self._with_kept(target, self._agreed(target)) for target in self.questions}

    @property
    def frequencies(self) -> dict[str, dict[str, float]]:
        """For each target the share of runs that chose each unit."""
        return {
            target: {
                unit: sum(unit in choice[target] for choice in self.choices) / len(self.choices)
                for unit in question.units
            }
            for target, question in self.questions.items()
        }

    @property
    def paths(self) -> dict[str, pd.DataFrame]:
        """For each target the pruning path of the first run: step, removed, nsr, increment, remaining, scores."""
        return {target: path.frame() for target, path in self.runs[0].items()}

    @property
    def certificates(self) -> dict[str, pd.DataFrame]:
        """For each target one row a candidate: kept, p_value, effect, shift, statistic, moves; of the first run.

        For a removed candidate the p-value and effect tell whether the latents still depend on it, given the
        chosen set; for a kept one whether they do when it alone is taken out.
        """
        return {target: certificate.frame() for target, certificate in self._certified().items()}

    @property
    def effects(self) -> dict[str, pd.DataFrame]:
        """For each target one row an ancestor: shares of its action on location, scale and shape of the law."""
        return {target: certificate.actions_frame() for target, certificate in self._certified().items()}

    @property
    def alternatives(self) -> dict[str, dict[tuple[str, ...], pd.DataFrame]]:
        """For each target other sets, no larger, that pass the test as well, each with its own certificate."""
        return {target: certificate.alternative_frames() for target, certificate in self._certified().items()}

    def _certified(self) -> Mapping[str, Certificate]:
        if not self.certified[0]:
            raise InputError(f"rule '{self.settings['rule']}' makes no certificates: discover with rule='certified'")
        return self.certified[0]

    def union(self, targets: Iterable[str] | None = None) -> tuple[str, ...]:
        """The ancestors of several outputs together (of all targets by default)."""
        chosen = list(self.questions) if targets is None else list(targets)
        for target in chosen:
            self._check_target(target)
        everything = {unit for target in chosen for unit in self.ancestors[target]}
        ordered = [unit for target in chosen for unit in self._places(target)]
        return tuple(dict.fromkeys(unit for unit in ordered if unit in everything))

    @property
    def graph(self) -> nx.DiGraph:
        """An edge from every ancestor to its target, with attributes score, p_value, effect, frequency and kept.

        The score is the share of the signal that runs through the unit when every candidate is present, in the
        first run; it ranks units of one target and means nothing on its own. p_value and effect say what happens to
        the latents when the unit is taken out; they are None without a certificate.
        """
        graph = nx.DiGraph()
        frequencies = self.frequencies
        for target, question in self.questions.items():
            graph.add_nodes_from([*question.keep, *question.units, target])
        for target, ancestors in self.ancestors.items():
            scores = self._first_scores(target)
            for unit in ancestors:
                kept = unit in self.questions[target].keep
                frequency = 1.0 if kept else frequencies[target][unit]
                certificate = self.certified[0].get(target)
                verdict = None if certificate is None else certificate.verdicts.get(unit)
                graph.add_edge(
                    unit,
                    target,
                    score=scores.get(unit),
                    p_value=None if verdict is None else verdict.p_value,
                    effect=None if verdict is None else verdict.effect,
                    frequency=frequency,
                    kept=kept,
                )
        return graph

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain numbers and strings: what `forebear discover --json` prints."""
        from forebear import __version__

        frequencies, ancestors = self.frequencies, self.ancestors
        targets = {}
        for target in self.questions:
            path = self.runs[0][target]
            targets[target] = {
                "ancestors": list(ancestors[target]),
                "removed": list(path.removed),
                "nsr": list(path.nsr),
                "scores": self._first_scores(target),
                "certificate": self._evidence(target),
                "frequency": frequencies[target],
            }
        return {
            "version": __version__,
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "notes": list(self.notes),
            "targets": targets,
        }

    def _evidence(self, target: str) -> dict[str, dict[str, float]]:
        certificate = self.certified[0].get(target)
        if certificate is None:
            return {}
        return {u: {"p_value": v.p_value, "effect": v.effect} for u, v in certificate.verdicts.items()}

    def summary(self) -> str:
        """One line a target, as a person would say it.

        A share of the runs follows an input on which the runs disagree. Inputs that surely matter, but too little for
        `least_effect` or `least_shift`, are named as negligible.
        """
        lines = []
        for target, ancestors in self.ancestors.items():
            frequency = self.frequencies[target]
            names = [
                unit if frequency.get(unit, 1.0) == 1.0 else f"{unit} ({frequency[unit]:.0%} of runs)"
                for unit in ancestors
            ]
            certificate = self.certified[0].get(target)
            weak = certificate.negligible if certificate is not None else ()
            aside = f" (negligible: {', '.join(weak)})" if weak else ""
            lines.append(f"{target} <- {', '.join(names) if names else 'none of the candidates'}{aside}")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """The graph beside the pruning path of every target."""
        from forebear.report.figures import overview

        return overview(self)

    def plot_path(self, target: str, ax: Axes | None = None) -> Axes:
        """Noise-to-signal ratio along the pruning path of one target, every run; the chosen set is marked."""
        from forebear.report.figures import path_figure

        self._check_target(target)
        return path_figure(self, target, ax)

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Ancestors on the left, targets on the right."""
        from forebear.report.figures import graph_figure

        return graph_figure(self, ax)

    def plot_scores(self, target: str, ax: Axes | None = None) -> Axes:
        """Scores of one target's units while all are there, in the first run; those it chose stand out."""
        from forebear.report.figures import scores_figure

        self._check_target(target)
        return scores_figure(self, target, ax)

    def adjacency(self, weight: str | None = None) -> pd.DataFrame:
        """The graph as a table: a row for each unit, a column for each target; 1 for an ancestor, 0 otherwise.

        With `weight`, an attribute of the edges ("frequency", "effect", "score", "p_value"), its value in place of
        1, and NaN where there is no edge.
        """
        from forebear.report.graphs import adjacency

        return adjacency(self, weight)

    def save_graph(self, file: str | FilePath) -> None:
        """Write the graph with its attributes as .dot (Graphviz), .graphml (yEd, Gephi, igraph) or .json
        (`networkx.node_link_graph` reads it). What an edge does not have is left out."""
        from forebear.report.graphs import save_graph

        save_graph(self, file)

    def to_frame(self) -> pd.DataFrame:
        """Everything about every candidate of every target, in one table, a row each.

        Columns: target, candidate, ancestor (whether it is one), by_request (kept by `keep=`), frequency, score
        and removed_at (the step of the pruning path), p_value, effect, shift and moves (the certificate), location,
        scale, shape, dependence and acts (how an ancestor acts). What is not known is empty.
        """
        from forebear.report.tables import flat_table

        return flat_table(self)

    def save_table(self, file: str | FilePath) -> None:
        """Write `to_frame` as .csv, .parquet (with the extra `parquet`) or .json, a list of rows."""
        from forebear.report.tables import save_table as write_table

        write_table(self, file)

    def report(
        self,
        file: str | FilePath,
        twin: Twin | bool | None = None,
        *,
        held_out: Any = None,
        seed: int = 0,
        progress: bool | None = None,
        **settings: Any,
    ) -> None:
        """Write one self-contained HTML page: answer, graph, evidence, and the laws to play with.

        Arguments:
            file: ends with .html; written whole or not at all.
            twin: the laws in the page. None fits a twin and distils it, if the table is there; False leaves them out;
                a twin with a law a target is distilled, unless it is already.
            held_out: rows that no twin has seen, to judge the laws on. None sets a fifth of the table aside before
                the twins are fitted.
            seed: the same result, seed and device give the same page.
            progress: show a bar; None shows it when standard error is a terminal.
            **settings: for the twins, as in `Found.twin`.

        >>> import numpy as np, pandas as pd, forebear as fb, tempfile
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
        >>> table["y"] = table["b"] * rng.normal(size=500)
        >>> quick = {"steps": 50, "width": 16, "depth": 2}
        >>> found = fb.discover(table, "y", rule=lambda path: ["b"], distilled=200, folds=1, **quick)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/report.html", twin=False)
        ...     FilePath(f"{folder}/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
        True
        """
        from forebear.report.page import write_report

        write_report(self, file, twin=twin, held_out=held_out, seed=seed, progress=progress, settings=dict(settings))

    def twin(
        self,
        pruned: bool = True,
        *,
        joint: bool | None = None,
        data: Any = None,
        units: Mapping[str, str] | None = None,
        sampler: str | Sampler | None = None,
        seed: int = 0,
        progress: bool | None = None,
        **settings: Any,
    ) -> Twin:
        """A sampler of the targets given their ancestors, trained afresh on those alone.

        Arguments:
            pruned: False conditions on all candidates instead, to compare with.
            joint: one law of all targets together, given the union of their ancestors, rather than a law a target;
                None does as the discovery did.
            data: train on this table instead of the discovery's own.
            units: {column: unit}, kept with the twin.
            sampler: "flow", "gaussian", "mean", or an object with the interface of `forebear.Sampler`; None takes
                that of the discovery.
            seed: the same data, seed and device give the same twin.
            progress: show a bar; None shows it when standard error is a terminal.
            **settings: any field of `forebear.FlowSettings`, with defaults for longer training, and `held_out`.

        >>> import numpy as np, pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(1_000, 2)), columns=["a", "b"])
        >>> table["y"] = table["b"] * rng.normal(size=1_000)
        >>> quick = {"steps": 200, "width": 16, "depth": 2}
        >>> found = fb.discover(table, "y", rule=lambda path: ["b"], distilled=200, folds=1, **quick)
        >>> twin = found.twin(**quick)
        >>> twin.inputs, twin.sample({"b": [0.1, 2.0]}, n=50).shape
        (('b',), (50, 2, 1))
        """
        from forebear.twin.fit import fit_twin, sampler_of
        from forebear.twin.settings import TwinSettings

        fitter = sampler_of(sampler, self.sampler, str(self.settings.get("sampler", "flow")))
        config = TwinSettings.resolve(settings, getattr(sampler, "settings", None))
        table = self._data(data)
        inputs = {target: self._columns(target) if pruned else q.inputs for target, q in self.questions.items()}
        together = bool(self.settings.get("joint", False)) if joint is None else joint
        with show_progress(progress) as show:
            return fit_twin(
                table,
                inputs,
                joint=together,
                settings=config,
                seed=seed,
                units=units,
                sampler=fitter,
                tick=lambda share: show("training the twin", share),
            )

    def _columns(self, target: str) -> tuple[str, ...]:
        """The ancestors with groups written out."""
        question = self.questions[target]
        chosen = {name for unit in self.ancestors[target] for name in question.units.get(unit, (unit,))}
        return tuple(name for name in question.inputs if name in chosen)

    def _data(self, data: Any) -> Table:
        if data is None:
            if self.table is None:
                raise InputError("this result was saved without its table: pass the table as data=")
            return self.table
        used = {name for question in self.questions.values() for name in (question.target, *question.inputs)}
        frame, source = open_frame(data)
        return read_columns(frame, source, used, self._periods())

    def _periods(self) -> dict[str, float]:
        columns = {} if self.table is None else self.table.columns
        return {name: column.period for name, column in columns.items() if column.period is not None}

    def save(self, folder: str | FilePath) -> None:
        """Write the result and the columns it used to a folder; `forebear.load` reads both back."""
        if self.table is not None:
            save_table(FilePath(folder), self.table)
        write_json(FilePath(folder) / "found.json", {"format": FORMAT, **self._record()})

    def _record(self) -> dict[str, Any]:
        return {
            "questions": [
                {"target": q.target, "inputs": q.inputs, "units": dict(q.units), "keep": q.keep}
                for q in self.questions.values()
            ],
            "runs": [{target: path.record() for target, path in run.items()} for run in self.runs],
            "choices": [dict(choice) for choice in self.choices],
            "certified": [{target: c.record() for target, c in run.items()} for run in self.certified],
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def _check_target(self, target: str) -> None:
        if target not in self.questions:
            raise InputError(f"'{target}' is not a target of this result. {near_miss(target, self.questions)}")

    def _agreed(self, target: str) -> set[str]:
        return {unit for unit, share in self.frequencies[target].items() if share > 0.5}

    def _with_kept(self, target: str, units: set[str]) -> tuple[str, ...]:
        keep = self.questions[target].keep
        return tuple(unit for unit in self._places(target) if unit in units or unit in keep)

    def _places(self, target: str) -> tuple[str, ...]:
        """Kept inputs and units in the order of the table."""
        question = self.questions[target]
        unit_of = {column: unit for unit, columns in question.units.items() for column in columns}
        return tuple(dict.fromkeys(unit_of.get(column, column) for column in question.inputs))

    def _first_scores(self, target: str) -> dict[str, float]:
        path = self.runs[0][target]
        return {unit: float(score) for unit, score in zip(path.units, path.scores[0], strict=True)}


def load(folder: str | FilePath) -> Found:
    """A result that `Found.save` or `discover(out=…)` wrote.

    >>> load("no/such/run")
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/run: there is no finished run in this folder (found.json is missing)
    """
    file = FilePath(folder) / "found.json"
    if not file.is_file():
        raise InputError(f"{folder}: there is no finished run in this folder (found.json is missing)")
    record = read_json(file)
    try:
        if record["format"] > FORMAT:
            raise InputError(f"{file}: written by a newer forebear (format {record['format']}): update this one")
        found = _restore(record)
        _check_whole(found)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise InputError(
            f"{file}: this is not a forebear result, or it is damaged: run the discovery again"
        ) from None
    return replace(found, table=load_table(FilePath(folder)))


def _check_whole(found: Found) -> None:
    """Every run has an answer for every target, or a ValueError."""
    runs = (found.runs, found.choices, found.certified)
    if not found.questions or not found.runs or len({len(of) for of in runs}) > 1:
        raise ValueError("no targets, or no runs")
    targets = set(found.questions)
    if not all(set(run) == targets for run in (*found.runs, *found.choices)):
        raise ValueError("a target without an answer")
    if not all(set(run) in (set(), targets) for run in found.certified) or not isinstance(found.settings, Mapping):
        raise ValueError("certificates of other targets, or no settings")
    for question in found.questions.values():
        named = {name for names in question.units.values() for name in names} | set(question.keep)
        if named != set(question.inputs):
            raise ValueError("units that are not the inputs")
        for run in found.runs:
            if set(run[question.target].units) != set(question.units):
                raise ValueError("a path of other units")


def _restore(record: Mapping[str, Any]) -> Found:
    questions = [
        Question(
            q["target"],
            tuple(q["inputs"]),
            {unit: tuple(columns) for unit, columns in q["units"].items()},
            tuple(q["keep"]),
        )
        for q in record["questions"]
    ]
    return Found(
        {question.target: question for question in questions},
        tuple({target: Path.restore(path) for target, path in run.items()} for run in record["runs"]),
        tuple({t: tuple(units) for t, units in choice.items()} for choice in record["choices"]),
        tuple({t: Certificate.restore(c) for t, c in run.items()} for run in record["certified"]),
        record["settings"],
        float(record["seconds"]),
        notes=tuple(record.get("notes", ())),
    )


def as_json(found: Found) -> str:
    """`Found.to_dict` as text."""
    return json.dumps(found.to_dict(), indent=2)
