"""A stochastic heat equation: what shapes its controlled ends, and control with twins of them."""
