"""The what-if explorer of a report's page, for the cell of a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path

from forebear.report.page import check_file
from forebear.storage.files import write_bytes

# Light or dark as the notebook is, where it says so (VS Code, Jupyter), whatever the rest of the desk is.
_FRAME = "iframe.forebear-explorer{color-scheme:"
_SCHEME = (
    f".vscode-light {_FRAME}light}}.vscode-high-contrast-light {_FRAME}light}}.vscode-dark {_FRAME}dark}}"
    f".vscode-high-contrast:not(.vscode-high-contrast-light) {_FRAME}dark}}"
    f"[data-jp-theme-light=true] {_FRAME}light}}[data-jp-theme-light=false] {_FRAME}dark}}"
)


@dataclass(frozen=True)
class Explorer:
    """Sliders for the inputs of a twin, and its law at once. Shows itself in Jupyter, VS Code and marimo.

    It is a page in a frame of its own: complete in itself, without a server or a widget of the notebook's, so that it
    also works in a notebook that is only read, and after the kernel has gone.

    >>> explorer = Explorer("<p>a & b</p>", ("y",), height=300)
    >>> explorer
    <explorer of y: shows itself in a notebook; save("explorer.html") writes it as a page>
    >>> 'srcdoc="&lt;p&gt;a &amp; b&lt;/p&gt;"' in explorer._repr_html_()
    True
    """

    page: str = field(repr=False)
    targets: tuple[str, ...]
    height: int = 640
    """of the frame, in pixels"""

    def __repr__(self) -> str:
        return (
            f"<explorer of {', '.join(self.targets[:3])}{', …' if len(self.targets) > 3 else ''}: shows itself in a "
            'notebook; save("explorer.html") writes it as a page>'
        )

    def _repr_html_(self) -> str:
        # A frame without the rights of the notebook's own page: it draws, and may save a figure.
        return (
            f'<style>{_SCHEME}</style><iframe class="forebear-explorer" srcdoc="{html.escape(self.page)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'title="What if? {html.escape(", ".join(self.targets))}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def save(self, file: str | Path) -> None:
        """Write the page, an .html file, whole or not at all."""
        write_bytes(check_file(file), self.page.encode())
