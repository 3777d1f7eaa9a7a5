"""Time and memory against the rows of a Parquet file: what is read, and a whole discovery.

Each size runs in a process of its own, whose peak of memory is told by the system. The file is generated, 20 inputs
and a target of which two shape the law, and deleted again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

INPUTS, ROWS_AT_A_TIME = 20, 500_000
_READ = """
import json, resource, sys, time
from forebear.data.source import open_sample
started = time.perf_counter()
sampled = open_sample(sys.argv[1], most=int(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"seconds": time.perf_counter() - started, "gb": peak, "right": None}))
"""
_DISCOVER = """
import json, resource, sys, time
import forebear
started = time.perf_counter()
found = forebear.discover(sys.argv[1], "y", sample=int(sys.argv[2]), progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
right = found.ancestors["y"] == ("x0", "x1")
print(json.dumps({"seconds": time.perf_counter() - started, "gb": peak, "right": right}))
"""


def run(
    sizes: Sequence[int] = (10_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000),
    sample: int = 100_000,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """One row per size: seconds and peak memory of reading alone and of the whole, and whether the set is exact."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            file = Path(folder) / "table.parquet"
            write(file, size, seed)
            read, whole = (_measured(code, file, sample) for code in (_READ, _DISCOVER))
            rows.append(
                {
                    "what": f"{size:,} rows x {INPUTS + 1} columns, at most {sample:,} of them used",
                    "rows": size,
                    "file_gb": round(file.stat().st_size / 1e9, 3),
                    "read_s": round(read["seconds"], 2),
                    "read_gb": round(read["gb"], 3),
                    "ours_s": round(whole["seconds"], 1),
                    "peak_gb": round(whole["gb"], 3),
                    "exact": whole["right"],
                }
            )
    return rows


def write(file: Path, rows: int, seed: int) -> None:
    """A table whose target follows x0 in its location and x1 in its spread."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng, names = np.random.default_rng(seed), [f"x{i}" for i in range(INPUTS)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    # A dictionary of random numbers is tried in vain, which takes longer than all the rest.
    with ParquetWriter(file, schema, use_dictionary=False) as writer:
        for start in range(0, rows, ROWS_AT_A_TIME):
            x = rng.normal(size=(min(ROWS_AT_A_TIME, rows - start), INPUTS))
            y = x[:, 0] + x[:, 1] * rng.normal(size=len(x))
            columns = {**{name: x[:, i] for i, name in enumerate(names)}, "y": y}
            writer.write_table(pa.table(columns, schema=schema))


def _measured(code: str, file: Path, sample: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(sample)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])
