"""Rare events: how likely a trajectory crosses a limit, and how it gets there."""

from forebear.rare.result import Stressed as Stressed
from forebear.rare.result import Ways as Ways
from forebear.rare.stress import stress as stress

__all__ = ["Stressed", "Ways", "stress"]
