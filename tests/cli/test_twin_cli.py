"""`forebear sample`: draws as a table, from a run or from a twin, or one line and status 2."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick import TINY

import forebear as fb
from forebear.cli import main
from forebear.twin.fit import fit_twin

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, a twin and rows to ask about."""
    home = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    table["y"] = table["a"] * rng.normal(size=300)
    table["count"] = rng.poisson(2.0, 300)
    table["label"] = rng.choice(["u", "v"], 300)
    found = fb.discover(
        table,
        ["y", "count", "label"],
        rule=lambda path: ("a",),
        sampler="gaussian",
        distilled=40,
        nugget=1.0,
        lengthscale=1.0,
        out=home / "run",
        **TINY,
    )
    found.twin(**TINY).save(home / "twin")
    found.twin(**TINY).save(home / "run" / "twin")
    table[["b", "a"]].head(3).to_csv(home / "rows.csv", index=False)
    pd.DataFrame({"A": table["b"].head(3)}).to_csv(home / "wrong.csv", index=False)
    return home


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(home)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_draws_go_to_standard_output(cli: Cli, home: Path) -> None:
    status, out, err = cli("sample", "twin", "--given", "rows.csv", "--n", "4", "--seed", "7")
    assert (status, err) == (0, "")
    draws = pd.read_csv(StringIO(out))
    assert list(draws) == ["row", "draw", "y", "count", "label"]
    assert draws["row"].tolist() == [1] * 4 + [2] * 4 + [3] * 4
    assert draws["draw"].tolist() == [1, 2, 3, 4] * 3
    assert draws["count"].dtype.kind == "i" and set(draws["label"]) <= {"u", "v"}
    direct = fb.load_twin(home / "twin").sample(str(home / "rows.csv"), n=4, seed=7)
    assert draws["y"].to_numpy().reshape(3, 4).T == pytest.approx(direct[:, :, 0])


@pytest.mark.parametrize("name", ["draws.csv", "draws.parquet"])
def test_draws_go_to_a_file(cli: Cli, home: Path, name: str) -> None:
    status, out, err = cli("sample", "run", "--given", "rows.csv", "--n", "2", "--out", name)
    assert (status, out) == (0, "") and f"6 draws are in {name}" in err
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    assert read(home / name).shape == (6, 5)
    assert not [file for file in home.iterdir() if file.name.startswith(".")]


def test_a_run_without_a_twin_gets_one(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fb.Found.twin
    monkeypatch.setattr(fb.Found, "twin", lambda self: whole(self, **TINY))
    fb.load(home / "run").save(home / "second")
    status, first, err = cli("sample", "second", "--given", "rows.csv")
    assert status == 0 and "it will be kept in second/twin" in err
    assert (home / "second" / "twin" / "twin.json").is_file()
    monkeypatch.setattr(fb.Found, "twin", None)
    assert cli("sample", "second", "--given", "rows.csv") == (0, first, "")


def test_rows_that_a_twin_could_not_use_are_refused_before_it_is_fitted(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fb.load(home / "run").save(home / "early")
    monkeypatch.setattr(fb.Found, "twin", None)
    status, out, err = cli("sample", "early", "--given", "wrong.csv")
    assert (status, out, err) == (2, "", "forebear: wrong.csv: no column 'a'. Did you mean 'A'?\n")


def test_sample_and_report_share_one_twin(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fitted once, and judged on rows that it has not seen."""
    found = fb.load(home / "run")
    found.save(home / "third")
    fits: list[str] = []
    whole = fit_twin

    def fit(table: Any, inputs: Any, **options: Any) -> fb.Twin:
        fits.append("full" if len(inputs["y"]) > 1 else "pruned")
        return whole(table, inputs, **options)

    monkeypatch.setattr("forebear.api.twins.fit_twin", fit)
    twin = found.twin(**TINY)
    assert cli("sample", "third", "--given", "rows.csv", "--n", "1")[0] == 0
    assert fits == ["pruned"]
    status, _, err = cli("report", "third")
    assert status == 0 and "fitting the laws of the page" in err
    assert fits == ["pruned", "full"]
    page = (home / "third" / "report.html").read_text(encoding="utf-8")
    assert f'"judged":{{"rows":{len(twin.test_rows)},"what":"rows set aside before the twins were fitted"}}' in page
    assert cli("report", "third", "--out", "again.html")[2] == "" and fits == ["pruned", "full"]
    assert (home / "again.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "--given", "rows.csv"), "nowhere: neither a finished run (found.json) nor a twin"),
        (("twin", "--given", "wrong.csv"), "wrong.csv: no column 'a'. Did you mean 'A'?"),
        (("twin", "--given", "none.csv"), "none.csv: no such file"),
        (("twin",), "--given is missing"),
        (("twin", "--given", "rows.csv", "--n", "0"), "--n"),
        (("twin", "--given", "rows.csv", "--out", "d.txt"), "--out d.txt: the ending must be .csv or .parquet"),
        (
            ("twin", "--given", "rows.csv", "--out", "no/d.csv"),
            "--out no/d.csv: there is no folder no",
        ),
    ],
)
def test_bad_input_is_told_in_one_line(cli: Cli, home: Path, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(home.iterdir())
    status, out, err = cli("sample", *arguments)
    assert (status, out) == (2, "")
    assert message in err and err.count("\n") == 1
    assert sorted(home.iterdir()) == before
