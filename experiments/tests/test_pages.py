"""The pages of experiments and benchmarks: those of the stored results, with a text for every experiment."""

from __future__ import annotations

import re
from pathlib import Path

import forebear_experiments
from forebear_experiments import EXPERIMENTS
from forebear_experiments.benchmarks.page import page as benchmarks_page
from forebear_experiments.framework.gallery import gallery, prose

ROOT = Path(__file__).parents[2]
PACKAGE = Path(forebear_experiments.__file__).parent


def test_the_page_of_experiments_is_that_of_the_stored_results() -> None:
    page = ROOT / "docs" / "experiments.md"
    text = gallery(ROOT / "results", page)
    assert page.read_text(encoding="utf-8") == text
    links = [line.split("](")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert links and all((page.parent / link).is_file() for link in links)


def test_every_experiment_has_a_text_in_its_folder() -> None:
    for name, (module, _) in EXPERIMENTS.items():
        text = prose(name)
        assert len(text) > 80 and text.endswith(".") and "##" not in text, name
        own = {other for other, (home, _) in EXPERIMENTS.items() if home.split(".")[0] == module.split(".")[0]}
        told = (PACKAGE / module.split(".")[0] / "page.md").read_text(encoding="utf-8")
        assert set(re.findall(r"^## (.+)$", told, re.MULTILINE)) == own


def test_the_page_of_benchmarks_is_that_of_the_stored_results() -> None:
    stored = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert stored == benchmarks_page(ROOT / "results"), "run `make gallery`"


def test_the_page_of_benchmarks_takes_any_result(tmp_path: Path) -> None:
    (tmp_path / "bench-new.json").write_text('{"name": "new", "rows": [{"what": "a | b", "speed": [1, 2, 3]}]}')
    (tmp_path / "bench-odd.json").write_text('{"machine": {"note": "busy"}, "rows": []}')
    made = benchmarks_page(tmp_path)
    assert "## new" in made and "| a \\| b | 1, 2, 3 |" in made and "## odd" in made and "busy" in made
