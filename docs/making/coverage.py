"""The totals of a measurement of coverage, beside those from before the redesign, as JSON.

`make coverage` calls it, after `coverage run` and `coverage combine`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BEFORE = {"commit": "946f357", "statements": 13_949, "missed": 1_002, "percent": 92.8}
"""measured with the same settings over forebear, which then held the experiments"""


def measured() -> dict[str, Any]:
    """What `coverage` has in its file: all together, and by package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run(command, check=True)
        content = json.loads(report.read_text(encoding="utf8"))
    packages: dict[str, list[int]] = {}
    for file, told in content["files"].items():
        parts = Path(file).parts
        start = max(place for place, part in enumerate(parts) if part in ("forebear", "forebear_experiments"))
        name = ".".join(parts[start : start + 2]) if len(parts) > start + 2 else parts[start]
        total = packages.setdefault(name, [0, 0])
        total[0] += told["summary"]["num_statements"]
        total[1] += told["summary"]["missing_lines"]
    every = content["totals"]
    return {
        **_told(every["num_statements"], every["missing_lines"]),
        "packages": {name: _told(*total) for name, total in sorted(packages.items())},
    }


def _told(statements: int, missed: int) -> dict[str, float]:
    share = 100 * (1 - missed / statements) if statements else 100.0
    return {"statements": statements, "missed": missed, "percent": round(share, 1)}


def main(file: str) -> None:
    """Write the file and say what is in it."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    after = {"commit": commit.stdout.strip(), **measured()}
    about = "make coverage: statements that the fast tests run, with the processes that they start"
    content = {"command": about, "before": BEFORE, "after": after}
    Path(file).write_text(json.dumps(content, indent=1) + "\n", encoding="utf8")
    print(f"{after['percent']}% of {after['statements']:,} statements; before {BEFORE['percent']}%")


if __name__ == "__main__":
    main(sys.argv[1])
