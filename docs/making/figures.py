"""Numbers in prose come from results/: each carries its source, in a comment that nobody sees when the page is read.

    A twin is 54<!-- results/bench-twin.json row("a batch of 1,024").ratio .0f --> times faster

The comment follows the number at once and holds a file of results/, a Python expression over the keys of that file,
and a format. Objects of the file answer to `a.b` as to `a["b"]`; `row(words)` is the one of `rows` whose `what` has
these words in it; `mean`, `min`, `max`, `sum`, `len`, `range`, `round` and `abs` are there; the format `word` writes
a small number out. The sentence around the number is free.

    <!-- table: selection -->
    | system | certified |
    |---|---|
    <!-- end of table -->

The rows of such a table are made by a function of `TABLES`; its heading is free.

`python docs/making/figures.py` checks every page and says what should stand where; with `--fix` it writes it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]

_FIGURE = re.compile(
    r"(?P<told>[-+]?\w(?:[\w.,]*\w)?)"
    r"(?P<source><!-- results/(?P<file>[\w-]+\.json) (?P<value>.+?) (?P<format>\S+) -->)",
    re.DOTALL,
)
_MARKER = re.compile(r"<!-- (?:results/|table:)")
_TABLE = re.compile(
    r"(?P<before><!-- table: (?P<name>[\w-]+) -->\n(?:\s*\n)*(?:[^\n]*\n)??\|[-:| ]+\|\n)(?P<rows>.*?)"
    r"(?P<after>(?:\s*\n)*<!-- end of table -->)",
    re.DOTALL,
)
_WORDS = "none one two three four five six seven eight nine ten eleven twelve".split()


class Node(dict[str, Any]):
    """An object of a file of results, which answers to `a.b` as to `a["b"]`.

    >>> Node({"a": 1, "items": 2}).a
    1
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no {name!r} among {', '.join(self)}")


class Trouble(NamedTuple):
    """A number or a table that is not what was stored."""

    line: int
    told: str
    expected: str

    def __str__(self) -> str:
        return f"line {self.line}: says {self.told!r}; write {self.expected!r}"


def stored(file: str) -> Node:
    """The content of a file of results/."""
    return json.loads((ROOT / "results" / file).read_text(encoding="utf8"), object_hook=Node)


def value_of(file: str, expression: str, form: str) -> str:
    """What a comment asks for, as it should stand in the page.

    >>> value_of("bench-noise.json", "rows[0].targets / 3", ".1f")
    '33.3'
    >>> value_of("bench-noise.json", "len(rows)", "word")
    'one'
    """
    content = stored(file)

    def row(words: str) -> Node:
        [found] = [one for one in content["rows"] if words in one["what"]]
        return found

    plain = (mean, min, max, sum, len, range, round, abs)
    able = {"row": row, **{function.__name__: function for function in plain}}
    # Written by us in our own pages, whose code blocks run as well; the whole namespace, so that generators see it.
    value = eval(" ".join(expression.split()), {"__builtins__": {}, **able, **content})
    return _WORDS[value] if form == "word" else format(value, form)


def renewed(text: str) -> tuple[str, list[Trouble]]:
    """A page with its numbers and tables as they are stored, and where it differed.

    >>> page, troubles = renewed('kept for 7<!-- results/bench-noise.json rows[0].kept_an_input d --> of them')
    >>> page, [str(trouble) for trouble in troubles]
    ('kept for 3<!-- results/bench-noise.json rows[0].kept_an_input d --> of them', ["line 1: says '7'; write '3'"])
    """
    _all_can_be_read(text)
    troubles: list[Trouble] = []

    def note(match: re.Match[str], told: str, expected: str) -> None:
        if told != expected:
            troubles.append(Trouble(_line_of(match.string, match.start()), told, expected))

    def figure(match: re.Match[str]) -> str:
        expected = _told(match, value_of, match["file"], match["value"], match["format"])
        note(match, match["told"], expected)
        return expected + match["source"]

    def table(match: re.Match[str]) -> str:
        rows = _told(
            match, lambda name: "\n".join(f"| {' | '.join(cells)} |" for cells in TABLES[name]()), match["name"]
        )
        note(match, match["rows"], rows)
        return match["before"] + rows + match["after"]

    return _TABLE.sub(table, _FIGURE.sub(figure, text)), sorted(troubles)


