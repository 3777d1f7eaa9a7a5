"""`forebear export`: the twin of a run, or one that was saved, as a file for another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebear.cli.output import long_work, note
from forebear.cli.sample import open_twin
from forebear.errors import InputError
from forebear.storage.files import check_output
from forebear.twin.export import EXPORTERS
from forebear.twin.fmu import FmuExporter

if TYPE_CHECKING:
    from forebear.twin.twin import Twin


def run_export(run: Path, out: Path, fmi: str | None, step: str | None, one_step: bool, binary: bool) -> None:
    """Check, fit or load, distil, write."""
    check_output(out, tuple(EXPORTERS))
    options = _options(fmi, step, one_step, binary)
    if options and out.suffix.lower() != FmuExporter.ending:
        raise InputError(f"{out}: --{_words(options)[0]} is an option of .fmu files: leave it out")
    FmuExporter(**options)  # says what is wrong with an option before the long work starts
    with long_work(None, ""):
        twin = open_twin(run)
        if twin.student is not twin:
            note(f"distilled: {_told(twin.student)}")
        twin.export(out, **options)
    note(f"the twin is in {out}")


def _options(fmi: str | None, step: str | None, one_step: bool, binary: bool) -> dict[str, Any]:
    """Those that were given, as `Twin.export` takes them."""
    found: dict[str, Any] = {} if fmi is None else {"fmi": fmi}
    if step is not None:
        try:
            found["step"] = float(step)
        except ValueError:
            raise InputError(f"--step must be a number above 0; got '{step}'") from None
    if one_step:
        found["rollout"] = False
    if not binary:
        found["binary"] = False
    return found


def _words(options: dict[str, Any]) -> list[str]:
    named = {"rollout": "one-step", "binary": "no-binary"}
    return [named.get(name, name) for name in options]


def _told(student: Twin) -> str:
    """How far the student is from its teacher."""
    errors = [f"{target} {own['w1']:.3f}" for target, own in (student.distillation or {}).items()]
    return f"distance to the twin before, in deviations: {', '.join(errors)}"
