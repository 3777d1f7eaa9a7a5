"""What scikit-learn hands over, as the tables and seeds that forebear works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from forebear.errors import InputError, listed


class Problem(NamedTuple):
    """Checked data of a fit."""

    frame: pd.DataFrame
    """the columns that vary, then the outputs"""
    inputs: tuple[str, ...]
    """names of all columns of X, constant ones too"""
    varies: np.ndarray
    """which of them are not constant"""
    outputs: tuple[str, ...]
    one: bool
    """whether y had one axis"""

    @property
    def candidates(self) -> list[str]:
        """Names of the columns that vary."""
        return [name for name, varies in zip(self.inputs, self.varies, strict=True) if varies]


def read_problem(estimator: Any, X: Any, y: Any, *, numeric: bool) -> Problem:
    """Check X and y as scikit-learn does, and name their columns; sets `n_features_in_` and `feature_names_in_`.

    Without `numeric`, y may hold labels.
    """
    own = _output_names(y)
    if has_labels(X):
        return _read_labelled(estimator, X, y, own, numeric)
    X, y = validate_data(
        estimator, X, y, dtype=np.float64, multi_output=True, y_numeric=numeric, ensure_min_samples=2
    )
    if not isinstance(y, np.ndarray):
        raise InputError("y is sparse: give it as a dense array")
    inputs = _input_names(estimator)
    varies = np.ptp(X, axis=0) > 0
    cells: dict[str, Any] = {name: X[:, i] for i, name in enumerate(inputs) if varies[i]}
    return _problem(cells, inputs, varies, y, own)


def has_labels(X: Any) -> bool:
    """Whether it is a data frame with columns that are not numbers: categories.

    >>> has_labels(pd.DataFrame({"a": [1.0], "b": ["u"]})), has_labels(pd.DataFrame({"a": [1.0]}))
    (True, False)
    """
    return isinstance(X, pd.DataFrame) and not all(
        is_numeric_dtype(dtype) and not is_bool_dtype(dtype) for dtype in X.dtypes
    )


def check_y(y: Any, *, numeric: bool) -> np.ndarray:
    """The outputs, of one axis or two, without gaps."""
    dtype: Any = np.float64 if numeric else None
    return np.asarray(check_array(y, ensure_2d=False, dtype=dtype, input_name="y"))


def _read_labelled(estimator: Any, X: pd.DataFrame, y: Any, own: list[str] | None, numeric: bool) -> Problem:
    """The same for a frame with categories, whose cells the table reader checks."""
    untyped: Any = X
    validate_data(estimator, untyped, skip_check_array=True)
    y = check_y(y, numeric=numeric)
    check_consistent_length(X, y)
    inputs = _input_names(estimator)
    varies = np.array([X[name].nunique(dropna=False) > 1 for name in X.columns])
    cells = {
        name: X[name].reset_index(drop=True) for name, own_varies in zip(inputs, varies, strict=True) if own_varies
    }
    return _problem(cells, inputs, varies, y, own)


def _problem(
    cells: dict[str, Any], inputs: tuple[str, ...], varies: np.ndarray, y: np.ndarray, own: list[str] | None
) -> Problem:
    columns = np.reshape(y, (len(y), -1))
    default = ["y"] if columns.shape[1] == 1 else [f"y{i}" for i in range(columns.shape[1])]
    outputs = _free(own or default, inputs)
    for name, values in zip(outputs, columns.T, strict=True):
        if (values == values[0]).all():
            raise InputError(f"'{name}' is {values[0]} in every row that is fitted: there is no law of it to find")
    # A list, so that pandas finds the type of each output of an array of objects.
    cells |= {name: pd.Series(columns[:, i].tolist()) for i, name in enumerate(outputs)}
    return Problem(pd.DataFrame(cells), inputs, varies, outputs, y.ndim == 1)


def gather(named: Mapping[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Parameters and further settings as one dict, numpy's numbers as Python's: a search passes such.

    >>> gather({"steps": np.int64(10)}, {"width": 8})
    {'steps': 10, 'width': 8}
    >>> gather({"steps": 10}, {"steps": 20})
    Traceback (most recent call last):
    forebear.errors.InputError: 'steps' is a parameter of its own: set it there, and leave it out of settings
    """
    twice = [name for name in settings or {} if name in named]
    if twice:
        raise InputError(f"{listed(twice)} is a parameter of its own: set it there, and leave it out of settings")
    merged = {**named, **(settings or {})}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in merged.items()}


def seed_of(random_state: Any) -> int:
    """A seed for forebear: a whole number is one already, anything else is asked for one.

    >>> seed_of(3), seed_of(None) >= 0
    (3, True)
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _input_names(estimator: Any) -> tuple[str, ...]:
    """The names of a data frame's columns; without them x0, x1, ... as scikit-learn calls them."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{i}" for i in range(estimator.n_features_in_))
    # Not every version of scikit-learn refuses them, and a table holds one column a name.
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"X has more than one column named {listed(twice)}: give each its own name")
    return tuple(map(str, names))


def _output_names(y: Any) -> list[str] | None:
    """The names that a series or a frame gives, if it names all of its columns differently."""
    names = list(getattr(y, "columns", [getattr(y, "name", None)]))
    named = all(isinstance(name, str) and name.strip() for name in names) and len(set(names)) == len(names)
    return names if named else None


def _free(names: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """The names, with an underscore where another column has them."""
    used, free = set(taken), []
    for name in names:
        while name in used:
            name += "_"
        used.add(name)
        free.append(name)
    return tuple(free)
