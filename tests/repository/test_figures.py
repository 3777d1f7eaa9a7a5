"""Numbers in prose are those in results/, whatever the sentence around them: `docs/making/figures.py` has the scheme.

A number that was measured again fails here with what to write; `python docs/making/figures.py --fix` writes it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "making" / "figures.py")
assert _SPEC is not None and _SPEC.loader is not None
figures = importlib.util.module_from_spec(_SPEC)
sys.modules["figures"] = figures
_SPEC.loader.exec_module(figures)

MEASURED = tuple("README.md docs/environments.md docs/measured.md docs/method.md docs/pets.md docs/twin.md".split())
"""pages that tell measurements beside their code"""


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_numbers_are_those_that_are_stored(page: Path) -> None:
    _, troubles = figures.renewed(page.read_text(encoding="utf8"))
    assert not troubles, "\n".join(["run `python docs/making/figures.py --fix`:", *map(str, troubles)])


@pytest.mark.parametrize("page", MEASURED)
def test_pages_that_tell_measurements_mark_them(page: str) -> None:
    assert "<!-- results/" in (ROOT / page).read_text(encoding="utf8")


NOISE = "{}<!-- results/bench-noise.json rows[0].kept_an_input d -->"
STORED = json.loads((ROOT / "results" / "bench-noise.json").read_text(encoding="utf8"))["rows"][0]["kept_an_input"]


@pytest.mark.parametrize("sentence", ["kept an input for {} of them", "It is **{}** times.", "({})", "{}%, at most"])
def test_the_sentence_is_free_and_the_number_is_not(sentence: str) -> None:
    right, wrong = (sentence.format(NOISE.format(number)) for number in (STORED, "1,234.5"))
    assert figures.renewed(right) == (right, [])
    mended, [trouble] = figures.renewed("first line\n" + wrong)
    assert mended == "first line\n" + right
    assert str(trouble) == f"line 2: says '1,234.5'; write '{STORED}'"


def test_two_numbers_in_one_sentence_are_two() -> None:
    both = (
        "-2<!-- results/bench-noise.json 0 - len(rows) d --> to six<!-- results/bench-noise.json len(rows) word -->"
    )
    mended, troubles = figures.renewed(both)
    assert [trouble.expected for trouble in troubles] == ["-1", "one"]
    assert mended.startswith("-1<!--") and "to one<!--" in mended


def test_the_rows_of_a_table_are_made_and_its_heading_is_free() -> None:
    page = "<!-- table: selection -->\n\n| any | words |\n|---|---|\n| old | row |\n\n<!-- end of table -->\n\nOn."
    made, [trouble] = figures.renewed(page)
    assert trouble.told == "| old | row |"
    assert made.startswith("<!-- table: selection -->\n\n| any | words |\n|---|---|\n| y = x1·w")
    assert made.endswith("|\n\n<!-- end of table -->\n\nOn.")
    assert figures.renewed(made) == (made, [])


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("about <!-- results/bench-noise.json len(rows) d -->", "no number or table goes with <!-- results/bench"),
        ("3<!-- results/bench-noise.json -->", "no number or table goes with"),
        ("3<!-- results/bench-noise.json rows[0].lost d -->", "AttributeError: there is no 'lost' among what"),
        ("3<!-- results/bench-lost.json rows d -->", "FileNotFoundError"),
        ("3<!-- results/bench-noise.json open('x') d -->", "NameError"),
        ("<!-- table: lost -->\n|a|\n|---|\n|b|\n<!-- end of table -->", "KeyError: 'lost'"),
        ("<!-- table: selection -->\nno table", "no number or table goes with <!-- table: selection"),
    ],
)
def test_a_comment_that_cannot_be_read_is_an_error(comment: str, message: str) -> None:
    with pytest.raises(ValueError, match="line 1: ") as caught:
        figures.renewed(comment)
    assert message in str(caught.value)


def test_the_command_mends_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(NOISE.format(99), encoding="utf8")
    monkeypatch.setattr(figures, "pages", lambda: [page])
    monkeypatch.setattr(figures, "_shown", str)
    assert figures.main([]) == 1 and f"says '99'; write '{STORED}'" in capsys.readouterr().out
    assert figures.main(["--fix"]) == 0
    assert page.read_text(encoding="utf8") == NOISE.format(STORED)
    assert figures.main([]) == 0
