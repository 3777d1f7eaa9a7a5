"""Names that changed still answer, and say how they are called now."""

from __future__ import annotations

import pytest
from reports import made_by_hand


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("runs", "units", "candidates"),
        ("certified", "verdicts", "tests"),
        ("questions", "units", "candidates"),
        ("questions", "keep", "always"),
    ],
)
def test_an_old_name_answers_with_a_warning(part: str, old: str, new: str) -> None:
    found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]})
    held = found.questions["y"] if part == "questions" else getattr(found, part)[0]["y"]
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now called '{new}'"):
        assert getattr(held, old) == getattr(held, new)
