"""The pictures of "How it works": `python docs/making/pictures.py docs/pictures`; all but one without training."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import PercentFormatter
from scipy.special import ndtri
from scipy.stats import norm

import forebear as fb
from forebear.discovery.dependence import upper_limit
from forebear.discovery.tester import CertificateSettings

BLUE, RED, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#B4B4B4", "#222222"


def law() -> Figure:
    """What a mean does not see."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 1_500)
    spread = 0.15 + 0.45 * (x + 2) / 4 * 2
    y = spread * rng.normal(size=1_500)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained", width_ratios=[1.3, 1])
    left.scatter(x, y, s=4, color=GREY, lw=0)
    left.axhline(0, color=INK, lw=1.2)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    left.text(-1.95, 1.6, "the mean is 0,\nwhatever the load", fontsize=8, color=INK, bbox=ground)
    grid = np.linspace(-3.2, 3.2, 400)
    for place, colour in ((-1.5, BLUE), (0.0, GREEN), (1.5, RED)):
        width = 0.15 + 0.45 * (place + 2) / 4 * 2
        left.axvline(place, color=colour, lw=1.4, ls="--")
        right.plot(grid, norm.pdf(grid, 0, width), color=colour, lw=1.6, label=f"load = {place:g}")
    _name(left, "load", "ripple")
    _name(right, "ripple", "density, given the load")
    right.set_yticks([])
    right.legend(fontsize=8, frameon=False)
    return figure


def pipeline() -> Figure:
    """The stages, from a table to a twin."""
    figure, axis = plt.subplots(figsize=(8, 1.35), layout="constrained")
    steps = [
        ("table", "rows of\ninputs and targets"),
        ("flow", "draws ŷ = G(x, z)\nfrom the learned law"),
        ("path", "kernel ridge on ŷ:\nweakest input goes"),
        ("certificate", "latents of real rows\nagainst the rest"),
        ("twin", "a sampler on the\nancestors alone"),
    ]
    for place, (title, what) in enumerate(steps):
        colour = BLUE if title in ("certificate", "twin") else INK
        box = FancyBboxPatch((place * 2.1, 0), 1.7, 1, boxstyle="round,pad=0.05", fc="white", ec=colour, lw=1.4)
        axis.add_patch(box)
        axis.text(place * 2.1 + 0.85, 0.75, title, ha="center", fontsize=10, color=colour, weight="bold")
        axis.text(place * 2.1 + 0.85, 0.28, what, ha="center", va="center", fontsize=7.5, color=INK)
        if place:
            start = (place * 2.1 - 0.33, 0.5)
            axis.annotate("", (place * 2.1 - 0.07, 0.5), start, arrowprops={"arrowstyle": "->", "color": INK})
    axis.set(xlim=(-0.15, 10.3), ylim=(-0.2, 1.2))
    axis.axis("off")
    return figure


