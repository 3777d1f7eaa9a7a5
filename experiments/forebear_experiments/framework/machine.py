"""What a measurement was made on, and the most memory that it took."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Processor, cores, versions and the device that JAX computes on.

    >>> sorted(machine())
    ['cores', 'cpu', 'device', 'forebear', 'jax', 'platform', 'python']
    """
    import jax

    import forebear

    return {
        "cpu": _processor(),
        "cores": _cores(),
        "device": str(jax.devices()[0].device_kind),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "jax": jax.__version__,
        "forebear": forebear.__version__,
    }


def _cores() -> int:
    """The cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def peak_gib() -> float:
    """The most memory that this process has held so far, in GiB.

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