def _all_can_be_read(text: str) -> None:
    read = {match.start("source") for match in _FIGURE.finditer(text)} | {m.start() for m in _TABLE.finditer(text)}
    for marker in _MARKER.finditer(text):
        if marker.start() not in read:
            comment = text[marker.start() :].splitlines()[0]
            raise ValueError(f"line {_line_of(text, marker.start())}: no number or table goes with {comment}")


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _told(match: re.Match[str], function: Callable[..., str], *given: str) -> str:
    try:
        return function(*given)
    except Exception as trouble:
        line = _line_of(match.string, match.start())
        raise ValueError(f"line {line}: {' '.join(given)}: {type(trouble).__name__}: {trouble}") from trouble


def pages() -> list[Path]:
    """Those that people write: README, CONTRIBUTING and docs/."""
    return sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


# ---------------------------------------------------------------- tables


def _twins() -> Iterator[Sequence[str]]:
    rows = stored("bench-twin.json").rows
    for row in rows:
        if ": twin, " in row.what:
            name, size = row.what.removesuffix(" rows").split(": twin, ")
            system, target = name.rsplit(" ", 1)
            student = next(one for one in rows if one.what == row.what.replace(": twin", ": distilled twin"))
            covers = [f"{100 * one.coverage:.1f}%" if "coverage" in one else "-" for one in (row, student)]
            accuracy = (f"{row.w1[0]:.4f}", f"{row.over_floor:.2f}", covers[0])
            yield f"{system} `{target}`", size, *accuracy, f"{student.w1_to_teacher_sd:.4f}", covers[1]


def _surrogates() -> Iterator[Sequence[str]]:
    for row in stored("bench-surrogate.json").rows:
        published = row.get("published_w1", [None])[0]
        told = [row.get("mse"), row.get("published_mse"), row.w1[0], row.w1_sd[0], published]
        yield row.what, *("-" if value is None else f"{value:.4f}" for value in told)


def _kraichnan_orszag() -> Iterator[Sequence[str]]:
    rows = stored("bench-twin-ko.json").rows
    for full, pruned in zip(rows[::2], rows[1::2], strict=True):
        target, _, states = pruned.what.split(", ")
        both = [1e4 * row[key][0] for row in (pruned, full) for key in ("w1", "published_w1")]
        yield states, f"`{target}`", *(f"{value:.2f}" for value in both)


def _langevin() -> Iterator[Sequence[str]]:
    rows = stored("bench-langevin.json").rows
    own = [row for row in rows if row.what.startswith("second simulation")]
    ratios = [row.rate_ratio for row in own]
    modulus = mean(row.w1_of_modulus for row in own)
    yield "second simulation", f"{modulus:.4f}", f"{mean(ratios):.3f}", ", ".join(f"{one:.2f}" for one in ratios)
    for row in rows:
        if "mean of" in row.what:
            twin = row.what.split(":")[0]
            seeds = ", ".join(f"{one.rate_ratio:.2f}" for one in rows if one.get("twin") == twin)
            yield twin, f"{row.w1_of_modulus:.4f}", f"{row.rate_ratio:.3f} ± {row.rate_ratio_error:.3f}", seeds


