"""Figures of plain data: what is in them, and that they take and return an axis."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from forebear.plots.calibration import calibration_figure, coverage_curve, coverage_figure
from forebear.plots.laws import Bars, Curve, bars_figure, densities_figure
from forebear.plots.results import Pruning, graph_figure, overview, path_figure, scores_figure
from forebear.plots.style import GONE, JUMP, KEPT

PRUNING = Pruning("y", ("b", "a"), [(0.1, 0.2, 0.9), (0.1, 0.3, 0.8)], (True, True, False), 1, ("a",))


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    yield
    plt.close("all")


def _graph() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from("abk")
    graph.add_edge("a", "y", frequency=0.5, by_request=False)
    graph.add_edge("k", "y", frequency=1.0, by_request=True)
    return graph


def _bars(axis: Axes) -> list[Rectangle]:
    return [patch for patch in axis.patches if isinstance(patch, Rectangle)]


def test_a_path_shows_every_run_and_where_it_breaks() -> None:
    axis = path_figure(PRUNING)
    assert [np.asarray(line.get_ydata())[1] for line in axis.lines[:2]] == [0.3, 0.2]
    assert [to_hex(c, keep_alpha=False).upper() for c in np.asarray(axis.collections[0].get_facecolor())] == [
        KEPT,
        KEPT,
        JUMP,
    ]
    assert np.asarray(axis.lines[2].get_xdata())[0] == 1 and axis.get_title(loc="left") == "y ← a"
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["all", "− b", "− a"]
    off_the_path = path_figure(PRUNING._replace(stop=None))
    assert len(off_the_path.lines) == 2


def test_a_graph_has_an_arrow_for_every_edge() -> None:
    axis = graph_figure(_graph(), ["a", "b", "k"], ["y"])
    colours = [to_hex(patch.get_facecolor()).upper() for patch in axis.patches]
    assert colours == [KEPT, GONE] and [patch.get_alpha() for patch in axis.patches] == [0.625, 1.0]
    assert [text.get_text() for text in axis.texts] == ["a", "b", "k", "y"]


def test_scores_are_ranked() -> None:
    axis = scores_figure("y", {"a": 0.2, "$b": 0.9, "c": 0.5}, {"$b"})
    assert [bar.get_width() for bar in _bars(axis)] == [0.2, 0.5, 0.9]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["a", "c", r"\$b"]
    assert to_hex(axis.patches[2].get_facecolor()).upper() == KEPT


@pytest.mark.parametrize("targets", [1, 3, 5, 20])
def test_an_overview_shows_a_dozen_paths_at_most(targets: int) -> None:
    names = [f"t{i}" for i in range(targets)]
    figure = overview(nx.DiGraph(), ["a", "b"], names, [PRUNING._replace(target=name) for name in names])
    assert len(figure.axes) == 1 + min(targets, 12)
    figure.draw_without_rendering()


def test_coverage_of_a_law_that_is_right_is_the_diagonal() -> None:
    pit = (np.arange(1_000) + 0.5) / 1_000
    axis = coverage_curve(pit, plt.subplots()[1])
    diagonal, curve = (np.asarray(line.get_ydata()) for line in axis.lines)
    assert np.abs(curve - diagonal).max() < 0.002
    shown = coverage_figure({"y": pit, "w": pit**2})
    assert shown.get_legend_handles_labels()[1] == ["y", "w"]
    assert len(calibration_figure({"y": pit, "w": pit}).axes) == 4


def test_laws_take_and_return_an_axis() -> None:
    points = np.linspace(-2, 2, 50)
    curve = Curve("a = 1", points, np.exp(-(points**2)), np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))
    bars = [Bars("a = 1", np.array([0.2, 0.8])), Bars("a = 2", np.array([0.5, 0.5]))]
    axis = plt.subplots()[1]
    assert densities_figure("y (m)", [curve], axis) is axis
    assert bars_figure("y", ["u", "v"], bars, axis) is axis
    axis = bars_figure("y", ["u", "v"], bars)
    assert sorted(bar.get_height() for bar in _bars(axis)) == [0.2, 0.5, 0.5, 0.8]
    assert densities_figure("y (m)", [curve]).get_xlabel() == "y (m)"
