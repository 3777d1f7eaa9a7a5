"""What is asked of a table: which targets, from which inputs, what may be removed and what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forebear.data.copies import find_copies
from forebear.data.names import expand, pick_names
from forebear.data.table import Table
from forebear.errors import InputError, listed, renamed

# Below this many rows, or this many rows per input, a law cannot be told from chance.
FEWEST_ROWS, ROWS_PER_INPUT = 30, 2


@dataclass(frozen=True)
class Question:
    """One target, and what may shape it.

    `inputs` holds every column the law is conditioned on, in table order. `candidates` says what is removed at
    a time: a group under its name, or a column under its own. `always` is conditioned on and never removed.

    >>> Question("y", ("a", "b", "c"), {"pair": ("a", "b")}, ("c",)).candidates
    {'pair': ('a', 'b')}
    """

    target: str
    inputs: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]]
    always: tuple[str, ...]

    units = renamed("units", "candidates")
    keep = renamed("keep", "always")


def ask(
    frame_columns: Sequence[str],
    source: str,
    *,
    targets: str | Sequence[str] | None = None,
    candidates: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    keep: str | Sequence[str] | Mapping[str, Sequence[str]] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> list[Question]:
    """One question per target, from the options as the user gave them.

    Without `targets`, every column that is not kept is a target of all the others; if `candidates` maps
    targets to lists, its keys are the targets. Without `candidates`, or for a target the mapping leaves out,
    they are the columns that are not targets (without `targets`: every other column). `left_out` are columns that
    cannot be used and why: a message that misses them says so.

    >>> ask(["a", "b", "y"], "the table", targets="y", groups={"pair": ["a", "b"]})
    [Question(target='y', inputs=('a', 'b'), candidates={'pair': ('a', 'b')}, always=())]
    """
    columns = tuple(frame_columns)
    aims = _targets(targets, candidates, keep, columns, source)
    allowed = _per_target(candidates, "candidates", aims, columns, source)
    kept = _per_target(keep, "keep", aims, columns, source)
    _check_own("candidates", candidates, allowed, targets, source)
    _check_own("keep", keep, kept, targets, source)
    group_of = _groups(groups, columns, source, {name for names in kept.values() for name in names or ()})
    in_turn = targets is None and not isinstance(candidates, Mapping)
    others = columns if in_turn else tuple(name for name in columns if name not in set(aims))
    questions = []
    for target in aims:
        pool = allowed[target] if allowed[target] is not None else others
        questions.append(_question(target, pool or (), kept[target] or (), group_of, columns, source, left_out or {}))
    return questions


def check_questions(table: Table, questions: Sequence[Question], most_inputs: int | None = None) -> None:
    """What only the values can tell: too few rows, and columns that are copies of one another. Of more inputs than
    `most_inputs`, so many will be searched.

    >>> import pandas as pd
    >>> from forebear.data.table import read_columns
    >>> table = read_columns(pd.DataFrame({"x": [1, 2, 3], "y": [3, 1, 2]}), "a.csv", ["x", "y"])
    >>> check_questions(table, ask(["x", "y"], "a.csv", targets="y"))
    Traceback (most recent call last):
    forebear.errors.InputError: a.csv has 3 rows, too few for target 'y' with 1 input: give at least 30 rows
    """
    for question in questions:
        count = len(question.inputs) if most_inputs is None else min(len(question.inputs), most_inputs)
        needed = max(FEWEST_ROWS, ROWS_PER_INPUT * count)
        rows = len(table.columns[question.target].present)
        if rows < needed:
            known = "" if rows == table.rows else f" with a value of '{question.target}'"
            raise InputError(
                f"{table.source} has {rows} rows{known}, too few for target '{question.target}' with {count} "
                f"input{'s' if count > 1 else ''}: give at least {needed} rows"
            )
    used = {name for question in questions for name in (question.target, *question.inputs)}
    copies = find_copies([column for name, column in table.columns.items() if name in used])
    if copies:
        for question in questions:
            _check_copies(question, copies, table.source)


def _check_copies(question: Question, copies: Sequence[tuple[str, str]], source: str) -> None:
    inputs = set(question.inputs)
    for first, second in copies:
        if question.target in (first, second):
            other = second if first == question.target else first
            if other in inputs:
                role = "kept column" if other in question.always else "candidate"
                raise InputError(
                    f"{source}: target '{question.target}' and {role} '{other}' hold the same values (up to "
                    "shift and scale): leave one of them out"
                )
        elif first in inputs and second in inputs:
            raise InputError(
                f"{source}: columns '{first}' and '{second}' hold the same values (up to shift and scale), "
                "so nothing can tell them apart: leave one of them out"
            )


def _targets(
    targets: object, candidates: object, keep: object, columns: tuple[str, ...], source: str
) -> tuple[str, ...]:
    if targets is not None:
        aims = pick_names(targets, columns, source, "targets")
    elif isinstance(candidates, Mapping):
        aims = pick_names(list(candidates), columns, source, "candidates")
    else:
        kept = () if isinstance(keep, Mapping) else pick_names(keep, columns, source, "keep")
        aims = tuple(name for name in columns if name not in set(kept))
    if not aims:
        raise InputError(f"{source}: there is no target: name at least one column in targets")
    return aims


def _per_target(
    value: object, option: str, aims: tuple[str, ...], columns: tuple[str, ...], source: str
) -> dict[str, tuple[str, ...] | None]:
    """The names an option gives for each target; None where it says nothing."""
    if value is None:
        return dict.fromkeys(aims)
    if not isinstance(value, Mapping):
        return dict.fromkeys(aims, pick_names(value, columns, source, option, but=aims))
    entries = {
        key: names
        for given, names in value.items()
        for key in expand([str(given)], columns, source, f"named in {option}")
    }
    keys = pick_names(list(entries), columns, source, option)
    strays = [key for key in keys if key not in aims]
    if strays:
        raise InputError(
            f"{source}: {option} has an entry for {listed(strays)}, which is not a target: "
            "add it to targets or drop the entry"
        )
    lists = {
        key: pick_names(names, columns, source, f"{option} of target '{key}'", but=[key])
        for key, names in entries.items()
    }
    return {target: lists.get(target) for target in aims}


def _check_own(
    option: str, value: object, names: Mapping[str, tuple[str, ...] | None], targets: object, source: str
) -> None:
    """A target that the user put among its own inputs by name, which is a slip and not a wish.

    A list that serves every column in turn, or a kept column that is one target of several, is none.
    """
    several = option == "keep" and len(names) > 1
    if not isinstance(value, Mapping) and (targets is None or several):
        return
    for target, own in names.items():
        if own and target in own:
            remedy = "take it out of the list" if len(names) == 1 else f"give {option} as {{target: list}}"
            raise InputError(f"{source}: target '{target}' is among its own {option}: {remedy}")


def _groups(groups: object, columns: tuple[str, ...], source: str, kept: set[str]) -> dict[str, str]:
    """Column -> name of its group."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputError(f"groups must map names to lists of columns, like {{'lag 1': ['a_1']}}; got {groups!r}")
    group_of: dict[str, str] = {}
    for name, members in ((str(key), value) for key, value in groups.items()):
        members = pick_names(members, columns, source, f"group '{name}'")
        if not members:
            raise InputError(f"{source}: group '{name}' is empty: give it columns or drop it")
        if name in columns and name not in members:
            raise InputError(f"{source}: group '{name}' has the name of a column outside it: rename the group")
        for member in members:
            if member in group_of:
                both = f"'{group_of[member]}' and '{name}'"
                raise InputError(f"{source}: column '{member}' is in groups {both}: leave it in one of them")
            if member in kept:
                raise InputError(
                    f"{source}: column '{member}' is in keep and in group '{name}': what is kept is never "
                    "removed, so take it out of the group"
                )
            group_of[member] = name
    return group_of


def _gone(left_out: Mapping[str, str]) -> str:
    """What is not there to choose from, and why."""
    if not left_out:
        return ""
    told = ", ".join(f"'{name}' ({why})" for name, why in list(left_out.items())[:5])
    return f". Left out: {told}" + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")


def _question(
    target: str,
    pool: Sequence[str],
    kept: Sequence[str],
    group_of: Mapping[str, str],
    columns: tuple[str, ...],
    source: str,
    left_out: Mapping[str, str],
) -> Question:
    keep = tuple(name for name in columns if name in kept and name != target)
    free = [name for name in columns if name in pool and name not in keep and name != target]
    if not free:
        cause = "every candidate is kept" if keep else "no candidates are left"
        raise InputError(
            f"{source}: {cause} for target '{target}', so there is nothing to choose from: name candidates "
            f"for it (without targets, every column is a target of all the others){_gone(left_out)}"
        )
    candidates: dict[str, tuple[str, ...]] = {}
    for name in free:
        candidate = group_of.get(name, name)
        candidates[candidate] = (*candidates.get(candidate, ()), name)
    inputs = tuple(name for name in columns if name in keep or name in candidates or name in free)
    return Question(target, inputs, candidates, keep)
