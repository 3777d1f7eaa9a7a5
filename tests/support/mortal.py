"""A sampler that kills the process it runs in, to see what is left of a run; importable by worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Line:
    """y = b + z."""

    latents: int = 1

    def push(self, given: pd.DataFrame, z: np.ndarray) -> np.ndarray:
        return given["b"].to_numpy()[:, None] + z


@dataclass(frozen=True)
class Mortal:
    """The first run that comes here is the victim: its process dies, as often as asked for."""

    folder: str
    deaths: int

    def fit(self, given: pd.DataFrame, y: pd.DataFrame, *, seed: int) -> Line:
        place = Path(self.folder)
        try:
            with (place / "victim").open("x") as file:
                file.write(str(seed))
        except FileExistsError:
            pass
        died = len(list(place.glob("death-*")))
        if (place / "victim").read_text() == str(seed) and died < self.deaths:
            (place / f"death-{died}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Line()
