"""Train the twin that a policy will be trained in: fit it, distil it, and keep it in case of an interruption."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from forebear.control.sac import host
from forebear.data.table import read_columns
from forebear.storage.files import read_json, write_json
from forebear.twin.fit import fit_twin
from forebear.twin.load import load_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.twin import Twin


@dataclass(frozen=True)
class TwinTraining:
    """How long a twin and its student learn."""

    steps: int = 40_000
    """of the flow, at forebear's own batch and rate for twins"""
    rows: int = 32_768
    """inputs at which the student asks the flow"""
    lessons: int = 20_000
    """steps of the student"""


class TrainedTwin(NamedTuple):
    """A one-pass twin, and how it was made."""

    twin: Twin
    about: dict[str, Any]
    """rows and inputs, seconds, and the errors of the student against the flow"""


def train_twin(
    table: pd.DataFrame,
    ancestors: Mapping[str, Sequence[str]],
    training: TwinTraining,
    *,
    seed: int,
    periodic: Mapping[str, float] | None = None,
    place: Path | None = None,
) -> TrainedTwin:
    """A distilled twin of these targets, its numbers on the CPU; one that `place` holds already is taken from there.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["x", "y"])
    >>> made = train_twin(table, {"y": ["x"]}, TwinTraining(steps=20, rows=64, lessons=20), seed=0)
    >>> made.twin.inputs, made.about["rows"]
    (('x',), 300)
    """
    with _folder(place) as folder:
        kept, note = Path(folder) / "twin", Path(folder) / "twin.json"
        if not note.is_file():
            about = _teach(table, ancestors, training, seed, periodic or {}, kept)
            write_json(note, about)
        with host():
            return TrainedTwin(load_twin(kept), read_json(note, "remove it and start again"))


def _teach(
    table: pd.DataFrame,
    ancestors: Mapping[str, Sequence[str]],
    training: TwinTraining,
    seed: int,
    periodic: Mapping[str, float],
    folder: Path,
) -> dict[str, Any]:
    inputs = list(dict.fromkeys(name for names in ancestors.values() for name in names))
    periods = {name: period for name, period in periodic.items() if name in inputs}
    columns = read_columns(table, "the table", [*inputs, *ancestors], periods)
    started = time.perf_counter()
    settings = TwinSettings.resolve({"steps": training.steps})
    teacher = fit_twin(columns, ancestors, joint=False, settings=settings, seed=seed)
    fitted = time.perf_counter()
    student = teacher.distil(rows=training.rows, steps=training.lessons, seed=seed, progress=False)
    student.save(folder)
    return {
        "rows": len(table),
        "inputs": {target: list(names) for target, names in ancestors.items()},
        "fit_s": fitted - started,
        "distil_s": time.perf_counter() - fitted,
        "distillation": student.distillation,
    }


def _folder(place: Path | None) -> AbstractContextManager[Any]:
    return tempfile.TemporaryDirectory() if place is None else nullcontext(place)
