"""Files as forebear writes and reads them, small and whole: where the fuzzer starts from."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import forebear
from forebear.data.stored import TABLE_FILE, save_table
from forebear.data.table import open_frame, read_columns


def table(rows: int = 40) -> pd.DataFrame:
    """Columns of every kind."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)).round(3), columns=["a", "b"])
    return frame.assign(n=rng.poisson(2.0, rows), on=rng.random(rows) < 0.5, label=rng.choice(["u", "v"], rows))


def make(folder: Path) -> None:
    """A folder of seeds for each loader."""
    frame = table()
    texts = {
        "comma": frame.to_csv(index=False).encode(),
        "semicolon": frame.to_csv(index=False, sep=";", decimal=",").encode(),
        "tab": frame.head(5).to_csv(index=False, sep="\t").encode(),
        "utf16": frame.head(5).to_csv(index=False).encode("utf-16"),
        "latin": b"gr\xf6\xdfe,y\n1,2\n3,4\n",
        "quoted": b'"a ""b""","c\nd"\n1,"2,5"\n',
        "hostile": b"a,b\n1e400,nan\n9007199254740993,-inf\n0x1p3,1_000\n",
    }
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        frame.to_parquet(place / "a.parquet")
        frame.head(3).astype({"label": "category"}).to_parquet(place / "b.parquet", compression=None)
        rule = {"rule": lambda path: ["b"], "sampler": "mean", "steps": 2, "distilled": 20, "width": 2, "depth": 1}
        more = {"folds": 1, "nugget": 1.0, "lengthscale": 1.0}
        forebear.discover(frame[["a", "b", "n"]], "n", **rule, **more).save(place / "run")
        from toys import toy_twin

        toy_twin(frame[["a", "b"]], {"b": ["a"]}).save(place / "twin")
        opened, source = open_frame(frame)
        save_table(place, read_columns(opened, source, list(frame.columns), {}))
        parquets = {name: (place / name).read_bytes() for name in ("a.parquet", "b.parquet")}
        results = {"found": (place / "run" / "found.json").read_bytes(), "few": b'{"format": 1, "questions": []}'}
        twins = {"twin": (place / "twin" / "twin.json").read_bytes()}
        weights = {
            "twin": (place / "twin" / "twin.safetensors").read_bytes(),
            "data": (place / TABLE_FILE).read_bytes(),
        }
    sets = {"csv": texts, "parquet": parquets, "result": results, "twin": twins, "tensors": weights}
    for name, seeds in sets.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for seed, content in seeds.items():
            (folder / name / seed).write_bytes(content)
