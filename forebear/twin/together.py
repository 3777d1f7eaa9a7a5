"""Questions of several askers in few compiled calls, each with the answer that it would have had alone.

Compiled code rounds differently for another number of rows, and a digit that depends on who else asked at the same
moment could never be reproduced. So every question is cut into pieces by its own size alone, and pieces of one size
fill tiles of that size, whoever they belong to; a tile is computed whole, and a few sizes are all that is ever
compiled. Some libraries round differently at another place of a matrix, too: `warm` looks, and pieces share no tile
of a size for which that is so. It also looks which tiles of a blend may be cut short without another digit: a blend
pays for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from forebear.errors import InputError
from forebear.twin.batches import LEAST, MOST
from forebear.twin.blend import BlendLaw
from forebear.twin.law import ModelLaw, TwinLaw

Kind = Literal["push", "pull", "density"]
KINDS: tuple[Kind, ...] = ("push", "pull", "density")
# Rows in a tile. A blend asks trees for every row, so that a large tile costs as much as its rows.
_TILES, _BLEND_TILES = (16, 64, 256, 1_024), (8, 16, 32, 64)
# Orders of rows that are tried.
_MOVES = 3


class Ask(NamedTuple):
    """What one asker wants of a law, as `TwinLaw` has it."""

    kind: Kind
    x: np.ndarray
    """(rows, inputs)"""
    at: np.ndarray
    """latents (some, rows, latents) to push, or values (rows, targets)"""


class Together:
    """A law that answers several askers at once.

    >>> from forebear.data.scaling import ColumnCode, Encoder
    >>> from forebear.flow.network import Network
    >>> from forebear.twin.model import FlowModel
    >>> from forebear.flow.settings import FlowSettings
    >>> flat = Network((np.zeros((1, 3, 1), np.float32),), (np.full((1, 1), 2.0, np.float32),), "silu")
    >>> model = FlowModel(flat, 1, FlowSettings())
    >>> law = ModelLaw(Encoder([ColumnCode("a", "real")]), model, np.zeros(1), np.ones(1))
    >>> asks = [Ask("push", np.zeros((rows, 1)), np.zeros((1, rows, 1))) for rows in (1, 30)]
    >>> [told.shape for told in Together(law).answer(asks)]
    [(1, 1, 1), (1, 30, 1)]
    """

    def __init__(self, law: TwinLaw):
        if not isinstance(law, ModelLaw | BlendLaw):
            raise InputError(f"{type(law).__name__} is not made of forebear's networks: it cannot be asked together")
        self.law = law
        self.calls = 0
        """tiles computed so far"""
        self.shared: frozenset[int] = frozenset()
        """tiles in which a row has the same digits at every place"""
        self.shorter: dict[int, tuple[int, ...]] = {}
        """tile -> sizes, rising, that it may be cut to without another digit"""
        most = max(LEAST, MOST >> max(0, law.latents.bit_length() - 4))
        self.tiles = _BLEND_TILES if isinstance(law, BlendLaw) else tuple(t for t in _TILES if t <= most)

    def answer(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """One answer for each, in their order."""
        if isinstance(self.law, BlendLaw):
            return self._by_tables(self.law, asks)
        found: list[np.ndarray] = [np.empty(0)] * len(asks)
        for kind in KINDS:
            own = [number for number, ask in enumerate(asks) if ask.kind == kind]
            flat = [_flat(asks[number]) for number in own]
            told = self._in_tiles(self._function(kind), flat) if flat else []
            for number, rows in zip(own, told, strict=True):
                ask = asks[number]
                found[number] = rows.reshape(*ask.at.shape[:-1], rows.shape[1])
        return found

    def warm(self, rows: Float[np.ndarray, "rows inputs"]) -> None:
        """Compile what will be needed, and find out which tiles can be shared, at some rows of the data."""
        shared = set(self.tiles)
        for size in self.tiles:
            rng = np.random.default_rng(size)
            x = rows[rng.integers(0, len(rows), size)] if len(rows) else np.zeros((size, rows.shape[1]))
            z = rng.standard_normal((1, size, self.law.latents))
            [y] = self.answer([Ask("push", x, z)])
            asks = [Ask("push", x, z)]
            if isinstance(self.law, ModelLaw) and "pull" not in self.law.lacks:
                asks += [Ask("pull", x, y[0]), Ask("density", x, y[0])]
            for ask in asks:
                if not self._place_is_nothing(ask, rng):
                    shared.discard(size)
            if isinstance(self.law, BlendLaw):
                self.shorter[size] = self._sizes_that_agree(self.law, self.law.encoder.single(x))
        self.shared = frozenset(shared)

    def _place_is_nothing(self, ask: Ask, rng: np.random.Generator) -> bool:
        """Whether rows have the same digits wherever they stand."""
        [told] = self.answer([ask])
        for _ in range(_MOVES):
            order = rng.permutation(len(ask.x))
            [moved] = self.answer([Ask(ask.kind, ask.x[order], np.take(ask.at, order, axis=-2))])
            if not np.array_equal(moved, np.take(told, order, axis=-2), equal_nan=True):
                return False
        return True

    def _sizes_that_agree(self, law: BlendLaw, features: np.ndarray) -> tuple[int, ...]:
        """Numbers of rows, powers of two, with which each row has the digits that it has in the whole tile."""
        size = len(features)
        whole = _tables_of(law, features)

        def agrees(some: int) -> bool:
            parts = [_tables_of(law, features[start : start + some]) for start in range(0, size, some)]
            return np.array_equal(np.concatenate(parts), whole, equal_nan=True)

        smaller = [1 << power for power in range(size.bit_length() - 1)]
        return tuple(some for some in smaller if agrees(some))

    def _function(self, kind: Kind) -> Callable[..., np.ndarray]:
        if kind == "push":
            return lambda x, z: self.law.push(x, z[None])[0]
        return self.law.pull if kind == "pull" else self.law.log_density

    def _in_tiles(
        self, function: Callable[..., np.ndarray], flat: Sequence[tuple[np.ndarray, ...]]
    ) -> list[np.ndarray]:
        """A function of rows at the rows of every asker; all arrays of an asker have as many rows."""
        found: list[np.ndarray | None] = [None] * len(flat)
        for size in self.tiles:
            pieces = [
                (n, piece) for n, own in enumerate(flat) for piece, tile in self._cut(len(own[0])) if tile == size
            ]
            for group in [pieces] if size in self.shared and pieces else [[piece] for piece in pieces]:
                lengths = [piece.stop - piece.start for _, piece in group]
                arrays = [np.concatenate([flat[n][i][piece] for n, piece in group]) for i in range(len(flat[0]))]
                told = np.concatenate([function(*tile) for tile in self._tiles_of(arrays, size)])
                for (n, piece), start in zip(group, np.cumsum(lengths) - lengths, strict=True):
                    if found[n] is None:
                        found[n] = np.empty((len(flat[n][0]), *told.shape[1:]))
                    found[n][piece] = told[start : start + piece.stop - piece.start]  # type: ignore[index]
        return [rows for rows in found if rows is not None]

    def _cut(self, rows: int) -> Iterator[tuple[slice, int]]:
        """Pieces of a question, with the size of the tile that each goes into: by the number of rows alone."""
        most = self.tiles[-1]
        for start in range(0, rows, most):
            size = min(most, rows - start)
            yield slice(start, start + size), next(tile for tile in self.tiles if tile >= size)

    def _tiles_of(self, arrays: Sequence[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
        """Tiles of one size; the last is filled up with its last row, no further than its digits ask for."""
        for start in range(0, len(arrays[0]), size):
            self.calls += 1
            left = len(arrays[0]) - start
            enough = next((some for some in self.shorter.get(size, ()) if some >= left), size)
            yield [_filled(array[start : start + size], enough) for array in arrays]

    def _by_tables(self, law: BlendLaw, asks: Sequence[Ask]) -> list[np.ndarray]:
        """Of a blend the tables of all rows are made together; each asker reads off its own."""
        features = [(law.encoder.single(ask.x),) for ask in asks]

        told = self._in_tiles(lambda rows: _tables_of(law, rows), features)
        return [_read(law, ask, lines) for ask, lines in zip(asks, told, strict=True)]


def _tables_of(law: BlendLaw, rows: np.ndarray) -> Float[np.ndarray, "rows targets 2 points"]:
    lines = [law.lines(rows, i) for i in range(law.latents)]
    points = max(line.shape[2] for line in lines)
    return np.stack([_longer(line, points) for line in lines], axis=1)


def _longer(line: Float[np.ndarray, "rows 2 points"], points: int) -> Float[np.ndarray, "rows 2 more"]:
    """The same table with more points, on the straight line on which it goes on."""
    more = np.arange(1, points - line.shape[2] + 1)
    return np.concatenate([line, line[:, :, -1:] + (line[:, :, -1:] - line[:, :, -2:-1]) * more], axis=2)


def _read(law: BlendLaw, ask: Ask, lines: Float[np.ndarray, "rows targets 2 points"]) -> np.ndarray:
    tabled = [law.tabled(slice(0, len(ask.x)), i, lines[:, i]) for i in range(law.latents)]
    if ask.kind == "push":
        return law.pushed(tabled, ask.at)
    return law.pulled(tabled, ask.at)[0] if ask.kind == "pull" else law.density(tabled, ask.at)


def _flat(ask: Ask) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and latents, or values, row by row."""
    if ask.kind != "push":
        return ask.x, ask.at
    some = len(ask.at)
    return np.tile(ask.x, (some, 1)), ask.at.reshape(some * len(ask.x), -1)


def _filled(rows: np.ndarray, size: int) -> np.ndarray:
    lacking = size - len(rows)
    return np.concatenate([rows, np.repeat(rows[-1:], lacking, axis=0)]) if lacking else rows
