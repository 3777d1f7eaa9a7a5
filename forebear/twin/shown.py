"""The laws of a twin at a few rows of inputs, as the plain numbers that a figure draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebear.errors import InputError, near_miss
from forebear.plots.laws import LEVELS, MOST_LAWS, Bars, Curve, bars_figure, densities_figure
from forebear.plots.style import cut
from forebear.twin.given import read_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebear.twin.twin import Twin

_POINTS, _DRAWS = 400, 2_000
_MOST_BARS = 40
# A lattice of more values is a number that was rounded: bars would show nothing but which values the data lacks.
_MOST_VALUES = 100


def plot_law(twin: Twin, given: Any, target: str | None, ax: Axes | None) -> Axes:
    """The work of `Twin.plot_law`: densities, or bars of probability for a lattice, one look per row of `given`."""
    name = target_of(twin, target)
    x = read_matrix(given, twin.columns, "given")
    if not 1 <= len(x) <= MOST_LAWS:
        raise InputError(f"given: a figure shows 1 to {MOST_LAWS} rows, and these are {len(x)}: choose some")
    place = twin.targets.index(name)
    labels = [_label(twin, row, twin.ancestors[name]) for row in x]
    shown = cut(name, 40) + (f" ({twin.units[name]})" if name in twin.units else "")
    if twin.outputs[place].dequantiser.kind == "lattice" and not _is_fine(twin, place):
        return bars_figure(shown, *_bars(twin, x, place, labels), ax)
    curves = [_curve(twin, row, place, label) for row, label in zip(x, labels, strict=True)]
    return densities_figure(shown, curves, ax)


def target_of(twin: Twin, target: str | None) -> str:
    """The target that is meant: the only one where none is named."""
    names = list(twin.targets)
    if target is None:
        if len(names) > 1:
            raise InputError(f"target: this twin has several, {names}: name one")
        return names[0]
    if target not in twin.targets:
        raise InputError(f"target: '{target}' is not one of this twin. {near_miss(target, twin.targets)}")
    return target


def _label(twin: Twin, row: np.ndarray, names: tuple[str, ...]) -> str:
    told = []
    for column, value in zip(twin.columns, row, strict=True):
        if column.name in names:
            shown = column.levels[int(value)] if column.levels else f"{value:.4g}"
            told.append(f"{cut(column.name, 18)} = {shown}")
    return ", ".join(told)


def _curve(twin: Twin, row: np.ndarray, place: int, label: str) -> Curve:
    points, density = _density(twin, row, place)
    return Curve(label, points, density, twin.quantile(row[None], LEVELS, outside="ignore")[:, 0, place])


def _density(twin: Twin, row: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and density; a histogram of draws of a joint twin, whose marginal densities nobody knows, and of
    rounded numbers."""
    if twin.joint or _is_fine(twin, place):
        draws = twin.sample(row[None], n=_DRAWS, outside="ignore")[:, 0, place]
        height, edges = np.histogram(draws, 40, density=True)
        return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(height, 2), [0.0]])
    ends = twin.quantile(row[None], [0.001, 0.999], outside="ignore")[:, 0, place]
    points = np.linspace(ends[0], ends[1], _POINTS)
    rows = np.repeat(row[None], _POINTS, axis=0)
    y = twin.quantile(row[None], 0.5)[0] * np.ones((_POINTS, 1))
    y[:, place] = points
    density = np.exp(twin.log_prob(rows, y)[:, place])
    atoms = np.isin(points, twin.outputs[place].dequantiser.values)
    return points[~atoms], density[~atoms]


def _is_fine(twin: Twin, place: int) -> bool:
    target = twin.outputs[place]
    cells = target.dequantiser
    return cells.kind == "lattice" and not target.levels and len(cells.values) > _MOST_VALUES


def _bars(twin: Twin, x: np.ndarray, place: int, labels: list[str]) -> tuple[list[str], list[Bars]]:
    """The values of the lattice, as text, and their probabilities at each row."""
    target = twin.outputs[place]
    values = target.dequantiser.values
    if len(values) > _MOST_BARS:
        ends = twin.quantile(x, [0.001, 0.999], outside="ignore")[:, :, place]
        low, high = ends[0].min(), ends[1].max()
        values = values[(values >= low) & (values <= high)]
    bars = []
    for row, label in zip(x, labels, strict=True):
        rows = np.repeat(row[None], len(values), axis=0)
        y = twin.quantile(row[None], 0.5)[0] * np.ones((len(values), 1))
        y[:, place] = values
        bars.append(Bars(label, _chances(twin, rows, y, place)))
    names = [str(target.levels[int(v)]) for v in values] if target.levels else [f"{v:.4g}" for v in values]
    return names, bars


def _chances(twin: Twin, rows: np.ndarray, y: np.ndarray, place: int) -> np.ndarray:
    if not twin.joint:
        return np.exp(twin.log_prob(rows, y)[:, place])
    draws = twin.sample(rows[:1], n=_DRAWS, outside="ignore")[:, 0, place]
    return np.array([(draws == value).mean() for value in y[:, place]])
