"""How far an answer can be trusted: exact sets and verdicts on many kinds of table that were made for nothing else.

A set is exact when it is the truth (or one of those that are as good). An answer is right when its set is exact, or,
for a kind of table that cannot decide, when its verdict is "cannot tell". What matters most is what wrong answers say
of themselves.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forebear.errors import InputError, near_miss
from forebear.run.engine import Unfinished
from forebear_experiments.benchmarks.support.resume import resumed
from forebear_experiments.benchmarks.support.verdicts import CANNOT_TELL, CERTIFIED, VERDICTS, verdict_of

OURS = "certified"
"""the name of our own method among those compared"""


class Answer(NamedTuple):
    """One method's set for one target of one table. One that was not found, because of an error, is wrong."""

    target: str
    chosen: tuple[str, ...]
    exact: bool
    seconds: float
    undecidable: bool
    verdict: str = ""
    error: str = ""

    @property
    def right(self) -> bool:
        """Exact, or rightly undecided."""
        return self.verdict == CANNOT_TELL if self.undecidable else self.exact


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    baselines: bool | Sequence[str] = True,
    jobs: int = 1,
    out: str | Path | None = None,
) -> list[dict[str, Any]]:
    """One row per kind of table, then one of all kinds, then one per baseline.

    `out` is a file with a line for every kind, seed and method that is done; a later call with the same file goes on
    from there. A baseline whose package is not installed is left out. Baselines see the rows as independent, as their
    users would call them, and the projected covariance measure at most 5,000 of them.
    """
    from forebear_experiments.benchmarks.support.rivals import RIVALS
    from forebear_experiments.benchmarks.support.varied_tables import ASKED, KINDS

    for name in names or ():
        if name not in ASKED:
            raise InputError(f"there is no kind of table '{name}' in this benchmark. {near_miss(name, ASKED)}")
    rivals = list(RIVALS) if baselines is True else list(baselines or ())
    for name in rivals:
        if name not in RIVALS:
            raise InputError(f"there is no baseline '{name}' in this benchmark. {near_miss(name, RIVALS)}")
    pieces = [(name, seed, method) for method in (OURS, *rivals) for name in (names or KINDS) for seed in seeds]
    answers = _collected(pieces, jobs, out)
    ours = {name: answers[name, OURS] for name in (names or KINDS)}
    rows = [kind_row(name, own) for name, own in ours.items()]
    rows.append(summary(list(_flat(ours.values()))))
    for method in rivals:
        own = list(_flat(given for (_, by), given in answers.items() if by == method))
        if own:
            rows.append(baseline_row(method, own))
    return rows


def _flat(several: Iterable[Sequence[Answer]]) -> Iterable[Answer]:
    return (answer for own in several for answer in own)


def _collected(
    pieces: Sequence[tuple[str, int, str]], jobs: int, out: str | Path | None
) -> dict[tuple[str, str], list[Answer]]:
    """(kind, method) -> its answers, in the order of the pieces.

    A piece whose process died, whatever was tried, has wrong answers; they are not kept in the file, so that it is
    tried again next time.
    """
    told: dict[tuple[Any, ...], Sequence[Sequence[Any]] | None] = {}
    trouble = "not done"
    try:
        for piece, result in resumed(answer_piece, pieces, jobs, out):
            told[piece] = result
    except Unfinished as error:
        trouble = str(error)
    answers: dict[tuple[str, str], list[Answer]] = {}
    for piece in pieces:
        name, _, method = piece
        given = [Answer(*one) for one in told[piece] or ()] if piece in told else _failed(piece, trouble)
        answers.setdefault((name, method), []).extend(given)
    return answers


def answer_piece(piece: tuple[str, int, str]) -> list[list[Any]] | None:
    """The answers of one method on one table, as plain lists: (kind, seed, method).

    None if the method is a baseline whose package is not installed.
    """
    try:
        given = _ours(piece) if piece[2] == OURS else _rival(piece)
    except Exception as error:  # whatever goes wrong counts against the method, and is told
        if isinstance(error, ImportError) and piece[2] != OURS:
            return None
        given = _failed(piece, f"{type(error).__name__}: {error}")
    return [[list(field) if isinstance(field, tuple) else field for field in answer] for answer in given]


