"""The result of a discovery, as users hold it: the record, its table, and all that can be made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, overload

import networkx as nx
import numpy as np
import pandas as pd

from forebear.api.by_target import ByTarget, Sentences
from forebear.api.twins import Twins, fit_recipe, recipe_of, sampler_of
from forebear.data.cells import few, html_table
from forebear.data.checked import columns_frame
from forebear.data.question import Question
from forebear.data.said_kinds import with_kinds
from forebear.data.source import open_frame
from forebear.data.stored import load_table, save_table
from forebear.data.table import Table, fingerprint, read_columns
from forebear.discovery.certificate import Certificate
from forebear.discovery.graphs import adjacency, graph_of, save_graph
from forebear.discovery.path import Path
from forebear.discovery.record import Discovery, load_discovery, save_discovery
from forebear.discovery.regimes import regime_table
from forebear.discovery.stability import Stability, stability_of
from forebear.discovery.structure import RowStructure
from forebear.discovery.structure_store import load_structure, save_structure, structure_named, structure_of
from forebear.discovery.tables import adjusted_table, flat_table
from forebear.discovery.tables import save_table as write_flat_table
from forebear.errors import InputError, check_whole
from forebear.flow.sampler import Sampler
from forebear.report.verdicts import verdict_told, with_stand_ins
from forebear.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebear.api.explore import Explorer
    from forebear.api.in_regimes import InRegimes
    from forebear.plots.results import Pruning
    from forebear.twin.twin import Twin
    from forebear.twin.validate import Validation


class Found:
    """Which inputs shape the law of each target, and how that was found.

    Kept inputs count as ancestors: the law is conditioned on them. Groups appear under their names.

    Arguments:
        record: what was found.
        table: the columns that were used; None for a result that was saved without them.
        folder: of the run, if it was saved to one or loaded from one; its twin is kept there.
        sampler: the one of the discovery, if it was the user's own; it is not saved.
        structure: how the rows of the table hang together; None: as far as settings and table tell.
    """

    def __init__(
        self,
        record: Discovery,
        table: Table | None = None,
        folder: str | FilePath | None = None,
        sampler: Sampler | None = None,
        structure: RowStructure | None = None,
    ):
        self.record = record
        self.table = table
        self.sampler = sampler
        self.folder = None if folder is None else FilePath(folder)
        self.structure = structure_of(record.settings, table) if structure is None else structure
        """how the rows of the table hang together"""
        self.twins = Twins(record, table, self.structure)
        """those that were made of it, by recipe"""

    def __repr__(self) -> str:
        return f"<found: {few(self.summary().splitlines())}>"

    def __reduce__(self) -> Any:
        return Found, (self.record, self.table, self.folder, self.sampler, self.structure)

    @property
    def questions(self) -> Mapping[str, Question]:
        """By target."""
        return self.record.questions

    @property
    def runs(self) -> tuple[Mapping[str, Path], ...]:
        """The pruning path of every target, for each run."""
        return self.record.runs

    @property
    def choices(self) -> tuple[Mapping[str, tuple[str, ...]], ...]:
        """The candidates chosen for every target, for each run."""
        return self.record.choices

    @property
    def certified(self) -> tuple[Mapping[str, Certificate], ...]:
        """The certificate of every target, for each run; empty mappings under another rule."""
        return self.record.certified

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the discovery was made with."""
        return self.record.settings

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.record.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """What went otherwise than asked: a training that diverged and was repeated, a nugget that was raised."""
        return self.record.notes

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets, in the order they were asked for."""
        return self.record.targets

    @property
    def ancestors(self) -> dict[str, tuple[str, ...]]:
        """For each target the candidates that more than half of the runs chose, kept inputs included."""
        return ByTarget(self.record.ancestors)

    @property
    def frequencies(self) -> dict[str, dict[str, float]]:
        """For each target the share of runs that chose each candidate."""
        return self.record.frequencies

    @property
    def stability(self) -> dict[str, Stability]:
        """For each target what the runs agree on, and a bound on how many of these inputs are there by chance.

        With `runs=10, subset=0.5` runs come in pairs whose halves of the rows share none. Of the inputs that at least
        a share tau of the runs chose (`agreed`), at most `bound` are then expected to be of those that a half of the
        rows chooses no more often than a random pick would: `chosen`**2 / `candidates` / (2 tau - 1), where `chosen`
        is how many inputs a run chose in the mean (Shah and Samworth, 2013). It holds for every law and every rule
        if rows, or groups of rows, are independent. tau is 0.9, stricter than the majority of `ancestors`; `at(0.7)`
        takes another, and `frame()` has a row per candidate. Where runs are no such pairs, the bound is None, and
        `why` says so.

        >>> import numpy as np, pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
        >>> table["y"] = 3 * table["b"] + rng.normal(size=400)
        >>> quick = {"steps": 50, "width": 16, "depth": 2, "distilled": 100, "folds": 1}
        >>> found = fb.discover(table, "y", rule=lambda path: ["b"], runs=4, subset=0.5, **quick)
        >>> stability = found.stability["y"]
        >>> stability.agreed, stability.tau, stability.chosen, stability.candidates, round(stability.bound, 2)
        (('b',), 1.0, 1.0, 3, 0.33)
        """
        return {target: stability_of(self.record, target) for target in self.targets}

    @property
    def paths(self) -> dict[str, pd.DataFrame]:
        """For each target the pruning path of the first run: step, removed, nsr, increment, remaining, scores."""
        return ByTarget({target: path.frame() for target, path in self.runs[0].items()})

    @property
    def certificates(self) -> dict[str, pd.DataFrame]:
        """For each target one row per candidate: kept, p_value, effect, limit, detectable, shift, limit_units,
        statistic, moves.

        `limit` is a 95% upper limit on the effect, `detectable` the effect that would have been found four times out
        of five, both shares of what the kept inputs leave open; `limit_units` is about how far the limit could move
        the target, in its own units. For a removed candidate the p-value and effect tell whether the latents still
        depend on it, given the chosen set; for a kept one whether they do when it alone is taken out.
        """
        return ByTarget({target: certificate.frame() for target, certificate in self.record.certificates().items()})

    @property
    def verdicts(self) -> dict[str, str]:
        """For each target what may be concluded: "certified", "cannot tell" or "something is missing".

        Certified: for every removed candidate, and for all together, a 95% upper limit on what it could still explain
        of what the kept ones leave open lies below `margin`. `why` has the reasons of the two others.
        """
        return ByTarget(
            {target: certificate.verdict.word for target, certificate in self.record.certificates().items()}
        )

    @property
    def why(self) -> dict[str, tuple[str, ...]]:
        """For each target the reasons of its verdict, and what would help; none for a certified one."""
        return ByTarget(
            {target: certificate.verdict.reasons for target, certificate in self.record.certificates().items()}
        )

    @property
    def classes(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """For each target groups of inputs that stand in for one another: a chosen one first, then the others."""
        return ByTarget({target: certificate.classes for target, certificate in self.record.certificates().items()})

    @property
    def cost(self) -> dict[str, pd.DataFrame]:
        """For each target what pruning costs on held-out rows: a row for the log loss (negative log density) and one
        for the CRPS, in standard deviations of the target, with columns pruned, full, difference, low and high.

        The difference is that of the pruned law less the full one, with its 95% interval: positive when it costs.
        """
        return ByTarget(
            {target: certificate.cost_frame() for target, certificate in self.record.certificates().items()}
        )

    @property
    def curves(self) -> dict[str, pd.DataFrame]:
        """For each target the score of laws on fewer and fewer of the chosen inputs: kept, log_loss, share.

        The share is that of what all chosen inputs bring: 0.99 says that one can do with these for a hundredth.
        """
        return ByTarget(
            {target: certificate.curve_frame() for target, certificate in self.record.certificates().items()}
        )

    def smallest(self, target: str, margin: float) -> tuple[str, ...]:
        """The fewest of the chosen inputs that bring all but `margin` of what they bring together.

        Judged by held-out log densities (`curves`); such a set suffices up to the margin, and is not certified.
        """
        self.record.check_target(target)
        if not 0 <= margin <= 1:
            raise InputError(f"margin must be a share between 0 and 1; got {margin!r}")
        return self.record.certificates()[target].smallest(margin)

    @property
    def columns(self) -> pd.DataFrame:
        """What was done to the columns of the table, a row each: kind, role, why, missing, distinct, range,
        resolution, copy_of; as `forebear.check` shows it. Empty for results of versions before 0.4."""
        return columns_frame(() if self.record.use is None else self.record.use.columns)

    @property
    def rows(self) -> str:
        """How the rows were taken to hang together: "independent", "ordered", "grouped" or the column declared."""
        return str(self.settings.get("rows", "independent"))

    @property
    def regimes(self) -> pd.DataFrame:
        """Which laws are the same in all regimes, of a discovery with `regime=`: a row per target with law, p_value,
        adjusted, effect, limit, why.

        `law` is "the same" where the regime could explain no more than the margin of what the inputs leave open
        (`limit`), "changes" where it explains more than nothing, whatever the number of targets (`adjusted`, Holm, at
        0.05), and "cannot tell" otherwise, for the reason in `why`. A regime that merely has other inputs than the
        others changes no law.
        """
        return regime_table(self.record)

    def in_regimes(self, targets: Iterable[str] | None = None, progress: bool | None = None) -> InRegimes:
        """Ask again in every regime alone, with the same settings: which inputs matter in some regimes only?

        Arguments:
            targets: some of the targets; None takes those whose law is not surely the same.
            progress: show a bar; None shows it in a terminal and in a notebook.
        """
        from forebear.api.in_regimes import in_regimes

        return in_regimes(self, targets, progress)

    def adjusted(self, method: str = "holm") -> pd.DataFrame:
        """p-values of all candidates of all targets, corrected for their number: target, candidate, kept, p_value,
        adjusted.

        The p-values are from rows that had no part in choosing (`fresh_p` of the certificates), where there are any.

        Arguments:
            method: "holm" bounds the chance of a single false edge, "fdr" the share of false edges among those below
                a level, whatever their dependence (Benjamini and Yekutieli).
        """
        return adjusted_table(self.record, method)

    @property
    def effects(self) -> dict[str, pd.DataFrame]:
        """For each target one row per ancestor: shares of its action on location, scale and shape of the law."""
        return ByTarget(
            {target: certificate.actions_frame() for target, certificate in self.record.certificates().items()}
        )

    @property
    def alternatives(self) -> dict[str, dict[tuple[str, ...], pd.DataFrame]]:
        """For each target other sets, no larger, that pass the test as well, each with its own certificate."""
        certificates = self.record.certificates()
        return ByTarget({target: certificate.alternative_frames() for target, certificate in certificates.items()})

    def union(self, targets: Iterable[str] | None = None) -> tuple[str, ...]:
        """The ancestors of several outputs together (of all targets by default)."""
        return self.record.union(targets)

    @property
    def graph(self) -> nx.DiGraph:
        """An edge from every ancestor to its target, with attributes score, p_value, effect, frequency, verdict (of
        the target), by_request (the input was kept by `keep=`) and acts (what it mostly does to the law).

        The score is that of the candidate when every candidate is present, in the first run: the share of the fit's
        variation, or of its signal (`scores=`), that goes through it. It ranks candidates of one target. p_value and
        effect say what happens to the latents when it is taken out; they are None without a certificate.
        """
        return graph_of(self.record)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain numbers and strings: what `forebear discover --json` prints."""
        frequencies, ancestors = self.frequencies, self.ancestors
        targets = {}
        for target in self.questions:
            path, certificate = self.runs[0][target], self.record.certificate(target)
            verdicts = {} if certificate is None else certificate.tests
            targets[target] = {
                "ancestors": list(ancestors[target]),
                "removed": list(path.removed),
                "nsr": list(path.nsr),
                "scores": self.record.first_scores(target),
                "certificate": {
                    u: {"p_value": v.p_value, "effect": v.effect, "limit": v.limit, "detectable": v.detectable}
                    | {"fresh_p": None if certificate is None else certificate.fresh_p.get(u)}
                    for u, v in verdicts.items()
                },
                "frequency": frequencies[target],
                **({} if len(self.runs) == 1 else {"stability": stability_of(self.record, target).to_dict()}),
                **({} if certificate is None else certificate.conclusions()),
            }
        if self.settings.get("regime") is not None and self.certified[0]:
            for target, row in self.regimes.iterrows():
                targets[str(target)]["regimes"] = {str(name): _plain(value) for name, value in row.items()}
        return {
            "version": __version__,
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "notes": list(self.notes),
            "rows": self.rows,
            "table": None if self.record.use is None else self.record.use.to_dict(),
            "targets": targets,
        }

    def summary(self) -> str:
        """One line per target, as a person would say it, with the verdict behind it.

        Inputs that can stand in for one another are named together. A share of the runs follows an input on which the
        runs disagree. Inputs that surely matter, but too little for `least_effect` or `least_shift`, are named as
        negligible. `why` has the reasons of a verdict.
        """
        told = {target: verdict_told(self.record, target) for target in self.questions}
        after = {target: "" if verdict is None else f": {verdict.word}" for target, verdict in told.items()}
        return "\n".join(f"{target} <- {answer}{after[target]}" for target, answer in self._answers().items())

    def _answers(self) -> dict[str, str]:
        frequencies, answers = self.frequencies, {}
        for target, ancestors in self.ancestors.items():
            shares, certificate = frequencies[target], self.record.certificate(target)
            named = with_stand_ins(ancestors, () if certificate is None else certificate.classes)
            often = [shares.get(name, 1.0) for name in ancestors]
            names = [
                name if share == 1.0 else f"{name} ({share:.0%} of runs)"
                for name, share in zip(named, often, strict=True)
            ]
            weak = certificate.negligible if certificate is not None else ()
            aside = f" (negligible: {', '.join(weak)})" if weak else ""
            answers[target] = f"{', '.join(names) if names else 'none of the candidates'}{aside}"
        return answers

    def _repr_html_(self) -> str:
        """For notebooks: a row per target, with the reasons of a verdict below it."""
        rows = []
        for target, answer in self._answers().items():
            verdict = verdict_told(self.record, target)
            told = [] if verdict is None else ["\n".join([verdict.word, *verdict.reasons])]
            rows.append([target, answer, *told])
        heads = ["target", "depends on", *(["verdict"] if self.certified[0] else [])]
        return html_table(heads, rows)

    def plot(self) -> Figure:
        """The graph beside the pruning path of every target."""
        from forebear.plots.results import overview
        from forebear.plots.style import shown_once

        prunings = [self._pruning(target) for target in self.targets]
        return shown_once(overview(self.graph, self.record.inputs(), self.targets, prunings))

    def plot_path(self, target: str, ax: Axes | None = None) -> Axes:
        """Noise-to-signal ratio along the pruning path of one target, every run; the chosen set is marked."""
        from forebear.plots.results import path_figure

        self.record.check_target(target)
        return path_figure(self._pruning(target), ax)

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Ancestors on the left, targets on the right."""
        from forebear.plots.results import graph_figure

        return graph_figure(self.graph, self.record.inputs(), self.targets, ax)

    def plot_scores(self, target: str, ax: Axes | None = None) -> Axes:
        """Scores of one target's candidates while all are there, in the first run; those it chose stand out."""
        from forebear.plots.results import scores_figure

        self.record.check_target(target)
        of = "fit's variation" if self.record.scored_by == "variation" else "signal"
        return scores_figure(target, self.record.first_scores(target), self.choices[0][target], ax, of)

    @overload
    def plot_fan(
        self, target: str, input: None = None, *, given: Any = None, twin: Twin | None = None, ax: None = None
    ) -> Figure: ...
    @overload
    def plot_fan(
        self, target: str, input: str, *, given: Any = None, twin: Twin | None = None, ax: Axes | None = None
    ) -> Axes: ...
    def plot_fan(
        self,
        target: str,
        input: str | None = None,
        *,
        given: Any = None,
        twin: Twin | None = None,
        ax: Axes | None = None,
    ) -> Axes | Figure:
        """Fan charts of one target along one of its inputs, or a figure of them along all: median, middle half and
        90% range while the other inputs stay typical, and the rows of the table.

        Arguments:
            given: {input: value}, where the other inputs are to stand instead.
            twin: the law to draw; None takes `twin(joint=False)`, which is fitted if the run does not have it yet.
        """
        from forebear.api.fans import fan_charts

        return fan_charts(self, target, input, given, twin, ax)

    def sentences(self, twin: Twin | None = None) -> Sentences:
        """For each target what its inputs do to it, with amounts and units: the first sentence of the report.

        A dict by target, which prints as lines and shows itself as paragraphs in a notebook.

        Arguments:
            twin: the law to read it off; None takes `twin(joint=False)`, which is fitted if the run does not have it
                yet. Units are those of the twin.

        >>> import numpy as np, pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.uniform(1, 9, (500, 2)), columns=["a", "b"])
        >>> table["y"] = 10 * table["b"] + rng.normal(size=500)
        >>> quick = {"steps": 400, "width": 16, "depth": 2}
        >>> found = fb.discover(table, "y", rule=lambda path: ["b"], distilled=200, folds=1, **quick)
        >>> found.sentences(found.twin(**quick))["y"].startswith("b raises y")
        True
        """
        from forebear.api.fans import sentences

        return Sentences(sentences(self, twin))

    def _pruning(self, target: str) -> Pruning:
        from forebear.plots.results import Pruning

        path, chosen = self.runs[0][target], set(self.choices[0][target])
        left = [set(path.remaining(step)) for step in range(len(path.nsr))]
        return Pruning(
            target,
            path.removed,
            [run[target].nsr for run in self.runs],
            [names >= chosen for names in left],
            left.index(chosen) if chosen in left else None,
            self.ancestors[target],
        )

    def adjacency(self, weight: str | None = None) -> pd.DataFrame:
        """The graph as a table: a row for each input, a column for each target; 1 for an ancestor, 0 otherwise.

        With `weight`, an attribute of the edges ("frequency", "effect", "score", "p_value"), its value in place of
        1, and NaN where there is no edge.
        """
        return adjacency(self.record, weight)

    def save_graph(self, file: str | FilePath) -> None:
        """Write the graph with its attributes as .dot (Graphviz), .graphml (yEd, Gephi, igraph) or .json
        (`networkx.node_link_graph` reads it). What an edge does not have is left out."""
        save_graph(self.record, file)

    def to_frame(self) -> pd.DataFrame:
        """Everything about every candidate of every target, in one table, a row each.

        Columns: target, candidate, ancestor (whether it is one), by_request (kept by `keep=`), frequency, score
        and removed_at (the step of the pruning path), p_value, effect, limit, detectable, shift and moves (the
        certificate), location, scale, shape, dependence and acts (how an ancestor acts). What is not known is empty.
        """
        return flat_table(self.record)

    def save_table(self, file: str | FilePath) -> None:
        """Write `to_frame` as .csv, .parquet (with the extra `parquet`) or .json, a list of rows."""
        write_flat_table(self.record, file)

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
            twin: the laws in the page. None takes `twin(joint=False)` and distils it, if the table is there; False
                leaves them out; a twin with a law per target is distilled, unless it is already.
            held_out: rows that no twin has seen, to judge the laws on. None takes those that were set aside when the
                twin was fitted.
            seed: the same result, seed and device give the same page.
            progress: show a bar; None shows it in a terminal and in a notebook.
            **settings: for the twins, as in `Found.twin`.

        With a run folder, the laws of the page are kept there, and the next page is written at once.

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
        from forebear.api.pages import law_evidence
        from forebear.report.page import check_file, write_page

        place = check_file(file)
        told = law_evidence(self, twin, held_out=held_out, seed=seed, progress=progress, settings=settings)
        write_page(self.record, self.table, told, place)

    def explore(
        self,
        target: str | None = None,
        twin: Twin | None = None,
        *,
        height: int = 640,
        seed: int = 0,
        progress: bool | None = None,
        **settings: Any,
    ) -> Explorer:
        """Sliders for the inputs and the law they make, in the cell of a notebook; needs no widgets.

        Arguments:
            target: shown first, where there are several.
            twin: as in `report`; None takes `twin(joint=False)` and distils it.
            height: of the frame, in pixels.
            seed: as in `report`.
            progress: as in `report`.
            **settings: for the twin, as in `Found.twin`.
        """
        from forebear.api.explore import Explorer
        from forebear.api.pages import law_evidence
        from forebear.report.page import page

        if target is not None:
            self.record.check_target(target)
        check_whole("height", height, 100)
        wanted = True if twin is None else twin
        told = law_evidence(self, wanted, seed=seed, progress=progress, settings=settings)
        return Explorer(page(self.record, self.table, told, explorer=True, first=target), self.targets, height)

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
            joint: one law of all targets together, given the union of their ancestors, rather than one per target;
                None does as the discovery did.
            data: train on this table instead of the discovery's own.
            units: {column: unit}, kept with the twin.
            sampler: "flow", "gaussian", "mean", or an object with the interface of `forebear.Sampler`; None takes
                that of the discovery.
            seed: the same data, seed and device give the same twin.
            progress: show a bar; None shows it in a terminal and in a notebook.
            **settings: `law`, "auto", "flow" or "blend" (networks and trees, weighed by held-out rows); `treat`, such
                as {"y": "lattice"}, what the values of targets are where the twin would take them for something
                else; any field of `forebear.FlowSettings`, which asks for a flow; `held_out`; `test`, the share of
                the rows, a fifth and at most 2,000 by default, that is set aside to judge the twin on (`validate`),
                in whole groups or stretches where rows hang together (`found.rows`); `test=0` trains on all rows.

        A twin is made once: asked for again with the same arguments, it is the one that was made. With a run folder
        it is kept there, in RUN/twin, where `forebear sample` and `forebear report` find it, and asking for another
        replaces it. A twin of other `data`, or of a sampler of your own, is not kept.

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
        check_whole("seed", seed, 0)
        fitter = sampler_of(sampler, self.sampler, str(self.settings.get("sampler", "flow")))
        recipe = recipe_of(self.record, pruned, joint, units, seed, settings, fitter)
        if data is not None:
            return fit_recipe(self.record, *self._read(data), recipe, progress, fitter)
        return self.twins.get(recipe, self.folder, progress, fitter)

    def validate(
        self, twin: Twin | None = None, *, full: Twin | None = None, exact: Any = None, seed: int = 0
    ) -> Validation:
        """Judge a twin on the rows that were set aside before it was fitted; see `Twin.validate`.

        Arguments:
            twin: one that `Found.twin` made of this result's own table, or its student by `distil`; None takes
                `found.twin()`.
            full: as in `Twin.validate`.
            exact: as in `Twin.validate`.
            seed: as in `Twin.validate`.
        """
        judged = self.twin() if twin is None else twin
        if self.table is None:
            raise InputError("this result was saved without its table: judge on rows of yours, twin.validate(rows)")
        if not len(judged.test_rows):
            raise InputError("no rows were set aside for this twin: judge on rows of yours, twin.validate(rows)")
        table = self.table.with_values(self.targets)
        if judged.table != fingerprint(table):
            raise InputError("this twin was fitted on another table: judge on rows of yours, twin.validate(rows)")
        known = np.flatnonzero(~np.any([self.table.columns[target].gaps for target in self.targets], axis=0))
        weights = self.structure.take(known).take(judged.test_rows).weights
        rows = table.take(judged.test_rows).frame()
        return judged.validate(rows, full=full, exact=exact, seed=seed, weights=weights)

    def _read(self, data: Any) -> tuple[Table, RowStructure]:
        used = {name for question in self.questions.values() for name in (question.target, *question.inputs)}
        kinds = {n: k for n, k in self.settings.get("kinds", {}).items() if n in used}
        frame, source = with_kinds(open_frame(data), kinds)
        periods = {} if self.table is None else self.table.periods()
        return read_columns(frame, source, used, periods, gaps=True), structure_named(self.settings, frame)

    def save(self, folder: str | FilePath) -> None:
        """Write the result and the columns it used to a folder; `forebear.load` reads both back.

        From now on its twins are kept in this folder, too.
        """
        if self.table is not None:
            save_table(FilePath(folder), self.table)
            save_structure(FilePath(folder), self.structure)
        save_discovery(self.record, FilePath(folder))
        self.folder = FilePath(folder)


def _plain(value: Any) -> Any:
    """NaN has no place in JSON."""
    return None if isinstance(value, float) and math.isnan(value) else value


def load(folder: str | FilePath) -> Found:
    """A result that `Found.save` or `discover(out=…)` wrote.

    >>> load("no/such/run")
    Traceback (most recent call last):
    forebear.errors.InputError: no/such/run: there is no finished run in this folder (found.json is missing)
    """
    place = FilePath(folder)
    record, table = load_discovery(place), load_table(place)
    return Found(record, table, folder, structure=load_structure(place, record.settings, table))


def as_json(found: Found) -> str:
    """`Found.to_dict` as text."""
    return json.dumps(found.to_dict(), indent=2)
