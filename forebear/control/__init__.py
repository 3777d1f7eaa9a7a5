"""Twins in use: plan in them, learn in them.

Each name comes from a file of its own; what needs an extra (gymnasium, mujoco, sbx) is imported inside the functions
that use it, so that planning needs none.
"""

from forebear.control.choose import choose as choose
from forebear.control.ensembles.pets import pets as pets
from forebear.control.ensembles.planner import cem as cem
from forebear.control.mpc import mpc as mpc

__all__ = ["cem", "choose", "mpc", "pets"]
