"""What a result says with its twin: fan charts, with its table as points, and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebear.errors import InputError
from forebear.report.evidence import check_targets
from forebear.report.sentences import plain, shaped_by
from forebear.report.told import headline, told
from forebear.twin.twin import Twin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebear.api.found import Found

_MOST = 12
"""charts in a figure"""


def fan_charts(
    found: Found, target: str, name: str | None, given: Any, twin: Twin | None, ax: Axes | None
) -> Axes | Figure:
    """The work of `Found.plot_fan`."""
    from forebear.plots.fans import panels
    from forebear.plots.style import shown_once

    found.record.check_target(target)
    if name is None and ax is not None:
        raise InputError("ax: one axis holds one chart: name the input as well")
    law = found.twin(joint=False) if twin is None else twin
    data = None if found.table is None else found.table.frame()
    if name is not None:
        return law.plot_fan(name, target, given=given, data=data, ax=ax)
    names = law.ancestors.get(target, ())[:_MOST]
    if not names:
        raise InputError(f"target: no input shapes '{target}': its law is the same everywhere")
    charts = [lambda axis, own=own: law.plot_fan(own, target, given=given, data=data, ax=axis) for own in names]
    return shown_once(panels(charts))


def sentences(found: Found, twin: Twin | None) -> dict[str, str]:
    """The work of `Found.sentences`."""
    if twin is not None and not isinstance(twin, Twin):
        raise InputError(f"twin must be a twin or None; got {twin!r}")
    if twin is not None:
        check_targets(found.record, twin)
    law = found.twin(joint=False) if twin is None else twin
    if law.joint:
        raise InputError("twin is joint, and has no law of a single target: pass found.twin(joint=False)")
    found_out = {target: headline(target, told(law, target)) for target in found.targets}
    return {target: plain(words or shaped_by(found.record, target)) for target, words in found_out.items()}
