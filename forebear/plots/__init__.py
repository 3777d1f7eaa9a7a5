"""Figures of plain data: arrays, names and graphs in, an axis or a figure out."""
