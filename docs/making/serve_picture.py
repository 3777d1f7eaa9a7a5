"""The picture of a served twin's page: `python docs/making/serve_picture.py ADDRESS PICTURE`.

The address is the one with the token.

Needs a browser, as the tests of the page do (FOREBEAR_BROWSER, or Chromium on the path).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from browser import Browser, find_browser


def main(address: str, picture: Path) -> None:
    """Open and look, light."""
    binary = find_browser()
    assert binary is not None, "no browser: set FOREBEAR_BROWSER"
    with Browser(binary, 1_120, 900) as browser:
        browser.look("light")
        browser.call("Page.navigate", url=address)
        browser.wait("document.querySelectorAll('.law svg').length > 0", 30)
        browser.screenshot(picture)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
