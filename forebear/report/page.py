"""One self-contained HTML page about a result."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from forebear.data.table import Table
from forebear.discovery.record import Discovery
from forebear.report.contents import contents
from forebear.report.evidence import LawEvidence
from forebear.storage.files import check_output, write_bytes

ENDINGS = (".html", ".htm")
_SCRIPTS = ("law.js", "charts.js", "fan.js", "explorer.js", "overview.js", "graph.js", "evidence.js", "page.js")
# What would end the block of data, or break a line of script, in some reader or other.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def write_page(found: Discovery, table: Table | None, told: LawEvidence | None, place: Path) -> None:
    """Whole or not at all."""
    write_bytes(place, page(found, table, told).encode())


def check_file(file: str | Path, option: str = "") -> Path:
    """Refuse a file that could not be written, before the long work starts.

    >>> check_file("report.pdf")
    Traceback (most recent call last):
    forebear.errors.InputError: report.pdf: the ending must be .html
    """
    return check_output(file, ENDINGS, option)


def page(
    found: Discovery,
    table: Table | None,
    told: LawEvidence | None,
    *,
    explorer: bool = False,
    first: str | None = None,
) -> str:
    """The page as text, with the `first` target selected; of an `explorer`, answers and sliders alone."""
    style = _part("base.css") + _part("page.css")
    scripts = [_part(name) for name in _SCRIPTS]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(_hash(script) for script in scripts)}",
            f"style-src {_hash(style)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    content = {**contents(found, table, told), "explorer": explorer, "first": first}
    blocks = {
        "POLICY": policy,
        "STYLE": f"<style>{style}</style>",
        "DATA": f'<script type="application/json" id="data">{as_data(content)}</script>',
        "SCRIPTS": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    text = _part("page.html")
    # One pass, piece by piece: what was put in is never searched for another mark.
    pieces = text.split("%%")
    return "".join(piece if place % 2 == 0 else blocks[piece] for place, piece in enumerate(pieces))


def as_data(content: Any) -> str:
    """JSON that can stand inside a page: no sign in it means anything to HTML.

    >>> as_data({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8: a question mark stands for it.
    return text.encode("utf-8", "replace").decode().translate(_ESCAPES)


def _part(name: str) -> str:
    return (files("forebear") / "report" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
