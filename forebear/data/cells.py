"""How results show themselves in the cells of a notebook, and in one line elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

CELL = "text-align:left;padding:0.2em 0.7em"
"""the look of a cell: some notebooks give tables none"""


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], before: str = "", after: str = "") -> str:
    """A table of plain text, left-aligned; lines in a cell stay lines. `before` and `after` are paragraphs.

    >>> html_table(["target"], [["<y>"]], before="one row")
    '<p>one row</p><table><thead><tr><th style="text-align:left;padding:0.2em 0.7em">target</th></tr></thead><tbody>\
<tr><td style="text-align:left;padding:0.2em 0.7em">&lt;y&gt;</td></tr></tbody></table>'
    """
    lines = "".join(_row("td", row) for row in rows)
    around = [f"<p>{html.escape(text)}</p>" if text else "" for text in (before, after)]
    return f"{around[0]}<table><thead>{_row('th', head)}</thead><tbody>{lines}</tbody></table>{around[1]}"


def _row(cell: str, texts: Sequence[str]) -> str:
    cells = (html.escape(text).replace("\n", "<br>") for text in texts)
    return "<tr>" + "".join(f'<{cell} style="{CELL}">{text}</{cell}>' for text in cells) + "</tr>"


def few(parts: Sequence[str], most: int = 8) -> str:
    """The first of many, and how many more there are, for a line.

    >>> few(["a", "b"]), few(["a", "b", "c", "d", "e"], most=3)
    ('a; b', 'a; b; c; and 2 more')
    """
    shown = list(parts[:most])
    return "; ".join(shown if len(parts) <= most else [*shown, f"and {len(parts) - most} more"])
