"""Who may import whom: imports point up the list of layers, never down, wherever they stand in a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import forebear

ROOT = Path(forebear.__file__).parent
DRAWING = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def drawn_layers() -> tuple[list[str], list[str]]:
    """The layers as CONTRIBUTING.md draws them, lowest first, and what stands beside them."""
    [block] = re.findall(r"^```layers\n(.*?)^```$", DRAWING, flags=re.MULTILINE | re.DOTALL)
    over, beside = ([line.split()[0] for line in part.splitlines()] for part in block.split("\n\n"))
    return over[::-1], beside


LAYERS = tuple(drawn_layers()[0])
"""each imports those before it; late imports and imports for types alone are no exception"""
BESIDE = {"systems": ("errors", "storage", "run", "data")}
"""parts that stand beside the layers, with what they import"""
ENTRANCES = ("__init__", "__main__")
"""the package's own front doors, which may know everything"""
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
    module = node.module or ""
    # `from forebear import systems` imports a part; `from forebear import discover` something of the package's own.
    place = ROOT.joinpath(*module.split(".")[1:])
    inside = [(place / a.name).is_dir() or (place / f"{a.name}.py").is_file() for a in node.names]
    if module.split(".")[0] != "forebear":
        return [module]
    names = [f"{module}.{a.name}" if part_of else module for a, part_of in zip(node.names, inside, strict=True)]
    return list(dict.fromkeys(names))


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


def test_every_part_has_its_place_in_the_drawing() -> None:
    assert sorted(BESIDE) == sorted(drawn_layers()[1]) and len(set(LAYERS)) == len(LAYERS) > 10
    assert all((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file() for name in (*LAYERS, *BESIDE))
    known = {*LAYERS, *BESIDE, *ENTRANCES, *NOT_CODE}
    assert {part(path.relative_to(ROOT).as_posix()) for path in ROOT.rglob("*.py")} <= known
    # The reader of imports must see something, or the tests below are empty.
    assert len(ours()) > 50


def test_layers_import_what_is_below_them() -> None:
    """So the graph of packages has no cycle. The root is above all of them but the command line."""
    below = {layer: LAYERS[: place + 1] for place, layer in enumerate(LAYERS)}
    below |= {name: (*allowed, name) for name, allowed in BESIDE.items()}
    wrong = [
        f"{i.file}:{i.line} imports {i.module}"
        for i, imported in ours()
        if part(i.file) in below and imported not in below[part(i.file)]
    ]
    wrong += [
        f"{i.file}:{i.line} imports the root"
        for i in IMPORTS
        if i.module == "forebear" and part(i.file) not in (*ENTRANCES, "cli")
    ]
    assert wrong == []


def test_the_product_does_not_know_the_publication() -> None:
    """The experiments are another package, which imports this one; forebear asks for it through an entry point."""
    assert [f"{i.file}:{i.line}" for i in IMPORTS if i.module.split(".")[0] == "forebear_experiments"] == []
    named = [f for f in ROOT.rglob("*.py") if "forebear_experiments" in f.read_text(encoding="utf-8")]
    assert named == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """When they are loaded; a method may still import what is made of its class, within one package."""
    graph: dict[str, set[str]] = {}
    for i in IMPORTS:
        if not i.inside and not _types_only(i) and i.file not in ("__init__.py", "__main__.py"):
            own = "forebear." + i.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            graph.setdefault(own, set()).update({i.module} - {own})
    tuple(TopologicalSorter(graph).static_order())  # or a CycleError that names the circle


def test_kernel_takes_plain_arrays() -> None:
    assert {imported for i, imported in ours() if part(i.file) == "kernel"} <= {"errors", "kernel"}


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("matplotlib", {"plots"}),
        ("typer", {"cli"}),
        ("gymnasium", {"envs", "control"}),
        ("stable_baselines3", {"envs", "control"}),
        ("sbx", {"control"}),
        ("uvicorn", {"web"}),
        ("starlette", {"web", "studio", "serve"}),
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
    top = {i.module for i in IMPORTS if i.file == "__init__.py" and not i.inside and not _types_only(i)}
    assert top <= {"importlib", "typing", "forebear.version"}
