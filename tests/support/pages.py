"""The code in pages of documentation: found, run, and, where it would train, run without training."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from reports import verdict
from toys import toy_twin

import forebear as fb
from forebear.data.question import Question, ask, check_questions
from forebear.data.table import Table, open_frame, read_columns
from forebear.discovery.action import Action
from forebear.discovery.certificate import Certificate
from forebear.discovery.embed import Lengthscales
from forebear.discovery.record import Discovery
from forebear.discovery.settings import resolve
from forebear.twin.twin import Twin

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


def run_page(page: Path) -> dict[int, str]:
    """Run the Python blocks of a page as one module; what each printed, by its line."""
    module = ModuleType("a_page")
    printed = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "a_page", module)  # where dataclasses look for their names
        for block in blocks(page):
            if block.kind == "python":
                # Empty lines in front, so that a traceback names the line of the page.
                code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
                told = io.StringIO()
                with contextlib.redirect_stdout(told):
                    exec(code, module.__dict__)
                printed[block.line] = told.getvalue()
    return printed


def without_training(page: Path, patch: pytest.MonkeyPatch) -> None:
    """Discoveries answer as the page says, or else the first two candidates, and twins have random weights; all else
    is as it is."""
    told = "\n".join(block.text for block in blocks(page) if block.kind == "text")
    answers = {
        m[1]: tuple(m[2].split(", ")) for m in re.finditer(r"^(\w+) <- ([\w, ]*[a-z_]\w*)", told, re.MULTILINE)
    }

    def discover(*given: Any, **named: Any) -> fb.Found:
        return _discover(*given, **named, answers=answers)

    patch.setattr(fb, "discover", discover)
    patch.setattr("forebear.sklearn.selector.discover", discover)
    patch.setattr("forebear.api.twins.fit_twin", _fit_twin)
    patch.setattr("forebear.sklearn.flow.fit_twin", _fit_twin)
    patch.setattr(Twin, "distil", lambda self, *given, **named: self)


def _discover(
    data: Any,
    targets: Any = None,
    candidates: Any = None,
    keep: Any = (),
    groups: Any = None,
    periodic: Any = None,
    rule: Any = "certified",
    preset: str = "fast",
    runs: int = 1,
    seed: int = 0,
    out: Any = None,
    jobs: Any = 1,
    progress: Any = None,
    sampler: Any = "flow",
    joint: bool = False,
    *,
    answers: Mapping[str, tuple[str, ...]],
    **settings: Any,
) -> fb.Found:
    config = resolve(preset, settings)
    frame, source = open_frame(data)
    questions = ask(list(frame.columns), source, targets=targets, candidates=candidates, keep=keep, groups=groups)
    used = {name for question in questions for name in (question.target, *question.inputs)}
    table = read_columns(frame, source, used, periodic)
    check_questions(table, questions)
    paths = {question.target: _path(question) for question in questions}
    choose: Any = rule if callable(rule) else lambda path: path.units[:2]
    chosen = {target: tuple(choose(path)) for target, path in paths.items()}
    chosen |= {t: answers[t] for t, p in paths.items() if t in answers and set(answers[t]) <= set(p.units)}
    certificates = {q.target: _certificate(q, chosen[q.target]) for q in questions} if rule == "certified" else {}
    record = {"preset": preset, "rule": str(rule), "joint": joint, "runs": runs, "seed": seed, **config.flat()}
    by_target = {question.target: question for question in questions}
    made = Discovery(by_target, (paths,) * runs, (chosen,) * runs, (certificates,) * runs, record, 1.0)
    found = fb.Found(made, table)
    if out is not None:
        found.save(out)
    return found


def _path(question: Question) -> fb.Path:
    units = tuple(question.units)
    removed = units[::-1]
    scores = np.full((len(units) + 1, len(units)), np.nan)
    for step in range(len(units)):
        scores[step, : len(units) - step] = np.linspace(0.9, 0.4, len(units) - step)
    nsr = tuple(np.linspace(0.3, 1.0, len(units) + 1).tolist())
    return fb.Path(units, removed, nsr, scores, (1.0,) * len(nsr), Lengthscales(dict.fromkeys(units, 1.0), 1.0))


def _certificate(question: Question, kept: Sequence[str]) -> Certificate:
    gone = [unit for unit in question.units if unit not in kept]
    verdicts = {unit: verdict(0.0 if unit in kept else 0.5, 0.4, (unit,)) for unit in question.units}
    together = verdict(0.41, units=gone[:1]) if gone else None
    return Certificate(
        tuple(kept), True, True, verdicts, together, {}, {u: Action(0.6, 0.3, 0.1) for u in kept}, 0.01
    )


def _fit_twin(table: Table, ancestors: Mapping[str, Sequence[str]], **named: Any) -> Twin:
    periods = {name: column.period for name, column in table.columns.items() if column.period is not None}
    return toy_twin(table.frame(), ancestors, periods)
