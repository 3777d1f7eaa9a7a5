"""What a result says of each target: a dict that answers a name it does not have with the one that is meant."""

from __future__ import annotations

import html
from typing import NoReturn, TypeVar

from forebear.errors import InputError, near_miss

Value = TypeVar("Value")


class UnknownTarget(InputError, KeyError):
    """A name that is no target of the result; also a `KeyError`, as of any dict."""

    # A KeyError would put its message into quotation marks.
    __str__ = Exception.__str__


class ByTarget(dict[str, Value]):
    """A dict by the names of targets.

    >>> ByTarget({"T_out [°C]": 1})["T_out"]
    Traceback (most recent call last):
    forebear.api.by_target.UnknownTarget: 'T_out' is not a target. Did you mean 'T_out [°C]'?
    """

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownTarget(f"{name!r} is not a target. {near_miss(str(name), self)}")


class Sentences(ByTarget[str]):
    """A sentence for each target: lines where it is printed, paragraphs in a notebook.

    >>> print(Sentences({"y": "a raises y.", "z": "b < 0 widens z."}))
    a raises y.
    b < 0 widens z.
    >>> Sentences({"z": "b < 0 widens z."})._repr_html_()
    '<p>b &lt; 0 widens z.</p>'
    """

    def __str__(self) -> str:
        return "\n".join(self.values())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.values())
