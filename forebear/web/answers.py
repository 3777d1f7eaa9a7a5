"""Answers: JSON, and every error as one line of it."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from forebear.errors import InputError

DEFECT = "this is a defect of forebear: the terminal says more"


class Refused(Exception):
    """A request that is not answered: a status of HTTP, and one line that says why and what to do."""

    def __init__(self, status: int, line: str):
        super().__init__(str(InputError(line)))
        self.status = status


def answer(content: Any, status: int = 200) -> Response:
    """JSON as every program reads it: numbers that are none are a defect, not NaN.

    >>> answer({"ok": True}).body
    b'{"ok": true}\\n'
    """
    body = json.dumps(content, allow_nan=False, ensure_ascii=False) + "\n"
    return Response(body.encode("utf-8", "replace"), status, media_type="application/json")


def refusal(error: Refused | InputError | str, status: int = 400) -> Response:
    """An error: one line, as the command line would say it.

    >>> refusal("no column 'x'").body
    b'{"error": "no column \\'x\\'"}\\n'
    """
    return answer({"error": str(error)}, error.status if isinstance(error, Refused) else status)


def _refused(request: Request, error: Exception) -> Response:
    return refusal(error if isinstance(error, (Refused, InputError)) else str(error))


def _by_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: f"there is nothing at {request.url.path}", 405: f"{request.method} is not answered here"}
    return refusal(words.get(error.status_code, error.detail), error.status_code)


def _defect(request: Request, error: Exception) -> Response:
    return refusal(DEFECT, 500)


def _left(request: Request, error: Exception) -> Response:
    return refusal("the sender left before all was sent")


HANDLERS: Any = {
    Refused: _refused,
    InputError: _refused,
    HTTPException: _by_status,
    ClientDisconnect: _left,
    Exception: _defect,
}
"""for `Starlette(exception_handlers=HANDLERS)`, which otherwise answers errors in words of its own"""
