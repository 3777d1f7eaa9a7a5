"""Tables that are read in parts: the same rows from every source, only the columns that are needed, little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import forebear as fb
from forebear.data.large import chosen_rows, draw_rows, is_large
from forebear.data.source import open_frame, open_sample

ROWS = 30_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=list("abcy"))
    return made.assign(row=np.arange(ROWS), kind=rng.choice(["u", "v"], ROWS))


@pytest.fixture(scope="module")
def sources(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("large")
    file = folder / "one.parquet"
    pq.write_table(pa.Table.from_pandas(table), file, row_group_size=7_000)
    parts = folder / "parts"
    parts.mkdir()
    for number in range(3):
        table.iloc[number * 10_000 : (number + 1) * 10_000].to_parquet(parts / f"{number}.parquet")
    import dask.dataframe as dd

    return {
        "file": file,
        "folder": str(parts),
        "dataset": ds.dataset(file),
        "lazy": pl.scan_parquet(file),
        "dask": dd.from_pandas(table, npartitions=4),
        "frame": table,
    }


@pytest.mark.parametrize("kind", ["file", "folder", "dataset", "lazy", "dask", "frame"])
def test_every_source_gives_the_same_rows(kind: str, sources: dict[str, Any], table: pd.DataFrame) -> None:
    sampled = open_sample(sources[kind], most=500, seed=3)
    assert (sampled.total, sampled.sampled, len(sampled.opened.frame)) == (ROWS, True, 500)
    rows = sampled.opened.frame["row"].to_numpy()
    assert (np.diff(rows) > 0).all(), "rows keep their order"
    assert np.array_equal(rows, np.asarray(chosen_rows(ROWS, 500, 3)))
    assert np.allclose(sampled.opened.frame["a"], table["a"].to_numpy()[rows])
    assert sampled.opened.frame["kind"].tolist() == table["kind"].to_numpy()[rows].tolist()


@pytest.mark.parametrize("kind", ["file", "folder", "dataset", "lazy", "dask"])
def test_all_rows_of_the_columns_that_are_wanted(kind: str, sources: dict[str, Any], table: pd.DataFrame) -> None:
    frame, total = draw_rows(sources[kind], lambda names: [name for name in names if name in "ab"], None, 0)
    assert list(frame) == ["a", "b"] and total == len(frame) == ROWS
    assert np.allclose(frame.to_numpy(), table[["a", "b"]].to_numpy())
    assert len(open_frame(sources[kind]).frame) == ROWS


def test_samples_are_fair_and_follow_the_seed() -> None:
    rows = chosen_rows(10_000_000_000, 2_000, 0)
    assert rows is not None and len(np.unique(rows)) == 2_000
    assert abs(rows.mean() / 5e9 - 1) < 0.05
    assert not np.array_equal(rows, np.asarray(chosen_rows(10_000_000_000, 2_000, 1)))


def test_a_result_says_how_many_rows_it_saw(sources: dict[str, Any], tmp_path: Path) -> None:
    found = fb.discover(sources["file"], "y", ["a", "b"], sample=400, rule=lambda path: ["a"], steps=20, distilled=50)
    use = found.record.use
    assert use is not None and (use.rows, use.used) == (ROWS, 400)
    assert use.told() == "400 of 30,000 rows were drawn at random (seed 0)."
    assert [column.name for column in use.columns] == ["a", "b", "y"], "only what was asked for was read"
    assert found.table is not None and found.table.rows == 400


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    for name in ("bad.parquet", "none.parquet"):
        with pytest.raises(fb.InputError, match=name):
            fb.discover(tmp_path / name, "y")
    assert not is_large(tmp_path / "data.csv")


@pytest.mark.parametrize("ending", [".jsonl", ".feather"])
def test_other_formats(ending: str, table: pd.DataFrame, tmp_path: Path) -> None:
    some, file = table.head(50), tmp_path / f"t{ending}"
    if ending == ".jsonl":
        some.to_json(file, orient="records", lines=True)
    else:
        some.to_feather(file)
    frame = open_frame(file).frame
    assert list(frame) == list(table) and np.allclose(frame["a"], some["a"])


@pytest.mark.parametrize("slip", ["weights", "sample_weight", "censored"])
def test_what_is_not_modelled_is_refused_with_what_to_use(table: pd.DataFrame, slip: str) -> None:
    with pytest.raises(fb.InputError, match="table"):
        fb.discover(table, "y", **cast(dict[str, Any], {slip: "a"}))
