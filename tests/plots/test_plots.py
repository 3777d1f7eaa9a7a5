"""Figures of plain data: what is in them, and that they take and return an axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from forebear.plots.calibration import calibration_figure, coverage_curve, coverage_figure
from forebear.plots.fans import LEVELS, Chances, Fan, chances_figure, fan_figure, panels
from forebear.plots.laws import Bars, Curve, bars_figure, densities_figure
from forebear.plots.results import Pruning, graph_figure, overview, path_figure, scores_figure
from forebear.plots.style import ACTS, GONE, JUMP, KEPT

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


def test_names_in_a_graph_of_many_inputs_have_a_line_each() -> None:
    graph = nx.DiGraph()
    names = [f"sensor_{number:02d}_of_the_north_line" for number in range(24)]
    graph.add_edge(names[3], "y", frequency=1.0, by_request=False)
    axis = graph_figure(graph, names, ["y"])
    figure = axis.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axis.texts if text.get_text().startswith("sensor")]
    boxes.sort(key=lambda box: box.y0)
    assert len(boxes) == 24 and all(one.y1 <= other.y0 + 1 for one, other in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0  # nothing is cut at the edge


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


def _legend(axis: Any) -> list[str]:
    return [text.get_text() for text in axis.get_legend().get_texts()]


def _fan(**fields: Any) -> Fan:
    at = np.linspace(0, 10, 21)
    quantiles = at[:, None] + np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    rows = np.column_stack([at, at])
    return Fan("y (m)", "a", at, (), quantiles, np.ones(21, bool), rows)._replace(**fields)


def test_a_fan_has_bands_a_median_and_the_rows_of_the_data() -> None:
    axis = plt.subplots()[1]
    assert fan_figure(_fan(), axis) is axis and len(LEVELS) == 5
    points, median = axis.lines
    assert np.asarray(points.get_xdata()).size == 21
    assert np.asarray(median.get_ydata()).tolist() == np.linspace(0, 10, 21).tolist()
    ninety, half = (band.get_paths()[0].vertices for band in axis.collections)
    assert np.ptp(np.asarray(ninety)[:, 1]) == 14 and np.ptp(np.asarray(half)[:, 1]) == 12
    assert axis.get_ylabel() == "y (m)" and axis.get_xlabel() == "a"


def test_rows_near_the_setting_are_strong_and_the_others_do_not_press_the_law_flat() -> None:
    rows = np.column_stack([np.linspace(0, 10, 22), np.r_[np.linspace(0, 10, 20), 900.0, 950.0]])
    near = np.arange(22) < 20
    axis = fan_figure(_fan(rows=rows, near=near))
    other, strong, _ = axis.lines
    assert (other.get_alpha() or 0) < (strong.get_alpha() or 0) and np.asarray(other.get_ydata()).tolist() == [
        900,
        950,
    ]
    assert axis.get_ylim()[1] < 20 and {"other rows", "rows near the setting"} <= set(_legend(axis))


def test_a_long_tail_of_rows_near_the_setting_leaves_the_law_most_of_the_figure() -> None:
    rows = np.column_stack([np.linspace(0, 10, 100), np.r_[np.linspace(0, 10, 95), np.full(5, 300.0)]])
    fan = _fan(rows=rows)
    low, high = fan_figure(fan).get_ylim()
    law = np.ptp(fan.quantiles[:, [0, 4]])
    assert high < 300 and 0.45 < law / (high - low) < 0.95


def test_a_fan_is_not_drawn_where_no_data_lies() -> None:
    seen = np.ones(21, bool)
    seen[8:14] = False
    axis = fan_figure(_fan(seen=seen))
    _, first, second = (np.asarray(line.get_xdata()) for line in axis.lines)
    assert first.max() < 4 and second.min() >= 7


def test_a_law_with_two_peaks_has_two_middles() -> None:
    sides = np.full((21, 2, 3), np.nan)
    sides[10:] = np.array([[-3.0, -2.5, -2.0], [2.0, 2.5, 3.0]])
    axis = fan_figure(_fan(sides=sides))
    _, whole, lower, upper = (np.asarray(line.get_ydata()) for line in axis.lines)
    assert np.isnan(whole[10:]).all() and not np.isnan(whole[:10]).any()
    assert set(lower[10:]) == {-2.5} and set(upper[10:]) == {2.5} and np.isnan(upper[:10]).all()


def test_categories_have_boxes_and_angles_go_once_around() -> None:
    boxes = _fan(at=np.arange(2.0), labels=("u", "v"), quantiles=_fan().quantiles[:2], seen=np.array([True, False]))
    axis = fan_figure(boxes._replace(rows=np.zeros((0, 2))))
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["u", "v"]
    assert sorted(bar.get_height() for bar in _bars(axis)) == [2, 4], "no row is near v"
    turn = fan_figure(_fan(at=np.linspace(0, 360, 21), period=360.0))
    assert turn.get_xticks().tolist() == [0, 90, 180, 270, 360]


def test_chances_are_lines_or_bars() -> None:
    told = Chances("y", "a", np.arange(3.0), (), ("no", "yes"), np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), ALL)
    assert [np.asarray(line.get_ydata())[2] for line in chances_figure(told).lines] == [0.2, 0.8]
    assert len(_bars(chances_figure(told._replace(labels=("u", "v", "w"))))) == 6


def test_legends_stand_beside_what_is_drawn() -> None:
    points = np.linspace(-2, 2, 50)
    curves = [Curve(f"a = {i}", points, np.exp(-(points**2)), np.linspace(-1, 1, 5)) for i in range(3)]
    pit = np.linspace(0.01, 0.99, 50)
    for axis in (densities_figure("y", curves), fan_figure(_fan()), coverage_figure({"y": pit, "w": pit})):
        figure = axis.get_figure(root=True)
        assert figure is not None
        figure.draw_without_rendering()
        legend = axis.get_legend()
        assert legend is not None
        box, inside, whole = legend.get_window_extent(), axis.get_window_extent(), figure.bbox
        assert box.x0 >= inside.x1 - 1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1, "covers or is cut"


def test_edges_look_as_on_the_page() -> None:
    graph = _graph()
    graph.add_edge("b", "y", frequency=1.0, by_request=False, acts="scale")
    axis = graph_figure(graph, ["a", "b", "k"], ["y"])
    assert [to_hex(patch.get_facecolor()).upper() for patch in axis.patches] == [KEPT, ACTS["scale"][0], GONE]
    legend = axis.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == [ACTS["scale"][2]]


def test_panels_share_a_legend() -> None:
    figure = panels([lambda axis: fan_figure(_fan(), axis)] * 4)
    assert [axis.get_legend() is not None for axis in figure.axes] == [False, False, True, False, False, False]


ALL = np.ones(3, bool)
