"""Planning and learning in twins, against the loops that one would write by hand; each row in a file of its own."""

from __future__ import annotations

from typing import Any

from forebear.benchmarks.control_mpc import batched_mpc
from forebear.benchmarks.control_sac import sac_rows


def run() -> list[dict[str, Any]]:
    """All rows, one after the other; the last three need the extra `sb3`."""
    from forebear.control.sac import check_sac

    check_sac()
    return [*batched_mpc(), *sac_rows()]
