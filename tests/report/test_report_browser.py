"""The report in a browser: no errors, the numbers of Python, and keys alone are enough."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_browser
from reports import (
    HOSTILE_INPUT,
    HOSTILE_LEVEL,
    HOSTILE_TARGET,
    TINY,
    changed,
    every_kind,
    full_size_twin,
    made_by_hand,
    verdict,
)
from toys import toy_twin

import forebear as fb
from forebear.api.explore import Explorer
from forebear.discovery.cost import Cost, CurvePoint, Difference
from forebear.discovery.verdict import Verdict
from forebear.twin.sweep import sweep

BINARY = find_browser()
pytestmark = pytest.mark.skipif(
    BINARY is None, reason="no Chromium: install one, or set FOREBEAR_BROWSER to its path"
)
LEVELS = [0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999]
Page = tuple[Browser, fb.Twin, pd.DataFrame]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fb.Twin, pd.DataFrame]:
    """A page with laws of every kind."""
    table, found = every_kind()
    twin = found.twin(**TINY).distil(rows=512, steps=100)
    file = tmp_path_factory.mktemp("page") / "report.html"
    found.report(file, twin)
    return file, twin, table


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert BINARY is not None
    with Browser(BINARY) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, made: tuple[Path, fb.Twin, pd.DataFrame]) -> Iterator[Page]:
    """The page, freshly loaded; whatever a test does, no error may be left in the console."""
    file, twin, table = made
    browser.problems.clear()
    browser.look("light")
    browser.size(1280, 900)
    browser.open(file)
    yield browser, twin, table
    assert browser.problems == []


def call(browser: Browser, function: str, *arguments: Any) -> Any:
    return browser.run(f"{function}({', '.join(json.dumps(argument) for argument in arguments)})")


def state(twin: fb.Twin, row: pd.DataFrame) -> dict[str, Any]:
    return {name: row[name].iloc[0].item() if name != "kind" else row[name].iloc[0] for name in twin.inputs}


def test_quantiles_are_those_of_python(page: Page) -> None:
    browser, twin, table = page
    for number in range(8):
        row = table.iloc[[number]]
        theirs = twin.quantile(row, LEVELS)[:, 0]
        for place, target in enumerate(twin.targets):
            ours = call(browser, "forebear.quantile", target, state(twin, row), LEVELS)
            scale = twin.outputs[place].scale
            assert np.abs(np.array(ours) - theirs[:, place]).max() <= 1e-3 * scale, target


def test_probabilities_are_those_of_python(page: Page) -> None:
    browser, twin, table = page
    row = table.iloc[[5]]
    for target in ("count", "rain", "label"):
        place = twin.targets.index(target)
        masses = call(browser, "forebear.masses", target, state(twin, row))
        values = [mass["value"] for mass in masses]
        assert values == twin.outputs[place].dequantiser.values.tolist()
        y = np.zeros((len(values), len(twin.targets)))
        y[:, place] = values
        given = pd.concat([row] * len(values))
        theirs = np.exp(twin.log_prob(given, y)[:, place])
        assert [mass["p"] for mass in masses] == pytest.approx(theirs, abs=1e-4)


def test_densities_are_those_of_python(page: Page) -> None:
    browser, twin, table = page
    row, place = table.iloc[[3]], twin.targets.index("y")
    points = np.array([p[:2] for p in call(browser, "forebear.density", "y", state(twin, row))])[::10]
    y = np.zeros((len(points), len(twin.targets)))
    y[:, place] = points[:, 0]
    theirs = np.exp(twin.log_prob(pd.concat([row] * len(points)), y)[:, place])
    assert points[:, 1] == pytest.approx(theirs, rel=5e-3, abs=1e-4)


def test_outside_is_that_of_python(page: Page) -> None:
    browser, twin, table = page
    row = table.iloc[[0]].assign(a=90.0)
    ours = call(browser, "forebear.outside", "y", state(twin, row))
    assert ours["furthest"] == pytest.approx(twin.outside(row)[0]) and ours["names"] == ["a"]


def test_a_slider_moves_the_law_to_the_right_place(page: Page) -> None:
    browser, twin, _ = page
    call(browser, "forebear.select", "rain")
    before = browser.run("document.querySelector('.curve.s0').getAttribute('d')")
    browser.run("{const s = document.getElementById('input-0'); s.value = 53; s.dispatchEvent(new Event('input'))}")
    browser.wait("document.querySelector('.numbers tbody tr').textContent.includes('a = 53')")
    assert browser.run("document.querySelector('.curve.s0').getAttribute('d')") != before
    cells = browser.run("[...document.querySelectorAll('.numbers tbody tr td')].map((cell) => cell.textContent)")
    given = {name: [53.0] if name != "kind" else ["plain"] for name in twin.inputs}
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    theirs = twin.quantile(given, levels, outside="ignore")[:, 0, twin.targets.index("rain")]
    told = [float(cell.replace("−", "-")) for cell in cells[:5]]
    assert told == pytest.approx(theirs, abs=1e-3 * twin.outputs[2].scale)


def test_leaving_the_data_is_said(page: Page) -> None:
    browser, _, _ = page
    status = "document.querySelector('.status').textContent"
    assert browser.run(status) == ""
    box = "document.querySelector('.control input.exact')"
    browser.run(f"{{const b = {box}; b.value = 70; b.dispatchEvent(new Event('input'))}}")
    browser.wait(f"{status}.includes('Outside the data: a lies beyond every row')")
    browser.run("[...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('Back')).click()")
    browser.wait(f"{status} === ''")


def test_settings_are_pinned_and_compared(page: Page) -> None:
    browser, _, _ = page
    pin = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Pin this setting')"
    curves = "document.querySelectorAll('.curve[class*=s]').length"
    for number in range(4):
        browser.run(
            f"{{const s = document.querySelector('.control select'); s.value = {number % 3};"
            "s.dispatchEvent(new Event('change'))}"
        )
        browser.run(f"{pin}.click()")
    assert (
        browser.run(f"{pin}.disabled") and browser.run("document.querySelectorAll('.numbers tbody tr').length") == 5
    )
    assert browser.run("document.querySelector('.explorer').querySelectorAll('.curve').length") == 5
    browser.run("document.querySelector('.numbers .act button').click()")
    assert browser.run("document.querySelector('.explorer').querySelectorAll('.curve').length") == 4
    assert browser.run(curves) >= 4 and not browser.run(f"{pin}.disabled")


def test_keys_alone_are_enough(page: Page) -> None:
    browser, _, _ = page
    browser.run("document.querySelector('.node.goal').focus()")
    browser.press("ArrowDown", 40)
    assert browser.run("forebear.selected()") == "count"
    browser.press("ArrowDown", 40)
    browser.press("Enter", 13)
    assert browser.run("forebear.selected()") == "rain"
    assert browser.run("document.querySelector('h2.target').textContent").startswith("rain")
    browser.run("document.querySelector('.answer').focus()")
    browser.press("Enter", 13)
    assert browser.run("forebear.selected()") == "y"
    browser.run("document.querySelector('.control input[type=range]').focus()")
    before = float(browser.run("document.activeElement.value"))
    browser.press("ArrowRight", 39)
    browser.wait("document.activeElement.type === 'range'")
    assert float(browser.run("document.activeElement.value")) > before
    browser.run("document.querySelector('thead th:nth-child(3) button').focus()")
    browser.press("Enter", 13)
    assert browser.run("document.querySelector('#detail th[aria-sort=ascending] button').textContent.trim()")


def test_a_click_on_a_node_selects_and_on_an_input_shows(page: Page) -> None:
    browser, _, _ = page
    places = browser.run(
        "[...document.querySelectorAll('.node.goal')].map((n) => {const r = n.getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]})"
    )
    browser.click(*places[1])
    assert browser.run("forebear.selected()") == "count"
    browser.run("document.querySelector('.node.source').dispatchEvent(new Event('click'))")
    assert browser.run("document.querySelectorAll('.graph path.edge.on').length") == 2


def test_tables_sort(page: Page) -> None:
    browser, _, _ = page
    column = "[...document.querySelectorAll('#detail table:not(.numbers) tbody tr td:first-child')]"
    names = f"{column}.slice(0, 5).map((cell) => cell.textContent)"
    assert browser.run(names)[0] == "a"
    button = "document.querySelector('#detail table:not(.numbers) thead th:nth-child(1) button')"
    browser.run(f"{button}.click()")
    browser.run(f"{button}.click()")
    assert browser.run(names) == sorted(browser.run(names), reverse=True) and browser.run(names)[0] == "n"


def test_hostile_names_are_text(page: Page) -> None:
    browser, _, _ = page
    for target in (HOSTILE_TARGET, "label"):
        call(browser, "forebear.select", target)
        shown = browser.run("document.querySelector('main').textContent")
        assert HOSTILE_TARGET in shown and HOSTILE_INPUT in shown
    assert HOSTILE_LEVEL in shown
    assert browser.run("window.hacked === undefined && document.querySelectorAll('img').length === 0")


def test_figures_are_taken_along(page: Page, tmp_path: Path) -> None:
    browser, _, _ = page
    figures = browser.run("document.querySelectorAll('figure').length")
    assert figures >= 6
    for number in range(figures):
        one = f"document.querySelectorAll('figure .drawing > svg')[{number}]"
        text = browser.run(f"charts.standalone({one}).text")
        assert text.startswith("<svg") and "var(--" not in text and "#ffffff" in text
        size = browser.run(f"charts.asPng({one}).then((blob) => blob.size)")
        assert size > 1_000
    assert browser.run("document.documentElement.hasAttribute('data-export')") is False
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    browser.run("[...document.querySelectorAll('.tools button')].slice(0, 2).forEach((button) => button.click())")
    until = time.monotonic() + 10
    while sorted(file.name for file in tmp_path.iterdir()) != ["graph.png", "graph.svg"]:
        assert time.monotonic() < until, list(tmp_path.iterdir())
        time.sleep(0.05)


@pytest.mark.parametrize("look", [("light", "screen"), ("dark", "screen"), ("light", "print"), ("dark", "print")])
def test_light_dark_and_print(page: Page, look: tuple[str, str], tmp_path: Path) -> None:
    browser, _, _ = page
    browser.look(*look)
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 27)" if look == ("dark", "screen") else "rgb(255, 255, 255)")
    picture = browser.screenshot(tmp_path / "page.png")
    width, height = struct.unpack(">II", picture[16:24])
    assert width == 1280 and height > 2_000


def test_paper_shows_every_target(page: Page) -> None:
    browser, twin, _ = page
    seen = "window.seen = [...document.querySelectorAll('h2.target')].map((h) => h.textContent)"
    browser.run(f"addEventListener('beforeprint', () => {{ {seen} }})")
    browser.call("Page.printToPDF", printBackground=True)
    headings = browser.run("window.seen")
    assert len(headings) == len(twin.targets) and HOSTILE_TARGET in headings[-1]
    browser.wait("document.querySelectorAll('h2.target').length === 1")


def test_paper_keeps_together_what_belongs_together(page: Page) -> None:
    browser, _, _ = page
    browser.look("light", "print")
    style = "getComputedStyle(document.querySelector({}))"
    assert browser.run(f"{style}.breakInside".format("'.fans-legend'")) == "avoid"
    for first in ("div:has(> .fans-legend)", ".evidence thead", ".evidence tbody tr"):
        assert browser.run(f"{style}.breakAfter".format(repr(first))) == "avoid", first
    assert browser.run(f"{style}.breakBefore".format("'.evidence tbody tr:last-child'")) == "avoid"


def test_every_input_has_a_fan_chart_that_follows_the_sliders(page: Page) -> None:
    browser, twin, table = page
    charts = "[...document.querySelectorAll('.fans figure')]"
    titles = set(browser.run(f"{charts}.map((chart) => chart.querySelector('.title').textContent)"))
    assert titles == {f"Along {name}" for name in twin.ancestors["y"]}
    bands = f"{charts}.map((chart) => [...chart.querySelectorAll('.fan')].map((part) => part.outerHTML).join())"
    before = browser.run(bands)
    assert all("ninety" in drawn and "half" in drawn and "middle" in drawn for drawn in before)
    assert browser.run(f"{charts}.every((chart) => chart.querySelectorAll('.row').length > 100)")
    choice = "document.querySelector('.control select')"
    browser.run(f"{{const s = {choice}; s.value = 1 - s.value % 2; s.dispatchEvent(new Event('change'))}}")
    browser.wait(f"{bands}.join() !== {json.dumps(','.join(before))}")
    call(browser, "forebear.select", "label")
    # Probabilities of a label have no quantiles: a line each.
    assert browser.run("document.querySelectorAll('.fans .curve').length") == 2


def test_where_the_data_lies_is_what_python_says(page: Page) -> None:
    browser, twin, _ = page
    along = sweep(twin, "y", "a", [0.5], points=25, ends=(0.0, 1.0), exact=True)
    column = "forebear.twin.columns.find(({name}) => name === 'a')"
    given = [dict(zip(twin.inputs, row.tolist(), strict=True)) for row in along.rows]
    ours = browser.run(f"{json.dumps(given)}.map((row) => forebear.near('y', row, {column}))")
    assert np.mean(np.array(ours) == along.seen) > 0.9 and along.seen.any() and not along.seen.all()


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("51.5", 51.5),
        ("51,5", 51.5),
        (" −3,25 ", -3.25),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1 234,5", 1234.5),
    ],
)
def test_numbers_are_read_as_people_type_them(page: Page, typed: str, number: float) -> None:
    browser, _, _ = page
    assert call(browser, "explorer.read", typed) == number
    box = "document.querySelector('.control input.exact')"
    browser.run(f"{{const b = {box}; b.value = {json.dumps(typed)}; b.dispatchEvent(new Event('input'))}}")
    assert (
        browser.run("explorer.values.a") == number and browser.run(f"{box}.getAttribute('aria-invalid')") == "false"
    )
    browser.run(f"{{const b = {box}; b.value = '5,x'; b.dispatchEvent(new Event('input'))}}")
    assert browser.run("explorer.values.a") == number and browser.run(f"{box}.getAttribute('aria-invalid')") == "true"


def test_the_first_screen_tells_amounts_and_nothing_twice(page: Page) -> None:
    browser, twin, _ = page
    first = browser.run("[...document.querySelectorAll('.answer .told')].map((told) => told.textContent)")
    assert len(first) == len(twin.targets) and len(set(first)) == len(first)
    assert all(any(sign.isdigit() for sign in told) for told in first)
    browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    shown = browser.run("document.querySelector('main').textContent")
    assert all(shown.count(told) == 1 for told in first)
    items = browser.run("[...document.querySelectorAll('li, figcaption, p')].map((own) => own.textContent.trim())")
    long = [text for text in items if len(text) > 60]
    assert len(long) == len(set(long)), "a sentence stands on the page twice"


def test_slider_and_curve_share_a_phone_s_screen(page: Page) -> None:
    browser, _, _ = page
    browser.size(390, 800)
    browser.wait("document.querySelector('.explorer .law svg').viewBox.baseVal.width < 390")
    places = browser.run(
        "[...document.querySelectorAll('.control')].map((control) => {"
        "control.scrollIntoView({ block: 'end', behavior: 'instant' });"
        "const law = document.querySelector('.explorer .law .drawing').getBoundingClientRect();"
        "const own = control.getBoundingClientRect();"
        "return [law.top, law.bottom, own.top, own.bottom]; })"
    )
    for top, bottom, start, end in places:
        assert top >= 0 and bottom <= start + 1 and end <= 801
    # Letters are as large as on a desk.
    assert (
        browser.run(
            "document.querySelector('.fans svg').getBoundingClientRect().width / "
            "document.querySelector('.fans svg').viewBox.baseVal.width"
        )
        > 0.85
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(page: Page, width: int, scheme: str) -> None:
    file = os.environ.get("FOREBEAR_AXE")
    if not file:
        pytest.skip("FOREBEAR_AXE names no axe.min.js (npm pack axe-core)")
    browser, _, _ = page
    browser.size(width, 900)
    browser.look(scheme)
    browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    browser.call("Runtime.evaluate", expression=Path(file).read_text(encoding="utf-8"))
    told = "axe.run(document).then(({ violations }) => violations.map(({ id, impact }) => [id, impact]))"
    assert [found for found in browser.run(told) if found[1] in ("moderate", "serious", "critical")] == []


def test_bars_of_counts_stand_where_their_values_lie(page: Page) -> None:
    """With room for values that never came, and names at even steps."""
    browser, _, _ = page
    browser.run("forebear.select('count')")
    browser.wait("document.querySelector('.explorer .bar-fill') !== null")
    bars = browser.run(
        "[...document.querySelectorAll('.explorer .bar-fill')].map((bar) => "
        "[Number(bar.querySelector('title').textContent.split(':')[0]), bar.x.baseVal.value])"
    )
    values, places = np.array(bars).T
    assert np.diff(values).max() == 4  # from 6 to 10
    np.testing.assert_allclose(np.diff(places) / np.diff(values), (places[1] - places[0]), rtol=1e-3)
    named = browser.run(
        "[...document.querySelectorAll('.explorer .law svg text.tick')].map((text) => text.textContent)"
        ".filter((text) => /^[0-9]+$/.test(text)).map(Number)"
    )
    assert len(named) > 3 and len(set(np.diff([one for one in named if one > 0]))) == 1


def test_a_table_of_many_inputs_is_searched_and_opened(browser: Browser, tmp_path: Path) -> None:
    inputs = [f"s{i:02d}" for i in range(25)]
    small = verdict(0.41)._replace(limit=0.01)
    made_by_hand(["y"], inputs, {"y": inputs[7:9]}, verdict=Verdict("certified"), jointly=small).report(
        tmp_path / "report.html"
    )
    browser.problems.clear()
    browser.size(1280, 900)
    browser.open(tmp_path / "report.html")
    names = "[...document.querySelectorAll('.evidence tbody tr')].map((row) => row.cells[0].textContent)"
    assert browser.run(names)[:2] == ["s07", "s08"] and len(browser.run(names)) == 12
    browser.run(
        "[...document.querySelectorAll('.evidence button')].find((b) => b.textContent === 'Show all 25').click()"
    )
    assert len(browser.run(names)) == 25
    browser.run(
        "{const s = document.querySelector('.evidence input'); s.value = 's1';s.dispatchEvent(new Event('input'))}"
    )
    assert browser.run(names) == sorted(browser.run(names), key=browser.run(names).index)
    assert len(browser.run(names)) == 10
    folded = "document.querySelector('details.published')"
    assert browser.run(f"{folded}.open") is False
    assert "With 25 inputs one kernel" in browser.run(f"{folded}.textContent")
    assert browser.problems == []


def test_scores_by_variation_are_told_as_a_ranking(browser: Browser, tmp_path: Path) -> None:
    inputs = [f"s{i:02d}" for i in range(25)]
    found = made_by_hand(["y"], inputs, {"y": inputs[7:9]}, verdict=Verdict("certified"))
    settings = {**found.record.settings, "scores": "variation"}
    changed(found, settings=settings).report(tmp_path / "report.html")
    browser.problems.clear()
    browser.open(tmp_path / "report.html")
    told = browser.run("document.querySelector('details.published').textContent")
    assert "With 25 inputs one kernel" not in told and "0 for an input that does nothing" in told
    assert "Share of the fit's variation" in told and browser.problems == []


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_nothing_sticks_out(page: Page, width: int) -> None:
    browser, _, _ = page
    browser.size(width, 800)
    assert browser.run("document.documentElement.scrollWidth") <= width


def _with_verdicts() -> fb.Found:
    """Three targets, one for each verdict, with stand-ins and costs."""
    inputs = [f"a_long_name_of_a_sensor_{i}" for i in range(6)]
    curve = tuple(
        CurvePoint(tuple(inputs[:n]), 1.0, share) for n, share in ((3, 1.0), (2, 0.998), (1, 0.4), (0, 0.0))
    )
    cost = Cost(Difference(0.01, -0.01, 0.03), Difference(0.0, -0.1, 0.1), (1.0, 0.5), (0.99, 0.5), curve)
    small = verdict(0.41)._replace(limit=0.01)
    found = made_by_hand(
        ["good", "unsure", "bad"],
        inputs,
        dict.fromkeys(["good", "unsure", "bad"], inputs[:3]),
        verdict=Verdict("certified"),
        jointly=small,
        cost=cost,
        classes=((inputs[0], inputs[5]),),
    )
    told = dict(found.certified[0])
    told["unsure"] = replace(
        told["unsure"], verdict=Verdict("cannot tell", ("<i>one</i> is only just needed", "two"))
    )
    told["bad"] = replace(told["bad"], verdict=Verdict("something is missing", ("x shows",)), passes=False)
    settings = {**found.settings, "rows": "ordered", "rows_why": "neighbours are alike"}
    return changed(found, certified=(told,), settings=settings)


@pytest.mark.parametrize("width", [1200, 390])
def test_verdicts_limits_and_costs_are_shown(browser: Browser, tmp_path: Path, width: int) -> None:
    _with_verdicts().report(tmp_path / "report.html")
    browser.problems.clear()
    browser.size(width, 900)
    browser.open(tmp_path / "report.html")
    shown = "document.getElementById('detail').textContent"
    badges = browser.run("[...document.querySelectorAll('.answer .pill')].map((pill) => pill.textContent.slice(2))")
    assert badges == ["certified", "cannot tell", "something is missing"]
    assert "taken as ordered, because neighbours are alike." in browser.run("document.body.textContent")
    assert browser.run("document.querySelector('#detail .pill').textContent").endswith("certified")
    told = browser.run(shown)
    assert "2 of these 3 carry 99.8%" in told and "would do as well" in told and "95% interval" in told
    assert browser.run("document.querySelectorAll('svg.interval').length") == 6
    names = "[...document.querySelectorAll('.evidence tbody tr')].map((row) => [row.cells[0], row.cells[1]]"
    order = browser.run(f"{names}.map((cell) => cell.textContent))")
    # The stand-in stands below the input whose place it could take; then come those nearest to needed.
    assert [verdict for _, verdict in order] == [
        "needed",
        "stands in",
        "needed",
        "needed",
        "cannot tell",
        "cannot tell",
    ]
    assert order[1][0].endswith(f"or {browser.run('forebear.data.targets[0].classes[0][1]')}")
    assert browser.run("document.querySelectorAll('#graph .bracket title').length") == 1
    for target, pill, reasons in (("unsure", "cannot tell", 2), ("bad", "something is missing", 1)):
        call(browser, "forebear.select", target)
        assert browser.run("document.querySelector('#detail .pill').textContent").endswith(pill)
        shown = browser.run("[...document.querySelectorAll('#detail .why li')].map((item) => item.textContent)")
        assert len(shown) == reasons and shown[0] in ("<i>one</i> is only just needed.", "X shows.")
    assert browser.run("document.documentElement.scrollWidth") <= width and browser.problems == []


def test_two_hundred_targets(browser: Browser, tmp_path: Path) -> None:
    targets, inputs = [f"target {i}" for i in range(200)], [f"input {i}" for i in range(20)]
    ancestors = {t: inputs[i % 17 : i % 17 + i % 4] for i, t in enumerate(targets)}
    twin = full_size_twin(targets, inputs, ancestors)
    file = tmp_path / "report.html"
    made_by_hand(targets, inputs, ancestors).report(file, twin)
    browser.problems.clear()
    browser.open(file)
    assert browser.run("document.querySelectorAll('.answer').length") < 60
    assert "200 targets: 200 cannot tell;" in browser.run("document.querySelector('.lead').textContent")
    states = browser.run("[...document.querySelectorAll('.finder option')].map((option) => option.value)")
    assert states == ["", "cannot tell", "none", "some"]
    browser.run(
        "{const s = document.querySelector('input[type=search]'); s.value = 'target 17';"
        "s.dispatchEvent(new Event('input'))}"
    )
    assert browser.run("document.querySelectorAll('.answer').length") == 11
    seconds = browser.run(
        "(() => {const start = performance.now(); for (let i = 0; i < 40; i++) forebear.select('target ' + i);"
        "return (performance.now() - start) / 40 / 1000})()"
    )
    assert seconds < 0.5
    given = dict.fromkeys(inputs, 0.7)
    for target in ("target 3", "target 19", "target 199"):
        ours = call(browser, "forebear.quantile", target, given, LEVELS)
        theirs = twin.quantile({name: [0.7] for name in inputs}, LEVELS)[:, 0, targets.index(target)]
        assert ours == pytest.approx(theirs, abs=1e-3)
    assert browser.problems == []


def test_a_combination_that_no_row_has(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400)})
    frame["b"] = frame["a"] + 0.1 * rng.normal(size=400)
    frame["y"] = rng.normal(size=400)
    ancestors = {"y": ["a", "b"]}
    made_by_hand(["y"], ["a", "b"], ancestors).report(tmp_path / "report.html", toy_twin(frame, ancestors))
    browser.problems.clear()
    browser.open(tmp_path / "report.html")
    assert call(browser, "forebear.outside", "y", {"a": 1.5, "b": -1.5})["names"] == []
    assert call(browser, "forebear.lonely", "y", {"a": 1.5, "b": -1.5})
    assert not call(browser, "forebear.lonely", "y", {"a": 0.5, "b": 0.55})
    browser.run("{const s = document.getElementById('input-0'); s.value = 2; s.dispatchEvent(new Event('input'))}")
    browser.wait("document.querySelector('.status').textContent.startsWith('No row of the data is near')")
    assert browser.problems == []


def test_a_page_without_a_twin_says_how_to_get_one(browser: Browser, tmp_path: Path) -> None:
    made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, certified=False).report(tmp_path / "report.html")
    browser.problems.clear()
    browser.open(tmp_path / "report.html")
    shown = browser.run("document.body.textContent")
    assert "pass a twin: found.report" in shown and "makes no certificate" in shown
    assert browser.problems == [] and browser.run("document.title").startswith("y depends on a")


def test_rounded_numbers_are_a_curve_with_the_median_of_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=1_500), "b": rng.normal(size=1_500)})
    table["y"] = (10 * table["a"] + 5 * rng.normal(size=1_500)).round(1)
    quick: dict[str, Any] = {
        "distilled": 40,
        "nugget": 1.0,
        "lengthscale": 1.0,
        "latent_lengthscale": 1.0,
        "steps": 5,
    }
    found = fb.discover(table, "y", rule=lambda path: ("a",), width=8, depth=1, **quick)
    twin = found.twin(steps=60, width=16, depth=2, test=0).distil(500, 60)
    found.report(tmp_path / "report.html", twin=twin)
    with Browser(str(BINARY)) as browser:
        browser.open(tmp_path / "report.html")
        browser.wait("document.querySelector('.explorer .curve') !== null")
        assert browser.run("document.querySelectorAll('.explorer .bar-fill').length") == 0
        points = call(browser, "forebear.density", "y", {"a": 0.5})
        assert sum(point[2] for point in points) == pytest.approx(1, abs=1e-3)
        # Measurements that were rounded are continuous: no value has a mass of its own.
        assert not call(browser, "forebear.masses", "y", {"a": 0.5})
        half = twin.quantile({"a": [0.5]}, 0.5)[0, 0]
        assert sum(point[2] for point in points if point[0] <= half) == pytest.approx(0.5, abs=0.05)
        assert browser.problems == []


def test_a_page_about_inputs_with_gaps_is_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    table["y"] = table["a"] + table["b"] * rng.normal(size=400)
    table.loc[::20, "a"] = np.nan
    quick: dict[str, Any] = {
        "distilled": 40,
        "nugget": 1.0,
        "lengthscale": 1.0,
        "latent_lengthscale": 1.0,
        "steps": 5,
    }
    found = fb.discover(table, "y", rule=lambda path: ("a", "b"), width=8, depth=1, **quick)
    found.report(tmp_path / "report.html", twin=found.twin(steps=60, width=16, depth=2, test=0, law="flow"))
    with Browser(str(BINARY)) as browser:
        browser.open(tmp_path / "report.html")
        browser.wait("document.querySelector('.explorer .curve') !== null")
        assert browser.problems == []
        assert call(browser, "forebear.lonely", "y", {"a": 0.1, "b": 0.1}) is False
        assert call(browser, "forebear.lonely", "y", {"a": 9.0, "b": -9.0}) is True


@pytest.mark.parametrize(
    ("body", "dark"),
    [
        ('class="vscode-dark"', True),
        ('class="vscode-light"', False),
        ('class="vscode-high-contrast"', True),
        ('class="vscode-high-contrast-light"', False),
        ('data-jp-theme-light="false"', True),
        ('data-jp-theme-light="true"', False),
    ],
)
def test_the_explorer_in_a_cell_is_as_dark_as_the_notebook(tmp_path: Path, body: str, dark: bool) -> None:
    """Whatever the desk is: here it is the other way round."""
    inside = """<script>
        const dark = matchMedia("(prefers-color-scheme: dark)");
        const tell = () => parent.postMessage(`dark: ${dark.matches}`, "*");
        dark.addEventListener("change", tell);
        tell();
    </script>"""
    listen = "<script>addEventListener('message', ({ data }) => { document.title = data; })</script>"
    file = tmp_path / "cell.html"
    cell = Explorer(inside, ("y",))._repr_html_()
    file.write_text(f"<!doctype html>{listen}<body {body}>{cell}", encoding="utf-8")
    with Browser(str(BINARY), more=[] if dark else ["--force-dark-mode"]) as browser:
        browser.open(file)
        assert browser.run("matchMedia('(prefers-color-scheme: dark)').matches") is not dark
        browser.wait(f"document.title === 'dark: {str(dark).lower()}'")


@pytest.mark.slow
def test_targets_of_a_joint_law_are_drawn_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=1_000), "kind": rng.choice(["u", "v"], 1_000)})
    shared = rng.normal(size=1_000)
    table["y"] = table["a"] + shared
    table["n"] = rng.poisson(np.exp(0.3 * shared))
    quick: dict[str, Any] = {
        "distilled": 40,
        "nugget": 1.0,
        "lengthscale": 1.0,
        "latent_lengthscale": 1.0,
        "steps": 5,
    }
    found = fb.discover(table, ["y", "n"], rule=lambda path: path.candidates, joint=True, width=8, depth=1, **quick)
    twin = found.twin(steps=150, width=16, depth=2).distil(1_000, 150)
    assert twin.joint
    found.report(tmp_path / "report.html", twin=twin, **TINY)
    core, latents = twin.core(), np.array([[0.3, -1.2], [1.5, 0.4], [-0.7, 0.9]])
    row = pd.DataFrame({"a": [0.5] * 3, "kind": ["v"] * 3})
    inputs, noise = jnp.array([[0.5, 1.0]] * 3, jnp.float32), jnp.asarray(latents, jnp.float32)
    theirs = np.asarray(core.push(core.params, inputs, noise))
    assert twin.sample(row, n=1).shape == (1, 3, 2)
    with Browser(str(BINARY)) as browser:
        browser.open(tmp_path / "report.html")
        browser.wait("document.querySelectorAll('.speck').length > 250")
        ours = [call(browser, "forebear.together", {"a": 0.5, "kind": "v"}, z) for z in latents.tolist()]
        assert np.array(ours) == pytest.approx(theirs, abs=2e-3)
        before = browser.run("document.querySelector('.speck').getAttribute('cx')")
        browser.run(
            "{const s = document.getElementById('input-0'); s.value = 2; s.dispatchEvent(new Event('input'))}"
        )
        browser.wait(f"document.querySelector('.speck').getAttribute('cx') !== '{before}'")
        assert "Correlation" in browser.run("document.querySelector('.together').textContent")
        browser.screenshot(tmp_path / "joint.png")
        assert browser.problems == []


def test_all_targets_follow_one_set_of_sliders(page: Page) -> None:
    browser, twin, table = page
    browser.run("document.querySelector('details.all-targets summary').click()")
    browser.wait("document.querySelector('.overview tbody tr')")
    assert browser.run("document.querySelectorAll('.overview tbody tr').length") == len(twin.targets)
    browser.run(
        "{ const box = document.querySelector(\".overview [aria-label='a, exact value']\"); box.value = '53,5'; "
        "box.dispatchEvent(new Event('input')); }"
    )
    told = "[...document.querySelectorAll('.overview tbody tr')].find((r) => r.textContent.startsWith('y')).cells[2]"
    median = browser.run("forebear.quantile('y', explorer.values, [0.5])[0]")
    browser.wait(f"{told}.textContent === charts.fmt({json.dumps(median)})")
    # The sliders of the target that is selected are where these are.
    browser.wait("document.querySelector(\"#detail [aria-label='a, exact value']\").value === '53.5'")
    ids = browser.run("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(set(ids)) == len(ids)
