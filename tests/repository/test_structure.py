"""Tests can be found: their folders are those of the package, and a few that say what they are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_THE_WHOLE = {"contracts", "repository", "support"}
"""suites for every implementation of something; documentation, packaging and layers; what tests share"""
ELSEWHERE = {"kinds": "contracts/test_kinds.py"}


def folders(place: Path) -> set[str]:
    return {folder.name for folder in place.iterdir() if folder.is_dir() and any(folder.glob("*.py"))}


def test_folders_mirror_the_package() -> None:
    packages, tests = folders(ROOT / "forebear"), folders(ROOT / "tests")
    assert tests - OF_THE_WHOLE <= packages
    assert packages - tests == set(ELSEWHERE)
    assert all((ROOT / "tests" / file).is_file() for file in ELSEWHERE.values())
    assert not list((ROOT / "tests").glob("*.py"))


def test_every_extension_point_has_a_contract_and_a_skeleton() -> None:
    suites = {file.stem.removeprefix("test_") for file in (ROOT / "tests" / "contracts").glob("test_*.py")}
    skeletons = {file.stem for file in (ROOT / "docs" / "skeletons").glob("*.py")}
    assert suites == {f"{name}s" for name in skeletons}


def test_names_of_files_are_told_apart() -> None:
    """pytest imports test files by their names alone."""
    names = [file.name for part in ("tests", "experiments/tests") for file in (ROOT / part).rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
