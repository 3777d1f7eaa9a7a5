"""What can go wrong in hours of work that is no mistake of the user's, each as one line with a remedy."""

from __future__ import annotations


def failure_line(error: BaseException) -> str | None:
    """The line; None for what is no such failure.

    >>> failure_line(MemoryError())
    'out of memory: lower --set distilled=2000, or use fewer rows'
    >>> failure_line(KeyError("x")) is None
    True
    """
    if isinstance(error, FloatingPointError):
        return f"{error}: lower the rate (--set rate=1e-3), or rescale wild columns"
    if isinstance(error, MemoryError):
        return "out of memory: lower --set distilled=2000, or use fewer rows"
    return None
