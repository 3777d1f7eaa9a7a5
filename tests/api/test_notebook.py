"""In a real notebook: results show themselves, figures appear once, a bar comes and goes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="no notebooks: pip install nbclient ipykernel")
nbclient = pytest.importorskip("nbclient", reason="no notebooks: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="no notebooks: pip install nbclient ipykernel")

CELLS = {
    "set up": """
import numpy as np, pandas as pd, forebear as fb
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b<i>"])
table["y"] = table["a"] + rng.normal(size=300)
quick = {"steps": 20, "width": 8, "depth": 1}
""",
    "check": "fb.check(table)",
    "slip": 'fb.discover(table, target="y")',
    "matrix": 'fb.discover(table[["a"]], table["y"])',
    "found": """
found = fb.discover(table, "y", distilled=100, subset_steps=60, tested=300, nugget=1.0, lengthscale=1.0,
                    latent_lengthscale=1.0, **quick)
found
""",
    "plot": "found.plot()",
    "axes": "found.plot_path('y')",
    "twin": "twin = found.twin(**quick)\ntwin",
    "validation": "judged = found.validate(twin)\njudged",
    "calibration": "judged.plot()",
    "law": "twin.plot_law(table.head(2))",
    "fans": "found.plot_fan('y', twin=twin)",
    "explore": "found.explore(**quick)",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    """What each cell shows."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of the notebook's own machinery
        patch.delenv("MPLBACKEND", raising=False)  # or figures would not be drawn into cells
        nbclient.NotebookClient(made, timeout=300, kernel_name="python3", allow_errors=True).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, made.cells, strict=True)}


def pages(shown: list[Any]) -> list[str]:
    """The HTML of outputs that are values or drawn; a bar that is gone is empty."""
    texts = [one["data"].get("text/html", "") for one in shown if "data" in one]
    return [text for text in texts if text]


def test_nothing_fails_but_the_slips(outputs: dict[str, list[Any]]) -> None:
    failed = {name: one["evalue"] for name, shown in outputs.items() for one in shown if one.output_type == "error"}
    assert set(failed) == {"slip", "matrix"}
    assert "there is no argument 'target': write targets='y'" in failed["slip"]
    assert 'write targets="y"' in failed["matrix"]


@pytest.mark.parametrize("name", ["check", "found", "twin", "validation", "explore"])
def test_results_show_themselves_once_and_the_bar_is_gone(outputs: dict[str, list[Any]], name: str) -> None:
    [page] = pages(outputs[name])
    assert ("<table" in page) != ("<iframe" in page) and "<progress" not in page
    # Names of columns are text wherever they stand.
    assert "b<i>" not in page
    plain = [one["data"]["text/plain"] for one in outputs[name] if one.output_type == "execute_result"]
    assert len(plain) == 1 and " object at 0x" not in plain[0]


@pytest.mark.parametrize("name", ["plot", "axes", "calibration", "law", "fans"])
def test_figures_appear_once(outputs: dict[str, list[Any]], name: str) -> None:
    assert sum("image/png" in one.get("data", {}) for one in outputs[name]) == 1