def flow() -> Figure:
    """Noise becomes data, along lines that the condition bends; the velocity here is the exact one."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    start = ndtri((np.arange(32) + 0.5) / 32)
    for axis, apart in zip(axes, (0.25, 1.6), strict=True):
        times, lines = _integrate(start, np.array([-apart, apart]), 0.3)
        for number, line in enumerate(lines.T):
            axis.plot(times, line, color=BLUE if number < 16 else RED, lw=0.8, alpha=0.8)
        grid = np.linspace(-3, 3, 300)
        axis.plot(-0.28 * norm.pdf(grid) / 0.4, grid, color=INK, lw=1.2)
        ends = sum(norm.pdf(grid, m, 0.3) for m in (-apart, apart)) / 2
        axis.plot(1 + 0.28 * ends / 0.8, grid, color=INK, lw=1.2)
        axis.set_title(f"given speed {'low' if apart < 1 else 'high'}", fontsize=9, loc="left", color=INK)
        axis.set_xticks([0, 1], ["noise z\nt = 0", "data y\nt = 1"])
        _name(axis, "", "")
    return figure


def _integrate(z: np.ndarray, means: np.ndarray, std: float, steps: int = 200) -> tuple[np.ndarray, np.ndarray]:
    times = np.linspace(0, 1, steps + 1)
    lines = [z]
    for t in times[:-1]:
        half = lines[-1] + _velocity(t, lines[-1], means, std) / (2 * steps)
        lines.append(lines[-1] + _velocity(t + 0.5 / steps, half, means, std) / steps)
    return times, np.array(lines)


def _velocity(t: float, place: np.ndarray, means: np.ndarray, std: float) -> np.ndarray:
    """E[y - z] at a place of the path (1 - t) z + t y, for y from two equal normal modes."""
    variance = (1 - t) ** 2 + (t * std) ** 2
    weights = norm.pdf(place[:, None], t * means, np.sqrt(variance))
    slope = (t * std**2 - (1 - t)) / variance
    each = means + slope * (place[:, None] - t * means)
    return (weights * each).sum(axis=1) / weights.sum(axis=1)


def path() -> Figure:
    """A real pruning path: vibration of the test rig that ships with forebear."""
    with as_file(files("forebear") / "examples" / "rig.csv") as table:
        inputs = ["load", "speed", "temperature", "humidity", "oil"]
        found = fb.discover(table, "vibration", candidates=inputs, progress=False)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    found.plot_scores("vibration", ax=left)
    found.plot_path("vibration", ax=right)
    return figure


def certificate() -> Figure:
    """The latents of a set that is enough, and of one that is not."""
    rng = np.random.default_rng(1)
    age, site, noise = rng.normal(size=(3, 1_500))
    residual = np.exp(0.5 * age) * noise
    lacking = ndtri((np.argsort(np.argsort(residual)) + 0.5) / len(residual))
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained", sharey=True)
    panels = (
        (site, noise, "site", "set {dose, age}: enough", BLUE),
        (site, lacking, "site", "set {dose}: site shows nothing", GREY),
        (age, lacking, "age", "set {dose}: age is missing", RED),
    )
    for axis, (x, z, name, title, colour) in zip(axes, panels, strict=True):
        axis.scatter(x, z, s=4, color=colour, lw=0, alpha=0.7)
        order = np.argsort(x)
        parts = np.array_split(order, 12)
        middle = [x[part].mean() for part in parts]
        for level in (0.1, 0.9):
            axis.plot(middle, [np.quantile(z[part], level) for part in parts], color=INK, lw=1.5)
        axis.set_title(title, fontsize=9, loc="left", color=INK)
        axis.set(xlim=(-2.7, 2.7), ylim=(-3.6, 3.6))
        _name(axis, name, "latent z of the row" if axis is axes[0] else "")
    return figure


def verdicts() -> Figure:
    """An effect and its upper limit against the margin, three times."""
    figure, axis = plt.subplots(figsize=(8, 2.2), layout="constrained")
    margin = CertificateSettings().margin
    cases = (
        ("certified", "nothing shows, 3,000 rows", 2.6, 3_000, False, GREEN),
        ("cannot tell", "nothing shows, 200 rows", 2.6, 200, False, GREY),
        ("something is missing", "shows, and no set mends it", 9.0, 3_000, True, RED),
    )
    for place, (verdict, why, t, rows, shows, colour) in enumerate(cases):
        effect = t**2 / rows if shows else 0.0
        limit = float(upper_limit(np.array(t), float(rows), float(rows)))
        axis.plot([effect, limit], [-place, -place], color=colour, lw=5, solid_capstyle="butt")
        axis.plot(effect, -place, "o", color=colour, ms=8)
        axis.text(limit + 0.003, -place, f"at most {limit:.1%}", va="center", fontsize=8, color=INK)
        axis.text(-0.004, -place + 0.16, verdict, ha="right", va="center", fontsize=9, color=INK, weight="bold")
        axis.text(-0.004, -place - 0.2, why, ha="right", va="center", fontsize=8, color=INK)
    axis.axvline(margin, color=INK, ls="--", lw=1.2)
    axis.text(margin + 0.001, 0.55, f"margin {margin:.1%}", fontsize=8, color=INK)
    axis.axvline(0, color=INK, lw=0.8)
    axis.set(xlim=(-0.045, 0.12), ylim=(-2.5, 0.85), yticks=[], xticks=[0, 0.025, 0.05, 0.075, 0.1])
    axis.xaxis.set_major_formatter(PercentFormatter(1.0))
    _name(axis, "what a removed input explains of what is left open: effect, and 95% upper limit", "")
    axis.spines["left"].set_visible(False)
    return figure


def acts() -> Figure:
    """Three ways to shape a law."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.4), layout="constrained", sharey=True)
    grid = np.linspace(-4, 4, 500)

    def modes(apart: float) -> np.ndarray:
        width = np.sqrt(1 - apart**2)
        return (norm.pdf(grid, -apart, width) + norm.pdf(grid, apart, width)) / 2

    laws: dict[str, Callable[[float], np.ndarray]] = {
        "location: it moves": lambda v: norm.pdf(grid, 1.2 * v, 0.8),
        "scale: it widens": lambda v: norm.pdf(grid, 0, 0.9 * 1.7**v),
        "shape: the rest changes": lambda v: modes((0.0, 0.7, 0.92)[int(v) + 1]),
    }
    for axis, (title, density) in zip(axes, laws.items(), strict=True):
        for value, colour in ((-1.0, BLUE), (0.0, GREEN), (1.0, RED)):
            axis.plot(grid, density(value), color=colour, lw=1.6, label=("low", "middle", "high")[int(value) + 1])
        axis.set_title(title, fontsize=9, loc="left", color=INK)
        axis.set_yticks([])
        _name(axis, "target", "")
    axes[0].legend(title="the input is", fontsize=7, title_fontsize=7, frameon=False)
    return figure


def size() -> Figure:
    """Peak memory and seconds of a whole discovery against the rows of its file, from results/bench-size.json."""
    told = json.loads((Path(__file__).parents[2] / "results" / "bench-size.json").read_text(encoding="utf-8"))["rows"]
    rows = [row["rows"] for row in told]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
    for axis, values, name in (
        (left, [row["peak_gb"] for row in told], "peak memory, GB"),
        (right, [row["ours_s"] for row in told], "seconds"),
    ):
        axis.plot(rows, values, "o-", color=BLUE, lw=1.6, ms=4)
        axis.set_xscale("log")
        axis.set_ylim(0, 1.25 * max(values))
        _name(axis, "rows of the Parquet file, 21 columns", name)
    return figure


def _name(axis: Axes, x: str, y: str) -> None:
    axis.set_xlabel(x, fontsize=9)
    axis.set_ylabel(y, fontsize=9)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


PICTURES = {
    "law": law,
    "pipeline": pipeline,
    "flow": flow,
    "path": path,
    "certificate": certificate,
    "verdicts": verdicts,
    "acts": acts,
    "size": size,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or PICTURES:
        drawn = PICTURES[name]()
        drawn.savefig(folder / f"{name}.png", dpi=160)
        plt.close(drawn)
