"""All that `pip install forebear` brings along is under a permissive licence; the list is results/licences.json.

`FOREBEAR_LICENCES=results/licences.json pytest tests/repository/test_licences.py` writes it anew.
"""

from __future__ import annotations

import json
import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

requirements = pytest.importorskip("packaging.requirements")

STORED = Path(__file__).parents[2] / "results" / "licences.json"
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD", "CC0-1.0", "ISC", "MIT", "MIT-CMU"}
PERMISSIVE |= {"PSF-2.0", "Zlib", "Unlicense"}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}


def licence(name: str) -> str:
    """As the package itself tells it: an expression, a classifier, or a word."""
    about: Any = metadata.metadata(name)
    told = about.get("License-Expression")
    if told:
        return told
    classifiers = [c.split("::")[-1].strip() for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
    if classifiers:
        return " AND ".join(str(CLASSIFIERS.get(c, c)) for c in classifiers)
    return str(about.get("License") or "unknown").strip().splitlines()[0]


def runtime() -> dict[str, str]:
    """Package -> licence, for forebear's own requirements and all that those require."""
    found: dict[str, str] = {}
    waiting = ["forebear"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found[name] = licence(name)
        wanted = [requirements.Requirement(text) for text in metadata.requires(name) or []]
        waiting += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return dict(sorted(found.items()))


def test_every_licence_is_permissive() -> None:
    found = runtime()
    assert {"forebear", "jax", "numpy", "pandas", "safetensors"} <= set(found)
    strange = {name: told for name, told in found.items() if not set(re.split(r" (?:AND|OR) ", told)) <= PERMISSIVE}
    assert strange == {}
    if os.environ.get("FOREBEAR_LICENCES"):
        Path(os.environ["FOREBEAR_LICENCES"]).write_text(json.dumps(found, indent=1) + "\n")


def test_the_stored_list_names_them_all() -> None:
    assert set(json.loads(STORED.read_text())) >= set(runtime()) - {"click"}
