"""A small discovery as a process of its own, to be killed, interrupted or starved of disk, and then resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

TARGETS, RUNS = ("y", "s"), 2
SETTINGS = {"steps": 150, "distilled": 300, "width": 16, "depth": 2, "subset_steps": 150, "tested": 400, "batch": 128}
SETTINGS |= {"nugget": 1.0, "lengthscale": 1.0, "latent_lengthscale": 1.0}


class Rig:
    """A table, and a compilation cache that makes the second process quick."""

    def __init__(self, folder: Path):
        self.folder = folder
        rng = np.random.default_rng(0)
        data = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
        data["y"] = data["b"] + 0.5 * rng.normal(size=500)
        data["s"] = data["a"] * rng.normal(size=500)
        data.to_csv(folder / "data.csv", index=False)

    def command(self, out: str, *more: str) -> list[str]:
        """What a user would type."""
        targets = [word for name in TARGETS for word in ("--target", name)]
        settings = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
        rest = ["--runs", str(RUNS), "--out", out, "--resume", "--json", *more]
        return [sys.executable, "-m", "forebear", "discover", "data.csv", *targets, *settings, *rest]

    @property
    def environment(self) -> dict[str, str]:
        """That of this process, with the cache."""
        cache = {
            "JAX_ENABLE_COMPILATION_CACHE": "true",
            "JAX_COMPILATION_CACHE_DIR": str(self.folder / "cache"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        return {**os.environ, **cache}

    def start(self, out: str, *more: str, before: Any = None) -> subprocess.Popen[str]:
        """Start the discovery; `before` runs in the new process first."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(out, *more),
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
            preexec_fn=before,
        )

    def finish(self, out: str, *more: str) -> dict[str, Any]:
        """Run to the end; the answer without its seconds."""
        process = self.start(out, *more)
        printed, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        return without_seconds(json.loads(printed))


def without_seconds(answer: dict[str, Any]) -> dict[str, Any]:
    """All that must be the same to the last bit."""
    return {name: value for name, value in answer.items() if name != "seconds"}


def result(folder: Path) -> dict[str, Any]:
    """What a finished run folder holds, likewise."""
    return without_seconds(json.loads((folder / "found.json").read_text(encoding="utf-8")))
