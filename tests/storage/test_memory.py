"""The estimate of memory: near the measured peak, and in time to refuse what will not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forebear as fb
from forebear.storage import memory
from forebear.storage.memory import Size, check_memory, estimate

SMALL = Size(rows=1_000, columns=10, together=1, distilled=3_000, dense=15_000, tested=1_000)

MEASURE = """
import json, sys
import numpy as np, pandas as pd
import forebear as fb
from forebear_experiments.framework.machine import peak_gib
rows, columns, distilled, targets = map(int, sys.argv[1:5])
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"x{i}" for i in range(columns)])
names = [f"y{number}" for number in range(targets)]
for number, name in enumerate(names):
    table[name] = table[f"x{number}"] + table[f"x{number + 1}"] * rng.normal(size=rows)
found = fb.discover(table, names, distilled=distilled, steps=50, subset_steps=50)
print(json.dumps({"peak_gb": peak_gib() * 2**30 / 1e9, "estimated_gb": found.settings["estimated_gb"]}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [
        # The constants of the estimate were fitted on the first three; what the program takes, on all of them.
        (2_000, 4, 2_000, 1),
        (20_000, 8, 6_000, 1),
        (50_000, 4, 11_000, 1),
        (5_000, 12, 4_000, 1),
        (30_000, 6, 8_000, 1),
        (10_000, 5, 5_000, 4),
        (100_000, 20, 3_000, 2),
    ],
    ids=lambda size: "rows {}, columns {}, distilled {}, targets {}".format(*size),
)
def test_the_peak_is_within_half_as_much_again(size: tuple[int, int, int, int]) -> None:
    command = [sys.executable, "-c", MEASURE, *map(str, size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    print(size, told)
    assert 1 / 1.5 < told["estimated_gb"] / told["peak_gb"] < 1.5, told


def test_what_the_process_holds_for_the_next_run_counts_as_free() -> None:
    needed = estimate(SMALL).total
    assert check_memory(SMALL, available=needed - 1e8, held=1e8) == estimate(SMALL)
    with pytest.raises(fb.InputError, match="are free"):
        check_memory(SMALL, available=needed - 1e8)


def test_what_will_not_fit_is_refused_with_what_would() -> None:
    big = Size(rows=1_000, columns=10, together=1, distilled=12_000, dense=15_000)
    with pytest.raises(fb.InputError, match=r"about 2.8 GB of memory and 2.0 GB are free: distilled=\d+ would fit"):
        check_memory(big, available=2e9)
    with pytest.raises(fb.InputError, match=r"about 7.2 GB of memory and 3.0 GB are free: jobs=2 would fit"):
        check_memory(Size(1_000, 10, 1, 5_000, 15_000), processes=6, available=3e9)
    with pytest.raises(fb.InputError, match="no number of distilled rows would fit, so use fewer rows"):
        check_memory(Size(10_000_000, 100, 1, 3_000, 15_000), available=2e9)
    with pytest.raises(fb.InputError, match="so use fewer width"):
        check_memory(Size(1_000, 10, 1, 3_000, 15_000, width=100_000), available=2e9)
    with pytest.raises(fb.InputError, match="the program alone takes 0.8 GB: close other programs"):
        check_memory(SMALL, available=0.5e9)
    assert check_memory(SMALL, available=2e9) == estimate(SMALL)


@pytest.mark.parametrize("name", ["rows", "columns", "distilled", "tested", "width", "together"])
def test_more_of_anything_takes_no_less(name: str) -> None:
    from dataclasses import replace

    sizes = [replace(SMALL, **{name: getattr(SMALL, name) * factor}) for factor in (1, 2, 4)]
    totals = [estimate(size).total for size in sizes]
    assert totals == sorted(totals)


def test_a_discovery_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1.1e9)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "y"])
    options: dict[str, Any] = {"rule": "nsr-jump"}
    with pytest.raises(fb.InputError, match="GB of memory and 1.1 GB are free: distilled="):
        fb.discover(table, "y", distilled=10_000, **options)


def test_files_that_a_container_has_read_do_not_count_as_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system gives them back when memory is asked for; a long loop over files would end in a refusal else."""
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("990000\n")
    (tmp_path / "memory.stat").write_text("anon 90000\nfile 900000\ninactive_file 600000\nactive_file 200000\n")
    own = (str(tmp_path), "memory.max", "memory.current", ("inactive_file", "active_file"))
    monkeypatch.setattr(memory, "_CONTAINERS", (own,))
    assert memory.available_memory() == 810_000
