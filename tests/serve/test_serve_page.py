"""The page of a served twin in a real browser: sliders made from the schema, laws that follow, calls to copy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from browser import Browser, find_browser
from plant import plant_served, plant_twin
from served import Served

BINARY = find_browser()
pytestmark = pytest.mark.skipif(BINARY is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with plant_served(tmp_path_factory.mktemp("page") / "twin") as (server, _):
        yield server


@pytest.fixture(scope="module")
def page(up: Served) -> Iterator[Browser]:
    assert BINARY is not None
    with Browser(BINARY) as browser:
        browser.call("Page.navigate", url=f"{up.bound.url}?token={up.access.token}")
        browser.wait("document.querySelectorAll('.law svg').length === 3", 30)
        yield browser
        # Bad input is answered with 422, which a browser notes; everything else came from the server itself.
        expected = (f"asked for {up.bound.url}", "Failed to load resource: the server responded with a status of 422")
        strange = [line for line in browser.problems if not line.startswith(expected)]
        assert strange == []


def told(page: Browser) -> str:
    return page.run("document.querySelector('.law p').textContent")


def settled(page: Browser, before: str) -> str:
    page.wait(f"document.querySelector('.law p').textContent !== {json.dumps(before)}")
    return told(page)


def test_there_is_an_input_for_each_column_and_a_law_for_each_target(page: Browser) -> None:
    labels = page.run("[...document.querySelectorAll('#inputs label')].map((one) => one.textContent)")
    assert labels == ["load t", "mode", "heading", "oil"]
    assert page.run("[...document.querySelectorAll('#inputs select option')].map((o) => o.textContent)") == [
        "eco",
        "full",
        "off",
    ]
    assert page.run("[...document.querySelectorAll('.law h2')].map((one) => one.textContent)") == [
        "power",
        "trips",
        "state",
    ]
    assert "Mean" in told(page) and "kW" in told(page)
    assert "good" in page.run("document.querySelectorAll('.law p')[4].textContent")
    assert page.run("location.search") == ""  # the token is gone from the address


def test_a_slider_moves_the_law_and_the_number(page: Browser) -> None:
    before = told(page)
    page.run("document.querySelector('#inputs input[type=range]').focus()")
    for _ in range(40):
        page.press("ArrowRight", 39)
    after = settled(page, before)
    number = page.run("Number(document.querySelector('#input-0').value)")
    mean = plant_twin().mean({"load": [number], **given(page)})[0, 0]
    assert after.startswith(f"Mean {float(f'{mean:.4g}'):g} kW")


def given(page: Browser) -> dict[str, list[float]]:
    values = page.run("['input-2', 'input-3'].map((id) => Number(document.getElementById(id).value))")
    mode = page.run("document.querySelector('#inputs select').selectedOptions[0].textContent")
    return {"heading": [values[0]], "oil": [values[1]], "mode": [mode]}


def test_far_values_are_told_and_bad_ones_say_what_is_wrong(page: Browser) -> None:
    set_value(page, "input-0", "400")
    page.wait("!document.getElementById('note').hidden")
    assert "'load' is 400" in page.run("document.getElementById('note').textContent")
    assert page.run("document.getElementById('input-0').classList.contains('far')")
    set_value(page, "input-0", "")
    page.wait("!document.getElementById('trouble').hidden")
    assert "column 'load' has no value in row 1" in page.run("document.getElementById('trouble').textContent")
    set_value(page, "input-3", "")  # oil may be missing
    set_value(page, "input-0", "2")
    page.wait("document.getElementById('trouble').hidden && document.getElementById('note').hidden")
    set_value(page, "n", "10000000")
    page.wait("!document.getElementById('trouble').hidden")
    assert "n must be a whole number" in page.run("document.getElementById('trouble').textContent")
    set_value(page, "n", "500")
    page.wait("document.getElementById('trouble').hidden")


def set_value(page: Browser, id: str, value: str) -> None:
    page.run(f"(() => {{ const one = document.getElementById('{id}'); one.value = '{value}';"
             " one.dispatchEvent(new Event('input')); })()")  # fmt: skip


@pytest.mark.parametrize("way", ["curl", "python"])
def test_the_calls_do_the_same(way: str, page: Browser, up: Served) -> None:
    call = page.run(f"document.getElementById('{way}').textContent")
    words = ["sh", "-c", call] if way == "curl" else [sys.executable, "-c", f"{call}\nprint(json.dumps(draws))"]
    done = subprocess.run(
        words, capture_output=True, text=True, env={"TOKEN": up.access.token, "PATH": "/usr/bin:/bin"}
    )
    if way == "curl" and ("not found" in done.stderr or "unknown" in done.stderr):
        pytest.skip("no curl, or one without --json")
    draws = json.loads(done.stdout)
    draws = draws["draws"] if way == "curl" else draws
    assert len(draws["power"][0]) == 500 and set(draws) == {"power", "trips", "state"}


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_a_phone(width: int, page: Browser) -> None:
    page.size(width, 800)
    assert page.run("document.documentElement.scrollWidth") <= width
    page.wait("[...document.querySelectorAll('svg text')].every((t) => t.getBoundingClientRect().height >= 10)")


def test_everything_is_reached_by_keyboard(page: Browser) -> None:
    page.run("document.activeElement.blur()")
    reached = []
    for _ in range(40):
        page.press("Tab", 9)
        reached.append(
            page.run("document.activeElement.id || document.activeElement.className || document.activeElement.type")
        )
    assert {"skip", "range", "input-0", "input-1", "n", "seed", "level", "curl", "python"} <= set(reached)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd
    from toys import toy_twin

    evil = "<img src=x onerror=alert(1)>'\"`${1}"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=[evil, "</script><b>y"])
    toy_twin(frame, {"</script><b>y": (evil,)}).save(tmp_path / "twin")
    assert BINARY is not None
    with plant_served(tmp_path / "twin") as (server, _), Browser(BINARY) as browser:
        browser.call("Page.navigate", url=f"{server.bound.url}?token={server.access.token}")
        browser.wait("document.querySelectorAll('.law svg').length === 1", 30)
        assert browser.run("document.querySelectorAll('img, b').length") == 0
        assert browser.run("document.querySelector('#inputs label').textContent") == evil
        call = browser.run("document.getElementById('python').textContent")
        done = subprocess.run(
            [sys.executable, "-c", f"{call}\nprint(len(draws))"],
            capture_output=True,
            text=True,
            env={"TOKEN": server.access.token},
        )
        assert done.stdout == "1\n", done.stderr
