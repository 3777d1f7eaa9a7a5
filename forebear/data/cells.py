"""How results show themselves in the cells of a notebook, and in one line elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

CELL = "text-align:left;padding:0.2em 0.7em"
"""the look of a cell: some notebooks give tables none"""
_SHORT = 24


def look(text: str) -> str:
    """The look of a cell with this text: a few words stay on one line.

    >>> look("p = 0.3") == f"{CELL};white-space:nowrap", look("A reason that takes a whole line of words") == CELL
    (True, True)
    """
    return f"{CELL};white-space:nowrap" if max(map(len, text.split("\n"))) <= _SHORT else CELL


def p_text(p_value: float) -> str:
    """A p-value as it is said: two digits, and no more zeros than anyone reads.

    >>> p_text(0.4142), p_text(0.0), p_text(0.99999)
    ('p = 0.41', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], before: str = "", after: str = "") -> str:
    """A table of plain text, left-aligned; lines in a cell stay lines. `before` and `after` are paragraphs.

    >>> html_table(["target"], [["<y>"]], before="one row")
    '<p>one row</p><table><thead><tr><th style="text-align:left;padding:0.2em 0.7em">target</th></tr></thead><tbody>\
<tr><td style="text-align:left;padding:0.2em 0.7em;white-space:nowrap">&lt;y&gt;</td></tr></tbody></table>'
    """
    lines = "".join(_row("td", row) for row in rows)
    around = [f"<p>{html.escape(text)}</p>" if text else "" for text in (before, after)]
    return f"{around[0]}<table><thead>{_row('th', head)}</thead><tbody>{lines}</tbody></table>{around[1]}"


def _row(cell: str, texts: Sequence[str]) -> str:
    told = ((CELL if cell == "th" else look(text), html.escape(text).replace("\n", "<br>")) for text in texts)
    return "<tr>" + "".join(f'<{cell} style="{own}">{text}</{cell}>' for own, text in told) + "</tr>"


def few(parts: Sequence[str], most: int = 8) -> str:
    """The first of many, and how many more there are, for a line.

    >>> few(["a", "b"]), few(["a", "b", "c", "d", "e"], most=3)
    ('a; b', 'a; b; c; and 2 more')
    """
    shown = list(parts[:most])
    return "; ".join(shown if len(parts) <= most else [*shown, f"and {len(parts) - most} more"])
