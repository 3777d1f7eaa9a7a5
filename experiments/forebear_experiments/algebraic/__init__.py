"""Algebraic laws of which only the spread, the modes or the tails move."""
