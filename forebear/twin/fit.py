"""Fit a twin: one law for each target, each on inputs of its own, or one joint law; all networks train together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pandas as pd
from scipy.special import ndtri

from forebear.data.column import Column
from forebear.data.dequantise import Dequantiser, check_treat, find_atoms
from forebear.data.scaling import ColumnCode
from forebear.data.table import Table, fingerprint
from forebear.data.weights import weighted_rows
from forebear.discovery.structure import RowStructure
from forebear.errors import InputError, check_whole, near_miss
from forebear.flow.network import stack
from forebear.flow.sampler import Law, NetworkLaw, NetworkSampler, Sampler, Task
from forebear.flow.samplers import FlowSampler, find_sampler
from forebear.flow.train import fit
from forebear.kinds import kind_named
from forebear.run.compiled import spare_maps
from forebear.run.notes import told
from forebear.twin.aside import set_aside, watched
from forebear.twin.law import ForeignLaw
from forebear.twin.model import FlowModel, SamplerModel, TwinModel, masked
from forebear.twin.reference import reference_of
from forebear.twin.route import blends_at_once, fit_blends, trees_win
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Target, Twin

# Rows of inputs that a twin takes along, to be distilled on.
_MOST_KEPT = 8_192
# The mean of a law is about that of its values at these latents.
_MEAN_LATENTS = ndtri((np.arange(10) + 0.5) / 10)


def fit_twin(
    table: Table,
    ancestors: Mapping[str, Sequence[str]],
    *,
    joint: bool,
    settings: TwinSettings,
    seed: int,
    units: Mapping[str, str] | None = None,
    sampler: str | Sampler = "flow",
    structure: RowStructure | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> Twin:
    """The twin of these targets (the keys), each given its columns; a joint one gives all columns to all targets.

    `sampler` is "flow", "gaussian", "mean", or an object with the interface of `forebear.Sampler`. A sampler of
    networks is trained as the settings say; any other is asked to fit the rows of the table, with targets as numbers,
    lattice values and atoms spread out.

    `structure` is how the rows of the table hang together; rows that do are set aside, watched and left out of folds
    together. None: they are independent.

    >>> from forebear.data.table import read_columns
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=1_000)})
    >>> frame["y"] = 3 * frame["x"] + rng.normal(size=1_000)
    >>> table = read_columns(frame, "the table", ["x", "y"])
    >>> small = TwinSettings.resolve({"steps": 200, "width": 16, "depth": 2})
    >>> twin = fit_twin(table, {"y": ["x"]}, joint=False, settings=small, seed=0)
    >>> bool(2 < twin.quantile({"x": [1.0]}, 0.5)[0, 0] < 4)
    True
    """
    check_whole("seed", seed, 0)
    _check_units(units or {}, table)
    check_treat(settings.treat, ancestors)
    spare_maps()
    structure = structure or RowStructure()
    whole, test_rows = table, set_aside(table, settings.test, seed, structure)
    counted, whole_structure = structure.weights, structure
    if len(test_rows):
        rest = np.setdiff1d(np.arange(table.rows), test_rows)
        table, structure = table.take(rest), structure.take(rest)
    rng = np.random.default_rng(seed)
    dequantisers = [_values_of(table.columns[target], settings) for target in ancestors]
    y = [d.spread(table.columns[t].values, rng) for t, d in zip(ancestors, dequantisers, strict=True)]
    tasks = _tasks(ancestors, table, joint)
    stacked = [np.stack(y, axis=1)] if joint else [values[:, None] for values in y]
    rows, held_out = watched(table.rows, settings.held_out, rng, structure)
    fit_seed = int(rng.integers(2**31))
    fitter = find_sampler(sampler, settings.flow)
    middle = [_middle(d, table.columns[t].values) for t, d in zip(ancestors, dequantisers, strict=True)]
    blend = _blends(table, tasks, joint, settings, fitter)
    if blend:
        model = fit_blends(table, tasks, y, middle, fit_seed, tick, structure, dequantisers)
        columns, centre, scale = model.encoder.codes, model.centre, model.scale
    elif isinstance(fitter, NetworkSampler):
        fitter = replace(fitter, settings=settings.flow)
        lessons = fitter.prepare(table, tasks, stacked, rows, held_out, seed=fit_seed, weights=structure.weights)
        laws = lessons.laws(told(fit(lessons.training, tick)))
        columns, model = laws[0].encoder.codes, _model(laws, fitter)
        centre, scale = (np.concatenate([getattr(law, name) for law in laws]) for name in ("centre", "scale"))
        if blend is None and held_out is not None and _rough(laws, table, y, rows, held_out, fit_seed):
            model = fit_blends(table, tasks, y, middle, fit_seed, tick, structure, dequantisers)
    else:
        columns, model = _foreign(table, tasks, stacked, fitter, fit_seed, structure)
        centre, scale = np.mean(y, axis=1), np.std(y, axis=1)
    twin = Twin(
        columns,
        _targets(table, list(ancestors), dequantisers, centre, scale),
        {target: task.inputs for task in tasks for target in task.targets},
        model,
        joint,
        tuple(kind_named(c.kind).range(table.columns[c.name].present) for c in columns),
        _some_rows(table, [column.name for column in columns], rng),
        settings,
        dict(units or {}),
        test_rows=test_rows,
        table=fingerprint(whole),
        aside=np.zeros((0, len(ancestors))),
        reference=reference_of(whole, test_rows, [c.name for c in columns], list(ancestors), whole_structure),
    )
    if not len(test_rows):
        return twin
    if counted is not None:
        # New rows come as often as the weights say: so do those that intervals are made by.
        aside = test_rows[weighted_rows(counted[test_rows], len(test_rows))]
        return replace(twin, aside=_latents_of(twin, whole.take(aside), seed))
    return replace(twin, aside=_latents_of(twin, whole.take(test_rows), seed))


def _latents_of(twin: Twin, aside: Table, seed: int) -> np.ndarray:
    """Latents (rows, targets) of rows that no training has seen; none where the law is no quantile map."""
    if twin.joint or "pull" in twin.law.lacks or not twin.law_rises:
        return np.zeros((0, len(twin.outputs)))
    y = aside.matrix(list(twin.targets))
    return twin.latent(aside.matrix(list(twin.inputs)), y, seed=seed)


def _values_of(column: Column, settings: TwinSettings) -> Dequantiser:
    """What the values of a target are taken for; the codes of a category are a lattice, however many there are."""
    return find_atoms(column.values, "lattice" if column.levels else settings.treat.get(column.name, "auto"))


def _middle(dequantiser: Dequantiser, values: np.ndarray) -> np.ndarray:
    """Values on the continuous scale, without chance."""
    low, high = dequantiser.cells(values)
    return (low + high) / 2


def _blends(
    table: Table, tasks: Sequence[Task], joint: bool, settings: TwinSettings, fitter: Sampler | NetworkSampler
) -> bool | None:
    """Whether to fit a blend; None: a flow first, and then see."""
    if settings.law == "blend":
        if joint:
            raise InputError("law='blend' knows each target alone: leave joint=True out, or ask for law='flow'")
        if type(fitter) is not FlowSampler:
            raise InputError("law='blend' chooses its learners itself: leave sampler= out, or law='blend'")
        return True
    if settings.law == "flow" or type(fitter) is not FlowSampler:
        return False
    return blends_at_once(table, tasks, joint)


def _rough(
    laws: Sequence[NetworkLaw],
    table: Table,
    y: Sequence[np.ndarray],
    rows: np.ndarray,
    held_out: np.ndarray,
    seed: int,
) -> bool:
    """Whether trees see more than the flow in the law of one target at least."""
    for law, values in zip(laws, y, strict=True):
        given = table.take(held_out).frame(law.inputs)
        draws = [law.push(given, np.full((len(given), 1), z)) for z in _MEAN_LATENTS]
        seen = law.encoder.single(table.matrix([c.name for c in law.encoder.codes]))[
            :, law.encoder.mask(law.inputs) > 0
        ]
        if trees_win(seen, values, rows, held_out, np.mean(draws, axis=0)[:, 0], seed):
            return True
    return False


def _foreign(
    table: Table,
    tasks: Sequence[Task],
    y: Sequence[np.ndarray],
    sampler: Sampler,
    seed: int,
    structure: RowStructure,
) -> tuple[tuple[ColumnCode, ...], ForeignLaw]:
    names = [name for name in table.columns if any(name in task.inputs for task in tasks)]
    columns = tuple(ColumnCode.of(table.columns[name]) for name in names)
    if structure.weights is not None:
        rows = weighted_rows(structure.weights, table.rows)
        table, y = table.take(rows), [values[rows] for values in y]
    laws = tuple(
        sampler.fit(table.frame(task.inputs), pd.DataFrame(values, columns=list(task.targets)), seed=seed)
        for task, values in zip(tasks, y, strict=True)
    )
    for law in laws:
        if not isinstance(law, Law):
            raise InputError(f"{type(sampler).__name__}.fit must return a law with latents and push; got {law!r}")
    return columns, ForeignLaw(laws, columns, tuple(t.inputs for t in tasks), tuple(len(t.targets) for t in tasks))


def _tasks(ancestors: Mapping[str, Sequence[str]], table: Table, joint: bool) -> list[Task]:
    def ordered(names: set[str]) -> tuple[str, ...]:
        return tuple(name for name in table.columns if name in names)

    if joint:
        return [Task(ordered({name for names in ancestors.values() for name in names}), tuple(ancestors))]
    return [Task(ordered(set(names)), (target,)) for target, names in ancestors.items()]


def _targets(
    table: Table, names: Sequence[str], dequantisers: Sequence[Dequantiser], centre: np.ndarray, scale: np.ndarray
) -> tuple[Target, ...]:
    return tuple(
        Target(
            name,
            dequantisers[i],
            float(centre[i]),
            float(scale[i]),
            table.columns[name].levels,
            _open_ends(dequantisers[i], table.columns[name].values),
        )
        for i, name in enumerate(names)
    )


def _open_ends(dequantiser: Dequantiser, values: np.ndarray) -> tuple[bool, bool]:
    if dequantiser.kind == "continuous":
        return False, False
    return bool(values.min() >= dequantiser.values[0]), bool(values.max() <= dequantiser.values[-1])


def _model(laws: Sequence[NetworkLaw], sampler: NetworkSampler) -> TwinModel:
    outputs = len(laws[0].centre)
    own, masks = [law.model for law in laws], [law.encoder.mask(law.inputs) for law in laws]
    if type(sampler) is not FlowSampler:
        solver = replace(sampler, settings=sampler.settings.untrained())
        return SamplerModel(stack(own), jnp.asarray(np.stack(masks)), outputs, solver)
    first = [masked(model.weights[0], mask, outputs) for model, mask in zip(own, masks, strict=True)]
    networks = stack([replace(m, weights=(start, *m.weights[1:])) for start, m in zip(first, own, strict=True)])
    return FlowModel(networks, outputs, sampler.settings)


def _some_rows(table: Table, names: Sequence[str], rng: np.random.Generator) -> np.ndarray:
    chosen = rng.permutation(table.rows)[:_MOST_KEPT]
    return np.array([table.columns[name].values[chosen] for name in names]).reshape(len(names), len(chosen)).T


def _check_units(units: Mapping[str, str], table: Table) -> None:
    for name, unit in units.items():
        if name not in table.columns:
            raise InputError(f"units: no column '{name}'. {near_miss(name, table.columns)}")
        if not isinstance(unit, str):
            raise InputError(f"units: the unit of '{name}' must be text; got {unit!r}")
