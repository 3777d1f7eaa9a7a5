"""What the command line says: results on standard output, everything else on standard error, one line per error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forebear.errors import InputError
from forebear.run.failures import failure_line
from forebear.run.interrupt import saying
from forebear.storage.files import check_output

if TYPE_CHECKING:
    from rich.table import Table

    from forebear.api.found import Found

FIGURES = (".png", ".svg", ".pdf")


class Failed(Exception):
    """Work that was asked for rightly and did not succeed: its message is one line, its status 1."""


def note(text: str) -> None:
    """A line on standard error."""
    line = " ".join(text.splitlines())
    print(f"forebear: {line}", file=sys.stderr, flush=True)


def say(*things: str | Table) -> None:
    """Print on standard output; a reader who has closed it has seen enough, which is no error."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    try:
        for thing in things:
            if isinstance(thing, str):
                print(thing)  # as it is: rich would break a path in the middle
            else:
                with console.capture() as drawn:  # when printing itself, rich ends the process on a closed pipe
                    console.print(thing)
                print(drawn.get(), end="")
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would raise once more when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; cells are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def found_table(found: Found) -> Table:
    """Targets and their ancestors; how each acts, the verdict, and what the rest could still explain, where there is
    a certificate; with several runs, how often each input was chosen."""
    from forebear.report.verdicts import limit_text, verdict_told, with_stand_ins

    columns: dict[str, list[str]] = {"target": [], "shaped by": []}
    for target, ancestors in found.ancestors.items():
        certificate, verdict = found.record.certificate(target), verdict_told(found.record, target)
        names = with_stand_ins(ancestors, () if certificate is None else certificate.classes)
        columns["target"].append(target)
        columns["shaped by"].append(", ".join(names) or "none of the candidates")
        if certificate is not None and verdict is not None:
            acts = {str(name): str(word) for name, word in certificate.actions_frame()["acts"].items()}
            columns.setdefault("through its", []).append(", ".join(acts.get(name, "-") for name in ancestors) or "-")
            columns.setdefault("verdict", []).append(verdict.word)
            weak = f"\n(negligible: {', '.join(certificate.negligible)})" if certificate.negligible else ""
            # On two lines, since tables are wide and a p-value must not break in the middle.
            columns.setdefault("all the rest", []).append(limit_text(certificate).replace(" (", "\n(") + weak)
        if len(found.runs) > 1:
            columns.setdefault(f"share of {len(found.runs)} runs", []).append(_shares(found.frequencies[target]))
    return as_table(list(columns), [list(row) for row in zip(*columns.values(), strict=True)])


def verdict_lines(found: Found) -> list[str]:
    """Below the table: reasons of verdicts other than "certified", and how rows were taken where that was judged."""
    from forebear.report.verdicts import rows_told, verdict_told

    lines = []
    for target in found.targets:
        verdict = verdict_told(found.record, target)
        if verdict is not None and verdict.reasons:
            lines.append(f"{target} ({verdict.word}): {'; '.join(verdict.reasons)}.")
    structure = rows_told(found.record)
    if structure is not None:
        lines.append(f"Rows: {structure}. If you know better, say so with --rows.")
    return lines


def regime_lines(found: Found) -> list[str]:
    """Which laws are the same in all regimes, where that was asked."""
    if found.settings.get("regime") is None or not found.certified[0]:
        return []
    regime, table = found.settings["regime"], found.regimes
    lines = []
    for target, row in zip(table.index, table.to_dict("records"), strict=True):
        if row["law"] == "changes":
            lines.append(f"The law of {target} changes with '{regime}' (p = {row['adjusted']:.2g}).")
        elif row["law"] == "the same":
            most = f"which could explain at most {row['limit']:.1%} of what is left open"
            lines.append(f"The law of {target} is the same at every '{regime}', {most}.")
        else:
            lines.append(f"Whether the law of {target} changes with '{regime}' cannot be told: {row['why']}.")
    return lines


def table_lines(found: Found) -> list[str]:
    """Below the verdicts: what became of columns and cells, where that is worth a line."""
    from forebear.data.survey import left_out_told

    use = found.record.use
    return [] if use is None else [line for line in (left_out_told(use.columns), use.told()) if line]


def _shares(frequencies: Mapping[str, float]) -> str:
    chosen = sorted(((unit, share) for unit, share in frequencies.items() if share > 0), key=lambda pair: -pair[1])
    return ", ".join(f"{unit} {share:.0%}" for unit, share in chosen) or "-"


def check_figure(figure: Path | None, out: Path | None) -> None:
    """Refuse a figure that could not be written, before the long work starts.

    >>> check_figure(Path("graph.gif"), None)
    Traceback (most recent call last):
    forebear.errors.InputError: --figure graph.gif: the ending must be .png, .svg or .pdf
    """
    if figure is not None:
        check_output(figure, FIGURES, "--figure ", made_later=out)


def draw(found: Found, file: Path) -> None:
    """Write `found.plot()` without a window."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = found.plot()
    try:
        figure.savefig(file, dpi=150)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror}): choose another place") from None
    finally:
        plt.close(figure)


@contextmanager
def long_work(out: Path | None, again: str) -> Iterator[None]:
    """Turn what can go wrong in hours of work into one line; `again` is how to go on with what is in `out`."""

    def interrupted() -> str:
        kept = again if out is not None and (out / "run.json").is_file() else "nothing was saved (--out DIR saves)"
        return f"interrupted: {kept}"

    try:
        with saying(interrupted):
            yield
    except KeyboardInterrupt:
        raise Interrupted(interrupted()) from None
    except (FloatingPointError, MemoryError) as error:
        raise Failed(str(failure_line(error))) from None


class Interrupted(Exception):
    """The user pressed Ctrl-C; status 130."""
