"""The product kernel on a CPU: numpy in blocks that stay in cache, one thread per core.

The same as the compiled loops of `forebear.kernel.device`, with nothing to compile and nothing to copy: on a CPU a
factor is divided out in a fifth of their time; scores of many inputs take about half as long again. Work is cut into
pieces of rows whose number does not depend on the cores, so that sums come out the same on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from forebear.kernel.profiles import RBF, Kernel
from forebear.kernel.threads import cores

Blocks = Sequence[slice]
_RBF = RBF()
Result = TypeVar("Result")

# Entries of a block: half takes longer, twice and four times as many do not take less. And pieces of the rows, which
# threads take one after another.
_BLOCK = 120_000
_PIECES = 16
# Rows from which threads pay: smaller kernels are made side by side, a thread each (`forebear.kernel.tune`).
_ROWS_FOR_THREADS = 1_500
# Factors 1 + k that are multiplied before the product is scaled back: 2^512 is far from overflow.
_FACTORS = 512


def gram(
    points: Float[np.ndarray, "inputs width rows"],
    inputs: Sequence[int],
    profile: Kernel = _RBF,
    *,
    out: Float[np.ndarray, "rows rows"] | None = None,
) -> Float[np.ndarray, "rows rows"]:
    """Product over the inputs of (1 + k) / 2, a rows x rows matrix, in fresh memory or in `out`.

    >>> gram(np.zeros((3, 1, 2)), [0, 1]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    kernel = np.empty((points.shape[2], points.shape[2])) if out is None else out

    def fill(blocks: Blocks) -> None:
        factors = _Factors(points, blocks, profile)
        space = factors.space()
        for rows in blocks:
            # The kernel is symmetric: what is left of the diagonal is made, and stands on both sides of it.
            made = factors.product(inputs, rows, space, rows.stop)
            kernel[rows, : rows.stop] = made
            kernel[: rows.start, rows] = made[:, : rows.start].T

    _in_pieces(fill, points.shape[2])
    return kernel


def divide_out(
    kernel: Float[np.ndarray, "rows rows"],
    points: Float[np.ndarray, "inputs width rows"],
    members: Sequence[int],
    profile: Kernel = _RBF,
    *,
    out: Float[np.ndarray, "rows rows"] | None = None,
) -> Float[np.ndarray, "rows rows"]:
    """The kernel without the inputs `members`: each of their factors is divided out of it.

    The result is in fresh memory, which costs more than the division, or in `out`, which may be the kernel itself.

    >>> points = np.random.default_rng(0).normal(size=(3, 1, 4))
    >>> less = divide_out(gram(points, [0, 1, 2]), points, [1])
    >>> bool(np.allclose(less, gram(points, [0, 2]), atol=1e-15))
    True
    """
    less = np.empty_like(kernel) if out is None else out

    def fill(blocks: Blocks) -> None:
        factors = _Factors(points, blocks, profile)
        for rows in blocks:
            np.multiply(kernel[rows], 2.0 ** len(members[:_FACTORS]), out=less[rows])
            for j in members[:_FACTORS]:
                less[rows] /= factors.one_plus_k(j, rows)

    _in_pieces(fill, len(kernel))
    return divide_out(less, points, members[_FACTORS:], profile, out=less) if len(members) > _FACTORS else less


def energies(
    kernel: Float[np.ndarray, "rows rows"] | Sequence[int],
    points: Float[np.ndarray, "inputs width rows"],
    alpha: Float[np.ndarray, "rows targets"],
    groups: Sequence[Sequence[int]],
    profile: Kernel = _RBF,
) -> Float[np.ndarray, "groups targets"]:
    """alpha' K_u alpha (groups, targets) for each of the groups, given as lists of inputs; see `Dense.energies`.

    `kernel` is the matrix, or the inputs it consists of: it is then made again as it is needed.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> held, made = (energies(k, points, np.ones((3, 1)), [[0], [1]]) for k in (gram(points, [0, 1]), [0, 1]))
    >>> held.shape, bool(np.allclose(held, made))
    ((2, 1), True)
    """

    def add(blocks: Blocks) -> np.ndarray:
        factors = _Factors(points, blocks, profile)
        made, rest = factors.space(), factors.space()
        total = np.zeros((len(groups), alpha.shape[1]))
        for rows in blocks:
            # The kernel is symmetric: what is left of the block's diagonal counts twice, what is right of it not.
            entries = (
                kernel[rows, : rows.stop]
                if isinstance(kernel, np.ndarray)
                else factors.product(kernel, rows, made, rows.stop)
            )
            doubled = alpha[: rows.stop] * np.where(np.arange(rows.stop) < rows.start, 2.0, 1.0)[:, None]
            whole = np.sum(alpha[rows] * (entries @ doubled), axis=0)
            for number, members in enumerate(groups):
                # The kernel without the group: K / prod (1 + k).
                without = np.divide(
                    entries, factors.one_plus_k(members[0], rows, rows.stop), out=_corner(rest, entries.shape)
                )
                for j in members[1:]:
                    without /= factors.one_plus_k(j, rows, rows.stop)
                total[number] += whole - np.sum(alpha[rows] * (without @ doubled), axis=0)
        return total

    return np.sum(_in_pieces(add, points.shape[2]), axis=0)


def group_means(
    points: Float[np.ndarray, "inputs width rows"],
    groups: Sequence[Sequence[int]],
    some: int,
    profile: Kernel = _RBF,
) -> Float[np.ndarray, "groups rows"]:
    """The product of a group's factors (1 + k) between each row and the first few, averaged over these.

    >>> group_means(np.zeros((2, 1, 3)), [[0], [0, 1]], 2).tolist()
    [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    """

    def add(blocks: Blocks) -> np.ndarray:
        factors = _Factors(points, blocks, profile)
        joint, total = factors.space(), np.zeros((len(groups), points.shape[2]))
        for rows in blocks:
            for number, members in enumerate(groups):
                product = factors.one_plus_k(members[0], rows)
                for place, j in enumerate(members[1:]):
                    if place == 0:
                        product = np.multiply(product, 1.0, out=_corner(joint, product.shape))
                    product *= factors.one_plus_k(j, rows)
                total[number] += product.sum(axis=0)
        return total

    return np.sum(_in_pieces(add, some, points.shape[2]), axis=0) / some


def variations(
    kernel: Float[np.ndarray, "rows rows"] | Sequence[int],
    points: Float[np.ndarray, "inputs width rows"],
    alpha: Float[np.ndarray, "rows targets"],
    groups: Sequence[Sequence[int]],
    means: Float[np.ndarray, "groups rows"],
    some: int,
    profile: Kernel = _RBF,
) -> tuple[Float[np.ndarray, "groups targets"], Float[np.ndarray, " targets"]]:
    """What the fit K alpha loses where a group is averaged over the first `some` rows, and its variance there.

    See `Dense.variations`. `kernel` is the matrix, or the inputs it consists of; `means` are those of the groups.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> groups, alpha = [[0], [1]], np.ones((3, 1))
    >>> average = group_means(points, groups, 3)
    >>> held, made = (variations(k, points, alpha, groups, average, 3)[0] for k in (gram(points, [0, 1]), [0, 1]))
    >>> held.shape, bool(np.allclose(held, made))
    ((2, 1), True)
    """

    def add(blocks: Blocks) -> np.ndarray:
        factors = _Factors(points, blocks, profile)
        made, rest = factors.space(), factors.space()
        total = np.zeros((len(groups) + 2, alpha.shape[1]))
        for rows in blocks:
            entries = kernel[rows] if isinstance(kernel, np.ndarray) else factors.product(kernel, rows, made)
            fit = entries @ alpha
            total[-2] += fit.sum(axis=0)
            total[-1] += np.sum(fit**2, axis=0)
            for number, members in enumerate(groups):
                without = np.divide(entries, factors.one_plus_k(members[0], rows), out=_corner(rest, entries.shape))
                for j in members[1:]:
                    without /= factors.one_plus_k(j, rows)
                total[number] += np.sum((fit - without @ (alpha * means[number][:, None])) ** 2, axis=0)
        return total

    *lost, first, second = np.sum(_in_pieces(add, some, points.shape[2]), axis=0) / some
    return np.reshape(lost, (len(groups), alpha.shape[1])), second - first**2


def product(
    points: Float[np.ndarray, "inputs width rows"],
    inputs: Sequence[int],
    vectors: Float[np.ndarray, "rows some"],
    profile: Kernel = _RBF,
) -> Float[np.ndarray, "rows some"]:
    """The kernel of some inputs times vectors (rows, some), without ever holding it.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> bool(np.allclose(product(points, [0], np.ones((3, 1))), gram(points, [0]) @ np.ones((3, 1))))
    True
    """
    result = np.empty((points.shape[2], vectors.shape[1]))

    def fill(blocks: Blocks) -> None:
        factors = _Factors(points, blocks, profile)
        entries = factors.space()
        for rows in blocks:
            result[rows] = factors.product(inputs, rows, entries) @ vectors

    _in_pieces(fill, points.shape[2])
    return result


def columns(
    points: Float[np.ndarray, "inputs width rows"],
    inputs: Sequence[int],
    which: Int[np.ndarray, " some"],
    profile: Kernel = _RBF,
) -> Float[np.ndarray, "rows some"]:
    """Some columns (rows, some) of the kernel of some inputs.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> bool(np.allclose(columns(points, [1], np.array([2])), gram(points, [1])[:, [2]]))
    True
    """
    some = np.empty((len(which), points.shape[2]))

    def fill(blocks: Blocks) -> None:
        factors = _Factors(points, blocks, profile)
        for rows in blocks:
            factors.product(inputs, which[rows], some[rows])

    _in_pieces(fill, len(which), points.shape[2])
    return some.T


class _Factors:
    """Factors of the kernel for one block of rows after another, in memory that is used again."""

    def __init__(self, points: np.ndarray, blocks: Blocks, profile: Kernel):
        self.points, self.profile = points, profile
        self.most = max((block.stop - block.start for block in blocks), default=0)
        self.scratch, self.other = self.space(), self.space()

    def space(self) -> np.ndarray:
        """Room for the entries of a block."""
        return np.empty((self.most, self.points.shape[2]))

    def one_plus_k(self, j: int, rows: slice | np.ndarray, width: int | None = None) -> np.ndarray:
        """1 + k of one input between some rows and the first `width`, or all; good until the next call."""
        entries = _squares(self.points[j, 0], rows, width, self.scratch)
        for axis in self.points[j, 1:]:
            if axis.any():  # an input of one dimension among wider ones is padded with zeros
                entries += _squares(axis, rows, width, self.other)
        entries = self.profile(entries, np)
        entries += 1.0
        return entries

    def product(
        self, inputs: Sequence[int], rows: slice | np.ndarray, out: np.ndarray, width: int | None = None
    ) -> np.ndarray:
        """Some rows, up to a width, of the kernel of some inputs."""
        entries = _corner(out, (len(np.arange(self.points.shape[2])[rows]), width or self.points.shape[2]))
        entries.fill(1.0)
        for start in range(0, len(inputs), _FACTORS):
            some = inputs[start : start + _FACTORS]
            for j in some:
                entries *= self.one_plus_k(j, rows, width)
            entries *= 0.5 ** len(some)
        return entries


def _squares(axis: np.ndarray, rows: slice | np.ndarray, width: int | None, out: np.ndarray) -> np.ndarray:
    own, others = axis[rows], axis[:width]
    difference = np.subtract(own[:, None], others, out=_corner(out, (len(own), len(others))))
    return np.multiply(difference, difference, out=difference)


def _corner(space: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Room for so many rows and columns, side by side in memory."""
    return space.reshape(-1)[: shape[0] * shape[1]].reshape(shape)


def _in_pieces(work: Callable[[Blocks], Result], rows: int, width: int | None = None) -> list[Result]:
    """`work` on each piece of the rows, cut into blocks of rows of some width (the number of rows); in order."""
    edges = np.linspace(0, rows, min(_PIECES, rows) + 1).astype(int).tolist()
    length = max(1, _BLOCK // (width or rows))
    pieces = [
        [slice(start, min(start + length, last)) for start in range(first, last, length)]
        for first, last in zip(edges[:-1], edges[1:], strict=True)
    ]
    if rows < _ROWS_FOR_THREADS:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(min(cores(), len(pieces))) as pool:
        return list(pool.map(work, pieces))
