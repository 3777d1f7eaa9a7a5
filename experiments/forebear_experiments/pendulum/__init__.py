"""A noisy pendulum: which lags are its memory, and policies trained in twins of it."""
