"""What is done of a piece that is not finished: trained weights, draws, paths. Gone when the piece is kept whole."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from forebear.errors import InputError
from forebear.storage.arrays import load_arrays, save_arrays
from forebear.storage.files import read_json, write_json

_P = ParamSpec("_P")
_Model = TypeVar("_Model")


class Parts:
    """Records and arrays by name, each there whole or not at all; without a folder nothing is kept.

    A part that cannot be read is as good as absent: it is made again, and comes out the same.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = Parts(Path(folder) / "00000")
    ...     parts.keep("path-0", {"nsr": [0.5]})
    ...     parts.keep_arrays("draws", {"z": np.zeros(2)}, {"seed": 1})
    ...     parts.get("path-0"), parts.get("path-1"), parts.get_arrays("draws")
    ({'nsr': [0.5]}, None, ({'z': array([0., 0.])}, {'seed': 1}))
    >>> Parts(None).get("path-0") is None
    True
    """

    def __init__(self, folder: Path | None):
        self.folder = folder

    def get(self, name: str) -> Any | None:
        """A record that `keep` kept."""
        if self.folder is None:
            return None
        with suppress(InputError):
            return read_json(self.folder / f"{name}.json")
        return None

    def keep(self, name: str, content: Any) -> None:
        """Keep plain lists and numbers."""
        if self.folder is not None:
            write_json(self.folder / f"{name}.json", content)

    def get_arrays(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays that `keep_arrays` kept, and what goes with them."""
        if self.folder is None:
            return None
        with suppress(InputError):
            return load_arrays(self.folder / f"{name}.safetensors", "")
        return None

    def keep_arrays(self, name: str, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
        """Keep arrays, with plain lists and numbers beside them."""
        if self.folder is not None:
            save_arrays(self.folder / f"{name}.safetensors", arrays, about)

    def clear(self) -> None:
        """The piece is whole: its parts are not needed any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):  # the parts of another piece are still there
                self.folder.parent.rmdir()


NOTHING_KEPT = Parts(None)


class _Count:
    def __init__(self, parts: Parts, name: str):
        self.parts, self.name, self.done = parts, name, 0


_TRAININGS: ContextVar[_Count | None] = ContextVar("_TRAININGS", default=None)


@contextmanager
def remembering(parts: Parts, name: str) -> Iterator[None]:
    """Within, every training that is done is kept among the parts, by name and number, and not done again."""
    token = _TRAININGS.set(_Count(parts, name))
    try:
        yield
    finally:
        _TRAININGS.reset(token)


def remembered(train: Callable[_P, _Model]) -> Callable[_P, _Model]:
    """For a function whose first argument is an untrained model and that returns it trained, the same every time.

    Inside `remembering`, the weights of each call are kept; a later process that makes the same calls in the same
    order gets them back. Outside, nothing changes.

    >>> @remembered
    ... def train(models, rate):
    ...     print("training")
    ...     return [weights + rate for weights in models]
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for attempt in range(2):
    ...         with remembering(Parts(Path(folder)), "flow"):
    ...             print(train([np.zeros(1, np.float32)], 2.0)[0].tolist())
    training
    [2.0]
    [2.0]
    """

    @functools.wraps(train)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _Model:
        count = _TRAININGS.get()
        if count is None or count.parts.folder is None:
            return train(*args, **kwargs)
        name = f"{count.name}-{count.done}"
        count.done += 1
        kept = count.parts.get_arrays(name)
        fitted = None if kept is None else _filled(args[0], kept[0])
        if fitted is None:
            fitted = train(*args, **kwargs)
            count.parts.keep_arrays(name, _weights(fitted), {})
        return fitted

    return wrapped


def _weights(model: Any) -> dict[str, np.ndarray]:
    import jax

    return {str(place): np.asarray(leaf) for place, leaf in enumerate(jax.tree.leaves(model))}


def _filled(model: Any, weights: Mapping[str, np.ndarray]) -> Any | None:
    """The model with these weights; None if they are not its own."""
    import jax
    import jax.numpy as jnp

    leaves, shape = jax.tree.flatten(model)
    found = [weights.get(str(place)) for place in range(len(leaves))]
    if len(weights) != len(leaves):
        return None
    for leaf, array in zip(leaves, found, strict=True):
        if array is None or array.shape != leaf.shape or array.dtype != leaf.dtype:
            return None
    return jax.tree.unflatten(shape, [jnp.asarray(array) for array in found])
