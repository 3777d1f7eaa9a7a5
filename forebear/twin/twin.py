"""The digital twin: a sampler of the targets given their ancestors, with names, units and scaling inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from scipy.special import ndtri

from forebear.data.cells import few, html_table
from forebear.data.dequantise import Dequantiser
from forebear.data.scaling import ColumnCode, Encoder
from forebear.errors import InputError, check_whole
from forebear.kinds.kind import RANGE_QUANTILES as RANGE_QUANTILES
from forebear.kinds.kind import Range as Range
from forebear.run.events import progress as show_progress
from forebear.storage.memory import check_room
from forebear.twin import mass
from forebear.twin.blend import BlendLaw
from forebear.twin.core import Core, make_core
from forebear.twin.distil import distil
from forebear.twin.dynamics import Dynamics
from forebear.twin.encode import OutputCode
from forebear.twin.export import export, export_onnx
from forebear.twin.given import read_matrix
from forebear.twin.intervals import (
    Extent,
    Outside,
    check_level,
    check_outside,
    conformal_latents,
    corners_of,
    mean_rule,
)
from forebear.twin.labelled import long_table
from forebear.twin.law import ForeignLaw, ModelLaw, Part, TwinLaw
from forebear.twin.model import TwinModel
from forebear.twin.monitor import monitor
from forebear.twin.move import Rest
from forebear.twin.provenance import Learned
from forebear.twin.reference import Reference
from forebear.twin.rollout import Rollout, rollout
from forebear.twin.settings import TwinSettings
from forebear.twin.spline import SplineModel
from forebear.twin.store import save_twin
from forebear.twin.validate import Validation, validate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebear.twin.stepper import Stepper
    from forebear.twin.watching import Watch
    from forebear.watch.result import Monitored


@dataclass(frozen=True)
class Target:
    """One target: its values, and its scaling once they are continuous."""

    name: str
    dequantiser: Dequantiser
    centre: float
    scale: float
    levels: tuple[object, ...] = ()
    """of a category, whose values are places in this list"""
    open_ends: tuple[bool, bool] = (False, False)
    """whether everything below the lowest cell, or above the highest, belongs to it, for want of data beyond"""

    @cached_property
    def collapser(self) -> Dequantiser:
        """The way back from the continuous scale, the end cells as wide as they should be."""
        low, high = self.dequantiser.low.copy(), self.dequantiser.high.copy()
        if self.open_ends[0]:
            low[0] = -np.inf
        if self.open_ends[1]:
            high[-1] = np.inf
        return replace(self.dequantiser, low=low, high=high)


# A joint flow has no quantile map: its marginal quantiles are read off so many draws at each row.
_QUANTILE_DRAWS = 1_024
MEANT = {
    "predict": "twin.mean(rows), or twin.quantile(rows, 0.5)",
    "predict_quantiles": "twin.quantile(rows, levels)",
    "predict_interval": "twin.interval(rows, 0.9)",
    "fit": "found.twin(), which fits one; twin.update(rows) learns on",
    "score": "twin.validate(rows)",
    "pdf": "twin.log_prob(rows, y)",
    "plot": "twin.plot_law(rows, target) or twin.plot_fan(input, target)",
}
"""what people write -> what it is called here"""
# Rows at which a law is asked whether it rises.
_LOOKED_AT = 64
_NEEDS = {"pull": "the way back to latents", "density": "the density of the law"}


@dataclass(frozen=True, eq=False, repr=False)
class Twin:
    """A sampler of the targets given their inputs.

    `given` is a data frame, a dict of columns or a file, which may hold more columns than the inputs, or an array
    (rows, inputs) in the order of `inputs`. A category is given by its labels, in an array of numbers by its codes,
    places in `levels`; a target that is a category is always returned as codes.

    Made by `Found.twin`; see there for an example.
    """

    columns: tuple[ColumnCode, ...]
    outputs: tuple[Target, ...]
    ancestors: Mapping[str, tuple[str, ...]]
    """target -> the input columns it depends on"""
    model: TwinModel | BlendLaw | ForeignLaw
    """networks, a blend of networks and trees, or laws that a sampler of the user's has fitted; `law` is the same to
    all of them"""
    joint: bool
    """one law of all targets together, rather than one law per target"""
    ranges: tuple[Range | None, ...]
    """of each input; None for an angle or a category"""
    rows: np.ndarray
    """some rows of the training inputs (rows, inputs), categories as codes"""
    settings: TwinSettings
    units: Mapping[str, str] = field(default_factory=dict)
    """column -> unit, as the user gave them; kept, never used"""
    distillation: Mapping[str, Any] | None = None
    """errors against the teacher, when the twin was made by `distil`"""
    test_rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """numbers of the rows of its table that were set aside before it was fitted (`TwinSettings.test`);
    `Found.validate` judges it on them"""
    table: str = ""
    """fingerprint of the table that it was fitted on, in which `test_rows` count"""
    aside: np.ndarray = field(default_factory=lambda: np.zeros((0, 1)))
    """(rows, targets) latents of the rows that were set aside, for intervals with a guarantee; none where there are
    no such rows, or the law is no quantile map"""
    reference: Reference = field(default_factory=Reference)
    """the rows that were set aside themselves, which `monitor` compares new ones with"""
    provenance: tuple[Learned, ...] = ()
    """what it has learned since it was fitted: an entry for each `update`"""

    def __repr__(self) -> str:
        laws = [f"{target} <- {', '.join(names) or 'nothing'}" for target, names in self.ancestors.items()]
        return f"<{'joint ' if self.joint else ''}twin: {few(laws)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the laws, and where each input of theirs has been seen."""
        support = self.support
        seen = {name: f"{row['low']:.4g} to {row['high']:.4g}" for name, row in support.iterrows()}
        seen |= {name: ", ".join(map(str, levels)) for name, levels in self.levels.items()}
        unit = {name: f" {unit}" for name, unit in self.units.items()}
        rows = [
            [
                f"{target}{unit.get(target, '')}",
                self.taken_for[target],
                "\n".join(f"{name}: {seen[name]}{unit.get(name, '')}" if name in seen else name for name in names)
                or "none",
            ]
            for target, names in self.ancestors.items()
        ]
        what = "One law of all targets together." if self.joint else ""
        return html_table(["target", "taken for", "inputs, and where they were seen"], rows, after=what)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets, the last axis of what the methods return."""
        return tuple(target.name for target in self.outputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in the order in which an array holds them."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def encoder(self) -> Encoder:
        """Raw inputs to what the networks see."""
        return Encoder(self.columns)

    @property
    def levels(self) -> dict[str, tuple[object, ...]]:
        """The labels of every category among inputs and targets; a code is a place in this list."""
        return {column.name: column.levels for column in (*self.columns, *self.outputs) if column.levels}

    @property
    def taken_for(self) -> dict[str, str]:
        """What the values of each target were taken for; `treat={"y": "continuous"}` sets it in a fit."""
        return {target.name: target.dequantiser.taken_for for target in self.outputs}

    @property
    def support(self) -> pd.DataFrame:
        """Where the training data lies: low, high and quantiles, a row for each input that is a number."""
        known = {name: r for name, r in zip(self.inputs, self.ranges, strict=True) if r is not None}
        columns = ["low", *(f"{level:.0%}" for level in RANGE_QUANTILES), "high"]
        cells = [[r.low, *r.quantiles, r.high] for r in known.values()]
        return pd.DataFrame(cells, index=list(known), columns=columns)

    @overload
    def sample(
        self, given: Any, n: int = 100, seed: int = 0, *, outside: Outside = "warn", frame: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def sample(
        self, given: Any, n: int = 100, seed: int = 0, *, outside: Outside = "warn", frame: Literal[True]
    ) -> pd.DataFrame: ...
    def sample(
        self, given: Any, n: int = 100, seed: int = 0, *, outside: Outside = "warn", frame: bool = False
    ) -> np.ndarray | pd.DataFrame:
        """Draws (n, rows, targets); the same seed gives the same draws.

        Arguments:
            outside: what to do about rows that lie half a deviation or more beyond the data: "warn", "raise" or
                "ignore".
            frame: a data frame instead, a line per draw: row and draw, both from 1, and the targets, categories by
                their labels.
        """
        check_whole("n", n, 1)
        check_whole("seed", seed, 0)
        x = read_matrix(given, self.columns, "given")
        check_outside(self, x, outside)
        check_room(f"n={n} for {len(x)} rows", int(n) * len(x) * len(self.outputs))
        z = np.random.default_rng(seed).standard_normal((n, len(x), self.law.latents), np.float32)
        draws = self._values(self.law.push(x, z))
        return long_table(self, draws) if frame else draws

    def quantile(
        self, given: Any, q: float | Sequence[float] | np.ndarray, *, outside: Outside = "warn"
    ) -> np.ndarray:
        """Conditional quantiles (len(q), rows, targets), or (rows, targets) for a single q.

        Where the law is not a quantile map they are estimated from 1,024 draws at each row: for a joint twin, of each
        target alone, and for a law of the user's that does not rise with a latent of each target.
        """
        levels = np.atleast_1d(np.asarray(q, float))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise InputError(f"quantiles must lie strictly between 0 and 1; got {q!r}")
        x = read_matrix(given, self.columns, "given")
        check_outside(self, x, outside)
        if self.law_rises:
            found = self.at_latents(x, np.broadcast_to(ndtri(levels)[:, None, None], (len(levels), 1, 1)))
        else:
            draws = self.sample(x, _QUANTILE_DRAWS if self.law.latents else 1, outside="ignore")
            found = np.quantile(draws, levels, axis=0, method="inverted_cdf")
        return found[0] if np.ndim(q) == 0 else found

    def mean(self, given: Any, *, outside: Outside = "warn") -> np.ndarray:
        """Conditional means (rows, targets), integrated over quantiles; of a category the mean of its codes."""
        levels, weights = mean_rule()
        return np.tensordot(weights, self.quantile(given, levels, outside=outside), axes=1)

    def interval(
        self, given: Any, level: float = 0.9, *, guarantee: bool = False, outside: Outside = "warn"
    ) -> np.ndarray:
        """Lower and upper ends (2, rows, targets) of the central interval: `low, high = twin.interval(rows, 0.9)`.

        With `guarantee` the interval is widened, or narrowed, until rows that were set aside say that a share `level`
        of new rows lies inside (split conformal prediction). It holds for rows exchangeable with those set aside,
        over all of them together, for each target alone; where rows depend on one another, in time or in groups, it
        holds on average over a table like that of the twin, and not for later rows or new groups. It needs a twin
        with rows set aside, as `found.twin()` has them (`test`); those rows cannot judge the interval any more.
        """
        share = check_level(level)
        if not guarantee:
            return self.quantile(given, [(1 - share) / 2, (1 + share) / 2], outside=outside)
        if self.joint or not self.law_rises:
            raise InputError("guarantee=True needs a law that rises with a latent of each target: leave joint out")
        reach = conformal_latents(self.aside, share)
        x = read_matrix(given, self.columns, "given")
        check_outside(self, x, outside)
        return self.at_latents(x, np.stack([-reach, reach])[:, None])

    def latent(self, given: Any, y: Any, seed: int = 0) -> np.ndarray:
        """Latents (rows, targets) of observed targets; standard normal, whatever the inputs, when the twin is right.

        A value of a lattice, or an atom, stands for an interval of latents; one of them is drawn, by `seed`.
        """
        return self.latents(given, y, 1, seed)[..., 0]

    def latents(self, given: Any, y: Any, draws: int, seed: int = 0) -> np.ndarray:
        """The same (rows, targets, draws), with so many draws of the latents that a value stands for.

        Values of a target that is neither a lattice nor has atoms have one latent each, which comes so many times.
        """
        check_whole("seed", seed, 0)
        check_whole("draws", draws, 1)
        self.demand("pull", "latent")
        x, values = self._observed(given, y)
        rng = np.random.default_rng(seed)
        if not self.law_rises:
            told = [self.law.pull(x, np.stack(self._spread(values, rng), axis=1)) for _ in range(draws)]
            return np.stack(told, axis=-1)
        below, above = self._latent_cells(x, values)
        return np.stack([mass.draw_between(below, above, rng) for _ in range(draws)], axis=-1)

    def log_prob(self, given: Any, y: Any) -> np.ndarray:
        """Log density (rows, targets) of observed targets, or log probability of lattice values and atoms.

        For a joint twin (rows,), the log density of all targets together. Its lattice values count with the mean
        density over their cells times the volume, from 64 points per row.
        """
        self.demand("density", "log_prob")
        x, values = self._observed(given, y)
        if self.joint:
            return mass.joint_log_prob(self, x, values)
        density = self.law.log_density(x, self._continuous(values))
        discrete = np.stack([self._discrete(i, values[:, i]) for i in range(values.shape[1])], axis=1)
        if not discrete.any():
            return density
        self.demand("pull", "log_prob of lattice values and atoms")
        if not self.law_rises:
            raise InputError(
                "log_prob of lattice values and atoms needs a law that rises with a latent of each target"
            )
        return np.where(discrete, mass.log_between(*self._latent_cells(x, values)), density)

    def outside(self, given: Any) -> np.ndarray:
        """How far each row lies beyond the range of the training data (rows,); 0 inside.

        In standard deviations, of the input that is furthest out. An angle has no outside; a category's label that
        the data does not have is an error.
        """
        x = read_matrix(given, self.columns, "given")
        low, high = self.ends
        return np.max(np.maximum(low - x, x - high) / self._scale, axis=1, initial=0.0)

    @cached_property
    def corners(self) -> tuple[list[int], list[Extent]]:
        """How far the data reach along the diagonals of every two inputs, for warnings about empty corners."""
        return corners_of(self)

    def core(self) -> Core:
        """The twin as a pure JAX function, for rollouts and planners that compile it into their own loops.

        `core.push(core.params, x, z)` turns raw inputs x (rows, inputs) and latents z (rows, core.latents) into raw
        targets (rows, targets), in single precision; categories are codes on both sides. Compiled code cannot ask
        trees: of a blend this is the core of its student (`distil`), which is made on the first call and kept.
        """
        if isinstance(self.model, BlendLaw):
            return self.student.core()
        self.demand("networks", "core, for rollouts, environments and planners,")
        return self._core

    def stepper(self) -> Stepper:
        """The twin as a plain function of one row, for control loops: some tens of microseconds a draw.

        Like `core`, but by numpy alone, and always of the distilled twin: of a twin that is not distilled its
        student is made on the first call and kept. In a joint twin a student has latents of its own.

        >>> import forebear as fb, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> load = rng.normal(size=400)
        >>> table = {"load": load, "y": load + rng.normal(size=400)}
        >>> found = fb.discover(table, "y", rule=lambda path: ["load"], steps=20, distilled=40, progress=False)
        >>> step = found.twin(law="flow", steps=20).distil(rows=256, steps=20).stepper()
        >>> step.inputs, step.targets, step(np.array([1.0]), rng.normal(size=step.latents)).shape
        (('load',), ('y',), (1,))
        """
        from forebear.twin.stepper import Stepper

        self.demand("pull", "stepper")
        return Stepper(self.student)

    def distil(self, rows: int = 8_192, steps: int = 6_000, seed: int = 0, progress: bool | None = None) -> Twin:
        """A twin with the same methods whose ODE is replaced by one pass through a small network.

        For separate targets the student learns the teacher's quantile maps; it is monotone in the latent, so that
        quantiles never cross. For a joint twin it learns the law, target after target, and its latents differ from
        the teacher's. `distillation` holds its errors: for each target the mean Wasserstein-1 distance to the teacher
        and the root mean square of the difference at equal latents, both in standard deviations of the target.

        Arguments:
            rows: inputs at which the teacher is asked.
            steps: of training.
        """
        self.demand("pull", "distil")
        if not (self.joint or self.law_rises):
            raise InputError("distil needs a law that rises with a latent of each target, and this one does not")
        check_whole("rows", rows, 1)
        check_whole("steps", steps, 1)
        check_whole("seed", seed, 0)
        with show_progress(progress) as show:
            return distil(self, rows, steps, seed, lambda share: show("distilling", share))

    def rollout(
        self,
        start: Any,
        steps: int,
        *,
        actions: Any = None,
        n: int = 1,
        seed: int = 0,
        dynamics: Dynamics | None = None,
        episode: str | None = None,
        step_rest: Rest | None = None,
        conditions: bool = False,
    ) -> Rollout:
        """Trajectories: each step draws the targets, moves the states and remembers as much as the twin looks back.

        All trajectories run in one compiled loop; a second call of the same shapes compiles nothing. The row that the
        twin is given at a step is the row that `forebear.lagged` makes of the trajectory so far. Angles stay within
        one turn.

        Arguments:
            start: a table with the recent past of each trajectory, one row per moment, told apart by the column
                `episode` (without memory every row is a start); or a table by `forebear.lagged`, one row per start;
                or an array (starts, lags + 1, variables), oldest moment first.
            steps: how many.
            actions: an array (steps, trajectories, actions), where the axis of trajectories may be left out or be
                that of the starts, or a function (history, key) -> action of one trajectory that JAX can trace; see
                `forebear.History`.
            n: trajectories from each start; number `i` of the result has start `i % starts`.
            seed: the same seed, shapes and device give the same trajectories.
            dynamics: what the columns mean; None reads it from their names, as `forebear.lagged` gives them.
            step_rest: a function (state, action, targets, key) -> next state of one trajectory, for a twin that
                is only a part of the dynamics.
            conditions: also return the rows that the twin was given.
        """
        return rollout(
            self,
            start,
            steps,
            actions=actions,
            n=n,
            seed=seed,
            dynamics=dynamics,
            episode=episode,
            step_rest=step_rest,
            conditions=conditions,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Names of other libraries are answered with the one that is meant."""
            if name in MEANT:
                raise AttributeError(f"a twin has no '{name}': write {MEANT[name]}")
            return object.__getattribute__(self, name)  # fails as it did, with what Python says

    def validate(
        self, held_out: Any = None, *, full: Twin | None = None, exact: Any = None, seed: int = 0, weights: Any = None
    ) -> Validation:
        """Scores and calibration on rows that the twin has not seen, inputs and targets in one table.

        Arguments:
            held_out: the table; None takes the rows that were set aside when the twin was fitted.
            full: the twin on all candidates, `found.twin(pruned=False)`, to say how much worse this one is at most.
            exact: where the law is known, a system of `forebear.systems` or its oracle, to measure the distance to.
            weights: how much each row counts: a column of the table, or a number for each row.
        """
        return validate(self, held_out, full=full, exact=exact, seed=seed, weights=weights)

    def monitor(
        self,
        rows: Any,
        *,
        reference: Any = None,
        level: float = 0.05,
        margin: float = 0.05,
        seed: int = 0,
    ) -> Monitored:
        """Does each law still hold on new rows? If not: since when, how, and which input the change follows.

        The latents of the new rows are compared with those of rows that were set aside when the twin was fitted, at
        the same inputs: that other inputs come now is no change of the law, and what the twin itself gets wrong is
        none either. Rows outside what the twin has seen are left out and reported apart. An input can also be a
        column that did not matter before, if the new rows have it. Rows are taken in the order of the table; where
        they depend on one another they count for less.

        Arguments:
            rows: inputs and targets in one table, with any other columns; a frame, a dict of columns or a file.
            reference: rows to compare with instead of those that were set aside, on which the laws are known to hold.
            level: chance of one false alarm, over all targets of the call.
            margin: the smallest change worth an alarm, in deviations of what the inputs leave open.
            seed: of the places that values of a lattice are given within their cells.

        Returns:
            A `Monitored`: `verdict` ("holds" or "changed"), `targets`, `summary()`, `plot()`, `report("page.html")`.

        >>> import pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(2_000, 2)), columns=["a", "b"])
        >>> table["y"] = table["b"] + rng.normal(size=2_000)
        >>> found = fb.discover(table, "y", rule=lambda path: ["b"], steps=50, distilled=200, folds=1)
        >>> twin = found.twin(steps=300, width=16, depth=2)
        >>> new = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
        >>> told = twin.monitor(new.assign(y=new["b"] + 0.8 * new["a"] + rng.normal(size=600)))
        >>> told.verdict, told.targets["y"].follows
        ('changed', ('a',))
        """
        return monitor(self, rows, reference=reference, level=level, margin=margin, seed=seed)

    def update(
        self,
        rows: Any,
        *,
        old: Any = None,
        since: int | None = None,
        weights: str | None = None,
        rediscover: bool = True,
        level: float = 0.05,
        seed: int = 0,
        progress: bool | None = None,
    ) -> Twin:
        """A twin that has learned on from new rows, without starting again; this one stays as it is.

        `monitor` says of which targets the law changed, and since which row: there new rows win, and old ones count
        where the law still holds. Where no law changed, all rows count together. Old rows are drawn from the twin
        itself, at inputs that it kept, unless you still have them. Rows of a stuck sensor, and of a change that has
        ended, are not learned. A law that is no better on rows kept apart stays as it was.

        What happened is the last entry of `provenance`: scores on rows set aside before and after, on new rows and on
        old ones, and whether the inputs still suffice. Where a law begins to follow a column that it does not have,
        the new rows are searched for its inputs, and the twin is fitted on those.

        Arguments:
            rows: inputs and targets in one table, with any other columns; a frame, a dict of columns or a file.
            old: rows that the twin was fitted on, if you have them, in place of draws.
            since: the first row of the new law, counted from 1, where you know it; None asks the monitor.
            weights: a column of the rows that says how much each counts.
            rediscover: whether to search for inputs where they no longer suffice; it takes as long as a discovery.
            level: of the monitor, the chance of taking a law for changed that is not.
            seed: the same twin, rows and seed give the same law.
            progress: a bar; None shows one on a terminal.

        >>> import pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> def rows(n, moved=0.0):
        ...     table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
        ...     return table.assign(y=table["b"] + moved + rng.normal(size=n))
        >>> found = fb.discover(rows(2_000), "y", rule=lambda path: ["b"], steps=50, distilled=200, folds=1)
        >>> twin = found.twin(steps=300, width=16, depth=2)
        >>> updated = twin.update(rows(600, moved=1.0))
        >>> told = updated.provenance[-1].targets["y"]
        >>> told.law, told.on_new.after < told.on_new.before, told.missing
        ('changed', True, ())
        >>> updated.monitor(rows(600, moved=1.0)).verdict
        'holds'
        """
        from forebear.twin.fresh import Asked
        from forebear.twin.update import update

        asked = Asked(old, since, weights, rediscover, level, seed)
        with show_progress(progress) as show:
            return update(self, rows, asked, lambda share: show("learning on", share))

    def watch(
        self,
        *,
        state: str | Path | None = None,
        reference: Any = None,
        level: float = 0.05,
        margin: float = 0.05,
        memory: int | None = None,
        seed: int = 0,
    ) -> Watch:
        """Watch the laws while rows come in: `monitor` for a stream, which may be looked at as often as one likes.

        All looks together, over the whole life of the watch, have a chance of at most `level` of a false alarm.

        Arguments:
            state: a file that `Watch.save` wrote, to go on from there.
            reference: as in `monitor`.
            level: chance of a false alarm, ever, over all targets.
            margin: as in `monitor`.
            memory: how many rows are worth one, where they remember those before them; None goes by the rows that
                were set aside.
            seed: as in `monitor`.

        >>> import pandas as pd, forebear as fb
        >>> rng = np.random.default_rng(0)
        >>> def rows(n, more=0.0):
        ...     table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
        ...     return table.assign(y=table["b"] + more * table["a"] + rng.normal(size=n))
        >>> found = fb.discover(rows(2_000), "y", rule=lambda path: ["b"], steps=50, distilled=200, folds=1)
        >>> watch = found.twin(steps=300, width=16, depth=2).watch()
        >>> watch.add(rows(500)).verdict, watch.add(rows(500)).verdict
        ('holds', 'holds')
        >>> told = watch.add(rows(1_000, more=0.8))
        >>> told.verdict, told.targets["y"].follows
        ('changed', ('a',))
        """
        from forebear.twin.watching import Watch

        watch = Watch(self, reference, level, margin, memory, seed)
        if state is not None:
            watch.restore(state)
        return watch

    def plot_law(self, given: Any, target: str | None = None, ax: Axes | None = None) -> Axes:
        """The law of one target at up to five rows of inputs: density, or probabilities; medians and the middle 50%
        and 90% below."""
        from forebear.twin.shown import plot_law

        return plot_law(self, given, target, ax)

    def plot_fan(
        self, input: str, target: str | None = None, *, given: Any = None, data: Any = None, ax: Axes | None = None
    ) -> Axes:
        """The law of one target along one of its inputs: median, middle half and 90% range, the other inputs typical.

        A category has boxes, an angle goes once around; of a target that is a category its probabilities are drawn.
        Where no row of the training data is near, nothing is drawn.

        Arguments:
            given: {input: value}, where the others are to stand instead.
            data: a table with the input and the target, whose rows are drawn as points; `Found.plot_fan` takes its
                own.
        """
        from forebear.twin.fan import plot_fan

        return plot_fan(self, input, target, given, data, ax)

    def export(self, file: str | Path, **options: Any) -> None:
        """Write the twin for another program, in the format that the ending names.

        `.c` is C99 without any runtime, `.fmu` a unit for simulators by the FMI standard, `.onnx` a graph as
        `export_onnx` writes it. What is written is one pass through a small network: of a twin that is not distilled
        its student (`distil`), which is made on the first call and kept.

        Arguments:
            options: of an FMU: `fmi="2.0"`, the version of the standard (default: "3.0"); `step=`, the time that a
                step of a rollout takes; `rollout=` and `dynamics=`, whether and how it moves through time (default:
                as the names of its columns say); `binary=False` for sources alone. Of ONNX: `others=`, further
                trainings of the same twin; y is then (trainings, rows, targets), this twin's first.
        """
        export(self, file, **options)

    def export_onnx(self, file: str | Path) -> None:
        """Write a distilled twin, or the student of a blend, as an ONNX graph; needs the extra `onnx`.

        Its inputs are x (rows, inputs), raw numbers with categories as codes, and standard normal z (rows, targets);
        its output is y (rows, targets). All are single precision.
        """
        if isinstance(self.model, BlendLaw):
            self.student.export_onnx(file)
            return
        self.demand("networks", "export_onnx")
        self.demand("pull", "export_onnx")
        export_onnx(self, file)

    def save(self, folder: str | Path) -> None:
        """Write the twin to a folder of its own: weights as safetensors, the rest as JSON. `forebear.load_twin`
        reads it back."""
        if not isinstance(self.model, BlendLaw):
            self.demand("networks", "save")
        save_twin(self, folder)

    @cached_property
    def law(self) -> TwinLaw:
        """The law on raw matrices, whatever it is made of."""
        if isinstance(self.model, TwinLaw):
            return self.model
        centre, scale = (np.array([getattr(target, name) for target in self.outputs]) for name in ("centre", "scale"))
        return ModelLaw(self.encoder, self.model, centre, scale)

    @cached_property
    def law_rises(self) -> bool:
        """Whether the law is a quantile map: each target rises with a latent of its own.

        Where a law does not say, some rows are looked at: an invertible map rises everywhere or falls everywhere.
        """
        if self.joint or self.law.rises is not None:
            return not self.joint and bool(self.law.rises)
        some = self.rows[:_LOOKED_AT]
        ends = np.broadcast_to(np.array([-1.0, 1.0])[:, None, None], (2, len(some), self.law.latents))
        low, high = self.law.push(some, ends)
        return bool((low < high).all())

    def at_latents(self, given: Any, z: np.ndarray) -> np.ndarray:
        """The targets (some, rows, targets) at latents z that broadcast to (some, rows, latents)."""
        x = read_matrix(given, self.columns, "given")
        shape = (len(z), len(x), self.law.latents)
        return self._values(self.law.push(x, np.broadcast_to(z, shape)))

    def demand(self, part: Part, what: str) -> None:
        """Refuse, in one line, what needs a part that the law lacks."""
        lack = self.law.lacks.get(part)
        if lack is None:
            return
        if part == "networks":
            remedy = "call distil() first" if self._distils else "fit the twin with sampler='flow'"
            raise InputError(f"{what} needs a law that can be compiled and written down, and {lack}: {remedy}")
        raise InputError(f"{what} needs {_NEEDS[part]}, and {lack}")

    @property
    def _distils(self) -> bool:
        return "pull" not in self.law.lacks and (self.joint or self.law_rises)

    @cached_property
    def student(self) -> Twin:
        """The twin itself if it is distilled, or what `distil` makes of it, which is kept."""
        return self if isinstance(self.model, SplineModel) else self.distil(progress=False)

    @cached_property
    def _core(self) -> Core:
        centre, scale = (np.array([getattr(target, name) for target in self.outputs]) for name in ("centre", "scale"))
        outputs = OutputCode.of(centre, scale, [target.collapser for target in self.outputs])
        assert isinstance(self.model, TwinModel)
        return make_core(self.encoder.numbers, self.model, outputs, *self.ends, self._scale)

    @property
    def _scale(self) -> np.ndarray:
        return np.array([column.scale for column in self.columns])

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest value of each input in the data; infinite where it has none."""
        low = np.array([-np.inf if r is None else r.low for r in self.ranges])
        return low, np.array([np.inf if r is None else r.high for r in self.ranges])

    def _observed(self, given: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x, values = read_matrix(given, self.columns, "given"), read_matrix(y, self.outputs, "y")
        if len(values) != len(x):
            raise InputError(f"y has {len(values)} rows and given has {len(x)}: give one row of y for each")
        return x, values

    def _values(self, y: np.ndarray) -> np.ndarray:
        """Continuous outputs (…, targets) as values of the data, in place."""
        for i, target in enumerate(self.outputs):
            y[..., i] = target.collapser.collapse(y[..., i])
        return y

    def _continuous(self, values: np.ndarray) -> np.ndarray:
        cells = [target.dequantiser.cells(values[:, i]) for i, target in enumerate(self.outputs)]
        return np.stack([(low + high) / 2 for low, high in cells], axis=1)

    def _discrete(self, i: int, values: np.ndarray) -> np.ndarray:
        low, high = self.outputs[i].dequantiser.cells(values)
        return low < high

    def _spread(self, values: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        return [target.dequantiser.spread(values[:, i], rng) for i, target in enumerate(self.outputs)]

    def _latent_cells(self, x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Latents at both ends of the cell of each value; an open end is at infinity."""
        cells = [target.dequantiser.cells(values[:, i]) for i, target in enumerate(self.outputs)]
        below, above = (self.law.pull(x, np.stack([cell[side] for cell in cells], axis=1)) for side in (0, 1))
        for i, target in enumerate(self.outputs):
            if target.open_ends[0]:
                below[cells[i][0] <= target.dequantiser.low[0], i] = -np.inf
            if target.open_ends[1]:
                above[cells[i][1] >= target.dequantiser.high[-1], i] = np.inf
        return below, above
