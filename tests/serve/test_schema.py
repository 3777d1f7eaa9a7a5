"""The schema is OpenAPI 3.1, tells what the twin knows of its columns, and describes what is really answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from plant import GIVEN, plant_twin

from forebear.serve.limits import Limits
from forebear.serve.operations import OPERATIONS
from forebear.serve.schema import schema_of

Schema = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Schema:
    return json.loads(json.dumps(schema_of({"plant": plant_twin()}, Limits(rows=50)), allow_nan=False))


def _within(value: Any) -> Iterator[Any]:
    yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _within(one)


def test_columns_are_told_with_kind_range_labels_and_unit(document: Schema) -> None:
    columns = document["components"]["schemas"]["Inputs"]["anyOf"][1]["items"]["properties"]
    twin = plant_twin()
    load, oil = columns["load"], columns["oil"]
    assert load["type"] == "number" and load["x-unit"] == "t" and load["x-seen"]["low"] == twin.support["low"]["load"]
    assert re.fullmatch(r"Seen from \S+ to \S+ t\.", load["description"]) and load["x-widget"]["widget"] == "slider"
    assert columns["mode"]["enum"] == ["eco", "full", "off"] and columns["heading"]["x-period"] == pytest.approx(
        6.2832, abs=1e-4
    )
    assert oil["type"] == ["number", "null"]  # gaps were seen
    targets = document["components"]["schemas"]["Targets"]["anyOf"][1]["items"]["properties"]
    assert (
        targets["state"]["enum"] == ["good", "worn", "broken"]
        and targets["trips"]["x-taken-for"] == "a lattice of 4 values"
    )


def test_bounds_are_those_of_the_server(document: Schema) -> None:
    rows = document["components"]["schemas"]["Inputs"]["anyOf"][1]
    body = document["paths"]["/v1/sample"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert rows["maxItems"] == 50 and body["properties"]["n"]["maximum"] == 10_000
    assert body["required"] == ["given"] and body["additionalProperties"] is False


def test_it_is_put_together_as_openapi_asks(document: Schema) -> None:
    assert document["openapi"].startswith("3.1.") and document["info"]["title"] and document["info"]["version"]
    ids = [post["post"]["operationId"] for post in document["paths"].values() if "post" in post]
    assert len(set(ids)) == len(ids) == len(OPERATIONS)
    for one in _within(document):
        if isinstance(one, dict) and "$ref" in one:
            place: Any = document
            for step in one["$ref"].removeprefix("#/").split("/"):
                place = place[step]
    for path in document["paths"].values():
        for method in path.values():
            assert method["summary"].endswith(".") and all(
                "description" in r or "$ref" in r for r in method["responses"].values()
            )


def test_several_twins_have_paths_and_parts_of_their_own() -> None:
    document = schema_of({"a": plant_twin(), "b": plant_twin()}, Limits())
    assert {"/v1/a/mean", "/v1/b/mean"} <= set(document["paths"]) and "/v1/mean" not in document["paths"]
    assert {"a.Inputs", "b.Inputs"} <= set(document["components"]["schemas"])


def _fits(value: Any, schema: Schema, document: Schema) -> bool:
    """As much of JSON Schema as the document uses."""
    if "$ref" in schema:
        place: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        return _fits(value, place, document)
    if "anyOf" in schema and not any(_fits(value, one, document) for one in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    kinds = schema.get("type", [])
    known = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "null": type(None)}
    known["boolean"] = bool
    if kinds and not any(isinstance(value, known[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if isinstance(value, dict):
        inside = schema.get("properties", {})
        strange = set(value) - set(inside) if schema.get("additionalProperties") is False else ()
        there = all(name in value for name in schema.get("required", ()))
        return (
            there and not strange and all(_fits(value[n], one, document) for n, one in inside.items() if n in value)
        )
    if isinstance(value, list) and "items" in schema:
        return all(_fits(one, schema["items"], document) for one in value)
    return True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_requests_and_answers_are_as_it_says(operation: str, document: Schema) -> None:
    y = {"power": [1.0, 3.0], "trips": 1, "state": ["good", "worn"]}
    asked: dict[str, Any] = {"given": GIVEN}
    asked |= {"q": [0.5]} if operation == "quantile" else {"y": y} if operation in ("latent", "log_density") else {}
    asked = {"rows": {**GIVEN, **y}} if operation == "monitor" else asked
    post = document["paths"][f"/v1/{operation}"]["post"]
    assert _fits(asked, post["requestBody"]["content"]["application/json"]["schema"], document)
    told = OPERATIONS[operation].answer(plant_twin(), asked)
    answer = post["responses"]["200"]["content"]["application/json"]["schema"]
    assert _fits(told, answer, document) and set(told) == set(answer["properties"])
    assert not _fits({**asked, "strange": 1}, post["requestBody"]["content"]["application/json"]["schema"], document)
