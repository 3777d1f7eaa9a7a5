"""Twins in use: plan in them, learn in them.

Each name comes from a file of its own; what needs an extra (gymnasium, mujoco, sbx) is imported inside the functions
that use it, so that planning needs none.
"""

from forebear.control.mpc import mpc as mpc

__all__ = ["mpc"]
