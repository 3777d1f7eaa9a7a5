"""How long one discovery takes in a fresh process, and again: run as a file, by any version of forebear.

`python timed.py TABLE.npz TIMES` prints one line of JSON. It must need nothing of forebear but `discover`, because it
also times versions that have been released long ago.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(table: str, times: int) -> dict[str, Any]:
    """Wall-clock and processor seconds of each discovery, the first with imports and compilation, and the set."""
    began, worked = time.perf_counter(), time.process_time()
    import numpy as np
    import pandas as pd

    import forebear

    stored = np.load(table)
    columns, targets = [str(name) for name in stored["columns"]], [str(name) for name in stored["targets"]]
    frame = pd.DataFrame(stored["values"], columns=pd.Index(columns))
    imported = time.perf_counter() - began
    wall, processor, found = [], [], None
    for seed in range(times):
        found = forebear.discover(frame, targets=targets, seed=seed, progress=False)
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
        began, worked = time.perf_counter(), time.process_time()
    assert found is not None
    return {
        "import_s": imported,
        "wall_s": wall,
        "processor_s": processor,
        "sets": {target: list(found.ancestors[target]) for target in targets},
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
