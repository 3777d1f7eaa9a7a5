"""The names of the package: written thrice, for type checkers, for the first use and for `*`, and always the same."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import forebear

MODULES = {"assimilation", "control", "envs", "sklearn", "systems"}


def _told_to_type_checkers() -> dict[str, str]:
    tree = ast.parse(Path(forebear.__file__).read_text(encoding="utf8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name: node.module or "" for node in imports for name in node.names}


def test_the_three_lists_agree() -> None:
    told = _told_to_type_checkers()
    assert {name: home for name, home in told.items() if name not in MODULES} == forebear._HOMES
    assert sorted(told) == forebear.__all__


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(forebear, name) is not None for name in forebear.__all__)
    assert set(forebear.__all__) <= set(dir(forebear))
    assert not hasattr(forebear, "lazy")


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, forebear; print(*{'jax', 'numpy', 'pandas', 'scipy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == ""
