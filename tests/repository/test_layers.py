"""Who may import whom: imports point up the list of layers, never down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import forebear

ROOT = Path(forebear.__file__).parent
LAYERS = (
    "errors",
    "storage",
    "kinds",
    "data",
    "flow",
    "kernel",
    "discovery",
    "twin",
    "sklearn",
    "envs",
    "control",
    "report",
    "cli",
)
BESIDE = ("run", "systems")
"""import nothing of the layers but the first two; a system may use worker processes"""
ENTRANCES = ("__init__", "__main__")
"""the package's own front doors, which may know everything"""
# Results draw themselves, and a discovery makes its twin; what that needs is imported when the method is called.
ALLOWED = {
    ("discovery/found.py", "report"),
    ("discovery/found.py", "twin"),
    ("twin/twin.py", "report"),
    ("twin/validate.py", "report"),
}
# The command line switches windows off before it saves a figure; one system is a Gymnasium environment.
BORROWED = {
    ("cli/output.py", "matplotlib"),
    ("systems/lander.py", "gymnasium"),
}
NOT_CODE = ("examples",)


class Import(NamedTuple):
    file: str
    module: str
    line: int
    inside: bool
    """in a function, so not at import time"""


def _walk(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside
        yield from _walk(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def _modules(node: ast.Import | ast.ImportFrom, file: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, f"{file}:{node.lineno}: write the import with its full name"
    if node.module == "forebear":
        # `from forebear import systems` imports a part; `from forebear import __version__` is the package's own.
        return [f"forebear.{a.name}" if (ROOT / a.name).is_dir() else "forebear" for a in node.names]
    return [node.module or ""]


def imports() -> list[Import]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node, inside in _walk(ast.parse(path.read_text(encoding="utf-8"))):
            found += [Import(file, module, node.lineno, inside) for module in _modules(node, file)]
    return found


IMPORTS = imports()


def part(file: str) -> str:
    """The layer of a file."""
    return file.split("/")[0].removesuffix(".py")


def ours() -> list[tuple[Import, str]]:
    """Imports of the package itself, with the part that is imported."""
    return [(i, i.module.split(".")[1]) for i in IMPORTS if i.module.startswith("forebear.")]


def test_every_part_has_its_place() -> None:
    known = {*LAYERS, *BESIDE, *ENTRANCES, *NOT_CODE}
    assert {part(path.relative_to(ROOT).as_posix()) for path in ROOT.rglob("*.py")} <= known
    # The reader of imports must see something, or the tests below are empty.
    assert len(ours()) > 50


def test_layers_import_what_is_below_them() -> None:
    wrong = [
        f"{i.file}:{i.line} imports {i.module}"
        for i, imported in ours()
        if part(i.file) in LAYERS and imported in LAYERS
        if LAYERS.index(imported) > LAYERS.index(part(i.file))
        if not ((i.inside or _types_only(i)) and (i.file, imported) in ALLOWED)
    ]
    assert wrong == []


def test_the_exception_is_still_needed() -> None:
    assert {(i.file, imported) for i, imported in ours() if i.inside} >= ALLOWED


def test_the_product_does_not_know_the_publication() -> None:
    """The experiments are another package, which imports this one; forebear asks for it through an entry point."""
    assert [f"{i.file}:{i.line}" for i in IMPORTS if i.module.split(".")[0] == "forebear_experiments"] == []
    named = [f for f in ROOT.rglob("*.py") if "forebear_experiments" in f.read_text(encoding="utf-8")]
    assert named == []


@pytest.mark.parametrize("name", BESIDE)
def test_parts_beside_the_layers(name: str) -> None:
    seen = {imported for i, imported in ours() if part(i.file) == name}
    assert seen <= {"errors", "storage", "data", "run", name}


def test_kernel_takes_plain_arrays() -> None:
    assert {imported for i, imported in ours() if part(i.file) == "kernel"} <= {"errors", "kernel"}


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("matplotlib", {"report"}),
        ("typer", {"cli"}),
        ("gymnasium", {"envs", "control"}),
        ("stable_baselines3", {"envs", "control"}),
        ("sbx", {"control"}),
    ],
)
def test_libraries_with_a_home(library: str, homes: set[str]) -> None:
    users = [i for i in IMPORTS if i.module.split(".")[0] == library and not _types_only(i)]
    assert {part(i.file) for i in users if not (i.inside and (i.file, library) in BORROWED)} == homes


def _types_only(one: Import) -> bool:
    """Whether an import stands under `if TYPE_CHECKING:`."""
    tree = ast.parse((ROOT / one.file).read_text(encoding="utf-8"))
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return any(block.lineno < one.line <= (block.end_lineno or 0) for block in blocks)


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Names are loaded when they are used, so that bad input is told at once."""
    top = {i.module.split(".")[0] for i in IMPORTS if i.file == "__init__.py" and not i.inside and not _types_only(i)}
    assert top <= {"importlib", "typing"}
