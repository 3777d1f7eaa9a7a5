"""The skeletons of the documentation as modules, so that contract suites run them too."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "skeletons"


@cache
def skeleton(name: str) -> Any:
    """The module docs/skeletons/NAME.py."""
    found = importlib.util.spec_from_file_location(f"skeleton_{name}", FOLDER / f"{name}.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
