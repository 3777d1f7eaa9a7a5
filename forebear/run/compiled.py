"""Compiled code takes memory maps, of which Linux gives a process some 65,000; without any left, JAX crashes."""

from __future__ import annotations

from pathlib import Path

NOT_KEPT = "Error (reading|writing) persistent compilation cache"
"""what JAX says when compiled code that was kept cannot be used: it costs time, and is not about the data"""

_MAPS, _LIMIT = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
_SHARE = 0.5


def spare_maps() -> None:
    """Let go of compiled code when it holds half of what the process may have: it is compiled again when needed.

    A discovery of a table of a new shape takes about 1,300 maps, so a process that does dozens of them runs out.

    >>> spare_maps()
    """
    try:
        most = int(_LIMIT.read_text())
        with _MAPS.open("rb") as lines:
            used = sum(1 for _ in lines)
    except (OSError, ValueError):  # not Linux
        return
    if used > _SHARE * most:
        import jax

        jax.clear_caches()
