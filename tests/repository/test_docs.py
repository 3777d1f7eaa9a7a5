"""The documentation: code runs, commands exist, numbers are those that are stored, links lead somewhere.

Every Python block of a page runs, page by page, in the order of the page. Blocks inside an HTML comment prepare the
others and are not shown. `<!-- not run: reason -->` before a block leaves it out. Every `forebear` command in a shell
block is parsed. In seconds, all of it is computed by networks that are trained briefly (`quick.trains_briefly`), and
shapes, keys, and names in what is printed are compared with what the page shows; the slow version takes the pages as
they stand, and compares answers as well, numbers aside.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from pages import as_shown, blocks, commands, form, run_page
from quick import trains_briefly

import forebear as fb
from forebear.cli import app, main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\((?P<place>[^)\s]+)\)")
# What a comment or prose may hold that is not a link: `f(x)[0](y)` in code is taken out first.
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_CODE = [page for page in PAGES if any(block.kind == "python" for block in blocks(page))]
# What a newcomer reads first is run in the tests of every day; the other pages take as long again, one by one.
FIRST = ("README.md", "docs/tutorial.md", "docs/twin.md", "docs/extending.md")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=() if name_of(page) in FIRST else pytest.mark.slow)
        for page in WITH_CODE
    ],
)
def test_code_of_the_pages_runs_and_gives_what_they_show(
    page: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trains_briefly(monkeypatch)
    ran = run_page(page)
    for one in ran.shown:
        assert as_shown(one) is not False, f"line {one.line}: {one.value!r} is not {one.comment}"
    for line, shown in _answers(page):
        assert form(ran.printed[line]) == form(shown), f"line {line}"


def _answers(page: Path) -> list[tuple[int, str]]:
    """Text blocks that show what the Python block before them prints, with its line."""
    every = blocks(page)
    pairs = zip(every, every[1:], strict=False)
    return [(code.line, text.text) for code, text in pairs if (code.kind, text.kind) == ("python", "text")]


def test_enough_is_shown_to_be_compared() -> None:
    assert len(_answers(ROOT / "docs" / "tutorial.md")) > 4


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_of_the_pages_prints_what_they_say(page: Path, elsewhere: Path) -> None:
    ran = run_page(page)
    for line, shown in _answers(page):
        assert _without_numbers(ran.printed[line]) == _without_numbers(shown), f"line {line}"


def _without_numbers(text: str) -> list[str]:
    """Words alone: numbers differ between machines in their last digits, and columns move with them."""
    return [" ".join(re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?", "#", line).split()) for line in text.strip().splitlines()]


@pytest.mark.slow
def test_commands_of_the_tutorial_print_what_it_says(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "tutorial.md"
    exec(blocks(page)[0].text, {})
    all_blocks = blocks(page)
    for first, second in zip(all_blocks, all_blocks[1:], strict=False):
        for command in commands(first):
            if command[0] in ("discover", "report"):
                assert main(command) == 0
                told = capsys.readouterr().out
                if second.kind == "text":
                    assert "\n".join(_without_numbers(second.text)) in "\n".join(_without_numbers(told))
    assert (elsewhere / "run" / "report.html").is_file()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_the_pages_exist(page: Path) -> None:
    group = typer.main.get_command(app)
    for block in blocks(page):
        for words in commands(block):
            if words[0].isupper() or words[0].startswith("-"):
                continue
            command = group.get_command(typer.Context(group), words[0])  # type: ignore[attr-defined]
            command.make_context(words[0], list(words[1:]))


def test_targets_of_make_exist() -> None:
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for page in PAGES:
        for target in re.findall(r"`make ([a-z-]+)`", page.read_text(encoding="utf-8")):
            assert target in made, f"{name_of(page)}: make {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    """In the repository as it lies there; `mkdocs build --strict` checks the site, with its anchors."""
    made_later = {"reference/cli.md", "changelog.md", "cli.md"}
    for match in _LINK.finditer(_CODE.sub("", page.read_text(encoding="utf-8"))):
        place = match["place"].partition("#")[0]
        if place and ":" not in place and place not in made_later:
            assert (page.parent / place).exists(), f"{name_of(page)}: {place}"


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in menu


def test_every_public_name_is_in_the_reference() -> None:
    told = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "docs" / "reference").glob("*.md"))
    missing = [name for name in fb.__all__ if f".{name}" not in told and f"fb.{name}" not in told]
    assert missing == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="`make docs` installs it")
    pytest.importorskip("mkdocstrings", reason="`make docs` installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr[-3_000:]
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "forebear" in front and "fonts.googleapis" not in front
    told = (tmp_path / "site" / "reference" / "found.html").read_text(encoding="utf-8")
    assert "to_frame" in told and "save_graph" in told
