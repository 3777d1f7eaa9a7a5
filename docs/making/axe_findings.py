"""What axe-core finds on pages of a report: `python docs/making/axe_findings.py AXE PAGE … > results/axe.json`.

AXE is axe.min.js of the package axe-core (`npm pack axe-core`), which is no part of this repository. Each page is
looked at wide and narrow, light and dark, with everything unfolded. Needs a browser, as the tests of the report do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from browser import Browser, find_browser

RUN = """axe.run(document).then(({ violations, passes, incomplete }) => ({
  passes: passes.length, unsure: incomplete.map(({ id }) => id),
  violations: violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.length })) }))"""


def findings(browser: Browser, axe: str, page: Path, width: int, scheme: str) -> dict[str, Any]:
    """Rules that were broken, with how often; how many were kept; and those that a person has to judge."""
    browser.look(scheme)
    browser.size(width, 900)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    browser.call("Runtime.evaluate", expression=axe)
    return {"page": page.stem, "width": width, "scheme": scheme, **browser.run(RUN)}


def main(axe: Path, pages: list[Path]) -> None:
    """Print one JSON document."""
    binary = find_browser()
    assert binary is not None, "no browser: set FOREBEAR_BROWSER"
    text = axe.read_text(encoding="utf-8")
    with Browser(binary) as browser:
        looks = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
        found = [findings(browser, text, page, *look) for page in pages for look in looks]
        version = browser.run("axe.version")
    print(json.dumps({"axe": version, "findings": found}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
