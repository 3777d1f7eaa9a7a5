"""Tables that are read in parts: the same rows from every source, only the columns that are needed, little memory."""

from __future__ import annotations

from collections.abc import Callable
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
from forebear.data import delimited, source
from forebear.data.large import draw_rows, is_large
from forebear.data.records import chosen_rows
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
        "filtered": ds.dataset(file).filter(ds.field("row") >= 0),
        "query": _relation(file),
        "hive": _hive(folder / "hive", table),
        "frame": table,
    }


def _relation(file: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql(f"select * from '{file}' where a is not null order by row")


def _hive(folder: Path, table: pd.DataFrame) -> str:
    """A folder whose subfolders tell a column."""
    for number in range(3):
        place = folder / f"part={number}"
        place.mkdir(parents=True)
        table.iloc[number * 10_000 : (number + 1) * 10_000].to_parquet(place / "rows.parquet")
    return str(folder)


KINDS = ["file", "folder", "dataset", "lazy", "dask", "filtered", "query", "hive"]


@pytest.mark.parametrize("kind", [*KINDS, "frame"])
def test_every_source_gives_the_same_rows(kind: str, sources: dict[str, Any], table: pd.DataFrame) -> None:
    sampled = open_sample(sources[kind], most=500, seed=3)
    assert (sampled.total, sampled.sampled, len(sampled.opened.frame)) == (ROWS, True, 500)
    rows = sampled.opened.frame["row"].to_numpy()
    assert (np.diff(rows) > 0).all(), "rows keep their order"
    assert np.array_equal(rows, np.asarray(chosen_rows(ROWS, 500, 3)))
    assert np.allclose(sampled.opened.frame["a"], table["a"].to_numpy()[rows])
    assert sampled.opened.frame["kind"].tolist() == table["kind"].to_numpy()[rows].tolist()


@pytest.mark.parametrize("kind", KINDS)
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


def test_the_column_of_a_folder_can_be_asked_for(sources: dict[str, Any]) -> None:
    frame, _ = draw_rows(sources["hive"], lambda names: [name for name in names if name in ("part", "row")], 300, 0)
    assert np.array_equal(frame["part"].to_numpy(int), frame["row"].to_numpy() // 10_000)


def test_only_the_columns_asked_for_leave_a_database(table: pd.DataFrame) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("plant", table)
    relation = connection.sql("select a, b, y, error('read') as \"not wanted\" from plant")
    found = fb.discover(relation, "y", ["a", "b"], sample=400, rule=lambda path: ["a"], steps=20, distilled=50)
    assert found.record.use is not None and found.record.use.rows == ROWS


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text file counts as large."""
    monkeypatch.setattr(delimited, "SMALL", 0)
    monkeypatch.setattr(source, "SMALL", 0)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".jsonl.gz"])
def test_text_files_are_read_in_parts(
    ending: str, table: pd.DataFrame, tmp_path: Path, small_limit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, notes = tmp_path / f"t{ending}", ["plain", 'with "quotes"', "on two\nlines", "comma, here"]
    told = table.head(3_000).assign(note=[notes[i % 4] for i in range(3_000)])
    if "csv" in ending:
        told.to_csv(file, index=False)
    else:
        told.to_json(file, orient="records", lines=True)
    for block in (1 << 10, 1 << 22):
        monkeypatch.setattr("forebear.data.records._BLOCK", block)
        opened, total, sampled = open_sample(file, most=500, seed=3)
        rows = opened.frame["row"].to_numpy()
        assert (total, sampled) == (3_000, True)
        assert np.array_equal(rows, np.asarray(chosen_rows(3_000, 500, 3)))
        assert np.allclose(opened.frame["a"], told["a"].to_numpy()[rows])
        assert opened.frame["note"].tolist() == told["note"].to_numpy()[rows].tolist()
    whole = open_sample(file, most=5_000)
    assert (whole.total, whole.sampled, len(whole.opened.frame)) == (3_000, False, 3_000)


def test_blank_lines_and_marks_do_not_count(tmp_path: Path, small_limit: None) -> None:
    lines = [f"{i};{i},5\r\n" for i in range(200)]
    (tmp_path / "t.csv").write_bytes(("\ufeffx [°C];y\r\n\r\n" + "\r\n".join(lines)).encode("utf-8"))
    opened, total, _ = open_sample(tmp_path / "t.csv", most=50)
    assert total == 200 and list(opened.frame) == ["x [°C]", "y"]
    assert np.array_equal(opened.frame["y"].to_numpy(), opened.frame["x [°C]"].to_numpy() + 0.5)


def test_a_quote_that_never_ends_costs_no_row(
    tmp_path: Path, small_limit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebear.data.records._LONGEST", 100)
    monkeypatch.setattr("forebear.data.records._BLOCK", 64)
    (tmp_path / "t.csv").write_text("x,y\n" + '5",1\n' + "".join(f"{i},2\n" for i in range(300)))
    opened, total, sampled = open_sample(tmp_path / "t.csv", most=50)
    assert (total, sampled, len(opened.frame)) == (301, True, 50)


def _excel(table: pd.DataFrame, file: Path) -> None:
    pytest.importorskip("openpyxl")
    table.to_excel(file, index=False)


def _h5(table: pd.DataFrame, file: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(file, "w") as opened:
        group = opened.create_group("plant/today")
        for name in table:
            cells = table[name]
            group[name] = cells.to_numpy() if cells.dtype.kind in "fi" else cells.astype("S8").to_numpy()


def _records(table: pd.DataFrame, file: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(file, "w") as opened:
        opened["rows"] = table.assign(kind=table["kind"].astype("S8")).to_records(
            index=False, column_dtypes={"kind": "S8"}
        )


def _netcdf(table: pd.DataFrame, file: Path) -> None:
    pytest.importorskip("netCDF4")
    xarray = pytest.importorskip("xarray")
    xarray.Dataset(
        {name: ("row_number", table[name].to_numpy().astype(object if name == "kind" else None)) for name in table}
    ).to_netcdf(file)


FORMATS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "t.jsonl": lambda table, file: table.to_json(file, orient="records", lines=True),
    "t.ndjson.gz": lambda table, file: table.to_json(file, orient="records", lines=True),
    "t.csv.gz": lambda table, file: table.to_csv(file, index=False),
    "t.feather": lambda table, file: table.to_feather(file),
    "t.xlsx": _excel,
    "t.h5": _h5,
    "records.hdf5": _records,
    "t.nc": _netcdf,
}


@pytest.mark.parametrize("name", FORMATS)
def test_other_formats(name: str, table: pd.DataFrame, tmp_path: Path) -> None:
    some, file = table.head(50), tmp_path / name
    FORMATS[name](some, file)
    frame = open_frame(file).frame
    assert set(frame) == set(table) and np.allclose(frame["a"], some["a"])
    assert frame["kind"].astype(str).tolist() == some["kind"].tolist()


def test_a_file_that_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebear.storage.memory.available_memory", lambda: 1e6)
    wide = pa.table({f"x{i}": np.zeros(20_000) for i in range(10)})
    pq.write_table(wide, tmp_path / "t.parquet")
    wide.to_pandas().to_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(fb.InputError, match=f"{name}: reading .* needs about .* GB of memory"):
            open_sample(tmp_path / name, most=None)


def test_what_is_not_modelled_is_refused_with_what_to_use(table: pd.DataFrame) -> None:
    with pytest.raises(fb.InputError, match="survival model"):
        fb.discover(table, "y", **cast(dict[str, Any], {"censored": "a"}))
