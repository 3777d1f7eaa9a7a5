"""What a server has done, in Prometheus' text format."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import time

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TOGETHER = (1, 2, 4, 8, 16, 32, 64)


class Histogram:
    """Counts of values up to each bound.

    >>> seconds = Histogram((0.1, 1.0))
    >>> for value in (0.05, 0.5, 7.0):
    ...     seconds.add(value)
    >>> print(*seconds.lines("s", ""), sep="\\n")
    s_bucket{le="0.1"} 1
    s_bucket{le="1"} 2
    s_bucket{le="+Inf"} 3
    s_sum 7.55
    s_count 3
    """

    def __init__(self, bounds: Iterable[float]):
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self._counts[next((i for i, bound in enumerate(self._bounds) if value <= bound), -1)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> list[str]:
        """As Prometheus has it, with labels such as `operation="mean"`."""
        found, below = [], 0
        comma, only = f"{labels}," if labels else "", f"{{{labels}}}" if labels else ""
        for bound, count in zip((*self._bounds, None), self._counts, strict=True):
            below += count
            found.append(f'{name}_bucket{{{comma}le="{"+Inf" if bound is None else f"{bound:g}"}"}} {below}')
        return [*found, f"{name}_sum{only} {self._sum:.9g}", f"{name}_count{only} {below}"]


class Metrics:
    """Counts of one server; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._together = Histogram(_TOGETHER)
        self._reloads: Counter[tuple[str, str]] = Counter()
        self._started = time()

    def answered(self, twin: str, operation: str, status: int, seconds: float) -> None:
        """A request has had its answer, whatever it is."""
        with self._lock:
            self._requests[twin, operation, status] += 1
            self._seconds.setdefault(operation, Histogram(_SECONDS)).add(seconds)

    def computed(self, asked: int) -> None:
        """So many questions were answered in one call."""
        with self._lock:
            self._together.add(asked)

    def reloaded(self, twin: str, how: str) -> None:
        """A twin was read again: "done", or "failed"."""
        with self._lock:
            self._reloads[twin, how] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """All of it, and what is so at this moment."""
        with self._lock:
            lines = ["# TYPE forebear_serve_requests_total counter"]
            for (twin, operation, status), count in sorted(self._requests.items()):
                labels = f'twin="{escaped(twin)}",operation="{escaped(operation)}",status="{status}"'
                lines.append(f"forebear_serve_requests_total{{{labels}}} {count}")
            lines.append("# TYPE forebear_serve_request_seconds histogram")
            for operation, seconds in sorted(self._seconds.items()):
                lines += seconds.lines("forebear_serve_request_seconds", f'operation="{escaped(operation)}"')
            lines.append("# TYPE forebear_serve_questions_per_call histogram")
            lines += self._together.lines("forebear_serve_questions_per_call", "")
            lines.append("# TYPE forebear_serve_reloads_total counter")
            for (twin, how), count in sorted(self._reloads.items()):
                lines.append(f'forebear_serve_reloads_total{{twin="{escaped(twin)}",how="{how}"}} {count}')
        now = {**gauges, "forebear_serve_start_time_seconds": self._started, **_memory()}
        told = ""
        for name, value in now.items():
            bare = name.partition("{")[0]
            if bare != told:
                lines.append(f"# TYPE {bare} {'counter' if bare.endswith('_total') else 'gauge'}")
            told = bare
            lines.append(f"{name} {value:.17g}")
        return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A label's value.

    >>> escaped('a "b"')
    'a \\\\"b\\\\"'
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _memory() -> dict[str, float]:
    """What this process holds, where that can be read."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf8").splitlines()
        [kilobytes] = [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    except (OSError, ValueError):
        return {}
    return {"process_resident_memory_bytes": 1024.0 * kilobytes}
