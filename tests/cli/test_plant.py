"""A plant's table as it comes goes from file to the right answer with one command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forebear.cli import main


def write_plant(file: Path, rows: int = 3_000, seed: int = 0) -> None:
    """Semicolons, decimal commas, units, a timestamp, an identifier, gaps, a copy, a constant, a category, counts.

    The yield follows the temperature, the pressure its spread, and the grade of the feed.
    """
    rng = np.random.default_rng(seed)
    temperature = 80 + 4 * rng.normal(size=rows)
    pressure = 5 + rng.gamma(2.0, 0.8, rows)
    feed = rng.choice(["A", "B", "C"], rows)
    outcome = 0.5 * temperature + 2.0 * (feed == "C") + 0.4 * pressure * rng.normal(size=rows)
    table = pd.DataFrame(
        {
            "Zeit": pd.date_range("2026-03-01", periods=rows, freq="10min").strftime("%d.%m.%Y %H:%M"),
            "batch_id": [f"B{i:06d}" for i in rng.permutation(rows)],
            "Temp. [°C]": temperature.round(2),
            "Temp. [K]": (temperature.round(2) + 273.15).round(2),
            "Druck [bar]": pressure.round(3),
            "Durchfluss [m3/h]": (30 + 0.8 * (temperature - 80) + 3 * rng.normal(size=rows)).round(1),
            "Alarme": rng.poisson(1.5, rows),
            "feed": feed,
            "plant": "north",
            "yield (%)": outcome.round(2),
        }
    )
    for name in ("Temp. [°C]", "Druck [bar]", "Durchfluss [m3/h]"):
        table[name] = table[name].mask(rng.random(rows) < 0.03)
    table.to_csv(file, sep=";", decimal=",", index=False, encoding="utf-8")


def test_one_command_from_file_to_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_plant(tmp_path / "plant.csv")
    assert main(["discover", str(tmp_path / "plant.csv"), "--target", "yield (%)", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    chosen = document["targets"]["yield (%)"]["ancestors"]
    # The two temperatures are one: that with fewer gaps stays, and the other is named as its stand-in.
    assert chosen == ["Temp. [K]", "Druck [bar]", "feed"]
    assert ["Temp. [K]", "Temp. [°C]"] in document["targets"]["yield (%)"]["classes"]
    roles = {use["name"]: (use["role"], use["why"]) for use in document["table"]["columns"]}
    assert roles["Zeit"] == ("left out", "timestamp, every 10 min")
    assert roles["batch_id"] == ("left out", "identifier") and roles["plant"] == ("left out", "constant")
    assert roles["Alarme"] == ("candidate", "") and roles["Temp. [°C]"] == ("left out", "copy of 'Temp. [K]'")


def test_check_shows_the_same_and_reads_the_file_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plant(tmp_path / "plant.csv", rows=400)
    reads = []
    read = pd.read_csv
    monkeypatch.setattr(pd, "read_csv", lambda *given, **how: reads.append(1) or read(*given, **how))
    place = str(tmp_path / "plant.csv")
    assert main(["check", place, "--target", "yield (%)", "--candidate", "T*", "--exclude", "Alarme"]) == 0
    shown = capsys.readouterr().out
    assert "excluded" in shown and "copy of" in shown and "Next: forebear discover" in shown
    assert len(reads) == 1
    assert main(["check", place, "--target", "yield [%]", "--candidate", "plant", "--candidate", "Druck"]) == 1
    shown = capsys.readouterr().out
    assert "3 things are in the way" in shown and "'yield (%)'" in shown and "'Druck [bar]'" in shown
