"""The pages of experiments and benchmarks: those of the stored results, with a text for every experiment."""

from __future__ import annotations

import re
from pathlib import Path

import forebear_experiments
from forebear.storage.files import read_json
from forebear_experiments import EXPERIMENTS
from forebear_experiments.benchmarks.charts import CHARTS, draw
from forebear_experiments.benchmarks.page import page as benchmarks_page
from forebear_experiments.benchmarks.words import COLUMNS, TITLES
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


def test_charts_are_there_and_columns_have_words() -> None:
    stored = sorted((ROOT / "results").glob("bench-*.json"))
    for file in stored:
        name, rows = file.stem.removeprefix("bench-"), read_json(file, "")["rows"]
        assert name in TITLES, "give it a heading in benchmarks/words.py"
        assert {field for row in rows for field in row} <= set(COLUMNS), (
            "give its columns words in benchmarks/words.py"
        )
        assert name in CHARTS or len(rows) == 1, "draw it in benchmarks/charts.py"
        for panel in CHARTS.get(name, ()):
            assert list(panel.read(rows)), name
            assert (ROOT / "docs" / "pictures" / f"bench-{name}.png").is_file(), "run `make gallery`"


def test_a_chart_has_a_line_for_every_label(tmp_path: Path) -> None:
    rows = [{"what": f"table {i}", "ours_s": float(i), "baseline": "a loop", "baseline_s": 10.0 * i} for i in (1, 2)]
    assert [dot.value for dot in CHARTS["cost"][0].read(rows)] == [1, 10, 2, 20]
    assert draw("cost", rows, tmp_path / "cost.png") and (tmp_path / "cost.png").stat().st_size > 1_000
    assert not draw("cost", [], tmp_path / "none.png") and not draw("new", rows, tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_the_page_of_benchmarks_takes_any_result(tmp_path: Path) -> None:
    (tmp_path / "bench-new.json").write_text('{"name": "new", "rows": [{"what": "a | b", "speed": [1, 2, 3]}]}')
    (tmp_path / "bench-odd.json").write_text('{"machine": {"note": "busy"}, "rows": []}')
    made = benchmarks_page(tmp_path)
    assert "## new" in made and "| a \\| b | 1, 2, 3 |" in made and "## odd" in made and "busy" in made
