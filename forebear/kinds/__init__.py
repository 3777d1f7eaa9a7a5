"""The kinds of columns: one file each. A new kind is such a file and a line in `_BUILT_IN`, or a call of `register`.

A column is of the first kind that recognises its cells; kinds that were registered later are asked first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import pandas as pd

from forebear.errors import InputError, near_miss
from forebear.kinds.category import Category
from forebear.kinds.kind import Kind as Kind
from forebear.kinds.periodic import Periodic
from forebear.kinds.real import Real

_BUILT_IN: tuple[Kind, ...] = (Periodic(), Category(), Real())
_known: dict[str, Kind] = {kind.name: kind for kind in _BUILT_IN}

KINDS: Mapping[str, Kind] = MappingProxyType(_known)
"""word -> kind; those asked first come first"""


def kind_named(word: str) -> Kind:
    """The kind that a word in a file or in `Column.kind` means.

    >>> kind_named("real").name
    'real'
    >>> kind_named("reel")
    Traceback (most recent call last):
    forebear.errors.InputError: unknown kind of column 'reel'. Did you mean 'real'?
    """
    if word not in _known:
        raise InputError(f"unknown kind of column '{word}'. {near_miss(word, _known)}")
    return _known[word]


def check_kinds(words: Iterable[object], where: str) -> None:
    """Refuse a file with kinds that nobody has registered; `where` opens the message.

    >>> check_kinds(["real", "ordinal"], "data.safetensors")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    forebear.errors.InputError: data.safetensors: has a column of the kind 'ordinal', which is not known here: ...
    """
    for word in words:
        if word not in _known:
            raise InputError(
                f"{where}: has a column of the kind '{word}', which is not known here: import the module that "
                "registers it"
            )


def recognise(cells: pd.Series, where: str, period: float | None = None) -> Kind:
    """The kind of a column with these cells; `where` opens the message if no kind can read them.

    >>> recognise(pd.Series([True, False]), "the table: column 'x'").name
    'category'
    """
    for kind in _known.values():
        if kind.recognises(cells, where, period):
            return kind
    raise InputError(f"{where} holds nothing that any kind of column can read: convert it, or leave it out")


def register(kind: Kind) -> None:
    """Make a kind of your own known; it is asked before all others. Its word must be new."""
    if kind.name in _known:
        raise InputError(f"a kind of column '{kind.name}' is there already: give yours another name")
    others = dict(_known)
    _known.clear()
    _known.update({kind.name: kind, **others})


@contextmanager
def registered(kind: Kind) -> Iterator[None]:
    """A kind that is known for a while, to try it out."""
    register(kind)
    try:
        yield
    finally:
        del _known[kind.name]
