"""The evidence of a report in a run folder, so that the next page of the same run is written at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebear.errors import InputError
from forebear.report.evidence import LawEvidence
from forebear.storage.arrays import load_arrays, save_arrays
from forebear.storage.records import RecordError, from_record, to_record
from forebear.twin.load import load_twin
from forebear.twin.store import save_twin
from forebear.twin.validate import Scores, Validation
from forebear.version import __version__

_CHECKS = "checks.safetensors"


def keep_evidence(told: LawEvidence, folder: Path, identity: dict[str, Any]) -> None:
    """Write it; `identity` says what it belongs to. The checks come last: without them nothing counts as kept."""
    if told.validation is None:
        return
    (folder / _CHECKS).unlink(missing_ok=True)
    save_twin(told.twin, folder / "twin")
    if told.joint is not None:
        save_twin(told.joint, folder / "joint")
    checks = told.validation
    about = {
        "version": __version__,
        "identity": identity,
        "judged_on": told.judged_on,
        "joint": told.joint is not None,
        "rows": checks.rows,
        "scores": to_record(checks.scores),
    }
    save_arrays(folder / _CHECKS, {"pit": checks.pit}, about)


def kept_evidence(folder: Path, identity: dict[str, Any]) -> LawEvidence | None:
    """What `keep_evidence` wrote for the same identity and version; None if there is none, or it is damaged."""
    file = folder / _CHECKS
    if not file.is_file():
        return None
    try:
        arrays, about = load_arrays(file, "delete it")
        if about["version"] != __version__ or about["identity"] != identity:
            return None
        scores = from_record(dict[str, Scores], about["scores"])
        validation = Validation(scores, arrays["pit"], about["rows"], exact=False)
        joint = load_twin(folder / "joint") if about["joint"] else None
        return LawEvidence(load_twin(folder / "twin"), validation, about["judged_on"], joint)
    except (InputError, KeyError, TypeError, RecordError):
        return None
