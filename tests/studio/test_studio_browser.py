"""The studio in a browser: from a messy CSV to a report and a twin, and whatever gets in between."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from browser import Browser, find_browser
from faults import SETTINGS
from reports import HOSTILE_INPUT
from studios import QUICK, Running, studio, table

BINARY = find_browser()
pytestmark = pytest.mark.skipif(
    BINARY is None, reason="no Chromium: install one, or set FOREBEAR_BROWSER to its path"
)
_SETTINGS = "\n".join(f"{name}={value}" for name, value in SETTINGS.items())


def messy(file: Path, rows: int = 240) -> None:
    """As a historian writes it: a mark at the start, semicolons, units, a running number, gaps, a constant."""
    rng = random.Random(0)
    lines = ["record;time;line;flow [m³/h];temp [°C];wind dir;oil;site;yield [%]"]
    for i in range(rows):
        flow, temp, oil = rng.gauss(50, 5), rng.gauss(80, 4), rng.choice("AB")
        made = 60 + 0.8 * (flow - 50) + 0.2 * rng.gauss(0, 1)
        gap = "" if rng.random() < 0.05 else f"{temp:.1f}"
        stamp = f"2026-03-{1 + i // 96:02d} {i % 96 // 4:02d}:{15 * (i % 4):02d}"
        lines.append(
            f"{i + 1};{stamp};L{rng.randint(1, 2)};{flow:.2f};{gap};{rng.uniform(0, 360):.0f};{oil};Kassel;{made:.2f}"
        )
    file.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    place = tmp_path_factory.mktemp("plant")
    messy(place / "plant.csv")
    table().rename(columns={"b": HOSTILE_INPUT}).to_csv(place / "hostile.csv", index=False)
    (place / "broken.csv").write_text("a,b\n1,2\n3,4,5,6\n")
    table(3).to_csv(place / "gap.csv", index=False)
    with studio(place) as running:
        yield running


@pytest.fixture(scope="module")
def opened(up: Running) -> Iterator[Browser]:
    assert BINARY is not None
    with Browser(BINARY) as browser:
        browser.look("light")
        browser.visit(up.url)
        browser.wait("document.querySelector('.drop')")
        yield browser


@pytest.fixture
def page(opened: Browser, up: Running) -> Iterator[Browser]:
    """The first screen; whatever a test does, no error may be left in the console, and nothing may have run."""
    opened.problems.clear()
    opened.size(1280, 900)
    go(opened, "")
    opened.run("sessionStorage.clear()")
    opened.wait("document.querySelector('.entry.file')")
    yield opened
    assert [problem for problem in opened.problems if "status of 4" not in problem] == []
    assert opened.run("window.hacked === undefined")


def go(browser: Browser, hash_: str) -> None:
    browser.run(f"location.hash = {json.dumps('#/' + hash_)}")


def choose(browser: Browser, name: str) -> None:
    """A file of the list, and wait for its columns."""
    entry = (
        f"[...document.querySelectorAll('.entry.file')].find((one) => one.textContent.includes({json.dumps(name)}))"
    )
    browser.run(f"{entry}.click()")
    browser.wait("document.querySelector('.ask select')", 60)


def put(browser: Browser, selector: str, value: str) -> None:
    """A value in a field, as a person leaves it."""
    browser.run(
        f"{{ const field = document.querySelector({json.dumps(selector)}); field.value = {json.dumps(value)}; "
        "field.dispatchEvent(new Event('change', {bubbles: true})); }"
    )


def pick(browser: Browser, value: str, beside: str) -> None:
    """In the select that also offers something else."""
    browser.run(
        "{ const box = [...document.querySelectorAll('select')].find((one) => [...one.options].some((option) => "
        f"option.value === {json.dumps(beside)})); box.value = {json.dumps(value)}; "
        "box.dispatchEvent(new Event('change')); }"
    )


def press(browser: Browser, label: str) -> None:
    """The button with this label."""
    browser.run(
        f"[...document.querySelectorAll('button')].find((b) => b.textContent === {json.dumps(label)}).click()"
    )


def tab_to(browser: Browser, condition: str) -> None:
    """Tab by tab, until a condition holds of the element that has the focus."""
    for _ in range(90):
        browser.press("Tab", 9)
        if browser.run(f"((it) => {condition})(document.activeElement)"):
            assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"no key leads to {condition}")


def set_up(browser: Browser, target: str, laws: bool = False, rule: str = "nsr-jump") -> None:
    """A search of seconds."""
    put(browser, ".ask select", target)
    put(browser, "textarea", _SETTINGS)
    pick(browser, rule, "nsr-jump")
    if not laws:
        browser.run("document.getElementById('laws').click()")


def start(browser: Browser) -> str:
    """Start it; the name of the run."""
    ready = "document.querySelector('.foot[aria-busy=false] .primary:not(:disabled)')"
    browser.wait(ready, 60)
    browser.run("new Promise((resolve) => setTimeout(resolve, 500))")  # what was typed last is asked a moment later
    browser.wait(ready, 60)
    browser.run(f"{ready}.click()")
    browser.wait("location.hash.startsWith('#/run/')", 30)
    return browser.run("decodeURIComponent(location.hash.slice(6))")


def finished(browser: Browser) -> None:
    browser.wait(
        "document.querySelector('iframe.report') || document.querySelector('main .wrong:not([hidden])')", 240
    )
    assert browser.run("document.querySelector('main .wrong:not([hidden])')?.textContent ?? ''") == ""


def test_from_a_messy_csv_to_a_report_and_a_twin(page: Browser, up: Running) -> None:
    choose(page, "plant.csv")
    told = page.run("document.querySelector('table.columns').textContent")
    for part in ("flow [m³/h]", "identifier", "constant", "timestamp", "Kassel"):
        assert part in told
    # An angle is said to be one, and the clock of the rows is used.
    put(page, "[aria-label='Kind of wind dir']", "periodic")
    put(page, "[aria-label='Use oil as']", "out")
    set_up(page, "yield [%]", laws=True, rule="certified")
    name = start(page)
    finished(page)
    run = up.run(name)
    assert run["state"] == "done" and run["answers"][0]["ancestors"][0] == "flow [m³/h]"
    asked = up.get(f"/api/runs/{name}")["asked"]
    assert asked["periodic"] == {"wind dir": 360} and asked["exclude"] == ["oil"]
    assert page.run("document.querySelector('iframe.report').sandbox.value") == "allow-scripts allow-downloads"
    page.wait("document.querySelector('[data-file=\"twin.zip\"]')")
    page.run("document.querySelector('[data-file=\"twin.zip\"]').click()")
    page.wait("document.querySelector('[href$=\"files/twin.zip\"]')", 240)
    archive = up.server.ask(f"/api/runs/{name}/files/twin.zip")
    with zipfile.ZipFile(BytesIO(archive.body)) as opened:
        assert "twin/twin.json" in opened.namelist()


def test_a_dropped_file(page: Browser, up: Running) -> None:
    content = (up.folder / "plant.csv").read_text(encoding="utf-8")
    page.run(
        f"{{ const box = new DataTransfer(); box.items.add(new File([{json.dumps(content)}], 'Plant ä.csv'));"
        "const event = new DragEvent('drop', { dataTransfer: box, bubbles: true });"
        "document.querySelector('.drop').dispatchEvent(event); }"
    )
    page.wait("document.querySelector('table.columns')", 60)
    assert page.run("document.querySelector('h1').textContent") == "Plant ä.csv"


def test_a_wrong_file(page: Browser, up: Running) -> None:
    page.run("[...document.querySelectorAll('.entry.file')].find((e) => e.textContent.includes('broken')).click()")
    page.wait("document.querySelector('main .wrong')", 60)
    assert "broken.csv" in page.run("document.querySelector('main .wrong').textContent")
    assert page.run("document.querySelector('a.primary').textContent") == "Choose another file"
    page.run(
        "{ const box = new DataTransfer(); box.items.add(new File(['MZ'], 'setup.exe'));"
        "location.hash = '#/'; setTimeout(() => document.querySelector('.drop').dispatchEvent("
        "new DragEvent('drop', { dataTransfer: box, bubbles: true })), 300); }"
    )
    page.wait("document.querySelector('main .wrong:not([hidden])')?.textContent.includes('setup.exe')", 20)


def test_a_gap(page: Browser, up: Running) -> None:
    """Gaps are counted; who refuses them is told where they are, and cannot start."""
    choose(page, "plant.csv")
    put(page, ".ask select", "yield [%]")
    page.wait("document.querySelector('.foot .primary:not(:disabled)')", 60)
    pick(page, "refuse", "refuse")
    page.wait("document.querySelector('.problems li')", 60)
    assert "temp [°C]" in page.run("document.querySelector('.problems').textContent")
    assert page.run("document.querySelector('.foot .primary').disabled")


def test_cancel(page: Browser, up: Running) -> None:
    name = up.start(
        "plant.csv", {**QUICK, "targets": ["yield [%]"], "candidates": ["flow [m³/h]", "wind dir"], "runs": 60}
    )
    go(page, f"run/{name}")
    page.wait("document.querySelector('#line')?.textContent.includes('%')", 60)
    press(page, "Cancel")
    press(page, "Yes, cancel")
    page.wait("document.querySelector('h1').textContent === 'This run was cancelled'", 30)
    assert up.ended(name, "cancelled")
    assert page.run("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Go on')")


def test_two_tabs(page: Browser, up: Running) -> None:
    """What one starts the other sees; what one cancels is cancelled in both."""
    assert BINARY is not None
    with Browser(BINARY) as other:
        other.visit(up.url)
        other.run("location.hash = '#/runs'")
        name = up.start("plant.csv", {**QUICK, "targets": ["yield [%]"], "candidates": ["flow [m³/h]"], "runs": 60})
        go(page, f"run/{name}")
        other.wait(f"[...document.querySelectorAll('.card a')].some((a) => a.hash.endsWith({json.dumps(name)}))", 30)
        up.post(f"/api/runs/{name}/cancel", {})
        for tab in (page, other):
            tab.wait("document.querySelector('main').textContent.includes('cancelled')", 30)


def test_a_browser_that_is_closed_and_another_that_comes_back(up: Running) -> None:
    """A run does not need anybody who looks at it; who comes back finds it, at work or done."""
    assert BINARY is not None
    with Browser(BINARY) as first:
        first.visit(up.url)
        first.wait("document.querySelector('.entry.file')")
        choose(first, "plant.csv")
        set_up(first, "yield [%]")
        name = start(first)
    with Browser(BINARY) as second:
        second.visit(up.url)
        second.wait("document.querySelector('.entry.file')")
        go(second, "runs")
        card = f"[...document.querySelectorAll('.card a')].find((a) => a.hash.endsWith({json.dumps(name)}))"
        second.wait(card, 30)
        second.run(f"{card}.click()")
        finished(second)
    assert "flow [m³/h]" in up.run(name)["answers"][0]["ancestors"]


def test_a_hostile_column_name(page: Browser, up: Running) -> None:
    choose(page, "hostile.csv")
    assert page.run("[...document.querySelectorAll('th.name')].map((th) => th.textContent)") == [
        "a",
        HOSTILE_INPUT,
        "c",
        "y",
        "s",
    ]
    set_up(page, "y", laws=False)
    name = start(page)
    finished(page)
    assert up.run(name)["answers"][0]["ancestors"] == [HOSTILE_INPUT]
    go(page, "runs")
    page.wait("document.querySelector('.answer-line')")
    assert page.run("document.querySelectorAll('main script, main img').length") == 0


@pytest.mark.slow
def test_compare_two(page: Browser, up: Running) -> None:
    names = [up.start("hostile.csv", {**QUICK, "candidates": ["a", "c"], "seed": seed}) for seed in (1, 2)]
    for name in names:
        up.ended(name)
    go(page, "runs")
    page.wait(f"document.getElementById({json.dumps('pick-' + names[1])})", 30)
    for name in names:
        page.run(f"document.getElementById({json.dumps('pick-' + name)}).click()")
    press(page, "Compare two")
    page.wait("document.querySelector('table.compare')", 60)
    assert page.run("[...document.querySelectorAll('tr.differs th')].some((th) => th.textContent.startsWith('seed'))")


def test_keyboard_only(page: Browser, up: Running) -> None:
    """From the first screen to a running search, and to its end, without a mouse: Tab, Enter, letters."""
    tab_to(page, "it.matches('.path input')")
    page.call("Input.insertText", text="hostile.csv")
    page.press("Enter", 13)
    page.wait("document.querySelector('.ask select')", 60)
    tab_to(page, "it.matches('.ask select')")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="y", text="y", windowsVirtualKeyCode=89)
    page.wait("document.querySelector('.foot .primary:not(:disabled)')", 60)
    tab_to(page, "it.textContent === 'Start'")
    page.press("Enter", 13)
    page.wait("document.querySelector('.stages')", 30)
    name = page.run("decodeURIComponent(location.hash.slice(6))")
    tab_to(page, "it.textContent === 'Cancel'")
    page.press("Enter", 13)
    assert page.run("document.activeElement.textContent") == "Yes, cancel"
    page.press("Enter", 13)
    up.ended(name, "cancelled")


@pytest.mark.parametrize("screen", ["", "columns?file=plant.csv", "runs"])
def test_nothing_is_wider_than_a_phone(screen: str, page: Browser) -> None:
    page.size(390, 800)
    go(page, screen)
    page.wait("document.querySelector('table.columns, .cards, .drop')", 60)
    assert page.run("document.documentElement.scrollWidth") <= 390


def test_a_restarted_server_is_told(tmp_path: Path) -> None:
    assert BINARY is not None
    table().to_csv(tmp_path / "data.csv", index=False)
    with Browser(BINARY) as browser, studio(tmp_path) as up:
        browser.visit(up.url)
        browser.wait("document.querySelector('.entry.file')")
        up.kill()
        browser.wait("!document.getElementById('trouble').hidden", 30)
        assert "does not answer" in browser.run("document.getElementById('trouble').textContent")


def test_a_number_becomes_a_label_and_a_text_a_number(page: Browser, up: Running) -> None:
    data = table()
    data["code"], data["size"] = [3, 1, 2, 3] * 100, ["1.5", "2", "x", "3"] * 100
    data["flag"] = ["1", "2", "3", "B"] * 100
    data.to_csv(up.folder / "codes.csv", index=False)
    go(page, "columns?file=codes.csv")
    page.wait("document.querySelector('.ask select')", 60)
    put(page, ".ask select", "y")
    put(page, "[aria-label='Kind of code']", "category")
    page.wait("document.querySelector('table.columns').textContent.includes('3, 1, 2')", 60)
    put(page, "[aria-label='Kind of size']", "real")
    page.wait("document.querySelector('.problems li')?.textContent.includes(\"it holds 'x' in row 3\")", 60)
    put(page, "[aria-label='Kind of size']", "")
    # A column that could not be used as it is can be used as labels.
    page.wait("document.querySelector('.problems li')?.textContent.includes('text among its numbers')", 60)
    put(page, "[aria-label='Kind of flag']", "category")
    put(page, "[aria-label='Use size as']", "out")
    set_up(page, "y")
    name = start(page)
    assert up.ended(name)["state"] == "done"
    assert up.get(f"/api/runs/{name}")["asked"]["exclude"] == ["size"]
    assert up.get(f"/api/runs/{name}")["asked"]["kinds"] == {"code": "category", "flag": "category"}
    # And back into the table, as it was.
    go(page, f"columns?file=codes.csv&again={name}")
    page.wait("document.querySelector(\"[aria-label='Kind of code']\")?.value === 'category'", 60)


def test_a_record_in_time(page: Browser, up: Running) -> None:
    go(page, "columns?file=hostile.csv")
    page.wait("document.querySelector('.ask select')", 60)
    put(page, "#rows", "trajectory")
    page.wait("document.querySelector('[aria-label=\"Use a as\"] option[value=target]').textContent.includes('next')")
    put(page, "[aria-label='Use c as']", "out")
    put(page, "[aria-label='Use s as']", "out")
    set_up(page, "y")
    name = start(page)
    run = up.ended(name)
    assert run["targets"] == ["d_y"]
    past = up.get(f"/api/runs/{name}")["asked"]["trajectory"]
    assert past == {"state": ["y"], "action": ["a", HOSTILE_INPUT], "lags": 3, "missing": "model"}
    go(page, f"columns?file=hostile.csv&again={name}")
    page.wait("document.querySelector('#rows')?.value === 'trajectory'", 60)
    uses = "[...document.querySelectorAll('[aria-label$=\" as\"]')].map((box) => box.value)"
    page.wait(f"{uses}.join() === 'input,input,out,target,out'", 60)


def test_a_run_is_deleted_after_a_question(page: Browser, up: Running) -> None:
    names = [up.start("hostile.csv", {**QUICK, "candidates": ["a", "c"], "seed": seed}) for seed in (5, 6)]
    for name in names:
        up.ended(name)
    go(page, "runs")
    button = f"document.getElementById({json.dumps('delete-' + names[0])})"
    page.wait(button, 30)
    page.run(f"{button}.click()")
    assert "for good" in page.run("document.querySelector('.sure').textContent")
    assert page.run("document.activeElement.textContent") == "Yes, delete it"
    press(page, "Keep it")
    assert page.run(f"document.activeElement === {button}")
    page.run(f"{button}.click()")
    press(page, "Yes, delete it")
    page.wait(f"!{button} && !document.querySelector('.sure')", 30)
    assert up.server.ask(f"/api/runs/{names[0]}").status == 404
    # On the page of the run itself, too; and another name before that.
    go(page, f"run/{names[1]}")
    page.wait("document.querySelector('.keeping')", 30)
    page.run("document.querySelector('.keeping').open = true")
    put(page, "#name", "Line 2 <b>")
    press(page, "Rename")
    page.wait("document.querySelector('main .muted').textContent.includes('Line 2 <b>')", 30)
    page.run("document.querySelector('.keeping').open = true")
    press(page, "Delete this run")
    press(page, "Yes, delete it")
    page.wait("document.querySelector('h1').textContent === 'There is no such run'", 30)
