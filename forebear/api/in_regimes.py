"""A discovery in every regime alone: which inputs matter in some of them only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from forebear.data.cells import html_table
from forebear.discovery.regimes import SAME, inputs_table, only_somewhere, regime_graph, regime_of
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
        """For each target the inputs that are needed in some regimes and surely not in the others, and where."""
        return {target: only_somewhere(inputs) for target, inputs in self.inputs.items()}

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
    parts = {}
    labels = frame[regime].to_numpy()
    for label in dict.fromkeys(labels.tolist()):  # in the order of the table
        rows = frame.iloc[np.flatnonzero(labels == label)].drop(columns=regime).reset_index(drop=True)
        # What does not vary in a regime is no candidate there.
        moving = {name for name, count in rows.nunique().items() if count > 1}
        roles: dict[str, Any] = _roles([record.questions[target] for target in asked], moving)
        periods = {name: period for name, period in found.table.periods().items() if name in moving}
        parts[str(label)] = discover(rows, asked, **roles, periodic=periods or None, progress=progress, **settings)
    return InRegimes(regime, parts)


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


def _roles(questions: Sequence[Question], moving: set[str]) -> dict[str, Any]:
    """Candidates, groups and kept inputs of these questions, as far as their columns vary."""
    candidates, groups, keep = {}, {}, {}
    for question in questions:
        left = {name: [c for c in columns if c in moving] for name, columns in question.candidates.items()}
        candidates[question.target] = [column for columns in left.values() for column in columns]
        grouped = {n for n, columns in question.candidates.items() if columns != (n,)}
        groups |= {name: left[name] for name in grouped if left[name]}
        keep[question.target] = [name for name in question.always if name in moving]
    # An empty mapping would rule out that another target is asked about.
    return {"candidates": candidates, "groups": groups or None, "keep": keep if any(keep.values()) else ()}


# What is taken over from the discovery in all regimes together, beside the settings of flow and certificate, and
# what is known of the rows.
_SETTINGS = ("preset", "sampler", "seed", "missing")
