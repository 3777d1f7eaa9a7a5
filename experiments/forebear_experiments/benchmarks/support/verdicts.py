"""What a discovery says of its own answer, in one of three words."""

from __future__ import annotations

from typing import Any

CERTIFIED, CANNOT_TELL, MISSING = "certified", "cannot tell", "something is missing"
VERDICTS = (CERTIFIED, CANNOT_TELL, MISSING)
"""in the order of how much they promise"""


def verdict_of(found: Any, target: str) -> str:
    """The verdict on a target; of a version that knows no verdicts, whether the certificate passes.

    >>> from types import SimpleNamespace
    >>> verdict_of(SimpleNamespace(verdicts={"y": "cannot tell"}), "y")
    'cannot tell'
    """
    verdicts = getattr(found, "verdicts", None)
    if verdicts is not None:
        return str(verdicts[target])
    return CERTIFIED if found.record.certificate(target).passes else MISSING
