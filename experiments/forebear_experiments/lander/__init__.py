"""Lunar Lander: what shapes its thrust, policies trained with the thrust of twins, and how often they hover."""
