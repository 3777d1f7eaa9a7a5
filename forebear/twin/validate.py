"""Is the twin right? Scores, calibration and independence on rows it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from forebear.data.cells import few, html_table, p_text
from forebear.data.column import Column
from forebear.data.source import open_frame
from forebear.data.weights import mean_of, read_weights, scaled, weighted_rows
from forebear.discovery.dependence import Features, HostTest, all_latent_features, result_of
from forebear.discovery.residuals import features
from forebear.errors import InputError, near_miss
from forebear.twin.given import read_matrix
from forebear.twin.reference import set_aside
from forebear.twin.scores import binned_wasserstein, coverage, crps, mean_interval, pit, uniformity, wasserstein

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebear.flow.sampler import Law
    from forebear.twin.twin import Target, Twin

_DRAWS = 200
_BINS = 10
_EXACT_ROWS, _EXACT_DRAWS = 1_000, 1_000
_TESTED = 10_000


@dataclass(frozen=True)
class Scores:
    """What validation says of one target. Distances are in the target's own units."""

    crps: float
    crps_interval: tuple[float, float]
    """95%, by bootstrap over rows"""
    w1: float
    """Wasserstein-1 between observations and draws, averaged over ten bins of rows ordered by predicted median; with
    an exact law, against that law, averaged over inputs"""
    w1_floor: float
    """the same for draws of the exact law in place of the twin's, or, in bins, for one half of the draws in place
    of the observations: what a perfect twin would show"""
    coverage: Mapping[float, float]
    """level -> share of observations inside the central interval"""
    uniformity: float
    """largest gap between the distribution of the PIT values and the uniform one (Kolmogorov-Smirnov)"""
    uniformity_p_value: float
    independence_p_value: float | None
    """of the test that latents do not depend on the inputs; None without inputs"""
    independence_effect: float | None
    std: float
    """of the target, to compare distances with"""
    worse_by: float | None = None
    """CRPS of this twin minus that of the full one, mean over rows"""
    worse_interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Scores by target, and the PIT values behind them."""

    scores: Mapping[str, Scores]
    pit: np.ndarray
    """(rows, targets), uniform when the twin is right"""
    rows: int
    exact: bool

    def __repr__(self) -> str:
        told = [
            f"{t} CRPS {s.crps:.4g}, {_covered(s, 0.9)} of the rows in the 90% interval"
            for t, s in self.scores.items()
        ]
        return f"<validation on {self.rows:,} rows: {few(told)}>"

    def _repr_html_(self) -> str:
        """For notebooks: a row per target."""
        rows = [
            [
                target,
                f"{s.crps:.4g} ({s.crps_interval[0]:.4g} to {s.crps_interval[1]:.4g})",
                *(_covered(s, level) for level in s.coverage),
                f"{s.uniformity:.3f} ({p_text(s.uniformity_p_value)})",
                "-" if s.independence_p_value is None else p_text(s.independence_p_value),
            ]
            for target, s in self.scores.items()
        ]
        levels = next(iter(self.scores.values())).coverage if self.scores else ()
        head = ["target", "CRPS (95% interval)", *(f"in the {level:.0%} interval" for level in levels)]
        told = f"Judged on {self.rows:,} rows that the twin has not seen."
        return html_table([*head, "PIT off uniform by", "latents against inputs"], rows, before=told)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        return {
            "rows": self.rows,
            "exact": self.exact,
            "targets": {t: _plain(asdict(s)) for t, s in self.scores.items()},
        }

    def frame(self) -> pd.DataFrame:
        """One row per target."""
        rows = {}
        for target, scores in self.scores.items():
            plain = {name: value for name, value in asdict(scores).items() if name != "coverage"}
            rows[target] = {**plain, **{f"coverage {level:.0%}": share for level, share in scores.coverage.items()}}
        return pd.DataFrame.from_dict(rows, orient="index")

    def summary(self) -> str:
        """A few lines per target, as a person would say it."""
        lines = [_lines(target, scores, self.exact) for target, scores in self.scores.items()]
        return "\n".join(line for each in lines for line in each)

    def plot(self) -> Figure:
        """PIT histogram and coverage of each target."""
        from forebear.plots.calibration import calibration_figure
        from forebear.plots.style import shown_once

        return shown_once(calibration_figure(self._pit_of(list(self.scores))))

    def plot_calibration(self, target: str | None = None, ax: Axes | None = None) -> Axes:
        """Coverage of the central intervals, a line per target, or of one target alone; the diagonal is right."""
        from forebear.plots.calibration import coverage_figure

        if target is not None and target not in self.scores:
            raise InputError(f"target: '{target}' was not validated. {near_miss(target, self.scores)}")
        return coverage_figure(self._pit_of(list(self.scores) if target is None else [target]), ax)

    def _pit_of(self, targets: list[str]) -> dict[str, np.ndarray]:
        names = list(self.scores)
        return {target: self.pit[:, names.index(target)] for target in targets}


def validate(
    twin: Twin, held_out: Any, *, full: Twin | None, exact: Any, seed: int, weights: Any = None
) -> Validation:
    """The work of `Twin.validate`."""
    if held_out is None and not len(twin.reference):
        raise InputError("no rows were set aside for this twin: judge on rows of yours, twin.validate(rows)")
    frame, source = open_frame(set_aside(twin) if held_out is None else held_out)
    counts = _weights(frame, source, weights)
    if counts is not None and not counts.all():
        counted = np.flatnonzero(counts)
        frame, counts = frame.iloc[counted].reset_index(drop=True), counts[counted]
    y = read_matrix(frame, twin.outputs, "held_out")
    rng = np.random.default_rng(seed)
    draws = twin.sample(frame, n=_DRAWS, seed=seed, outside="ignore")
    # The latents of a joint law belong to no target alone, and some laws have no way back to them: there a value's
    # place is that among the draws.
    if twin.law_rises and "pull" not in twin.law.lacks:
        z = twin.latent(frame, _unrounded(twin, y, rng), seed=seed)
        places = ndtr(z)
    else:
        steps = [_step(target) for target in twin.outputs]
        places = np.stack([pit(draws[..., i], y[:, i], rng, step) for i, step in enumerate(steps)], axis=1)
        own = twin.joint and "pull" not in twin.law.lacks and twin.law.latents == y.shape[1]
        z = twin.latent(frame, y, seed=seed) if own else ndtri(np.clip(places, 1e-9, 1 - 1e-9))
    losses = np.stack([crps(draws[..., i], y[:, i]) for i in range(y.shape[1])], axis=1)
    others = None if full is None else _losses_of_full(twin, full, frame, y, seed)
    some = slice(None) if counts is None else weighted_rows(counts, len(counts))
    distances = _binned(twin, draws[:, some], y[some]) if exact is None else _exact(twin, exact, frame, rng)
    verdicts = _independence(twin, frame, z, rng, counts)
    scores = {}
    for i, target in enumerate(twin.targets):
        scores[target] = Scores(
            mean_of(losses[:, i], counts),
            mean_interval(losses[:, i], rng, counts=counts),
            *distances[i],
            coverage(places[:, i], counts),
            *uniformity(places[:, i], counts),
            *verdicts[i],
            float(y[some, i].std()),
        )
        if others is not None:
            worse = losses[:, i] - others[:, i]
            interval = mean_interval(worse, rng, counts=counts)
            better = {"worse_by": mean_of(worse, counts), "worse_interval": interval}
            scores[target] = replace(scores[target], **better)
    return Validation(scores, places, len(y), exact is not None)


def _step(target: Target) -> float:
    """What the values of a target were rounded to; 0 where they were not, and where their latents say it already."""
    return target.dequantiser.step if target.dequantiser.kind == "continuous" else 0.0


def _unrounded(twin: Twin, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values (rows, targets) as they may have been before they were rounded; `scores.pit` says why."""
    return y + np.array([_step(target) for target in twin.outputs]) * (rng.random(y.shape) - 0.5)


