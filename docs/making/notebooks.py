"""The notebooks of the gallery: run anew (`python docs/making/notebooks.py docs/gallery/NAME.ipynb …`), and as pages.

Running needs nbclient and ipykernel. What is stored is what the cells showed, without what changes from run to run
(bars, counters, versions). The first figure of the cell with the tag `picture` becomes
`docs/pictures/gallery-NAME.png`, for the index.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parents[1] / "pictures"
_KEPT = ("text/html", "text/plain", "image/png")


def read(file: Path) -> dict[str, Any]:
    """A notebook as plain data."""
    return json.loads(file.read_text(encoding="utf-8"))


def text_of(part: str | list[str]) -> str:
    """Sources and outputs are stored as one text, or as its lines.

    >>> text_of(["a\\n", "b"]), text_of("c")
    ('a\\nb', 'c')
    """
    return part if isinstance(part, str) else "".join(part)


def run(file: Path) -> None:
    """Run a notebook from the folder it is in, and store what it showed."""
    import nbclient
    import nbformat

    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=1_200, kernel_name="python3", resources={"metadata": {"path": str(file.parent)}}
    ).execute()
    plain = cleaned(notebook)
    file.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for cell in plain["cells"]:
        if "picture" in cell["metadata"].get("tags", ()):
            [picture] = [one["data"]["image/png"] for one in cell["outputs"] if "image/png" in one.get("data", {})]
            (PICTURES / f"gallery-{file.stem}.png").write_bytes(base64.b64decode(text_of(picture)))


def cleaned(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Cells with their sources and what they show at the end."""
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        tags = cell["metadata"].get("tags")
        kept: dict[str, Any] = {"cell_type": cell["cell_type"], "id": f"cell-{number}"}
        kept |= {"metadata": {"tags": list(tags)} if tags else {}, "source": cell["source"]}
        if cell["cell_type"] == "code":
            outputs = [shown for one in cell["outputs"] if (shown := _shown(one)) is not None]
            kept |= {"execution_count": None, "outputs": outputs}
        cells.append(kept)
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _shown(output: Mapping[str, Any]) -> dict[str, Any] | None:
    """One output without what is empty, as a bar that is gone, or belongs to one run alone."""
    if output["output_type"] == "stream":
        return {"output_type": "stream", "name": output["name"], "text": output["text"]}
    data = {kind: output["data"][kind] for kind in _KEPT if output["data"].get(kind)}
    if not set(data) - {"text/plain"} and output["output_type"] == "display_data":
        return None
    counted = {"execution_count": None} if output["output_type"] == "execute_result" else {}
    return {"output_type": output["output_type"], "metadata": {}, "data": data, **counted}


def as_page(notebook: Mapping[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """A page of Markdown, and its figures by their file names.

    >>> shown = {"output_type": "stream", "name": "stdout", "text": "2\\n"}
    >>> code = {"cell_type": "code", "source": "print(2)", "outputs": [shown]}
    >>> as_page({"cells": [{"cell_type": "markdown", "source": "# Two"}, code]}, "two")
    ('# Two\\n\\n```python\\nprint(2)\\n```\\n\\n```text\\n2\\n```\\n', {})
    """
    parts: list[str] = []
    figures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = text_of(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            parts += _as_markdown(output, name, figures)
    return "\n\n".join(parts) + "\n", figures


def _as_markdown(output: Mapping[str, Any], name: str, figures: dict[str, bytes]) -> Iterator[str]:
    if output["output_type"] == "stream":
        yield f"```text\n{text_of(output['text']).rstrip()}\n```"
        return
    data = output["data"]
    if "image/png" in data:
        file = f"{name}-{len(figures)}.png"
        figures[file] = base64.b64decode(text_of(data["image/png"]))
        yield f"![]({file})"
    elif "text/html" in data:
        # A blank line would end the block, and Markdown would read on inside of it.
        lines = [line.strip() for line in text_of(data["text/html"]).splitlines() if line.strip()]
        yield f'<div class="shown">{" ".join(lines)}</div>'
    else:
        yield f"```text\n{text_of(data['text/plain']).rstrip()}\n```"


if __name__ == "__main__":
    for place in sys.argv[1:]:
        run(Path(place))
        print(place)
