"""Whether what a server needs is installed."""

from __future__ import annotations

from importlib.util import find_spec

from forebear.errors import InputError


def need_web(command: str) -> None:
    """Refuse to go on without the extra, in one line.

    >>> need_web("forebear studio")
    """
    if not all(find_spec(name) for name in ("starlette", "uvicorn")):
        raise InputError(f"{command} needs Starlette and uvicorn: run `pip install 'forebear[web]'`")
