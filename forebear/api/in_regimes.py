"""A discovery in every regime alone: which inputs matter in some of them only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pandas as pd

from forebear.data.cells import html_table
from forebear.discovery.regimes import SAME, inputs_table, only_somewhere, regime_graph, regime_of
from forebear.discovery.settings import PRESETS
from forebear.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebear.api.found import Found


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
    frame = found.table.frame()
    own = {*_SETTINGS, *PRESETS[str(record.settings["preset"])].flat()} - {"kernel"}
    settings = {name: value for name, value in record.settings.items() if name in own}
    candidates = {target: [name for name in record.questions[target].inputs if name != regime] for target in asked}
    parts = {}
    labels = frame[regime].to_numpy()
    for label in dict.fromkeys(labels.tolist()):  # in the order of the table
        rows = frame.iloc[np.flatnonzero(labels == label)].drop(columns=regime).reset_index(drop=True)
        # What does not vary in a regime is no candidate there.
        moving = {name for name, count in rows.nunique().items() if count > 1}
        kept = {target: [name for name in candidates[target] if name in moving] for target in asked}
        parts[str(label)] = discover(
            rows, asked, kept, periodic=found.table.periods() or None, progress=progress, **settings
        )
    return InRegimes(regime, parts)


# What is taken over from the discovery in all regimes together, beside the settings of flow and certificate.
_SETTINGS = ("preset", "sampler", "seed", "missing")
