"""What may be asked of a twin, as plain functions: the object of a request in, the object of the answer out.

Every answer is that of the method of the same name in Python, with the same seed. Numbers that are not finite, such
as the log density of what cannot be, are null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forebear.errors import InputError
from forebear.serve.limits import Limits
from forebear.serve.reading import MOST_SEED, between, check_names, flag, read_columns, read_rows, told, whole, word
from forebear.twin.intervals import outside_told
from forebear.twin.labelled import cells_of_target
from forebear.twin.twin import Twin

Content = Mapping[str, Any]
OUTSIDE = ("warn", "raise", "ignore")
MOST_QUANTILES = 200


@dataclass(frozen=True)
class Operation:
    """One thing to ask."""

    name: str
    says: str
    """one sentence, for the schema"""
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    """further fields, which have defaults"""
    run: Callable[[Twin, Content, Limits], dict[str, Any]]
    alone: bool = False
    """whether it takes long, and has a queue of its own"""

    def answer(self, twin: Twin, content: Any, limits: Limits | None = None) -> dict[str, Any]:
        """The answer to the object of a request, or an `InputError`."""
        check_names(content, (*self.needs, *self.takes), self.needs)
        return self.run(twin, content, limits or Limits())


def work_of(twin: Twin, operation: Operation, content: Any, limits: Limits) -> int:
    """Numbers that are held while a request is answered, about; of one that will be refused, any."""
    try:
        given = content["rows" if operation.name == "monitor" else "given"]
        rows = len(given) if isinstance(given, list) else max((len(c) for c in given.values() if _list(c)), default=1)
        each = {"sample": content.get("n", 100), "quantile": len(np.atleast_1d(content.get("q", 0.5)))}
        per_row = each.get(operation.name, 64) if twin.law_rises or operation.name == "sample" else 1_024
        return int(min(rows, limits.monitored) * min(per_row, limits.draws) * len(twin.outputs))
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError):
        return 0


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _given(twin: Twin, content: Content, limits: Limits) -> tuple[np.ndarray, dict[str, Any]]:
    """The rows, and an answer to begin with: what there is to say about them."""
    how = word("outside", content.get("outside", "warn"), OUTSIDE)
    x = read_rows(content["given"], twin.columns, "given", limits.rows)
    said = None if how == "ignore" else outside_told(twin, x)
    if said is not None and how == "raise":
        raise InputError(f'{said}; "outside": "ignore" asks for it all the same')
    return x, {"notes": [] if said is None else [said]}


def _observed(twin: Twin, content: Content, x: np.ndarray, limits: Limits) -> np.ndarray:
    y = read_rows(content["y"], twin.outputs, "y", limits.rows)
    if len(y) != len(x):
        raise InputError(f"y has {len(y)} rows and given has {len(x)}: give one row of y for each")
    return y


def _seed(content: Content) -> int:
    return whole("seed", content.get("seed", 0), 0, MOST_SEED)


def _check_values(count: int, limits: Limits) -> None:
    if count > limits.values:
        raise InputError(
            f"this asks for {count:,} numbers, and one answer may have {limits.values:,}: ask for fewer rows or draws"
        )


def plain(values: np.ndarray) -> list[Any]:
    """As JSON has them: lists, and null for what is not finite.

    >>> plain(np.array([1.0, -np.inf]))
    [1.0, None]
    """
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        found = values.astype(object)
        found[~np.isfinite(values)] = None
        return found.tolist()
    return [_bare(one) for one in values.tolist()] if values.dtype == object else values.tolist()


def _bare(value: Any) -> Any:
    """A label as JSON knows it."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    bare = value.item() if isinstance(value, np.generic) else value
    return bare if isinstance(bare, str | int | float | bool) or bare is None else str(bare)


def label(value: Any) -> Any:
    """The label of a category in JSON."""
    return _bare(value)


def _by_target(twin: Twin, values: np.ndarray) -> dict[str, list[Any]]:
    """Values (…, targets) of each target, as numbers."""
    return {target.name: plain(values[..., i]) for i, target in enumerate(twin.outputs)}


def _cells_by_target(twin: Twin, values: np.ndarray) -> dict[str, list[Any]]:
    """The same as cells: labels, whole numbers or numbers."""
    shaped = values.reshape(-1, values.shape[-1])
    cells = [cells_of_target(target, shaped[:, i]) for i, target in enumerate(twin.outputs)]
    return {t.name: plain(c.reshape(values.shape[:-1])) for t, c in zip(twin.outputs, cells, strict=True)}


