"""The schema of a server (OpenAPI 3.1), built from the columns of its twins: names, kinds, ranges, labels, units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forebear.kinds import kind_named
from forebear.kinds.cells import LARGEST
from forebear.serve.limits import Limits
from forebear.serve.operations import MOST_QUANTILES, OPERATIONS, OUTSIDE, Operation, label
from forebear.serve.reading import MOST_SEED
from forebear.twin.twin import RANGE_QUANTILES, Target, Twin
from forebear.version import __version__

Schema = dict[str, Any]
_NUMBER: Schema = {"type": ["number", "null"], "description": "null where it is not finite"}


def schema_of(twins: Mapping[str, Twin], limits: Limits) -> Schema:
    """The whole document; with one twin its name is not part of the addresses."""
    paths: Schema = {"/health": _health(), "/metrics": _metrics()}
    components: Schema = {
        "Error": _object({"error": {"type": "string", "description": "one line: what, and what to do"}})
    }
    for name, twin in twins.items():
        prefix = "" if len(twins) == 1 else f"{name}."
        components |= {f"{prefix}{part}": made for part, made in _components(twin, limits).items()}
        for operation in OPERATIONS.values():
            paths[address(name, operation.name, len(twins))] = {"post": _path(twin, name, prefix, operation, limits)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"forebear serve: {', '.join(twins)}",
            "version": __version__,
            "description": "Laws of the targets given their inputs. Each answer is that of the twin in Python, with "
            "the same seed; the same request has the same answer, whatever else is asked at the same time.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {status: _error(says) for status, says in _ERRORS.items()},
        },
        "security": [{"token": []}],
    }


def address(twin: str, operation: str, twins: int) -> str:
    """Where an operation is asked.

    >>> address("pump", "mean", 1), address("pump", "mean", 2)
    ('/v1/mean', '/v1/pump/mean')
    """
    return f"/v1/{operation}" if twins == 1 else f"/v1/{twin}/{operation}"


def _components(twin: Twin, limits: Limits) -> dict[str, Schema]:
    inputs = {column.name: _input(twin, place) for place, column in enumerate(twin.columns)}
    targets = {target.name: _target(twin, target) for target in twin.outputs}
    # A monitor leaves rows with gaps out, and tells labels that were never seen.
    both = {name: _loose(one) for name, one in (inputs | targets).items()}
    return {
        "Inputs": _table(inputs, limits.rows, "Rows of the inputs."),
        "Targets": _table(targets, limits.rows, "Observed values of the targets, a row for each row of given."),
        "Rows": _table(
            both, limits.monitored, "New rows, in their order: inputs, targets, and other columns of the table."
        ),
    }


def _table(columns: Mapping[str, Schema], most: int, says: str) -> Schema:
    """A list of rows, or an object of columns, where one cell stands for as many as the others have."""
    row = _object(dict(columns), list(columns))
    several = {
        name: {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": most}]}
        for name, one in columns.items()
    }
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": most}
    return {"description": says, "anyOf": [_object(several, list(columns)), rows]}


def _input(twin: Twin, place: int) -> Schema:
    """One input: what it may be, where it was seen, and how a page lets it be chosen."""
    column, within = twin.columns[place], twin.ranges[place]
    seen = twin.rows[:, place]
    present = seen[~np.isnan(seen)]
    middle = _middle(present, bool(column.levels))
    widget = {**kind_named(column.kind).widget(present, column, within, middle)}
    told: Schema = {"title": column.name, "x-kind": column.kind, "x-widget": widget, **_unit(twin, column.name)}
    if column.levels:
        options = [label(level) for level in column.levels]
        return told | {"enum": [*options, None] if column.gaps else options, "default": options[int(middle)]}
    told |= {**_number(column.gaps), "default": widget.get("start", middle)}
    if column.period is not None:
        return told | {"description": f"An angle: {column.period:g} is one turn.", "x-period": column.period}
    if within is not None:
        quantiles = dict(zip((f"{level:.0%}" for level in RANGE_QUANTILES), within.quantiles, strict=True))
        told["x-seen"] = {"low": within.low, "high": within.high, "quantiles": quantiles}
        told["description"] = f"Seen from {within.low:.6g} to {within.high:.6g}{_in_words(twin, column.name)}."
    return told


def _loose(column: Schema) -> Schema:
    """The same for rows as they come: any label, and gaps."""
    loose = {name: value for name, value in column.items() if name not in ("enum", "default")}
    return loose | {"type": ["string", "number", "boolean", "null"] if "enum" in column else ["number", "null"]}


def _middle(present: np.ndarray, labels: bool) -> float:
    if not len(present):
        return 0.0
    codes, counts = np.unique(present, return_counts=True)
    return float(codes[np.argmax(counts)]) if labels else float(np.median(present))


def _target(twin: Twin, target: Target) -> Schema:
    told: Schema = {"title": target.name, "x-taken-for": target.dequantiser.taken_for, **_unit(twin, target.name)}
    if target.levels:
        return told | {"enum": [label(level) for level in target.levels]}
    return told | _number()


def _number(gaps: bool = False) -> Schema:
    return {"type": ["number", "null"] if gaps else "number", "minimum": -LARGEST, "maximum": LARGEST}


def _unit(twin: Twin, name: str) -> Schema:
    return {"x-unit": twin.units[name]} if twin.units.get(name) else {}


def _in_words(twin: Twin, name: str) -> str:
    return f" {twin.units[name]}" if twin.units.get(name) else ""


def _path(twin: Twin, name: str, prefix: str, operation: Operation, limits: Limits) -> Schema:
    fields = _fields(prefix, limits)
    properties = {field: fields[field] for field in (*operation.needs, *operation.takes)}
    body = {**_object(properties, list(operation.needs)), "additionalProperties": False}
    answer = _object(_ANSWERS[operation.name](twin), None)
    return {
        "operationId": f"{prefix}{operation.name}",
        "summary": operation.says,
        "tags": [name],
        "x-laws": {target: list(names) for target, names in twin.ancestors.items()},
        "requestBody": {"required": True, "content": _json(body)},
        "responses": {
            "200": {"description": "The answer.", "content": _json(answer)},
            **{status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS},
        },
    }


def _fields(prefix: str, limits: Limits) -> dict[str, Schema]:
    share: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    q = {"type": "array", "items": share, "minItems": 1, "maxItems": MOST_QUANTILES}
    return {
        "given": {"$ref": f"#/components/schemas/{prefix}Inputs"},
        "y": {"$ref": f"#/components/schemas/{prefix}Targets"},
        "rows": {"$ref": f"#/components/schemas/{prefix}Rows"},
        "n": {
            "type": "integer",
            "minimum": 1,
            "maximum": limits.draws,
            "default": 100,
            "description": "Draws per row.",
        },
        "seed": {
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_SEED,
            "default": 0,
            "description": "The same seed gives the same answer.",
        },
        "q": {"anyOf": [share, q], "description": "Levels of the quantiles."},
        "level": {
            **share,
            "description": "The share of the law that an interval holds (0.9), or the chance of a false alarm of "
            "monitor (0.05).",
        },
        "guarantee": {
            "type": "boolean",
            "default": False,
            "description": "Intervals that rows set aside vouch for.",
        },
        "outside": {
            "enum": list(OUTSIDE),
            "default": "warn",
            "description": "Of rows far beyond the data: a note, an error, or nothing.",
        },
        "margin": {
            "type": "number",
            "minimum": 0,
            "exclusiveMaximum": 10,
            "default": 0.05,
            "description": "The smallest change worth an alarm, in deviations.",
        },
    }


def _each(twin: Twin, one: Schema | None = None) -> Schema:
    """An object with what is said of each target."""
    return _object({t.name: one or {"type": "array", "items": _cell(t)} for t in twin.outputs})


def _cell(target: Target) -> Schema:
    return {"enum": [*(label(level) for level in target.levels)]} if target.levels else _NUMBER


def _numbers(twin: Twin) -> Schema:
    return _each(twin, {"type": "array", "items": _NUMBER})


def _lists(twin: Twin) -> Schema:
    nested = {t.name: {"type": "array", "items": {"type": "array", "items": _cell(t)}} for t in twin.outputs}
    return _object(nested)


_NOTES: Schema = {"notes": {"type": "array", "items": {"type": "string"}}}
_TEXT, _LIST, _OBJECT = {"type": "string"}, {"type": "array"}, {"type": "object"}
_ANSWERS: dict[str, Any] = {
    "sample": lambda twin: {"draws": _lists(twin), **_NOTES},
    "quantile": lambda twin: {
        "q": {"type": "array", "items": {"type": "number"}},
        "quantiles": _lists(twin),
        **_NOTES,
    },
    "mean": lambda twin: {"mean": _numbers(twin), **_NOTES},
    "interval": lambda twin: {"level": {"type": "number"}, "low": _each(twin), "high": _each(twin), **_NOTES},
    "log_density": lambda twin: (
        {"joint_log_density": {"type": "array", "items": _NUMBER}, **_NOTES}
        if twin.joint
        else {"log_density": _numbers(twin), **_NOTES}
    ),
    "latent": lambda twin: {"latent": _numbers(twin), **_NOTES},
    "outside": lambda twin: {
        "outside": {"type": "array", "items": {"type": "number", "minimum": 0}},
        "column": {"type": "array", "items": {"type": ["string", "null"]}},
        **_NOTES,
    },
    "monitor": lambda twin: {
        "verdict": {"enum": ["holds", "changed"]},
        "summary": _TEXT,
        "targets": _OBJECT,
        "together": _LIST,
        "outside": _OBJECT,
        "faults": _LIST,
        "without_faults": {"type": ["object", "null"]},
        "rows": {"type": "integer"},
        "tested": {"type": "integer"},
        "level": {"type": "number"},
        "margin": {"type": "number"},
        **_NOTES,
    },
}

_ERRORS = {
    "400": "The body is no JSON.",
    "401": "No token, or a wrong one.",
    "403": "From the page of another site.",
    "404": "There is no such twin or operation.",
    "405": "Another method than POST.",
    "408": "The request came too slowly.",
    "413": "The body is too long.",
    "415": "The body is not sent as application/json.",
    "421": "The server has another name.",
    "422": "What is asked for cannot be used: the line names the field or the column.",
    "503": "Busy, stopping, or out of time: come again after as many seconds as Retry-After says.",
}


def _error(says: str) -> Schema:
    return {"description": says, "content": _json({"$ref": "#/components/schemas/Error"})}


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    wanted = list(properties) if required is None else required
    return {"type": "object", "properties": properties, **({"required": wanted} if wanted else {})}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _health() -> Schema:
    answer = _object({"status": {"enum": ["ok", "stopping"]}, "version": _TEXT})
    told = {"description": "It answers.", "content": _json(answer)}
    stopping = {"description": "It is stopping.", "content": _json(answer)}
    return {
        "get": {
            "summary": "Whether it answers; needs no token.",
            "security": [],
            "responses": {"200": told, "503": stopping},
        }
    }


def _metrics() -> Schema:
    content = {"text/plain": {"schema": _TEXT}}
    told = {"description": "Counters and gauges.", "content": content}
    responses = {"200": told, "401": {"$ref": "#/components/responses/401"}}
    return {"get": {"summary": "What it has done, as Prometheus reads it.", "responses": responses}}
