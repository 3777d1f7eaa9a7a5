"""Pictures of every screen of the studio: `python docs/making/studio_pictures.py PICTURES [AXE]`.

Starts a studio on a table of its own, goes through it in a browser as a person would, and takes each screen wide and
narrow, light and dark. With AXE, axe.min.js of the package axe-core (`npm pack axe-core`), it also prints what that
finds on each screen (results/axe-studio.json). Needs a browser, as the tests of the report do. Those that a page
shows go to docs/pictures.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from axe_findings import RUN
from browser import Browser, find_browser
from PIL import Image
from studios import Running, studio

SHOWN = ("file", "columns", "running", "report", "runs", "compare")
"""screens of which the wide and light picture is in docs/pictures as well"""
_LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


def plant(rows: int = 1_200) -> pd.DataFrame:
    """A week of a plant: the yield follows flow and oil, its spread the temperature; the noise follows the valve."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"record": np.arange(1, rows + 1)})
    table["time"] = pd.date_range("2026-03-01", periods=rows, freq="15min").astype(str)
    table["flow [m³/h]"] = rng.normal(50, 5, rows).round(2)
    temperature = rng.normal(80, 4, rows).round(1)
    table["temperature [°C]"] = np.where(rng.random(rows) < 0.03, np.nan, temperature)
    table["pressure [bar]"] = rng.normal(3, 0.3, rows).round(3)
    table["valve [%]"] = rng.uniform(0, 100, rows).round(1)
    table["wind direction [°]"] = rng.uniform(0, 360, rows).round()
    table["oil"] = rng.choice(["A", "B", "C"], rows)
    table["site"] = "Kassel"
    spread = 0.4 + 0.12 * np.abs(temperature - 80)
    table["yield [%]"] = (
        60 + 0.6 * (table["flow [m³/h]"] - 50) + 3 * (table["oil"] == "A") + spread * rng.normal(size=rows)
    )
    table["noise [dB]"] = 70 + 0.06 * table["valve [%]"] + rng.normal(size=rows)
    return table.round(3)


def screens(browser: Browser, up: Running) -> Iterator[str]:
    """One screen after another, each drawn to its end."""
    browser.visit(up.url)
    browser.wait("document.querySelector('.entry.file')", 60)
    yield "file"
    browser.run("document.querySelector('.entry.file').click()")
    browser.wait("document.querySelector('.ask select')", 120)
    _use(browser, "yield [%]", "target")
    _use(browser, "noise [dB]", "target")
    browser.wait("document.querySelector('.foot .primary:not(:disabled)')", 120)
    yield "columns"
    _put(browser, "#rows", "trajectory")
    browser.wait("document.querySelector('.foot[aria-busy=false] .primary')", 120)
    yield "in-time"
    _put(browser, "#rows", "auto")
    browser.wait("document.querySelector('.foot[aria-busy=false] .primary:not(:disabled)')", 120)
    first = _start(browser)
    browser.wait("Number(document.querySelector('progress')?.value) > 0.3 || document.querySelector('iframe')", 600)
    yield "running"
    browser.wait("document.querySelector('iframe.report')", 1_200)
    browser.wait("document.querySelectorAll('.downloads li').length > 5", 60)
    yield "report"
    asked = up.get(f"/api/runs/{first}")["asked"]
    second = up.start("plant.csv", {**asked, "exclude": ["oil"], "seed": 1})
    up.ended(second)
    cancelled = up.start("plant.csv", {**asked, "runs": 20})
    up.post(f"/api/runs/{cancelled}/cancel", {})
    up.ended(cancelled, "cancelled")
    browser.run("location.hash = '#/runs'")
    browser.wait("document.querySelectorAll('.history .card').length === 3", 30)
    yield "runs"
    browser.run("[...document.querySelectorAll('.more button')].at(-1).click()")
    yield "delete"
    browser.run("[...document.querySelectorAll('.more button')].find((b) => b.textContent === 'Keep it').click()")
    browser.run(f"location.hash = '#/compare?a={first}&b={second}'")
    browser.wait("document.querySelector('table.compare')", 60)
    yield "compare"
    browser.run(f"location.hash = '#/run/{cancelled}'")
    browser.wait("document.querySelector('h1').textContent.includes('cancelled')", 30)
    yield "cancelled"
    (up.folder / "broken.csv").write_text("a,b\n1,2\n3,4,5,6\n")
    browser.run("location.hash = '#/columns?file=broken.csv'")
    browser.wait("document.querySelector('main .wrong')", 60)
    yield "wrong"


def _use(browser: Browser, column: str, value: str) -> None:
    _put(browser, f"[aria-label={json.dumps(f'Use {column} as')}]", value)


def _put(browser: Browser, selector: str, value: str) -> None:
    browser.run(
        f"{{ const box = document.querySelector({json.dumps(selector)}); box.value = {json.dumps(value)}; "
        "box.dispatchEvent(new Event('change')); }"
    )


def _start(browser: Browser) -> str:
    browser.run("document.querySelector('.foot .primary').click()")
    browser.wait("location.hash.startsWith('#/run/')", 60)
    return browser.run("decodeURIComponent(location.hash.slice(6))")


def main(pictures: Path, axe: Path | None) -> None:
    """Take them all; print what axe-core finds."""
    binary, found = find_browser(), []
    assert binary is not None, "no browser: set FOREBEAR_BROWSER"
    pictures.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.gettempdir()) / "plant"  # it is seen in the pictures
    folder.mkdir()
    try:
        plant().to_csv(folder / "plant.csv", index=False)
        with studio(folder) as up, Browser(binary) as browser:
            for name in screens(browser, up):
                found += [_look(browser, pictures, name, *look, axe) for look in _LOOKS]
            version = browser.run("axe.version") if axe else None
            assert [problem for problem in browser.problems if "status of 400" not in problem] == []
    finally:
        shutil.rmtree(folder)
    for name in SHOWN:
        shutil.copy(pictures / f"{name}-1280-light.png", Path("docs/pictures") / f"studio-{name}.png")
    if axe:
        print(json.dumps({"axe": version, "findings": found}, indent=1))


def _look(browser: Browser, pictures: Path, name: str, width: int, scheme: str, axe: Path | None) -> dict[str, Any]:
    """One picture of the whole screen, and what axe-core finds on it."""
    browser.look(scheme)
    browser.size(width, 900)
    browser.run("scrollTo(0, 0); new Promise((resolve) => setTimeout(resolve, 400))")
    # As tall as the page: what sticks to the end of the window would lie over its middle.
    tall = int(browser.run("document.documentElement.scrollHeight"))
    browser.size(width, max(700, tall))
    browser.run("new Promise((resolve) => setTimeout(resolve, 300))")
    picture = pictures / f"{name}-{width}-{scheme}.png"
    browser.screenshot(picture, whole=False)
    Image.open(picture).convert("RGB").quantize(256, kmeans=3).save(picture, optimize=True)  # a third of the bytes
    if axe is None:
        return {}
    browser.call("Runtime.evaluate", expression=axe.read_text(encoding="utf-8"))
    return {"page": f"studio, {name}", "width": width, "scheme": scheme, **browser.run(RUN)}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
