"""A twin as the mechanism of a node in a graphical causal model of DoWhy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forebear.data.table import read_columns
from forebear.errors import InputError, listed
from forebear.twin.fit import fit_twin
from forebear.twin.given import read_matrix
from forebear.twin.twin import Twin

_FOUND = True
if TYPE_CHECKING:
    _Base = object
else:
    try:
        from dowhy.gcm.causal_mechanisms import InvertibleFunctionalCausalModel as _Base
    except ImportError:
        _Base, _FOUND = object, False


class TwinMechanism(_Base):
    """y = f(parents, noise) with standard normal noise, where f is the quantile map of a twin with one target.

    f rises with the noise, so that the noise of an observation is known: DoWhy can answer counterfactual questions.
    Values of a lattice, and atoms, stand for a range of noises; one of them is drawn.

    Arguments:
        twin: with a single target that is a number.
        parents: the order in which DoWhy hands the columns over; by default, as there, that of their names.
        refit: whether `fit` trains a new twin on the rows it is given. By default it keeps the twin as it is: that
            was trained before, and on more than DoWhy may hand over.
    """

    def __init__(self, twin: Twin, parents: Sequence[str] | None = None, refit: bool = False):
        if not _FOUND:
            raise InputError("TwinMechanism needs dowhy: run `pip install 'forebear[dowhy]'`")
        if len(twin.targets) != 1 or twin.outputs[0].levels:
            raise InputError(
                f"a mechanism has one target, and it is a number; the twin has {listed(twin.targets)}: fit a twin of "
                "that target alone"
            )
        names = sorted(twin.inputs) if parents is None else list(parents)
        if sorted(names) != sorted(twin.inputs):
            raise InputError(f"parents must be the inputs of the twin, {listed(twin.inputs)}; got {listed(names)}")
        self.twin, self.parents, self.refit = twin, tuple(names), refit

    def fit(self, X: np.ndarray, Y: np.ndarray) -> None:
        """Train anew on these rows, or only check that they fit."""
        given, y = self._given(X), read_matrix(_column(Y), self.twin.outputs, "Y")
        if not self.refit:
            return
        # Categories are codes by now; as labels they keep their kind.
        frame = {name: given[:, i] for i, name in enumerate(self.twin.inputs)}
        for column in self.twin.columns:
            if column.levels:
                frame[column.name] = np.array(column.levels, object)[frame[column.name].astype(int)]
        [target] = self.twin.targets
        periods = {column.name: column.period for column in self.twin.columns if column.period}
        columns = [*self.twin.inputs, target]
        table = read_columns(pd.DataFrame(frame | {target: y[:, 0]}), "the rows of fit", columns, periods)
        settings, units = self.twin.settings, self.twin.units
        self.twin = fit_twin(table, {target: self.twin.inputs}, joint=False, settings=settings, seed=0, units=units)

    def draw_noise_samples(self, num_samples: int) -> np.ndarray:
        """Standard normal noise (rows, 1)."""
        # From numpy's global generator, as in all of DoWhy: its seed is set there.
        return np.random.normal(size=(num_samples, 1))

    def draw_samples(self, parent_samples: np.ndarray) -> np.ndarray:
        """Values of the node (rows, 1) given its parents."""
        return self.evaluate(parent_samples, self.draw_noise_samples(len(parent_samples)))

    def evaluate(self, parent_samples: np.ndarray, noise_samples: np.ndarray) -> np.ndarray:
        """Values (rows, 1) at these parents and noises."""
        z = np.asarray(_column(noise_samples), float)
        return self.twin.at_latents(self._given(parent_samples), z[None])[0]

    def estimate_noise(self, target_samples: np.ndarray, parent_samples: np.ndarray) -> np.ndarray:
        """The noise (rows, 1) of observed values."""
        seed = int(np.random.randint(2**31))
        return self.twin.latent(self._given(parent_samples), _column(target_samples), seed=seed)

    def clone(self) -> TwinMechanism:
        """Another mechanism around the same twin, which is never changed."""
        return TwinMechanism(self.twin, self.parents, self.refit)

    def __str__(self) -> str:
        return f"mechanism of {self.twin!r}"

    def _given(self, parents: np.ndarray) -> np.ndarray:
        columns = [self.twin.columns[self.twin.inputs.index(name)] for name in self.parents]
        found = read_matrix(_column(parents), columns, "the parents")
        return found[:, [self.parents.index(name) for name in self.twin.inputs]]


def _column(values: Any) -> np.ndarray:
    array = np.asarray(values)
    return array[:, None] if array.ndim == 1 else array
