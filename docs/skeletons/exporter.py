"""A new exporter, to copy: a twin as a table of its conditional quantiles, for programs that can only look things up.

Save it as forebear/twin/csv_table.py and call `register(CsvExporter())` in forebear/twin/export.py; or leave it in a
module of yours and call `forebear.twin.export.register` there: `twin.export("twin.csv")` then finds it by the ending.
Add how its files are read again to `READERS` in tests/contracts/test_exporters.py and run that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

import numpy as np
import pandas as pd

from forebear.errors import InputError
from forebear.storage.files import write_bytes
from forebear.twin.twin import Twin

LEVELS = np.linspace(0.01, 0.99, 99)


@final
class CsvExporter:
    """One line per row of the training inputs and level: the inputs, the level, and each target's quantile there."""

    ending = ".csv"
    needs = None

    def export(self, twin: Twin, file: Path) -> None:
        """Write the table; one file holds the law of one target after another, not of several together."""
        if twin.joint:
            raise InputError(f"{file}: a table holds separate targets, and this twin is joint: use joint=False")
        given = np.asarray(twin.rows)[:100]
        quantiles = twin.quantile(given, LEVELS)
        places = pd.MultiIndex.from_product([range(len(LEVELS)), range(len(given))]).to_frame(index=False).to_numpy()
        table = pd.DataFrame(given[places[:, 1]], columns=list(twin.inputs))
        table["level"] = LEVELS[places[:, 0]]
        for i, target in enumerate(twin.targets):
            table[target] = quantiles[:, :, i].ravel()
        # Written beside the file and renamed into place: it is there whole, or not at all.
        write_bytes(file, table.to_csv(index=False).encode())
