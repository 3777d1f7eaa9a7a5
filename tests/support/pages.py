"""The code in pages of documentation: found, run, and what it gives beside what the page shows."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

_FENCE = re.compile(r"(?P<before>[^\n]*)\n```(?P<kind>\w+)[^\n]*\n(?P<text>.*?)\n```", re.DOTALL)


class Block(NamedTuple):
    """What stands between two fences."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page that are to be run, those inside comments too."""
    content = "\n" + page.read_text(encoding="utf-8")
    return [
        Block(match["kind"], match["text"], content.count("\n", 0, match.start("text")))
        for match in _FENCE.finditer(content)
        if "<!-- not run:" not in match["before"]
    ]


def commands(block: Block) -> Iterator[list[str]]:
    """The arguments of every `forebear` command of a shell block, without comments and what follows a pipe."""
    if block.kind != "sh":
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["forebear"]:
            ends = [place for place, word in enumerate(words) if word in (">", "|", "&&")]
            yield words[1 : min(ends, default=len(words))]


class Shown(NamedTuple):
    """An expression that stands alone, with what the page says about it behind a `#`."""

    line: int
    value: Any
    comment: str


class Ran(NamedTuple):
    """What came of a page."""

    printed: dict[int, str]
    """by the line of the block"""
    shown: list[Shown]


def run_page(page: Path) -> Ran:
    """Run the Python blocks of a page as one module."""
    module = ModuleType("a_page")
    ran = Ran({}, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "a_page", module)  # where dataclasses look for their names
        for block in blocks(page):
            if block.kind == "python":
                told = io.StringIO()
                with contextlib.redirect_stdout(told):
                    ran.shown.extend(_run(page, block, module.__dict__))
                ran.printed[block.line] = told.getvalue()
    return ran


def _run(page: Path, block: Block, names: dict[str, Any]) -> Iterator[Shown]:
    """Statement by statement, so that the values of expressions can be seen."""
    # Empty lines in front, so that a traceback names the line of the page.
    lines = "\n" * (block.line - 1) + block.text
    for statement in ast.parse(lines).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), str(page), "eval"), names)
            last = lines.splitlines()[
                statement.lineno - 1 if statement.end_lineno is None else statement.end_lineno - 1
            ]
            yield Shown(statement.lineno, value, last[statement.end_col_offset or 0 :].partition("#")[2].strip())
        else:
            # A future import of this file must not reach the page, whose dataclasses would look for other names.
            exec(compile(ast.Module([statement], []), str(page), "exec", dont_inherit=True), names)


_SHAPE = re.compile(r"\((?:\s*[\w,]+,?)+\)")


def as_shown(one: Shown) -> bool | None:
    """Whether a value has the shape, or the keys, that its comment gives; None where it gives neither.

    >>> as_shown(Shown(1, np.zeros((3, 2)), "(3, targets): a row each"))
    True
    >>> as_shown(Shown(1, {"y": 1}, '{"x": 1}')), as_shown(Shown(1, 3, "three"))
    (False, None)
    """
    if one.comment.startswith("{") and isinstance(one.value, Mapping):
        keys = re.findall(r'[{,] ?"(\w+)": ', re.sub(r"\([^()]*\)|(?<!^)\{[^{}]*\}", "", one.comment))
        return set(keys) <= set(one.value)
    shapes = [_dimensions(text) for text in _SHAPE.findall(one.comment)]
    shapes = [shape for shape in shapes if shape is not None]
    if not shapes:
        return None
    if isinstance(one.value, tuple) and len(one.value) == len(shapes) > 1:
        return all(_fits(value, shape) for value, shape in zip(one.value, shapes, strict=True))
    return any(_fits(one.value, shape) for shape in shapes)


def _dimensions(text: str) -> tuple[int | str, ...] | None:
    """The sizes in brackets, those that are named left as names; None for brackets that are no shape."""
    words = [word.strip() for word in text.strip("()").split(",")]
    if words[-1] == "":
        words.pop()
    elif len(words) == 1:
        return None
    if not all(word.isdigit() or word.isidentifier() for word in words):
        return None
    return tuple(int(word) if word.isdigit() else word for word in words)


def _fits(value: Any, shape: tuple[int | str, ...]) -> bool:
    real = value if isinstance(value, tuple) else np.shape(value)
    return len(real) == len(shape) and all(
        size == wanted for size, wanted in zip(real, shape, strict=True) if isinstance(wanted, int)
    )


def form(text: str) -> list[list[str]]:
    """The words of a text that do not depend on how long a network was trained.

    Without numbers, answers and verdicts: names of columns and rows, and the targets of `y <- a, b`. Of a table whose
    rows are the inputs that were found only the heading is left.

    >>> form("   kept  p_value\\na  True    0.01")
    [['kept', 'p_value'], ['a']]
    >>> form("y <- a, b"), form("   location  acts\\na   0.5   scale")
    ([['y']], [['location', 'acts']])
    """
    lines = [
        [word for word in line.partition(" <- ")[0].split() if _told_by_name(word)] for line in text.splitlines()
    ]
    lines = [line for line in lines if line]
    return lines[:1] if lines and "acts" in lines[0] else lines


def _told_by_name(word: str) -> bool:
    return word not in ("True", "False") and re.search(r"[^\W\d]", word) is not None and word not in ("nan", "inf")
