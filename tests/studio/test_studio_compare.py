"""Two runs side by side: only rows that say something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import made_by_hand

from forebear.discovery.verdict import Verdict
from forebear.studio.compare import compared

SURE, UNSURE = Verdict("certified"), Verdict("cannot tell", ("one is only just needed",))


def lines(tmp_path: Path, verdicts: tuple[Verdict, Verdict]) -> dict[str, Any]:
    folders = [tmp_path / name for name in ("one", "other")]
    for folder, verdict in zip(folders, verdicts, strict=True):
        made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, verdict=verdict).save(folder)
    [target] = compared(folders, ["one", "other"])["targets"]
    return {row["what"]: row for row in target["rows"]}


@pytest.mark.parametrize("verdicts", [(SURE, UNSURE), (UNSURE, SURE), (UNSURE, UNSURE)])
def test_reasons_stand_below_a_verdict_that_has_some(tmp_path: Path, verdicts: tuple[Verdict, Verdict]) -> None:
    told = lines(tmp_path, verdicts)["because"]
    assert told["values"] == ["one is only just needed" if verdict == UNSURE else "–" for verdict in verdicts]
    assert told["same"] == (verdicts[0] == verdicts[1])


def test_without_reasons_there_is_no_row_for_them(tmp_path: Path) -> None:
    told = lines(tmp_path, (SURE, SURE))
    assert "because" not in told and told["verdict"]["values"] == ["certified", "certified"]