def _weights(frame: pd.DataFrame, source: str, weights: Any) -> np.ndarray | None:
    """From a column, or a number for each row."""
    if weights is None:
        return None
    if isinstance(weights, str):
        return scaled(read_weights(frame, weights, source))
    values = np.asarray(weights, float)
    if values.shape != (len(frame),):
        raise InputError(f"weights must be a column, or one number for each of {len(frame)} rows; got {values.shape}")
    return scaled(read_weights(pd.DataFrame({"weights": values}), "weights", source))


def _losses_of_full(twin: Twin, full: Twin, frame: pd.DataFrame, y: np.ndarray, seed: int) -> np.ndarray:
    if not set(twin.targets) <= set(full.targets):
        raise InputError(f"full must have the targets of the twin, {list(twin.targets)}; got {list(full.targets)}")
    draws = full.sample(frame, n=_DRAWS, seed=seed, outside="ignore")
    places = [full.targets.index(target) for target in twin.targets]
    return np.stack([crps(draws[..., place], y[:, i]) for i, place in enumerate(places)], axis=1)


def _binned(twin: Twin, draws: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    found = []
    for i in range(y.shape[1]):
        order = np.argsort(np.argsort(np.median(draws[..., i], axis=0), kind="stable"))
        bins = order * _BINS // len(order)
        # A draw in the place of each observation: a twin that is right scores as this does.
        floor = binned_wasserstein(draws[1:, :, i], draws[0, :, i], bins)
        found.append((binned_wasserstein(draws[..., i], y[:, i], bins), floor))
    return found


def _exact(twin: Twin, exact: Any, frame: pd.DataFrame, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Input by input, as published: mean over inputs of W1 between so many draws and the exact quantiles."""
    some = frame.iloc[np.sort(rng.permutation(len(frame))[:_EXACT_ROWS])].reset_index(drop=True)
    law = _law(exact, some, twin)
    draws = twin.sample(some, n=_EXACT_DRAWS, seed=int(rng.integers(2**31)), outside="ignore")
    levels = ndtri((np.arange(_EXACT_DRAWS) + 0.5) / _EXACT_DRAWS)
    shape = (len(some), len(twin.outputs))
    truth = np.stack([law.push(some, np.full(shape, level)) for level in levels])
    again = np.stack([law.push(some, rng.normal(size=shape)) for _ in levels])
    ours, floor = (
        [float(wasserstein(made[..., i], truth[..., i]).mean()) for i in range(shape[1])] for made in (draws, again)
    )
    return list(zip(ours, floor, strict=True))


def _law(exact: Any, frame: pd.DataFrame, twin: Twin) -> Law:
    oracle: Any = exact.oracle() if hasattr(exact, "oracle") else exact
    if hasattr(oracle, "fit"):
        oracle = oracle.fit(frame, pd.DataFrame(columns=list(twin.targets)), seed=0)
    if not hasattr(oracle, "push"):
        raise InputError("exact must be a system of forebear.systems, its oracle(), or a law with push(given, z)")
    return oracle


def _independence(
    twin: Twin, frame: pd.DataFrame, z: np.ndarray, rng: np.random.Generator, counts: np.ndarray | None = None
) -> list[tuple[float | None, float | None]]:
    """The certificate's own test, of the latents of each target against all inputs of the twin at once."""
    if not twin.inputs:
        return [(None, None)] * z.shape[1]
    some = np.sort(rng.permutation(len(frame))[:_TESTED])
    x = read_matrix(frame, twin.columns, "held_out")[some]
    columns = [Column(c.name, c.kind, x[:, i], c.levels, c.period) for i, c in enumerate(twin.columns)]
    varied = [column for column in columns if len(np.unique(column.values)) > 1]
    if not varied:
        return [(None, None)] * z.shape[1]
    named = {column.name: Features(features(column)) for column in varied}
    own = None if counts is None else scaled(counts[some])
    test = HostTest.of(named, [], {name: [name] for name in named}, weights=own)
    latents = [test.clear(all_latent_features(z[some, i])) for i in range(z.shape[1])]
    results = [result_of([*test.each(own).values(), *test.pairs(own)]) for own in latents]
    return [(result.p_value, result.effect) for result in results]


def _covered(scores: Scores, level: float) -> str:
    return f"{scores.coverage[level]:.1%}"


def _lines(target: str, scores: Scores, exact: bool) -> list[str]:
    low, high = scores.crps_interval
    against = "to the exact law" if exact else "in bins"
    cover = ", ".join(f"{share:.1%} in the {level:.0%} interval" for level, share in scores.coverage.items())
    lines = [
        f"{target}: CRPS {scores.crps:.4g} ({low:.4g} to {high:.4g}); W1 {against} {scores.w1:.4g}, a perfect twin's "
        f"{scores.w1_floor:.4g}",
        f"  coverage: {cover}; PIT off uniform by {scores.uniformity:.3f}",
    ]
    if scores.independence_p_value is not None:
        p_value, effect = scores.independence_p_value, scores.independence_effect
        lines.append(f"  latents against inputs: p = {p_value:.2g}, effect {effect:.2g}")
    if scores.worse_interval is not None:
        most = max(scores.worse_interval[1], 0.0)
        lines.append(
            f"  the pruned twin is worse than the full one by at most {most:.3g} in CRPS ({most / scores.crps:.1%}; "
            f"95% interval {scores.worse_interval[0]:.3g} to {scores.worse_interval[1]:.3g})"
        )
    return lines


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value
