"""Tables that are larger than what is needed of them: a seeded sample of rows, drawn in one pass that holds a few
thousand rows at a time.

The numbers of the rows are drawn first, since all of these sources know how many they have; then the source is read
from its first row to its last, and the rows are picked as they come by. Rows keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from forebear.data.records import chosen_rows
from forebear.errors import InputError, listed
from forebear.storage.memory import check_room

Pick = Callable[[Sequence[str]], Sequence[str]]
"""of the names of all columns, those that are wanted"""
_AT_A_TIME = 65_536
PARQUET = (".parquet", ".pq")


class Drawn(NamedTuple):
    """Rows of a table, and how many there were."""

    frame: pd.DataFrame
    total: int


def is_large(data: Any) -> bool:
    """Whether this is a source that can be read in parts: Parquet files and folders, Arrow datasets, lazy polars
    frames, DuckDB relations, dask frames.

    >>> is_large("data.parquet"), is_large("data.csv"), is_large(pd.DataFrame())
    (True, False, False)
    """
    if isinstance(data, str | Path):
        return _is_parquet(Path(data))
    return _is_dataset(data) or _is_lazy(data) or _is_dask(data) or _is_relation(data)


def draw_rows(data: Any, pick: Pick, most: int | None, seed: int) -> Drawn:
    """At most so many rows of a large source, all of them if `most` is None, and only the columns that are wanted."""
    source = str(data) if isinstance(data, str | Path) else "the table"
    try:
        opened = _opened(data)
        names = list(pick(opened.names))
        total = opened.count()
        rows = chosen_rows(total, most, seed)
        check_room(f"{source}: reading {total if rows is None else len(rows)} rows", _values(total, rows, names))
        return Drawn(opened.read(names, rows, total), total)
    except (InputError, KeyboardInterrupt):
        raise
    except ImportError as error:
        raise InputError(
            f"{source} needs pyarrow to be read: run `pip install forebear[parquet]`, or save it as .csv"
        ) from error
    except Exception as error:  # whatever the reader trips over, this is not a table it can read
        reason = str(error).strip().partition("\n")[0]
        if not isinstance(data, str | Path):
            raise InputError(f"{source} cannot be read ({reason}): mend the query or the data behind it") from error
        raise InputError(f"{source} is not a readable parquet file ({reason}): write it again") from error


def _values(total: int, rows: np.ndarray | None, names: Sequence[str]) -> int:
    return (total if rows is None else len(rows)) * max(1, len(names))


class _Source(NamedTuple):
    """A source that is open: its columns, how many rows it has, and how to read some of them."""

    names: Sequence[str]
    count: Callable[[], int]
    read: Callable[[list[str], np.ndarray | None, int], pd.DataFrame]


def _opened(data: Any) -> _Source:
    if isinstance(data, str | Path) or _is_dataset(data):
        return _dataset(data)
    if _is_lazy(data):
        return _lazy(data)
    return _dask(data) if _is_dask(data) else _relation(data)


def _picked(batches: Iterator[Any], rows: np.ndarray | None, schema: Any) -> Any:
    """The rows of a stream of Arrow batches that were chosen, as one Arrow table."""
    import pyarrow as pa

    kept, start = [], 0
    for batch in batches:
        if rows is None:
            kept.append(batch)
        else:
            first, last = np.searchsorted(rows, [start, start + batch.num_rows])
            if last > first:
                kept.append(batch.take(pa.array(rows[first:last] - start)))
        start += batch.num_rows
    return pa.Table.from_batches(kept) if kept else schema.empty_table()


def _as_frame(table: Any) -> pd.DataFrame:
    """An Arrow table as a frame, each column with memory of its own, so that nothing is held twice."""
    import pyarrow as pa

    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    pa.default_memory_pool().release_unused()
    return frame


def _dataset(data: Any) -> _Source:
    """Parquet files and folders, and Arrow datasets."""
    import pyarrow.dataset as ds

    if isinstance(data, str | Path):
        place = Path(data)
        if place.is_file() and not place.stat().st_size:
            raise InputError(f"{data} is not a readable parquet file (it is empty): write it again")
        _check_twice(place)
        data = ds.dataset(place, format="parquet", partitioning="hive")

    def read(names: list[str], rows: np.ndarray | None, total: int) -> pd.DataFrame:
        return _as_frame(_picked(_batches(data, names), rows, _of(data.schema, names)))

    return _Source(data.schema.names, data.count_rows, read)


def _batches(data: Any, names: list[str]) -> Iterator[Any]:
    """The rows of a dataset, a few thousand at a time, so that memory is that of the rows that are kept."""
    import pyarrow.dataset as ds

    plain = isinstance(data, ds.FileSystemDataset) and isinstance(data.format, ds.ParquetFileFormat)
    if not plain or getattr(data, "_scan_options", None):
        # One fragment and few batches ahead.
        ahead: dict[str, Any] = {"batch_size": _AT_A_TIME, "batch_readahead": 2, "fragment_readahead": 1}
        yield from data.to_batches(columns=names, use_threads=False, **ahead)
        return
    schema = _of(data.schema, names)
    for fragment in data.get_fragments():
        yield from _of_parquet(fragment, names, schema)


def _of(schema: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def _of_parquet(fragment: Any, names: list[str], schema: Any) -> Iterator[Any]:
    """One Parquet file, page by page: a scan of the dataset would fetch whole row groups, and hold several."""
    from pyarrow.parquet import ParquetFile

    with fragment.open() as file, ParquetFile(file, buffer_size=1 << 16, pre_buffer=False) as pages:
        if not set(names) <= set(pages.schema_arrow.names) or _of(pages.schema_arrow, names) != schema:
            # A column that its folder's name tells, or that is of another type here.
            yield from fragment.to_batches(schema=schema, columns=names, use_threads=False, batch_size=_AT_A_TIME)
            return
        for batch in pages.iter_batches(_AT_A_TIME, columns=names, use_threads=False):
            yield batch.select(names)


def _check_twice(place: Path) -> None:
    """Arrow cannot open a file that has a name twice, and does not say which."""
    from pyarrow.parquet import read_schema

    names = read_schema(place).names if place.is_file() else []
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{place}: more than one column is named {listed(twice)}: give each its own name")


def _lazy(data: Any) -> _Source:
    """A lazy frame of polars."""
    import polars as pl

    def read(names: list[str], rows: np.ndarray | None, total: int) -> pd.DataFrame:
        wanted = data.select(names)
        if rows is not None:
            # A join on sorted numbers streams, where a long list of them would be searched for every row.
            numbers = pl.LazyFrame({_ROW: rows.astype(np.uint32 if total < 2**32 else np.uint64)})
            wanted = wanted.with_row_index(_ROW).join(numbers, on=_ROW, how="semi").sort(_ROW).drop(_ROW)
        made = wanted.collect(engine="streaming")
        return pd.DataFrame({column.name: column.to_numpy() for column in made.get_columns()})

    return _Source(data.collect_schema().names(), lambda: int(data.select(pl.len()).collect().item()), read)


_ROW = "__row_of_forebear"


def _dask(data: Any) -> _Source:
    """A dask frame: its workers cut out their rows, and only those travel."""
    from dask.base import compute
    from dask.delayed import delayed

    parts = data.to_delayed()
    lengths: list[int] = []

    def count() -> int:
        lengths[:] = [int(own) for own in compute(*[delayed(len)(part) for part in parts])]
        return sum(lengths)

    def read(names: list[str], rows: np.ndarray | None, total: int) -> pd.DataFrame:
        starts, own = np.cumsum([0, *lengths]), data[names].to_delayed()
        ends = zip(starts[:-1], starts[1:], strict=True)
        wanted = [None if rows is None else rows[(rows >= a) & (rows < b)] - a for a, b in ends]
        cut = [delayed(_cut)(part, some) for part, some in zip(own, wanted, strict=True)]
        return pd.concat(compute(*cut), ignore_index=True)

    return _Source([str(name) for name in data.columns], count, read)


def _cut(part: pd.DataFrame, rows: np.ndarray | None) -> pd.DataFrame:
    return part if rows is None else part.iloc[rows]


def _relation(data: Any) -> _Source:
    """A relation of DuckDB: a table, a view, a file or the answer to a query."""

    def count() -> int:
        return int(data.aggregate("count(*)").fetchall()[0][0])

    def read(names: list[str], rows: np.ndarray | None, total: int) -> pd.DataFrame:
        quoted = ", ".join('"{}"'.format(name.replace('"', '""')) for name in names)
        chosen = data.project(quoted)
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        opened = reader(_AT_A_TIME)
        return _as_frame(_picked(iter(opened), rows, opened.schema))

    return _Source(list(data.columns), count, read)


def _is_parquet(path: Path) -> bool:
    if path.is_dir():
        return any(file.suffix.lower() in PARQUET for file in path.rglob("*"))
    return path.suffix.lower() in PARQUET


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "to_batches") and hasattr(data, "count_rows") and hasattr(data, "schema")


def _is_lazy(data: Any) -> bool:
    return hasattr(data, "collect_schema") and hasattr(data, "collect") and not hasattr(data, "get_columns")


def _is_dask(data: Any) -> bool:
    return hasattr(data, "to_delayed") and hasattr(data, "npartitions") and hasattr(data, "columns")


def _is_relation(data: Any) -> bool:
    return type(data).__name__ == "DuckDBPyRelation"
