"""The twins of a result: each is made once, and kept in memory and in the run's folder.

RUN/twin holds the twin of the run, whoever asked for it first: `found.twin()`, `forebear sample` or `forebear
report`. Twins on all candidates, and joint or separate ones where the discovery was the other, have places of their
own in RUN/twins. With each is kept what it was made from: the result, the arguments and the settings. The same are
answered with the twin that is there, others replace it. A twin that someone else has put there is left alone, and so
is one that has learned on: what the command line uses is its version in use, what a result gives is the first.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forebear.data.table import Table
from forebear.discovery.record import RECORD_FILE, Discovery
from forebear.discovery.structure import RowStructure
from forebear.errors import InputError
from forebear.flow.sampler import Sampler
from forebear.flow.samplers import SAMPLERS
from forebear.run.events import progress as show_progress
from forebear.storage.records import RecordError, from_record, to_record
from forebear.twin.fit import fit_twin
from forebear.twin.load import load_twin
from forebear.twin.settings import TwinSettings
from forebear.twin.store import has_twin, made_from, save_twin
from forebear.twin.twin import Twin
from forebear.twin.versions import current_version, version_numbers

TEST_SHARE = 0.2
"""of the rows, set aside to judge a twin on, unless something else is asked for"""


class Recipe(NamedTuple):
    """All that a twin of a result depends on, beside the result."""

    pruned: bool
    """on the ancestors alone, rather than on all candidates"""
    joint: bool
    seed: int
    units: Mapping[str, str]
    settings: TwinSettings
    sampler: str = "flow"
    """its name; that of a class for one of the user's own"""


class _Made(NamedTuple):
    """What is kept with a twin."""

    found: str
    """hash of the result's file"""
    recipe: Recipe


def fit_recipe(
    record: Discovery,
    table: Table,
    structure: RowStructure,
    recipe: Recipe,
    progress: bool | None,
    sampler: str | Sampler | None = None,
) -> Twin:
    """The twin of a result by a recipe, trained on this table, whose rows have this structure; `sampler` is the one
    that the recipe names."""
    known = ~np.any([table.columns[target].gaps for target in record.targets], axis=0)
    table, structure = table.with_values(record.targets), structure.take(np.flatnonzero(known))
    inputs = {t: record.columns(t) if recipe.pruned else q.inputs for t, q in record.questions.items()}
    with show_progress(progress) as show:
        return fit_twin(
            table,
            inputs,
            joint=recipe.joint,
            settings=recipe.settings,
            seed=recipe.seed,
            units=recipe.units,
            sampler=recipe.sampler if sampler is None else sampler,
            structure=structure,
            tick=lambda share: show("training the twin", share),
        )


class Twins:
    """The twins of one result, by recipe."""

    def __init__(self, record: Discovery, table: Table | None, structure: RowStructure):
        self._record, self._table, self._structure = record, table, structure
        self._known: dict[str, Twin] = {}

    def get(
        self,
        recipe: Recipe,
        folder: Path | None,
        progress: bool | None = None,
        sampler: str | Sampler | None = None,
    ) -> Twin:
        """The twin by this recipe: the one that is known, the one in the folder, or a new one, which is kept.

        `sampler` is the one that the recipe names. One of the user's own makes a new twin every time: nobody can
        tell whether it is the one of the time before, nor save what it learns.
        """
        if sampler is not None and not isinstance(sampler, str):
            return self._fit(recipe, progress, sampler)
        key = json.dumps(to_record(recipe), default=repr)
        kept = None if folder is None else KeptTwin(folder, self._name(recipe))
        if key not in self._known:
            found = None if kept is None else kept.load(recipe)
            self._known[key] = self._fit(recipe, progress) if found is None else found
        if kept is not None:
            kept.save(self._known[key], recipe)
        return self._known[key]

    def _fit(self, recipe: Recipe, progress: bool | None, sampler: str | Sampler | None = None) -> Twin:
        if self._table is None:
            raise InputError("this result was saved without its table: pass the table as data=")
        return fit_recipe(self._record, self._table, self._structure, recipe, progress, sampler)

    def _name(self, recipe: Recipe) -> str:
        """Where in a run folder it is kept."""
        usual = bool(self._record.settings.get("joint", False))
        parts = [] if recipe.pruned else ["full"]
        parts += [] if recipe.joint == usual else ["joint" if recipe.joint else "separate"]
        parts += [] if recipe.sampler == self._record.settings.get("sampler", "flow") else [recipe.sampler]
        return f"twins/{'-'.join(parts)}" if parts else TWIN


