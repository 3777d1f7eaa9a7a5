"""The most memory that a process has held."""

from __future__ import annotations

from pathlib import Path


def peak_gib() -> float:
    """Of this process so far, in GiB.

    >>> peak_gib() > 0
    True
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf8").splitlines()
        [kilobytes] = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    except (OSError, ValueError):
        import resource

        # Begins with the peak of whoever started this process, so it comes second.
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / 2**20
