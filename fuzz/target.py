"""One loader under the fuzzer: `python fuzz/target.py NAME SEEDS FINDS [options of libFuzzer] CORPUS`.

A loader may answer with a value or with an `InputError` of one line. Whatever else it raises is a find: it is written
down, once for each kind and place, and the search goes on.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["forebear.data", "forebear.run", "forebear.discovery", "forebear.twin"]):
    import forebear
    from forebear.api.found import load
    from forebear.data.stored import TABLE_FILE, load_table
    from forebear.data.table import open_frame, read_columns
    from forebear.errors import InputError
    from forebear.storage.arrays import load_arrays
    from forebear.storage.folder import check_run
    from forebear.twin.load import load_twin

MOST = 1 << 16


def read_text(place: Path, data: bytes) -> None:
    """A CSV, and all of its columns."""
    _read(place / "x.csv", data)


def read_parquet(place: Path, data: bytes) -> None:
    """A Parquet file, and all of its columns."""
    _read(place / "x.parquet", data)


def _read(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    frame, source = open_frame(file)
    for name in list(frame.columns)[:20]:
        try:
            read_columns(frame, source, [name], {})
        except InputError as error:
            _check(error)


def read_result(place: Path, data: bytes) -> None:
    """A result, and the record of a run; what loads must also be able to speak."""
    for name in ("found.json", "run.json"):
        (place / name).write_bytes(data)
    try:
        check_run(place, {"seed": 0})
    except InputError as error:
        _check(error)
    load(place).summary()


def read_twin(place: Path, data: bytes) -> None:
    """The description of a twin, beside weights that are whole."""
    (place / "twin.json").write_bytes(data)
    load_twin(place)


def read_tensors(place: Path, data: bytes) -> None:
    """Weights and tables."""
    (place / TABLE_FILE).write_bytes(data)
    try:
        load_arrays(place / TABLE_FILE, "again")
    except InputError as error:
        _check(error)
    load_table(place)


TARGETS: dict[str, Callable[[Path, bytes], None]] = {
    "csv": read_text,
    "parquet": read_parquet,
    "result": read_result,
    "twin": read_twin,
    "tensors": read_tensors,
}


def _check(error: InputError) -> None:
    if "\n" in str(error) or len(str(error)) > 2_000:
        raise AssertionError(f"a message of several lines, or a very long one: {str(error)[:200]!r}") from None


def main() -> None:
    """Fuzz until libFuzzer has had its time."""
    name, seeds, finds = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    if name == "twin":
        shutil.copy(seeds / "tensors" / "twin", scratch / "twin.safetensors")
    warnings.simplefilter("ignore")
    seen: set[str] = set()

    def once(data: bytes) -> None:
        try:
            TARGETS[name](scratch, data[:MOST])
        except InputError as error:
            try:
                _check(error)
            except AssertionError as long:
                _note(long, data)
        except Exception as error:
            _note(error, data)

    def _note(error: BaseException, data: bytes) -> None:
        where = [f for f in traceback.extract_tb(error.__traceback__) if "forebear" in f.filename]
        place = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else "?"
        mark = f"{type(error).__name__} at {place}"
        if mark not in seen:
            seen.add(mark)
            file = finds / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            file.write_bytes(data)
            with (finds / f"{name}.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps({"find": mark, "says": str(error)[:300], "input": file.name}) + "\n")

    atheris.Setup([sys.argv[0], *sys.argv[4:]], once)
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    assert forebear
    main()
