"""The gallery: its notebooks run, what they have stored is whole, and the index shows all of them.

In seconds, the cells run in this process on some hundred rows with networks that have hardly begun to learn, and with
the true inputs kept, so that later cells find them: answers mean nothing, and only what the cells are made of is
compared. The slow version runs the notebooks as they stand, as Jupyter does, and compares the words that they print.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import partialmethod
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from quick import QUICK, trains_briefly

import forebear as fb

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))

TRUTH = {
    "rig": ["load", "speed", "temperature", "oil"],
    "arm": ["elbow", "payload", "motor_temperature"],
    "service": ["machine", "faults", "years_of_practice", "parts_in_stock"],
    "tank": ["level", "pump"],
}
"""what the cells speak of, notebook by notebook"""
OTHER = {"rig": "humidity", "arm": "voltage", "service": "shift", "tank": "outside"}
"""a candidate that is asked about"""

sys.path.append(str(ROOT / "docs" / "making"))
from notebooks import cleaned, read, text_of  # noqa: E402  # pyright: ignore[reportMissingImports]


def name_of(notebook: Path) -> str:
    return notebook.stem


def code_of(notebook: Path) -> list[dict[str, Any]]:
    return _code(read(notebook))


def _code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> list[str]:
    """What a cell shows as text: printed lines, and values as they show themselves in a terminal."""
    values = [one["data"].get("text/plain", "") for one in cell["outputs"] if one["output_type"] == "execute_result"]
    printed = [one["text"] for one in cell["outputs"] if one["output_type"] == "stream"]
    return [text_of(text) for text in (*printed, *values)]


def small(name: str, patch: pytest.MonkeyPatch) -> None:
    """Few rows, few candidates, tiny networks; the house asks for evidence on what it finds, and has all rows."""
    if name == "house":
        return trains_briefly(patch)
    discover, twin = fb.discover, fb.Found.twin
    asked: dict[str, Any] = {"candidates": [*TRUTH[name], OTHER[name]], "keep": TRUTH[name], **QUICK}
    patch.setattr(fb, "discover", lambda data, *args, **named: discover(data.head(600), *args, **{**named, **asked}))
    tiny = {"steps": 60, "width": 16, "depth": 2}
    patch.setattr(fb.Found, "twin", lambda self, *args, **named: twin(self, *args, **{**tiny, **named}))
    patch.setattr(fb.Twin, "distil", partialmethod(fb.Twin.distil, rows=1_024, steps=60))


FIRST = ("rig", "tank")
"""run in the tests of every day; the others take as long again, each"""


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(one, id=one.stem, marks=() if one.stem in FIRST else pytest.mark.slow) for one in NOTEBOOKS],
)
def test_cells_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if notebook.stem == "tank":
        pytest.importorskip("gymnasium", reason="an environment needs forebear[control]")
    monkeypatch.chdir(tmp_path)
    small(notebook.stem, monkeypatch)
    names: dict[str, Any] = {"__name__": "a_notebook"}
    for number, cell in enumerate(code_of(notebook)):
        body = ast.parse(text_of(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"{notebook.name}, cell {number}", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
        if any("image/png" in one.get("data", {}) for one in cell["outputs"]):
            assert plt.get_fignums() or isinstance(value, Figure), f"cell {number} draws"
        elif shown(cell) and last is not None and value is not None:
            assert repr(value).split()[0] == shown(cell)[-1].split()[0], f"cell {number} shows another kind of thing"
        plt.close("all")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_what_is_stored_is_whole(notebook: Path) -> None:
    stored = read(notebook)
    assert cleaned(stored) == stored, "run `make notebooks`"
    text = notebook.read_text(encoding="utf-8")
    assert len(text) < 400_000 and not re.search(r"/(home|root|tmp|work|Users)/", text)
    for cell in code_of(notebook):
        assert all(one["output_type"] != "error" for one in cell["outputs"])
        assert all(one.get("name") != "stderr" for one in cell["outputs"]), "a warning is stored"
    tagged = [cell for cell in code_of(notebook) if "picture" in cell["metadata"].get("tags", ())]
    assert len(tagged) == 1 and any("image/png" in one.get("data", {}) for one in tagged[0]["outputs"])


def test_the_index_shows_every_notebook() -> None:
    index = (GALLERY / "index.md").read_text(encoding="utf-8")
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 5
    for notebook in NOTEBOOKS:
        title = text_of(read(notebook)["cells"][0]["source"]).splitlines()[0].removeprefix("# ")
        assert f"## [{title}]({notebook.name})" in index
        assert f"](../pictures/gallery-{notebook.stem}.png)" in index and f"gallery/{notebook.stem}.md" in nav
        assert (ROOT / "docs" / "pictures" / f"gallery-{notebook.stem}.png").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_notebooks_say_what_they_have_stored(notebook: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    if not _has_data(notebook):
        pytest.skip("the data of the house is not beside this checkout")
    fresh = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(
        fresh, timeout=1_200, kernel_name="python3", resources={"metadata": {"path": str(GALLERY)}}
    ).execute()
    for before, after in zip(code_of(notebook), _code(cleaned(fresh)), strict=True):
        assert [_words(text) for text in shown(before)] == [_words(text) for text in shown(after)]


def _has_data(notebook: Path) -> bool:
    """Of the house the file is a user's own."""
    return notebook.stem != "house" or (ROOT.parent / "shared" / "data" / "appliances" / "energydata.csv").is_file()


def _words(text: str) -> list[str]:
    """Numbers differ between machines in their last digits."""
    return re.sub(r"[-−+]?\d[\d.,]*(e[-+]?\d+)?", "#", text).split()