def _sample(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    n, seed = whole("n", content.get("n", 100), 1, limits.draws), _seed(content)
    x, answer = _given(twin, content, limits)
    _check_values(n * len(x) * len(twin.outputs), limits)
    draws = twin.sample(x, n, seed, outside="ignore")
    return {"draws": _cells_by_target(twin, np.swapaxes(draws, 0, 1)), **answer}


def _quantile(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    asked = content["q"] if isinstance(content["q"], list) else [content["q"]]
    if not 1 <= len(asked) <= MOST_QUANTILES:
        raise InputError(f"q must be 1 to {MOST_QUANTILES} numbers strictly between 0 and 1; got {len(asked)}")
    q = [between("q", one) for one in asked]
    x, answer = _given(twin, content, limits)
    _check_values(len(q) * len(x) * len(twin.outputs), limits)
    found = twin.quantile(x, q, outside="ignore")
    return {"q": q, "quantiles": _cells_by_target(twin, np.swapaxes(found, 0, 1)), **answer}


def _mean(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    x, answer = _given(twin, content, limits)
    return {"mean": _by_target(twin, twin.mean(x, outside="ignore")), **answer}


def _interval(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    level = between("level", content.get("level", 0.9))
    guarantee = flag("guarantee", content.get("guarantee", False))
    x, answer = _given(twin, content, limits)
    low, high = twin.interval(x, level, guarantee=guarantee, outside="ignore")
    return {"level": level, "low": _cells_by_target(twin, low), "high": _cells_by_target(twin, high), **answer}


def _log_density(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    x, answer = _given(twin, content, limits)
    found = twin.log_prob(x, _observed(twin, content, x, limits))
    if twin.joint:
        return {"joint_log_density": plain(found), **answer}
    return {"log_density": _by_target(twin, found), **answer}


def _latent(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    seed = _seed(content)
    x, answer = _given(twin, content, limits)
    return {"latent": _by_target(twin, twin.latent(x, _observed(twin, content, x, limits), seed)), **answer}


def _outside(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    x, answer = _given(twin, {**content, "outside": "warn"}, limits)
    low, high = twin.ends
    beyond = np.maximum(low - x, x - high) / np.array([column.scale for column in twin.columns])
    beyond = np.where(np.isnan(beyond), -np.inf, beyond)
    far = twin.outside(x)
    worst = np.argmax(beyond, axis=1) if len(twin.columns) else np.zeros(len(x), int)
    columns = [twin.inputs[place] if by > 0 else None for place, by in zip(worst, far, strict=True)]
    return {"outside": plain(np.nan_to_num(far)), "column": columns, **answer}


def _monitor(twin: Twin, content: Content, limits: Limits) -> dict[str, Any]:
    level = between("level", content.get("level", 0.05))
    margin = content.get("margin", 0.05)
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 <= margin < 10:
        raise InputError(f"margin must be a number of at least 0 and below 10; got {told(margin)}")
    reference = twin.reference
    others = [one.name for one in reference.others] + ([reference.column] if reference.column else [])
    rows = read_columns(content["rows"], [*twin.inputs, *twin.targets], "rows", limits.monitored, others)
    answer = twin.monitor(rows, level=level, margin=float(margin), seed=_seed(content))
    return {**_finite(answer.to_dict()), "summary": answer.summary()}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_GIVEN = ("given",)
OPERATIONS = {
    one.name: one
    for one in (
        Operation("sample", "Draws of the targets at each row.", _GIVEN, ("n", "seed", "outside"), _sample),
        Operation("quantile", "Quantiles of the targets at each row.", ("given", "q"), ("outside",), _quantile),
        Operation("mean", "The mean of each target at each row.", _GIVEN, ("outside",), _mean),
        Operation(
            "interval",
            "The central interval of each target at each row.",
            _GIVEN,
            ("level", "guarantee", "outside"),
            _interval,
        ),
        Operation(
            "log_density",
            "Log density of observed targets, or log probability where they are labels or steps.",
            ("given", "y"),
            ("outside",),
            _log_density,
        ),
        Operation(
            "latent",
            "Latents of observed targets; standard normal while the twin is right.",
            ("given", "y"),
            ("seed", "outside"),
            _latent,
        ),
        Operation(
            "outside", "How far each row lies beyond what the twin has seen, in deviations.", _GIVEN, (), _outside
        ),
        Operation(
            "monitor",
            "Whether each law still holds on new rows, which have inputs and targets.",
            ("rows",),
            ("level", "margin", "seed"),
            _monitor,
            alone=True,
        ),
    )
}
"""by name, which is the end of the address"""
