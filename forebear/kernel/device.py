"""The product kernel on a GPU: compiled loops, streamed over inputs, a few thousand rows at a time.

The functions of `forebear.kernel.host`, with arrays of the device. Lists of inputs are padded to one length, so that
one compiled function serves every step of a path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from forebear.kernel.precision import double
from forebear.kernel.profiles import RBF, Kernel
from forebear.kernel.solve import widened

# Rows handled at once: a GPU wants few large launches.
_ROWS = 4096
_RBF = RBF()


@double
def gram(
    points: ArrayLike, inputs: Sequence[int], profile: Kernel = _RBF, *, out: object = None
) -> Float[Array, "rows rows"]:
    """Product over the inputs of (1 + k) / 2, a rows x rows matrix.

    `out` makes no difference here: memory of the device is given back when nothing refers to it.

    >>> gram(np.zeros((3, 1, 2)), [0, 1]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    del out
    points = jnp.asarray(points)
    return _block(points, *_listed(inputs, points), np.arange(points.shape[2]), profile)


@double
def divide_out(
    kernel: ArrayLike, points: ArrayLike, members: Sequence[int], profile: Kernel = _RBF, *, out: object = None
) -> Float[Array, "rows rows"]:
    """The kernel without the inputs `members`: each of their factors is divided out of it.

    `out` makes no difference here, as in `gram`.

    >>> points = np.random.default_rng(0).normal(size=(3, 1, 4))
    >>> less = divide_out(gram(points, [0, 1, 2]), points, [1])
    >>> bool(np.allclose(less, gram(points, [0, 2]), atol=1e-15))
    True
    """
    del out
    points = jnp.asarray(points)
    return _divided(jnp.asarray(kernel), points, *_listed(members, points), profile)


@double
def energies(
    kernel: Float[Array, "rows rows"] | Sequence[int],
    points: ArrayLike,
    alpha: Float[np.ndarray, "rows targets"],
    groups: Sequence[Sequence[int]],
    profile: Kernel = _RBF,
) -> Float[np.ndarray, "groups targets"]:
    """alpha' K_u alpha (groups, targets) of each group; `kernel` is the matrix, or the inputs it consists of.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> held, made = (energies(k, points, np.ones((3, 1)), [[0], [1]]) for k in (gram(points, [0, 1]), [0, 1]))
    >>> held.shape, bool(np.allclose(held, made))
    ((2, 1), True)
    """
    points = jnp.asarray(points)
    padded = _padded(groups, len(points))
    targets, alpha = alpha.shape[1], widened(alpha)
    if isinstance(kernel, jax.Array):
        result = _energies(kernel, points, jnp.asarray(alpha), padded, len(groups), profile)
    else:
        inputs, count = _listed(kernel, points)
        result = _energies_made(points, inputs, count, jnp.asarray(alpha), padded, len(groups), profile)
    return np.asarray(result)[: len(groups), :targets]


@double
def group_means(
    points: ArrayLike, groups: Sequence[Sequence[int]], some: int, profile: Kernel = _RBF
) -> Float[np.ndarray, "groups rows"]:
    """The product of a group's factors (1 + k) between each row and the first few, averaged over these.

    >>> group_means(np.zeros((2, 1, 3)), [[0], [0, 1]], 2).tolist()
    [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    """
    points = jnp.asarray(points)
    padded = _padded(groups, len(points))
    return np.asarray(_means(points, padded, len(groups), np.arange(some), profile))[: len(groups)]


@double
def variations(
    kernel: Float[Array, "rows rows"] | Sequence[int],
    points: ArrayLike,
    alpha: Float[np.ndarray, "rows targets"],
    groups: Sequence[Sequence[int]],
    means: Float[np.ndarray, "groups rows"],
    some: int,
    profile: Kernel = _RBF,
) -> tuple[Float[np.ndarray, "groups targets"], Float[np.ndarray, " targets"]]:
    """What the fit K alpha loses where a group is averaged over the first `some` rows, and its variance there.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> groups, alpha = [[0], [1]], np.ones((3, 1))
    >>> average = group_means(points, groups, 3)
    >>> held, made = (variations(k, points, alpha, groups, average, 3)[0] for k in (gram(points, [0, 1]), [0, 1]))
    >>> held.shape, bool(np.allclose(held, made))
    ((2, 1), True)
    """
    points = jnp.asarray(points)
    padded, rows = _padded(groups, len(points)), np.arange(some)
    average = np.zeros((len(padded), points.shape[2]))
    average[: len(groups)] = means
    targets, wide = alpha.shape[1], jnp.asarray(widened(alpha))
    if isinstance(kernel, jax.Array):
        result = _variations(kernel, points, wide, padded, len(groups), average, rows, profile)
    else:
        inputs, count = _listed(kernel, points)
        result = _variations_made(points, inputs, count, wide, padded, len(groups), average, rows, profile)
    lost, first, second = (np.asarray(part)[..., :targets] for part in result)
    return lost[: len(groups)], second - first**2


@double
def product(
    points: ArrayLike, inputs: Sequence[int], vectors: Float[np.ndarray, "rows some"], profile: Kernel = _RBF
) -> Float[np.ndarray, "rows some"]:
    """The kernel of some inputs times vectors (rows, some), without ever holding it.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> bool(np.allclose(product(points, [0], np.ones((3, 1))), np.asarray(gram(points, [0])) @ np.ones((3, 1))))
    True
    """
    points = jnp.asarray(points)
    return np.asarray(_product(points, *_listed(inputs, points), jnp.asarray(vectors), profile))


@double
def columns(
    points: ArrayLike, inputs: Sequence[int], which: Int[np.ndarray, " some"], profile: Kernel = _RBF
) -> Float[np.ndarray, "rows some"]:
    """Some columns (rows, some) of the kernel of some inputs.

    >>> points = np.random.default_rng(0).normal(size=(2, 1, 3))
    >>> bool(np.allclose(columns(points, [1], np.array([2])), np.asarray(gram(points, [1]))[:, [2]]))
    True
    """
    points = jnp.asarray(points)
    return np.asarray(_block(points, *_listed(inputs, points), which, profile)).T


def _listed(inputs: Sequence[int], points: Array) -> tuple[np.ndarray, int]:
    """The inputs padded to a fixed length, and how many there are."""
    return np.pad(np.array(inputs, int), (0, len(points) - len(inputs))), len(inputs)


def _padded(groups: Sequence[Sequence[int]], inputs: int) -> Int[np.ndarray, "most members"]:
    """The groups as one array, -1 for nothing: as many rows as there are inputs, however few groups are left."""
    padded = np.full((max(inputs, len(groups)), max(map(len, groups), default=1)), -1)
    for number, members in enumerate(groups):
        padded[number, : len(members)] = members
    return padded


def _factor(
    points: Float[Array, "inputs width rows"], j: Int[Array, ""], i: Int[Array, ""], profile: Kernel
) -> Float[Array, " rows"]:
    """k of input `j` between row `i` and every row.

    Written without a reduction, which would keep the compiler from fusing it into the loops around it.
    """
    distance = sum((points[j, w] - points[j, w, i]) ** 2 for w in range(points.shape[1]))
    return profile(jnp.asarray(distance), jnp)


def _kernel_row(
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    count: Array,
    i: Int[Array, ""],
    profile: Kernel,
) -> Float[Array, " rows"]:
    def multiply(slot: Array, row: Array) -> Array:
        return row * (0.5 + 0.5 * _factor(points, inputs[slot], i, profile))

    return jax.lax.fori_loop(0, count, multiply, jnp.ones(points.shape[2], points.dtype))


@partial(jax.jit, static_argnames="profile")
def _block(
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    count: Array,
    rows: Int[Array, " some"],
    profile: Kernel,
) -> Float[Array, "some rows"]:
    return jax.lax.map(lambda i: _kernel_row(points, inputs, count, i, profile), rows, batch_size=_ROWS)


@partial(jax.jit, static_argnames="profile")
def _divided(
    kernel: Float[Array, "rows rows"],
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    count: Array,
    profile: Kernel,
) -> Float[Array, "rows rows"]:
    def row(i: Array) -> Array:
        def divide(slot: Array, entries: Array) -> Array:
            return entries / (0.5 + 0.5 * _factor(points, inputs[slot], i, profile))

        return jax.lax.fori_loop(0, count, divide, kernel[i])

    return jax.lax.map(row, jnp.arange(points.shape[2]), batch_size=_ROWS)


@partial(jax.jit, static_argnames="profile")
def _product(
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    count: Array,
    vectors: Float[Array, "rows some"],
    profile: Kernel,
) -> Float[Array, "rows some"]:
    def row(i: Array) -> Array:
        return _kernel_row(points, inputs, count, i, profile) @ vectors

    return jax.lax.map(row, jnp.arange(points.shape[2]), batch_size=_ROWS)


@partial(jax.jit, static_argnames="profile")
def _energies(
    kernel: Float[Array, "rows rows"],
    points: Float[Array, "inputs width rows"],
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    profile: Kernel,
) -> Float[Array, "groups targets"]:
    def row(i: Array) -> Array:
        return _row_energies(kernel[i], points, alpha, groups, count, i, profile)

    return jnp.sum(jax.lax.map(row, jnp.arange(points.shape[2]), batch_size=_ROWS), axis=0)


@partial(jax.jit, static_argnames="profile")
def _energies_made(
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    inside: Array,
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    profile: Kernel,
) -> Float[Array, "groups targets"]:
    def row(i: Array) -> Array:
        return _row_energies(
            _kernel_row(points, inputs, inside, i, profile), points, alpha, groups, count, i, profile
        )

    return jnp.sum(jax.lax.map(row, jnp.arange(points.shape[2]), batch_size=_ROWS), axis=0)


def _row_energies(
    entries: Float[Array, " rows"],
    points: Float[Array, "inputs width rows"],
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    i: Int[Array, ""],
    profile: Kernel,
) -> Float[Array, "groups targets"]:
    def score(slot: Array, out: Array) -> Array:
        rest = 1.0 / _joint(points, groups[slot], i, profile)
        return out.at[slot].set(alpha[i] * ((entries * (1.0 - rest)) @ alpha))

    return jax.lax.fori_loop(0, count, score, jnp.zeros((len(groups), alpha.shape[1]), points.dtype))


def _joint(
    points: Float[Array, "inputs width rows"], group: Int[Array, " members"], i: Int[Array, ""], profile: Kernel
) -> Float[Array, " rows"]:
    """The product of a group's factors 1 + k between row `i` and every row."""
    product = jnp.ones(points.shape[2], points.dtype)
    # Unrolled, so that the compiler makes one pass of it; groups are small.
    for member in range(group.shape[0]):
        j = group[member]
        product = product * jnp.where(j >= 0, 1.0 + _factor(points, j, i, profile), 1.0)
    return product


@partial(jax.jit, static_argnames="profile")
def _means(
    points: Float[Array, "inputs width rows"],
    groups: Int[Array, "groups members"],
    count: Array,
    rows: Int[Array, " some"],
    profile: Kernel,
) -> Float[Array, "groups rows"]:
    def group(slot: Array, out: Array) -> Array:
        # The kernel is symmetric: the mean over some rows, at each row, is a sum over these as they come.
        total = jax.lax.fori_loop(
            0,
            len(rows),
            lambda place, total: total + _joint(points, groups[slot], rows[place], profile),
            jnp.zeros(points.shape[2], points.dtype),
        )
        return out.at[slot].set(total / len(rows))

    return jax.lax.fori_loop(0, count, group, jnp.zeros((len(groups), points.shape[2]), points.dtype))


@partial(jax.jit, static_argnames="profile")
def _variations(
    kernel: Float[Array, "rows rows"],
    points: Float[Array, "inputs width rows"],
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    means: Float[Array, "groups rows"],
    rows: Int[Array, " some"],
    profile: Kernel,
) -> tuple[Array, Array, Array]:
    def row(i: Array) -> tuple[Array, Array, Array]:
        return _row_variations(kernel[i], points, alpha, groups, count, means, i, profile)

    return _averaged(row, rows)


@partial(jax.jit, static_argnames="profile")
def _variations_made(
    points: Float[Array, "inputs width rows"],
    inputs: Int[Array, " inputs"],
    inside: Array,
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    means: Float[Array, "groups rows"],
    rows: Int[Array, " some"],
    profile: Kernel,
) -> tuple[Array, Array, Array]:
    def row(i: Array) -> tuple[Array, Array, Array]:
        entries = _kernel_row(points, inputs, inside, i, profile)
        return _row_variations(entries, points, alpha, groups, count, means, i, profile)

    return _averaged(row, rows)


def _averaged(row: Callable[[Array], tuple[Array, Array, Array]], rows: Array) -> tuple[Array, Array, Array]:
    lost, first, second = jax.lax.map(row, rows, batch_size=_ROWS)
    return lost.mean(axis=0), first.mean(axis=0), second.mean(axis=0)


def _row_variations(
    entries: Float[Array, " rows"],
    points: Float[Array, "inputs width rows"],
    alpha: Float[Array, "rows targets"],
    groups: Int[Array, "groups members"],
    count: Array,
    means: Float[Array, "groups rows"],
    i: Int[Array, ""],
    profile: Kernel,
) -> tuple[Array, Array, Array]:
    """Squares of what a row's fit loses without each of the groups, the fit, and its square."""
    fit = entries @ alpha

    def lose(slot: Array, out: Array) -> Array:
        without = (entries * means[slot] / _joint(points, groups[slot], i, profile)) @ alpha
        return out.at[slot].set((fit - without) ** 2)

    lost = jax.lax.fori_loop(0, count, lose, jnp.zeros((len(groups), alpha.shape[1]), points.dtype))
    return lost, fit, fit**2