_SYSTEMS = {
    "y1": "y = x1·w (spread only), 1,000 rows, with a proxy of x1",
    "y2": "y = ±√x3, 1,000 rows, with a proxy of x3",
    "y3": "tails only, 10,000 rows, with a proxy of x2",
    "lorenz63": "Lorenz-63 increments (3 targets)",
    "lorenz63-residual": "Lorenz-63 residuals (3 targets)",
    "kraichnan-orszag": "Kraichnan-Orszag (3 targets)",
    "weak": "weak mixture, three distractors",
    "interaction": "interaction only, y = sign(x1 x2) + noise",
    "garch": "volatility lags",
    "heavy": "heavy tails",
    "bimodal": "two modes",
    "many": "50 inputs, 3 matter",
    "noise": "pure noise, 10 correlated inputs",
    "counts": "counts",
}


def _selection() -> Iterator[Sequence[str]]:
    counts: dict[str, list[str]] = {}
    for row in stored("bench-selection.json").rows:
        counts.setdefault(row.what, []).append(f"{row.exact}/{row.of}")
    for system, cells in counts.items():
        yield _SYSTEMS[system], *cells


_LEARNERS = ("forebear", "flow", "ngboost", "quantile forest", "gaussian network", "lightgbm", "treeffuser")
_PARTS = (
    "one network",
    "networks",
    "networks that hear trees",
    "both kinds of networks",
    "all, not straightened",
    "forebear",
)


def _real_tables(file: str, methods: Sequence[str], value: Callable[[Node], str]) -> Iterator[Sequence[str]]:
    """A line per table, a cell per method; what was not run is empty."""
    known = {row.what: row for row in stored(file).rows}
    for name in dict.fromkeys(what.split(": ")[0] for what in known if ": " in what):
        cells = [known.get(f"{name}: {method}") for method in methods]
        yield name, *(" " if row is None else value(row) for row in cells)


def _uci() -> Iterator[Sequence[str]]:
    return _real_tables("bench-uci.json", _LEARNERS, lambda row: f"{row.crps:.3g}")


def _uci_parts() -> Iterator[Sequence[str]]:
    return _real_tables("bench-uci.json", _PARTS, lambda row: f"{row.crps:.3g} ({row.cover_90:.0%})")


def _laws() -> Iterator[Sequence[str]]:
    methods = ("forebear", "ngboost", "quantile forest", "boosted quantiles")
    return _real_tables("bench-laws.json", methods, lambda row: f"{row.crps:.3g} ({row.cover_90:.0%})")


def _conformal() -> Iterator[Sequence[str]]:
    methods = ("forebear, guarantee", "forebear, no guarantee", "MAPIE, CQR on boosted trees")
    return _real_tables("bench-conformal.json", methods, lambda row: f"{row.cover_90:.1%}, {row.width:.3g}")


def _corners() -> Iterator[Sequence[str]]:
    for row in stored("bench-corners.json").rows:
        shares = (f"{row[name]:.0%}" for name in ("inside_warned", "outside_warned"))
        covered = (f"{row[name]:.0%}" for name in ("inside_cover_90", "outside_cover_90"))
        yield row.what, *shares, f"{row.outside_width / row.inside_width:.2g}", *covered


TABLES: dict[str, Callable[[], Iterable[Sequence[str]]]] = {
    "twins": _twins,
    "surrogates": _surrogates,
    "kraichnan-orszag": _kraichnan_orszag,
    "langevin": _langevin,
    "selection": _selection,
    "uci": _uci,
    "uci-parts": _uci_parts,
    "laws": _laws,
    "conformal": _conformal,
    "corners": _corners,
}


def _shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def main(words: Sequence[str]) -> int:
    """Check the pages, or mend them."""
    wrong = 0
    for page in pages():
        text = page.read_text(encoding="utf8")
        try:
            whole, troubles = renewed(text)
        except ValueError as trouble:
            print(f"{_shown(page)}: {trouble}", file=sys.stderr)
            return 2
        for trouble in troubles:
            print(f"{_shown(page)}: {trouble}")
        wrong += len(troubles)
        if "--fix" in words and whole != text:
            page.write_text(whole, encoding="utf8")
    return 1 if wrong and "--fix" not in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
