"""Stochastic Lorenz-63: increments, and residuals of a known drift."""
