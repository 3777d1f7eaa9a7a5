"""A discovery in every regime alone: which inputs matter in some of them only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from forebear.data.cells import html_table
from forebear.discovery.regimes import (
    SAME,
    inputs_table,
    only_somewhere,
    regime_graph,
    regime_of,
    unsure_elsewhere,
)
from forebear.discovery.settings import PRESETS
from forebear.discovery.structure import INDEPENDENT, ORDERED
from forebear.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebear.api.found import Found
    from forebear.data.question import Question


@dataclass(frozen=True, repr=False)
class InRegimes:
    """What was found in each regime alone."""

    regime: str
    """the column that tells them apart"""
    found: Mapping[str, Found]
    """label of a regime -> the result on its rows"""
    joined: Mapping[tuple[str, ...], Found] = field(default_factory=dict)
    """labels of several regimes -> the result on all their rows, given which of them a row is of: asked where an
    input is needed in others, and each of these alone has too few rows to tell"""

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that were asked about."""
        return next(iter(self.found.values())).targets

    @property
    def inputs(self) -> dict[str, pd.DataFrame]:
        """For each target a row per input and a column per regime: "needed", "not needed" or "cannot tell"."""
        parts = {label: one.record for label, one in self.found.items()}
        return {target: inputs_table(parts, target) for target in self.targets}

    @property
    def only(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each target the inputs that are needed in some regimes and surely not in the others, and where.

        Of the others either each alone says so, or all of them together (`joined`).
        """
        return {target: only_somewhere(inputs, self._joined(target)) for target, inputs in self.inputs.items()}

    def _joined(self, target: str) -> dict[tuple[str, ...], dict[str, str]]:
        tables = {
            labels: inputs_table({"": one.record}, target)[""]
            for labels, one in self.joined.items()
            if target in one.targets
        }
        return {labels: {str(name): str(word) for name, word in own.items()} for labels, own in tables.items()}

    @property
    def graph(self) -> nx.DiGraph:
        """All edges; `regimes` of an edge are those in which its input is needed, `everywhere` whether all do."""
        return regime_graph({label: one.record for label, one in self.found.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """The graph: an edge is the paler, the fewer regimes need its input."""
        from forebear.plots.results import graph_figure

        inputs = {name: None for one in self.found.values() for name in one.record.inputs()}
        return graph_figure(self.graph, list(inputs), self.targets, ax)

    def summary(self) -> str:
        """A line per target and regime."""
        return "\n".join(
            f"{self.regime} {label}: {line}"
            for label, one in self.found.items()
            for line in one.summary().splitlines()
        )

    def __repr__(self) -> str:
        return f"<in {len(self.found)} regimes of '{self.regime}': {', '.join(self.found)}>"

    def _repr_html_(self) -> str:
        """For notebooks: a table per target."""
        return "".join(
            html_table(
                ["input", *inputs.columns], [[str(name), *row] for name, row in inputs.iterrows()], before=target
            )
            for target, inputs in self.inputs.items()
        )


def in_regimes(found: Found, targets: Iterable[str] | None, progress: bool | None) -> InRegimes:
    """The work of `Found.in_regimes`."""
    from forebear.api.discover import discover

    regime, record = regime_of(found.record), found.record
    if found.table is None:
        raise InputError("this result was saved without its table: discover again with regime=")
    asked = list(record.targets if targets is None else targets)
    for target in asked:
        record.check_target(target)
    if targets is None:
        asked = [target for target in asked if found.regimes["law"].get(target) != SAME] or asked
    frame, about_rows = _with_rows(found)
    own = {*_SETTINGS, *PRESETS[str(record.settings["preset"])].flat()} - {"kernel"}
    settings: dict[str, Any] = {name: value for name, value in record.settings.items() if name in own}
    settings |= about_rows
    labels = frame[regime].to_numpy()

    def asked_in(own: tuple[Any, ...], some: list[str], always: tuple[str, ...]) -> Found:
        rows = frame.iloc[np.flatnonzero(np.isin(labels, own))].reset_index(drop=True)
        rows = rows if always else rows.drop(columns=regime)
        # What does not vary in a regime is no candidate there.
        moving = {name for name, count in rows.nunique().items() if count > 1}
        roles: dict[str, Any] = _roles([record.questions[target] for target in some], moving, always)
        periods = {name: period for name, period in found.table.periods().items() if name in moving}  # type: ignore[union-attr]
        kinds = dict.fromkeys(always, "category") or None
        return discover(rows, some, **roles, periodic=periods or None, kinds=kinds, progress=progress, **settings)

    order = dict.fromkeys(labels.tolist())  # as in the table
    parts = InRegimes(regime, {str(label): asked_in((label,), asked, ()) for label in order})
    together: dict[tuple[str, ...], list[str]] = {}
    for target, inputs in parts.inputs.items():
        for rest in unsure_elsewhere(inputs):
            together.setdefault(rest, []).append(target)
    joined = {
        rest: asked_in(tuple(label for label in order if str(label) in rest), some, (regime,))
        for rest, some in together.items()
    }
    return InRegimes(regime, parts.found, joined)


def _with_rows(found: Found) -> tuple[pd.DataFrame, dict[str, str]]:
    """The table with what says how its rows hang together and count, and the options that name it."""
    assert found.table is not None
    frame, structure, options = found.table.frame(), found.structure, {}
    if structure.groups is not None and structure.column and structure.column != regime_of(found.record):
        options["rows"] = structure.column
        if structure.column not in frame:
            frame = frame.assign(**{structure.column: structure.groups})
    elif found.settings.get("rows_asked") in (ORDERED, INDEPENDENT):
        options["rows"] = str(found.settings["rows_asked"])
    if structure.weights is not None:
        options["weights"] = str(found.settings["weights"])
        frame = frame.assign(**{options["weights"]: structure.weights})
    return frame, options


def _roles(questions: Sequence[Question], moving: set[str], always: tuple[str, ...] = ()) -> dict[str, Any]:
    """Candidates, groups and kept inputs of these questions, as far as their columns vary; `always` is kept too."""
    candidates, groups, keep = {}, {}, {}
    for question in questions:
        left = {
            name: [c for c in columns if c in moving and c not in always]
            for name, columns in question.candidates.items()
        }
        candidates[question.target] = [column for columns in left.values() for column in columns]
        grouped = {n for n, columns in question.candidates.items() if columns != (n,)}
        groups |= {name: left[name] for name in grouped if left[name]}
        keep[question.target] = [*(name for name in question.always if name in moving), *always]
    # An empty mapping would rule out that another target is asked about.
    return {"candidates": candidates, "groups": groups or None, "keep": keep if any(keep.values()) else ()}


# What is taken over from the discovery in all regimes together, beside the settings of flow and certificate, and
# what is known of the rows.
_SETTINGS = ("preset", "sampler", "seed", "missing")