def _ours(piece: tuple[str, int, str]) -> list[Answer]:
    import forebear
    from forebear_experiments.benchmarks.support.varied_tables import ASKED

    name, seed, _ = piece
    table = ASKED[name](seed)
    found = forebear.discover(table.frame, targets=list(table.targets), seed=seed, **table.options)
    answers = []
    for target in table.targets:
        chosen = tuple(found.ancestors[target])
        exact, each = table.accepts(target, frozenset(chosen)), found.seconds / len(table.targets)
        answers.append(Answer(target, chosen, exact, each, table.undecidable, verdict_of(found, target)))
    return answers


def _rival(piece: tuple[str, int, str]) -> list[Answer]:
    from forebear_experiments.benchmarks.support.rivals import RIVALS, chosen_by
    from forebear_experiments.benchmarks.support.varied_tables import ASKED

    name, seed, method = piece
    table = ASKED[name](seed)
    answers = []
    for target in table.targets:
        started = time.perf_counter()
        chosen = chosen_by(RIVALS[method], table, target, seed)
        seconds, exact = time.perf_counter() - started, table.accepts(target, chosen)
        answers.append(Answer(target, tuple(sorted(chosen)), exact, seconds, table.undecidable))
    return answers


def _failed(piece: tuple[str, int, str], error: str) -> list[Answer]:
    from forebear_experiments.benchmarks.support.varied_tables import ASKED

    table = ASKED[piece[0]](piece[1])
    none = float("nan")
    return [Answer(target, (), False, none, table.undecidable, error=error) for target in table.targets]


def kind_row(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """What is said of one kind of table."""
    wrong = [answer for answer in answers if not answer.exact]
    return {
        "what": name,
        "ours_s": _mean(answer.seconds for answer in answers),
        "exact": len(answers) - len(wrong),
        "of": len(answers),
        "right": sum(answer.right for answer in answers),
        "verdicts": _counted(answers),
        "wrong": [[answer.error] if answer.error else sorted(answer.chosen) for answer in wrong],
        "undecidable": answers[0].undecidable,
    }


def summary(answers: Sequence[Answer]) -> dict[str, Any]:
    """What is said of all kinds together.

    `wrong_certified` is the share of wrong answers that claim to be certified, `exact_certified` that of exact
    answers where the rows can decide: the first should be near 0, the second near 1.
    """
    wrong = [answer for answer in answers if not answer.right]
    decidable = [answer for answer in answers if not answer.undecidable]
    exact = [answer for answer in decidable if answer.exact]
    return {
        "what": "all kinds",
        "ours_s": _mean(answer.seconds for answer in answers),
        "exact": len(exact),
        "of": len(decidable),
        "right": len(answers) - len(wrong),
        "answers": len(answers),
        "right_share": _share(answer.right for answer in answers),
        "exact_share": _share(answer.exact for answer in decidable),
        "wrong_certified": _share(answer.verdict == CERTIFIED for answer in wrong),
        "exact_certified": _share(answer.verdict == CERTIFIED for answer in exact),
        "undecidable_right": _share(answer.right for answer in answers if answer.undecidable),
        "verdicts": _counted(answers),
        "errors": sum(bool(answer.error) for answer in answers),
    }


def baseline_row(method: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """The same for a method without verdicts: exact sets, where the rows can decide."""
    decidable = [answer for answer in answers if not answer.undecidable]
    return {
        "what": f"all kinds: {method}",
        "baseline": method,
        "baseline_s": _mean(answer.seconds for answer in answers),
        "exact": sum(answer.exact for answer in decidable),
        "of": len(decidable),
        "exact_share": _share(answer.exact for answer in decidable),
        "errors": sum(bool(answer.error) for answer in answers),
    }


def _counted(answers: Sequence[Answer]) -> dict[str, int]:
    count = Counter("error" if answer.error else answer.verdict for answer in answers)
    return {verdict: count[verdict] for verdict in dict.fromkeys((*VERDICTS, *count)) if count[verdict]}


def _share(these: Iterable[bool]) -> float | None:
    """None of none: there is nothing to take a share of."""
    values = list(these)
    return sum(values) / len(values) if values else None


def _mean(seconds: Iterable[float]) -> float | None:
    """Over those that were finished."""
    values = [value for value in seconds if np.isfinite(value)]
    return float(np.mean(values)) if values else None
