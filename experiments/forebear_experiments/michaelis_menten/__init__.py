"""Enzyme kinetics as a jump process."""
