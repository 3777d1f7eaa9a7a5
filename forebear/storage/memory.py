"""How much memory a discovery takes, estimated before it starts: a run that will not fit is refused, not killed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from forebear.errors import InputError

# What Python, JAX, pandas and compiled code take, whatever the data: most of it is the compiler at work, which finds
# nothing on disk the first time.
_PROGRAM = 0.85e9
# Matrices (distilled, distilled) held at once while the kernel is in memory: the kernel and, where it is smooth, some
# hundreds of columns of its factor; where it is rough, the whole factor.
_KERNEL_MATRICES = 1.7
# Of a kernel too large for that, a factorisation that stops early holds so many columns, as a share of all, in so
# many copies.
_COLUMNS_HELD, _COLUMN_COPIES = 0.2, 2.0
# Copies of the table: as it was read, as checked columns, as features in single precision, on the device.
_TABLE_COPIES = 4.0
# Bounded features of a column in the test of a certificate, and copies of all of them while sets are compared.
_FEATURES, _FEATURE_COPIES = 8, 6.0
# Activations and gradients that a training step holds for each hidden layer, and copies of the weights (optimiser,
# averages, best).
_ACTIVATIONS, _WEIGHT_COPIES = 4.0, 8.0
_SINGLE, _DOUBLE = 4, 8


@dataclass(frozen=True)
class Size:
    """What the memory of one process depends on."""

    rows: int
    columns: int
    """of the table that are used, targets included"""
    together: int
    """targets whose samplers are trained side by side"""
    distilled: int
    dense: int
    """distilled rows up to which the kernel is held in memory"""
    side_by_side: int = 1
    """targets whose kernels may be held at the same time"""
    tested: int = 0
    """rows whose latents are tested at once, at most; 0 without a certificate"""
    width: int = 64
    depth: int = 4
    batch: int = 512


class Memory(NamedTuple):
    """Bytes, by what takes them."""

    program: float
    table: float
    flows: float
    """weights and a batch of all networks that are trained side by side"""
    draws: float
    kernels: float
    certificate: float

    @property
    def total(self) -> float:
        """The peak of one process: of kernels and tests, which follow one another, the larger counts."""
        return self.program + self.table + self.draws + self.flows + max(self.kernels, self.certificate)


def estimate(size: Size) -> Memory:
    """The memory of one process, by its parts.

    >>> small = Size(rows=1_000, columns=10, together=1, distilled=3_000, dense=15_000, tested=1_000)
    >>> 0.8 < estimate(small).total / 1e9 < 1.2
    True
    >>> estimate(small).kernels < estimate(small).total
    True
    """
    rows, columns, distilled = size.rows, size.columns, size.distilled
    weights = size.width * (columns + 2) + size.width**2 * max(size.depth - 1, 0) + size.width
    steps = min(size.batch, rows) * (size.width * size.depth * _ACTIVATIONS + columns)
    dense = (_KERNEL_MATRICES + size.side_by_side - 1) * distilled**2
    tiled = _COLUMN_COPIES * _COLUMNS_HELD * distilled**2
    return Memory(
        program=_PROGRAM,
        table=_TABLE_COPIES * rows * columns * _DOUBLE,
        flows=size.together * _SINGLE * (weights * _WEIGHT_COPIES + steps),
        draws=2.0 * size.together * distilled * (columns + 4) * _DOUBLE,
        kernels=_DOUBLE * (dense if distilled <= size.dense else tiled),
        certificate=_FEATURE_COPIES * _FEATURES * min(size.tested, rows) * columns * _DOUBLE,
    )


def check_memory(size: Size, processes: int = 1, available: float | None = None, held: float = 0.0) -> Memory:
    """The estimate, or an `InputError` that says what would fit in the memory that is there.

    `held`: bytes that this process holds already and will use again.

    >>> big = Size(rows=1_000, columns=10, together=1, distilled=12_000, dense=15_000)
    >>> check_memory(big, available=2e9)
    Traceback (most recent call last):
    forebear.errors.InputError: this needs about 2.8 GB of memory and 2.0 GB are free: distilled=9175 would fit
    """
    free = available_memory() if available is None else available
    needed = estimate(size)
    if free is None:
        return needed
    free += held
    if processes * needed.total <= free:
        return needed
    told = f"this needs about {processes * needed.total / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free"
    if processes > 1 and needed.total <= free:
        raise InputError(f"{told}: jobs={max(1, int(free // needed.total))} would fit")
    if needed.program > free:
        raise InputError(f"{told}, and the program alone takes {needed.program / 1e9:.1f} GB: close other programs")
    fitting = _fitting(size, free)
    if fitting is not None:
        raise InputError(f"{told}: distilled={fitting} would fit")
    largest = max(
        ("rows", needed.table), ("width=", needed.flows), ("tested=", needed.certificate), key=lambda p: p[1]
    )
    raise InputError(f"{told}: no number of distilled rows would fit, so use fewer {largest[0].rstrip('=')}")


def _fitting(size: Size, free: float) -> int | None:
    """The most distilled rows that fit, if a reasonable number does."""
    low, high = 0, size.distilled
    while high - low > 1:
        middle = (low + high) // 2
        # Within one way of holding the kernel the need grows with the rows; the dense one ends where it is too large.
        fits = estimate(replace(size, distilled=middle)).total <= free
        low, high = (middle, high) if fits else (low, middle)
    return low if low >= 100 else None


def check_room(told: str, values: int) -> None:
    """Refuse to make so many numbers (in double precision, with copies) when there is no room for them.

    >>> check_room("n=5", 5)
    """
    free, needed = available_memory(), 3.0 * _DOUBLE * values
    if free is not None and needed > free:
        raise InputError(
            f"{told} needs about {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free: ask for less at "
            "a time"
        )


def check_file(file: Path, copies: float) -> None:
    """Refuse a file that, in so many copies of its size, would not fit into memory; nothing is read for that.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     check_file(Path(file.name), copies=3.0)
    """
    check_room(f"{file}: reading it", int(copies * file.stat().st_size / (3 * _DOUBLE)))


# The second and the first version of control groups: where limits stand, and what is called what.
_CONTAINERS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", ("inactive_file", "active_file")),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)


def available_memory() -> float | None:
    """Bytes that are free on this machine or in the container around this process; None where that cannot be told."""
    found = []
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        found.append(float(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for folder, most, used, cached in _CONTAINERS:
        try:
            limit = Path(folder, most).read_text(encoding="ascii").strip()
            if limit != "max":
                held = float(Path(folder, used).read_text(encoding="ascii"))
                found.append(float(limit) - held + _cached_files(Path(folder, "memory.stat"), cached))
        except (OSError, ValueError):
            continue
    return max(0.0, min(found)) if found else None


def _cached_files(statistics: Path, fields: tuple[str, ...]) -> float:
    """Bytes that a container counts as used and gives back when they are asked for: files it has read or written.

    After some gigabytes of reading, nearly all of a container's memory is held so.
    """
    told = dict(line.split() for line in statistics.read_text(encoding="ascii").splitlines())
    return sum(float(told.get(field, 0)) for field in fields)
