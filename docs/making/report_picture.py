"""The picture of a report: `python docs/making/report_picture.py PAGE PICTURE TARGET name=value … -- name=value …`.

The values before `--` are pinned, those after it are where sliders and choices stand. Needs a browser, as the tests
of the report do (FOREBEAR_BROWSER, or Chromium on the path).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from browser import Browser, find_browser

_PIN = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Pin this setting').click()"


def move(browser: Browser, values: list[str]) -> None:
    """Type numbers into the boxes beside the sliders, and choose among levels."""
    for pair in values:
        name, _, value = pair.partition("=")
        browser.run(f"""{{
            const box = document.querySelector('[aria-label="{name}, exact value"]');
            const label = [...document.querySelectorAll('label')].find((l) => l.textContent === '{name}');
            const field = box ?? document.getElementById(label.htmlFor);
            const level = box ? null : [...field.options].find((o) => o.textContent === '{value}');
            field.value = level ? level.value : '{value}';
            field.dispatchEvent(new Event(box ? 'input' : 'change'));
        }}""")


def main(page: Path, picture: Path, target: str, pinned: list[str], now: list[str]) -> None:
    """Open, set, look."""
    binary = find_browser()
    assert binary is not None, "no browser: set FOREBEAR_BROWSER"
    with Browser(binary, 1_120, 1_740) as browser:
        browser.look("light")
        browser.open(page)
        browser.run("document.documentElement.scrollIntoView = Element.prototype.scrollIntoView = () => {}")
        browser.run(
            f"[...document.querySelectorAll('button.answer')].find((b) => b.textContent.includes('{target}')).click()"
        )
        browser.wait("document.querySelector('.curve') !== null")
        move(browser, pinned)
        browser.run(_PIN)
        move(browser, now)
        browser.screenshot(picture, whole=False)
        assert browser.problems == [], browser.problems


if __name__ == "__main__":
    words = sys.argv[4:]
    cut = words.index("--")
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], words[:cut], words[cut + 1 :])
