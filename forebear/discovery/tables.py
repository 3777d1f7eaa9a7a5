"""A result as one flat table, for other programs: a row for every candidate of every target."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from forebear.discovery.action import Action
from forebear.discovery.multiple import adjusted
from forebear.discovery.record import Discovery
from forebear.errors import InputError, near_miss
from forebear.storage.files import check_output, write_bytes

ENDINGS = (".csv", ".parquet", ".json")
_SHARES = Action._fields
_EVIDENCE = ("p_value", "effect", "limit", "detectable", "shift", "moves")
_NUMBERS = ("frequency", "score", "p_value", "effect", "limit", "detectable", "shift", *_SHARES)


def flat_table(found: Discovery) -> pd.DataFrame:
    """Everything about every candidate of every target, a row each; see `Found.to_frame` for the columns.

    >>> import numpy as np
    >>> from forebear.data.question import Question
    >>> from forebear.discovery.embed import Lengthscales
    >>> from forebear.discovery.path import Path
    >>> path = Path(("a", "b"), ("b", "a"), (0.1, 0.1, 0.9), np.ones((3, 2)), (1.0,) * 3, Lengthscales({}, 1.0))
    >>> question = Question("y", ("a", "b"), {"a": ("a",), "b": ("b",)}, ())
    >>> found = Discovery({"y": question}, ({"y": path},), ({"y": ("a",)},), ({},), {"rule": "nsr-jump"}, 0.0)
    >>> flat_table(found)[["target", "candidate", "ancestor", "removed_at"]]
      target candidate  ancestor  removed_at
    0      y         a      True           2
    1      y         b     False           1
    """
    ancestors, frequencies = found.ancestors, found.frequencies
    rows = []
    for target in found.targets:
        scores, removed = found.first_scores(target), found.runs[0][target].removed
        evidence, acts = _evidence(found, target)
        for candidate in found.order(target):
            row: dict[str, Any] = {
                "target": target,
                "candidate": candidate,
                "ancestor": candidate in ancestors[target],
                "by_request": candidate in found.questions[target].always,
                "frequency": frequencies[target].get(candidate, 1.0),
                "score": scores.get(candidate),
                "removed_at": removed.index(candidate) + 1 if candidate in removed else None,
            }
            rows.append({**row, **evidence.get(candidate, {}), **acts.get(candidate, {})})
    columns = ["target", "candidate", "ancestor", "by_request", "frequency", "score", "removed_at"]
    frame = pd.DataFrame(rows, columns=[*columns, *_EVIDENCE, *_SHARES, "acts"])
    whole = frame["removed_at"].astype("Int64")
    return frame.astype(dict.fromkeys(_NUMBERS, float)).assign(removed_at=whole)


def _evidence(found: Discovery, target: str) -> tuple[dict[Any, dict[Any, Any]], dict[Any, dict[Any, Any]]]:
    certificate = found.certificate(target)
    if certificate is None:
        return {}, {}
    evidence = certificate.frame().filter(list(_EVIDENCE))
    return evidence.to_dict("index"), certificate.actions_frame().to_dict("index")


def adjusted_table(found: Discovery, method: str) -> pd.DataFrame:
    """p-values of all candidates of all targets, corrected for their number; see `Found.adjusted`."""
    if method not in _METHODS:
        raise InputError(f"unknown method '{method}'. {near_miss(method, _METHODS)}")
    rows = [
        {
            "target": target,
            "candidate": name,
            "kept": name in certificate.kept,
            "p_value": certificate.fresh_p.get(name, result.p_value),
        }
        for target, certificate in found.certificates().items()
        for name, result in certificate.tests.items()
    ]
    raised = adjusted({str(place): row["p_value"] for place, row in enumerate(rows)}, method)
    return pd.DataFrame([{**row, "adjusted": raised[str(place)]} for place, row in enumerate(rows)])


_METHODS = ("holm", "fdr")


def check_table_file(file: str | Path, option: str = "") -> Path:
    """Refuse a place where the table could not be written, before the long work starts.

    >>> check_table_file("found.xlsx", "--table ")
    Traceback (most recent call last):
    forebear.errors.InputError: --table found.xlsx: the ending must be .csv, .parquet or .json
    """
    place = check_output(file, ENDINGS, option)
    if place.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            lacks = "needs pyarrow: run `pip install 'forebear[parquet]'`, or write .csv or .json"
            raise InputError(f"{option}{file}: {lacks}") from None
    return place


def save_table(found: Discovery, file: str | Path) -> None:
    """Write `flat_table` as .csv, .parquet or .json."""
    place, frame = check_table_file(file), flat_table(found)
    if place.suffix.lower() == ".csv":
        content = frame.to_csv(index=False).encode()
    elif place.suffix.lower() == ".json":
        records = json.loads(str(frame.to_json(orient="records")))
        content = json.dumps(records, indent=1).encode()
    else:
        stream = BytesIO()
        frame.to_parquet(stream, index=False)
        content = stream.getvalue()
    write_bytes(place, content)
