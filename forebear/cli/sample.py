"""`forebear sample`: draws from the twin of a run, which is fitted the first time and kept in the run's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

import forebear
from forebear.api.twins import KeptTwin, kept_twin
from forebear.cli.output import long_work, note, say
from forebear.data.scaling import ColumnCode
from forebear.discovery.record import RECORD_FILE
from forebear.errors import InputError
from forebear.storage.files import check_output, scratch_for
from forebear.twin.given import read_matrix
from forebear.twin.store import has_twin

if TYPE_CHECKING:
    from forebear.api.found import Found
    from forebear.twin.twin import Twin

ENDINGS = (".csv", ".parquet")


def run_sample(run: Path, given: Path, n: int, seed: int, out: Path | None, outside: str = "warn") -> None:
    """Check, fit or load, draw, write."""
    if out is not None:
        check_output(out, ENDINGS, "--out ")
    if outside not in ("warn", "raise", "ignore"):
        raise InputError(f"--outside must be warn, raise or ignore; got '{outside}'")
    with long_work(None, ""):
        twin = open_twin(run, given)
        draws = twin.sample(str(given), n=n, seed=seed, outside=cast(Any, outside), frame=True)
    if out is None:
        say(draws.to_csv(index=False).rstrip("\n"))
        return
    _write(draws, out)
    note(f"{len(draws):,} draws are in {out}")


def open_twin(run: Path, given: Path | None = None) -> Twin:
    """The twin in a folder, be it a twin's own or a run's; a run that has none gets one.

    Rows that it could not use are refused before it is fitted, which takes a while.
    """
    if has_twin(run):
        return forebear.load_twin(run)
    kept = KeptTwin(run).folder
    if not (run / RECORD_FILE).is_file() and not has_twin(kept):
        raise InputError(f"{run}: neither a finished run (found.json) nor a twin (twin.json) is in this folder")
    twin = kept_twin(run)
    if twin is None:
        found = forebear.load(run)
        if given is not None:
            _check_rows(found, given)
        note(f"fitting the twin of this run; it will be kept in {kept}")
        twin = found.twin()
    return twin


def _check_rows(found: Found, given: Path) -> None:
    """What the twin of a result would say of rows that it cannot read."""
    if found.table is not None:
        names = {name: None for target in found.targets for name in found.record.columns(target)}
        read_matrix(str(given), [ColumnCode.of(found.table.columns[name]) for name in names], "given")


def _write(table: pd.DataFrame, out: Path) -> None:
    """Whole or not at all."""
    scratch = scratch_for(out)
    try:
        if out.suffix.lower() == ".csv":
            table.to_csv(scratch, index=False)
        else:
            table.to_parquet(scratch, index=False)
        os.replace(scratch, out)
    except ImportError:
        raise InputError(f"--out {out}: needs pyarrow: pip install 'forebear[parquet]', or write .csv") from None
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}): choose another place") from None
    finally:
        scratch.unlink(missing_ok=True)
