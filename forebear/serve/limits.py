"""How much may be asked at once, so that no number of askers takes more memory or time than was agreed."""

from __future__ import annotations

from dataclasses import dataclass

from forebear.errors import check_fields, positive, whole


@dataclass(frozen=True)
class Limits:
    """Bounds of a server; each is told in its schema.

    >>> Limits(rows=0)
    Traceback (most recent call last):
    forebear.errors.InputError: limit 'rows' must be a whole number of at least 1; got 0
    """

    rows: int = 1_000
    """rows of one request"""
    draws: int = 10_000
    """draws at each row"""
    values: int = 200_000
    """numbers in one answer: rows times draws times targets"""
    body: int = 2_000_000
    """bytes of a request"""
    seconds: float = 30.0
    """for a request, from its first byte to the last of its answer"""
    queue: int = 64
    """requests that are taken in at a time, worked on and waiting; the next ones are told to come again"""
    together: int = 32
    """requests that are computed together; 1: each alone"""
    monitored: int = 20_000
    """rows of a request to monitor"""

    def __post_init__(self) -> None:
        names = ("rows", "draws", "values", "body", "queue", "together", "monitored")
        check_fields(self, {**dict.fromkeys(names, whole()), "seconds": positive(86_400.0)}, "limit ")

    @property
    def held(self) -> int:
        """Numbers in all answers that are being made."""
        return 4 * self.values
