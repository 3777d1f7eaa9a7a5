"""Every kind of varied table by its name: what `bench trust` asks about.

None of them is in the suite of `bench selection`, and none was tuned: the sizes of effects were set by what a
regression of the right form would see (t of six and more, but for the kinds that are marked undecidable), before
any selection was run on them.
"""

from __future__ import annotations

from forebear_experiments.benchmarks.support.planted import PLANTED
from forebear_experiments.benchmarks.support.varied import Kind
from forebear_experiments.benchmarks.support.varied import VariedTable as VariedTable
from forebear_experiments.benchmarks.support.varied_inputs import OF_INPUTS
from forebear_experiments.benchmarks.support.varied_later import LATER
from forebear_experiments.benchmarks.support.varied_mended import MENDED
from forebear_experiments.benchmarks.support.varied_order import ORDERED
from forebear_experiments.benchmarks.support.varied_shapes import SHAPED
from forebear_experiments.benchmarks.support.varied_targets import OF_TARGETS
from forebear_experiments.benchmarks.support.varied_unseen import UNSEEN

KINDS: dict[str, Kind] = {
    name: Kind(name, draw) for kinds in (ORDERED, SHAPED, OF_TARGETS, OF_INPUTS) for name, draw in kinds.items()
}
"""name -> the kind, which gives the table of a seed"""
EVERY_KIND: dict[str, Kind] = {
    **KINDS,
    **UNSEEN,
    **LATER,
    **{name: Kind(name, draw) for name, draw in MENDED.items()},
}
"""with those of `bench unseen` and `bench mended`"""
ASKED: dict[str, Kind] = {**EVERY_KIND, **PLANTED}
"""with those of `bench planted`, whose inputs are files of a user's"""
