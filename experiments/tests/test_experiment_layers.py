"""Who may import whom inside the experiments: no two folders import each other, and the framework knows none."""

from __future__ import annotations

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import forebear
import forebear_experiments

PACKAGE = Path(forebear_experiments.__file__).parent
ROOT = Path(__file__).parents[2]


def _imports(file: Path) -> set[str]:
    """The parts of this package that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno}: write the import with its full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("forebear_experiments.")}
    return {name for name in found if (PACKAGE / name).is_dir()}


FOLDERS = sorted(folder for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file())
GRAPH = {
    folder.name: {name for file in folder.rglob("*.py") for name in _imports(file)} - {folder.name}
    for folder in FOLDERS
}


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    assert sum(map(len, GRAPH.values())) > 10
    assert GRAPH["framework"] == set()
    assert list(TopologicalSorter(GRAPH).static_order())


def test_experiments_import_the_framework_and_benchmarks_alone() -> None:
    """A benchmark may use the rig of an experiment, and an experiment may run a benchmark."""
    wrong = {name: others - {"framework", "benchmarks"} for name, others in GRAPH.items() if name != "benchmarks"}
    assert {name: others for name, others in wrong.items() if others} == {}


def test_modules_are_named_by_us_alone() -> None:
    """`import_module` is called with names from tables in the code."""
    calls = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func)
    }
    assert calls == {
        "__init__.py",
        "benchmarks/__init__.py",
        "benchmarks/conformal.py",
        "benchmarks/monitor.py",
        "benchmarks/support/laws.py",
        "benchmarks/support/profile.py",
    }


def test_versions_are_in_step_with_forebear() -> None:
    project = tomllib.loads((ROOT / "experiments" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == forebear_experiments.__version__ == forebear.__version__
    assert project["dependencies"] == [f"forebear[control]=={forebear.__version__}"]
    product = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == product["requires-python"]
    licences = [(ROOT / place / "LICENSE").read_text(encoding="utf-8") for place in (".", "experiments")]
    assert licences[0] == licences[1]
