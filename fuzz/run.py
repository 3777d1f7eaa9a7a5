"""Every loader under a coverage-guided fuzzer: `python fuzz/run.py --minutes 30 --out results/fuzz.json`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGETS = ("csv", "parquet", "result", "twin", "tensors")


def main() -> int:
    """Share the minutes among the loaders; the status is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("results/fuzz.json"))
    parser.add_argument("--only", choices=TARGETS)
    asked = parser.parse_args()
    names = (asked.only,) if asked.only else TARGETS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run(
            [sys.executable, "-c", f"import seeds, pathlib; seeds.make(pathlib.Path({folder!r}) / 'seeds')"],
            cwd=HERE,
            check=True,
        )
        told = {name: fuzz(name, 60 * asked.minutes / len(names), place) for name in names}
    answer = {
        "command": f"python fuzz/run.py --minutes {asked.minutes:g}",
        "engine": "atheris (libFuzzer)",
        "minutes": round(sum(one["seconds"] for one in told.values()) / 60, 1),
        "runs": sum(one["runs"] for one in told.values()),
        "corpus": sum(one["corpus"] for one in told.values()),
        "finds": sum(len(one["finds"]) for one in told.values()),
        "loaders": told,
    }
    asked.out.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    print(
        f"{answer['minutes']} minutes, {answer['runs']:,} inputs, corpus {answer['corpus']}, finds {answer['finds']}"
    )
    return 1 if answer["finds"] else 0


def fuzz(name: str, seconds: float, place: Path) -> dict[str, Any]:
    """One loader; the fuzzer is started again after an input that takes the process down, which is a find too."""
    corpus, finds = place / "corpus" / name, place / "finds"
    for folder in (corpus, finds):
        folder.mkdir(parents=True, exist_ok=True)
    found: list[dict[str, str]] = []
    runs, coverage, started = 0, 0, time.monotonic()
    while (left := seconds - (time.monotonic() - started)) > 5:
        limits = [
            f"-max_total_time={int(left)}",
            "-timeout=30",
            "-rss_limit_mb=6000",
            "-max_len=20000",
            "-verbosity=1",
        ]
        command = [sys.executable, str(HERE / "target.py"), name, str(place / "seeds"), str(finds), *limits]
        command += [f"-artifact_prefix={finds}/{name}-crash-", str(corpus), str(place / "seeds" / name)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        counts = [int(n) for n in re.findall(r"^#(\d+)", done.stderr, re.M)]
        covered = [int(n) for n in re.findall(r"cov: (\d+)", done.stderr)]
        runs, coverage = runs + max(counts, default=0), max([coverage, *covered])
        if done.returncode:
            last = [line for line in done.stderr.splitlines() if "ERROR" in line or "SUMMARY" in line]
            found.append({"find": " ".join(last[-1:])[:300] or done.stderr[-300:], "input": "see the artifact"})
            if not counts:
                break  # it does not even start
    log = finds / f"{name}.jsonl"
    if log.is_file():
        found += [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for one in found:
        file = finds / one["input"]
        one["hex"] = file.read_bytes()[:2_000].hex() if file.is_file() else ""
    count = sum(1 for file in corpus.iterdir() if file.is_file())
    spent = time.monotonic() - started
    return {"seconds": round(spent), "runs": runs, "coverage": coverage, "corpus": count, "finds": found}


if __name__ == "__main__":
    sys.exit(main())
