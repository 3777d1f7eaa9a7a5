"""The page of a monitor: sentences and one figure, in a file that needs nothing else."""

from __future__ import annotations

import html
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from forebear.plots.watching import svg_of
from forebear.storage.files import check_output, write_bytes
from forebear.version import __version__

if TYPE_CHECKING:
    from forebear.watch.result import Monitored

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.5rem } .word { font-weight: 600 } .changed { color: #b34a00 } .holds { color: #0072b2 }
li { margin: .3rem 0 } .picture { overflow-x: auto } svg { width: 100%; min-width: 40rem; height: auto }
footer { color: #666; font-size: .85rem }
@media (prefers-color-scheme: dark) { body { background: #fff } }
"""
# Dots are drawn as a picture inside the drawing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_page(told: Monitored, file: str | Path) -> None:
    """Whole or not at all."""
    place = check_output(file, (".html", ".htm"))
    write_bytes(place, page(told).encode())


def page(told: Monitored) -> str:
    """The text of the page; nothing in it runs, and it loads nothing."""
    picture = BytesIO()
    svg_of(told.plot(), picture)
    svg = picture.getvalue().decode()
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in told.summary().splitlines())
    word = "A law changed" if told.changed else "The laws hold"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<meta http-equiv='Content-Security-Policy' content=\"{_POLICY}\">"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{word}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1 class='{'changed' if told.changed else 'holds'}'>{word}</h1>"
        f"<ul>{lines}</ul>"
        "<p>Each dot is the latent of a row: its place in the law that the twin learned, given the row's inputs. "
        "The line is their median, and the band holds the middle 80%. While the law holds, the dots are spread alike "
        "around the same line, whatever the inputs do.</p>"
        "<div class='picture' tabindex='0' role='img' aria-label='Latents along the rows'>"
        f"{svg[svg.index('<svg') :]}</div></main>"
        f"<footer>{told.tested:,} of {told.rows:,} rows were tested, at level {told.level:g} over all targets; "
        f"forebear {__version__}</footer></body></html>\n"
    )
