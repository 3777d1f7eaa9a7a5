"""How a process of the studio talks to the server: lines of JSON through pipes, and its end when the server ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

ORPHANED = 75
"""status of a process whose server is gone"""

Say = Callable[[dict[str, Any]], None]


def open_pipe() -> Say:
    """Where to say what the server is to know: standard output, which from now on is for that alone.

    What libraries print goes to standard error.
    """
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lock = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        try:
            with lock:
                # As pure ASCII: a lone surrogate in a column's name has no UTF-8.
                pipe.write(json.dumps(message, allow_nan=False) + "\n")
                pipe.flush()
        except OSError:
            os._exit(ORPHANED)

    return say


def requests(stream: TextIO) -> Iterator[dict[str, Any]]:
    """What the server asks, line by line, until it ends."""
    for line in stream:
        yield json.loads(line)


def end_with_server() -> None:
    """End this process and its workers as soon as the server is gone, however it ended.

    All that is written to a run folder is there whole or not at all: nothing has to be cleared away.
    """
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    for worker in multiprocessing.active_children():
        worker.kill()
    os._exit(ORPHANED)
