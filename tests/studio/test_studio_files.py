"""What can be taken away from a run: every file is what it says, whole, and made once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd
import pytest
from studios import table

import forebear as fb
from forebear.errors import InputError
from forebear.run.events import Progress
from forebear.studio.files import FILES, make, place_of, ready
from forebear.studio.worker import parts_of_report

TINY = {"steps": 20, "width": 8, "depth": 1}
BEGIN = {
    "figure.png": b"\x89PNG",
    "figure.svg": b"<?xml",
    "twin.zip": b"PK",
    "twin.fmu": b"PK",
    "report.html": b"<!doctype",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    quick = {"distilled": 60, "folds": 1, "nugget": 1.0, "lengthscale": 1.0}
    fb.discover(table(), "y", rule="nsr-jump", out=folder, progress=False, **TINY, **quick)
    return folder


@pytest.mark.parametrize("name", ["report.html", "found.csv", "figure.png", "figure.svg"])
def test_files_that_need_no_twin(name: str, run: Path) -> None:
    found = fb.load(run)
    if name == "report.html":
        found.report(place_of(run, name), twin=False)
    else:
        make(name, found, run)
    content = place_of(run, name).read_bytes()
    assert content.startswith(BEGIN.get(name, b"target,")) and name in ready(run)
    assert not list(run.rglob("*.scratch"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("twin.")])
def test_twins(name: str, run: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    make(name, fb.load(run), run)
    file = place_of(run, name)
    assert file.read_bytes().startswith(BEGIN.get(name, b"")) and not list(run.rglob("*.scratch"))
    if name == "twin.zip":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(tmp_path)
        twin = fb.load_twin(tmp_path / "twin")
        given = {column: [0.0] for column in twin.inputs}
        assert twin.sample(pd.DataFrame(given), n=5).shape[0] == 5


def test_there_is_no_other_file(run: Path) -> None:
    with pytest.raises(InputError, match="there is no file '../x'"):
        make("../x", fb.load(run), run)


def test_the_bar_of_a_report_never_goes_back() -> None:
    heard: list[float] = []
    listen = parts_of_report(lambda event: heard.append(event.share) if isinstance(event, Progress) else None)
    for share in (0.1, 0.9, 1.0, 0.2, 1.0, 0.1, 0.5, 1.0, 0.3, 1.0):
        listen(Progress("training the twin", share))
    assert heard == sorted(heard) and heard[-1] < 1
