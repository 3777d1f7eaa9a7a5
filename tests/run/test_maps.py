"""Compiled code takes memory maps, of which a process has a limited number."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebear.run import compiled


@pytest.mark.parametrize(("most", "let_go"), [("10", True), ("1000000", False), ("none", False)])
def test_compiled_code_is_let_go_before_maps_run_out(
    most: str, let_go: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "limit").write_text(most)
    cleared: list[bool] = []
    monkeypatch.setattr(compiled, "_LIMIT", tmp_path / "limit")
    monkeypatch.setattr("jax.clear_caches", lambda: cleared.append(True))
    compiled.spare_maps()
    assert bool(cleared) == (let_go and compiled._MAPS.is_file())
