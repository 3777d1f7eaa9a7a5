"""Slips of people who come from other libraries: each is answered with the name that is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forebear.errors import InputError

MEANT = {
    "target": "targets",
    "y": "targets",
    "output": "targets",
    "outputs": "targets",
    "outcome": "targets",
    "label": "targets",
    "candidate": "candidates",
    "features": "candidates",
    "feature_names": "candidates",
    "inputs": "candidates",
    "columns": "candidates",
    "drop": "exclude",
    "ignore": "exclude",
    "random_state": "seed",
    "random_seed": "seed",
    "n_jobs": "jobs",
    "workers": "jobs",
    "num_workers": "jobs",
    "verbose": "progress",
    "n_runs": "runs",
    "repeats": "runs",
    "folder": "out",
    "output_dir": "out",
    "period": "periodic",
    "kind": "kinds",
    "types": "kinds",
    "dtype": "kinds",
    "dtypes": "kinds",
    "alpha": "level",
    "episode": "rows",
    "group": "groups",
    "model": "sampler",
    "weight": "weights",
    "sample_weight": "weights",
    "sample_weights": "weights",
}
"""what people write -> what it is called here"""


_NOT_HERE = {
    "censored": "censored targets are not modelled; use a survival model (lifelines, scikit-survival), or ask about "
    "rows that are not censored, table[~table.censored], where censoring does not depend on the target",
}
"""what is not modelled -> what to use instead"""


def check_slips(settings: Mapping[str, Any], targets: Any) -> None:
    """Refuse names of other libraries and a second table, with what to write instead.

    >>> check_slips({"random_state": 3}, "y")
    Traceback (most recent call last):
    forebear.errors.InputError: there is no argument 'random_state': write seed=3
    >>> check_slips({}, np.arange(3.0))
    Traceback (most recent call last):
    forebear.errors.InputError: targets must name columns; got a ndarray of values: make it a column of the table, \
table.assign(y=y), and write targets="y"
    """
    if not isinstance(targets, str) and getattr(targets, "shape", None) is not None and not _are_names(targets):
        raise InputError(
            f"targets must name columns; got a {type(targets).__name__} of values: make it a column of the table, "
            'table.assign(y=y), and write targets="y"'
        )
    for name, value in settings.items():
        if name in _NOT_HERE:
            raise InputError(f"there is no argument '{name}': {_NOT_HERE[name]}")
        if name == "drop" and not isinstance(value, str | list | tuple):
            continue  # a setting of the kernel, and not columns to leave out
        if name in MEANT:
            shown = repr(value)
            told = shown if len(shown) <= 40 else "..."
            raise InputError(f"there is no argument '{name}': write {MEANT[name]}={told}")


def _are_names(targets: Any) -> bool:
    return getattr(targets, "ndim", 0) == 1 and all(isinstance(name, str) for name in np.asarray(targets).tolist())
