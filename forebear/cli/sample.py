"""`forebear sample`: draws from the twin of a run, which is fitted the first time and kept in the run's folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import forebear
from forebear.api.twins import KeptTwin, kept_twin
from forebear.cli.output import long_work, note, say
from forebear.discovery.record import RECORD_FILE
from forebear.errors import InputError
from forebear.storage.files import check_output
from forebear.twin.store import has_twin

if TYPE_CHECKING:
    from forebear.twin.twin import Target, Twin

ENDINGS = (".csv", ".parquet")


def run_sample(run: Path, given: Path, n: int, seed: int, out: Path | None) -> None:
    """Check, fit or load, draw, write."""
    if out is not None:
        check_output(out, ENDINGS, "--out ")
    with long_work(None, ""):
        twin = open_twin(run)
        draws = long_table(twin, twin.sample(str(given), n=n, seed=seed))
    if out is None:
        say(draws.to_csv(index=False).rstrip("\n"))
        return
    _write(draws, out)
    note(f"{len(draws):,} draws are in {out}")


def open_twin(run: Path) -> Twin:
    """The twin in a folder, be it a twin's own or a run's; a run that has none gets one."""
    if has_twin(run):
        return forebear.load_twin(run)
    kept = KeptTwin(run).folder
    if not (run / RECORD_FILE).is_file() and not has_twin(kept):
        raise InputError(f"{run}: neither a finished run (found.json) nor a twin (twin.json) is in this folder")
    twin = kept_twin(run)
    if twin is None:
        found = forebear.load(run)
        note(f"fitting the twin of this run; it will be kept in {kept}")
        twin = found.twin()
    return twin


def long_table(twin: Twin, draws: np.ndarray) -> pd.DataFrame:
    """One line per draw: the row of `given` it belongs to and its number, both from 1, and the targets."""
    n, rows = draws.shape[:2]
    table = {"row": np.repeat(np.arange(1, rows + 1), n), "draw": np.tile(np.arange(1, n + 1), rows)}
    flat = draws.transpose(1, 0, 2).reshape(n * rows, -1)
    return pd.DataFrame({**table, **{t.name: _cells(t, flat[:, i]) for i, t in enumerate(twin.outputs)}})


def _cells(target: Target, values: np.ndarray) -> np.ndarray:
    if target.levels:
        return np.array(target.levels, dtype=object)[values.astype(int)]
    lattice = target.dequantiser.values if target.dequantiser.kind == "lattice" else np.array([0.5])
    return values.astype(np.int64) if (lattice == np.round(lattice)).all() else values


def _write(table: pd.DataFrame, out: Path) -> None:
    """Whole or not at all."""
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    os.close(handle)
    scratch = Path(name)
    try:
        if out.suffix.lower() == ".csv":
            table.to_csv(scratch, index=False)
        else:
            table.to_parquet(scratch, index=False)
        scratch.chmod(0o644)
        os.replace(scratch, out)
    except ImportError:
        raise InputError(f"--out {out}: needs pyarrow: pip install 'forebear[parquet]', or write .csv") from None
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}): choose another place") from None
    finally:
        scratch.unlink(missing_ok=True)