TWIN = "twin"
"""where the twin of a run is, in its folder"""


@dataclass(frozen=True)
class KeptTwin:
    """One place for a twin in a run folder."""

    run: Path
    name: str = TWIN

    @property
    def folder(self) -> Path:
        """Of the twin itself."""
        return self.run / self.name

    def recipe(self) -> Recipe | None:
        """Of the twin that is there; None if there is none, or it is of another result or by someone else."""
        try:
            made = from_record(_Made, made_from(self.folder) if has_twin(self.folder) else None)
        except RecordError:
            return None
        return made.recipe if made.found == fingerprint_of(self.run) else None

    def is_foreign(self) -> bool:
        """Whether someone else has put a twin there, as `Twin.save` and earlier versions do."""
        return has_twin(self.folder) and made_from(self.folder) is None

    def load(self, recipe: Recipe) -> Twin | None:
        """The twin that is there, as it was fitted, if it was made from this result by this recipe."""
        if self.recipe() != recipe:
            return None
        try:
            twin, number = load_twin(self.folder, version=1), current_version(self.folder)
        except InputError:  # damaged: it is made again
            return None
        if number > 1:
            warnings.warn(
                f"this twin is version 1, as it was fitted for the result; it has learned on since, and version "
                f"{number} is in use: forebear.load_twin('{self.folder}')",
                stacklevel=4,
            )
        return twin

    def save(self, twin: Twin, recipe: Recipe) -> None:
        """Keep it, unless it is there, or the folder no longer holds the result; trouble is told and does no harm."""
        found = fingerprint_of(self.run)
        if found is None or self.is_foreign() or self.recipe() == recipe:
            return
        if len(version_numbers(self.folder)) > 1:
            warnings.warn(f"the twin is not kept: {self.folder} holds one that has learned on", stacklevel=4)
            return
        try:
            save_twin(twin, self.folder, to_record(_Made(found, recipe)))
        except InputError as error:
            warnings.warn(f"the twin is not kept: {error}", stacklevel=4)


def kept_twin(run: Path) -> Twin | None:
    """The twin that a run folder keeps, however it was made; None if there is none, or it is of another result."""
    kept = KeptTwin(run)
    return load_twin(kept.folder) if kept.is_foreign() or kept.recipe() is not None else None


def fingerprint_of(run: Path) -> str | None:
    """A hash of the result in a run folder; None if there is none."""
    try:
        return hashlib.sha256((run / RECORD_FILE).read_bytes()).hexdigest()
    except OSError:
        return None


def recipe_of(
    record: Discovery,
    pruned: bool,
    joint: bool | None,
    units: Mapping[str, str] | None,
    seed: int,
    settings: Mapping[str, Any],
    sampler: str | Sampler = "flow",
) -> Recipe:
    """From the arguments of `Found.twin`."""
    config = TwinSettings.resolve({"test": TEST_SHARE, **settings}, getattr(sampler, "settings", None))
    together = bool(record.settings.get("joint", False)) if joint is None else bool(joint)
    name = sampler if isinstance(sampler, str) else type(sampler).__name__
    return Recipe(bool(pruned), together, int(seed), dict(units or {}), config, name)


def sampler_of(asked: str | Sampler | None, own: Sampler | None, word: str) -> str | Sampler:
    """The sampler of a twin: the one asked for, or that of the discovery, which a saved result knows by its word.

    >>> sampler_of(None, None, "gaussian")
    'gaussian'
    >>> sampler_of(None, None, "MySampler")
    Traceback (most recent call last):
    forebear.errors.InputError: the sampler MySampler is not saved with the discovery: pass it, or sampler='flow'
    """
    if asked is not None:
        return asked
    if own is None and word not in SAMPLERS:
        raise InputError(f"the sampler {word} is not saved with the discovery: pass it, or sampler='flow'")
    return word if own is None else own
