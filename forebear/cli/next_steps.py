"""What to do after a discovery, in lines that can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebear.discovery.verdict import MISSING, SET_ASIDE
from forebear.errors import listed

if TYPE_CHECKING:
    from forebear.api.found import Found


def next_steps(found: Found, out: Path | None, figure: Path | None, table: Path | None) -> str:
    """Where things are, what the result itself asks for, and the commands that go on from here."""
    files = [f"The figure is in {figure}."] * (figure is not None)
    files += [f"The table is in {table}."] * (table is not None)
    saved = f"Saved in {out}." if out is not None else "Nothing was saved: --out DIR keeps the run."
    lines = [" ".join([f"{found.seconds:.1f} s.", saved, *files]), *_advice(found)]
    if out is None:
        given = {"--figure": figure, "--table": table}
        left = [(text, what) for text, what in _OPTIONS if given.get(text.split()[0]) is None]
        return "\n".join([*lines, _columns(left)])
    run = shlex.quote(str(out))
    steps = [
        (f"forebear report {run}", "the evidence, and the laws to play with, in one page"),
        (f"forebear sample {run} --given rows.csv", "draws of the targets at rows of yours"),
        (f"forebear.load({str(out)!r})", "the same result in Python"),
    ]
    return "\n".join([*lines, "Next:", _columns(steps)])


_OPTIONS = (
    ("--figure graph.png", "draws it"),
    ("--out run", "keeps it: `forebear report run` then shows the evidence"),
    ("--table found.csv", "writes every number about every candidate"),
)


def _columns(pairs: Sequence[tuple[str, str]]) -> str:
    width = max(len(command) for command, _ in pairs)
    return "\n".join(f"  {command:<{width}}   {what}" for command, what in pairs)


def _advice(found: Found) -> list[str]:
    """One line for each thing in the result that a person should not miss, beside what the verdicts say."""
    from forebear.report.verdicts import other_sets

    told = found.certified[0]
    verdicts = {target: certificate.verdict for target, certificate in told.items()}
    # A reason that names candidates which were set aside says what to do by itself.
    failing = [
        target
        for target, verdict in verdicts.items()
        if verdict.word == MISSING and not any(SET_ASIDE in reason for reason in verdict.reasons)
    ]
    several = [target for target, certificate in told.items() if other_sets(certificate)]
    unsure = [t for t, shares in found.frequencies.items() if any(0 < share < 1 for share in shares.values())]
    lines = []
    if failing:
        lines.append(
            f"For {listed(failing)} either the table lacks an input, or the flow behind the test learned too little: "
            "--set subset_steps=6000 trains it for longer."
        )
    if several:
        lines.append(f"For {listed(several)} other sets would do as well: the report names them.")
    if unsure:
        lines.append(f"The runs disagree on {listed(unsure)}: more rows settle it, more --runs count it.")
    lines += [str(one) for one in found.stability.values() if one.bound is not None and one.agreed]
    if not told:
        lines.append("This rule tests nothing: --rule certified says whether anything else is needed.")
    return lines
