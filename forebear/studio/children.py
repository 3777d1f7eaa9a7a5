"""Processes of the studio, seen from the server: started, listened to, ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from forebear.errors import InputError
from forebear.studio.talk import ORPHANED

_LONGEST = 64_000_000


class Child:
    """One process and its pipes. It ends when the server ends, whatever way: its standard input is closed then."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process

    @classmethod
    async def start(cls, module: str, words: Sequence[str] = (), log: IO[bytes] | None = None) -> Child:
        """A module of the studio in a process group of its own: Ctrl-C in the terminal is the server's alone."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            limit=_LONGEST,
            start_new_session=True,
            env={**os.environ, "MPLBACKEND": "Agg"},
        )
        return cls(process)

    async def listen(self, hear: Callable[[dict[str, Any]], None]) -> int:
        """Every message until it ends; its status."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            hear(json.loads(line))
        return await self.process.wait()

    def kill(self) -> None:
        """At once, with all its workers; nothing that it keeps is ever half written."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()


class ReaderChild:
    """The process that looks at tables: started when it is first asked, and anew when it died."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.turn = asyncio.Lock()
        self.number = 0

    async def start(self) -> None:
        """Begin: what it has to import takes as long as a person needs to choose a file."""
        async with self.turn:
            await self._there()

    async def _there(self) -> Child:
        if self.child is None or self.child.process.returncode is not None:
            self.child = await Child.start("forebear.studio.reader")
        return self.child

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer, or an `InputError` with the line that it says."""
        async with self.turn:
            try:
                answer = await self._answer(request)
            except BaseException:
                # Whoever asked has left, perhaps in the middle: what still comes belongs to nobody.
                self.close()
                raise
        if "error" in answer:
            raise InputError(answer["error"])
        return {name: value for name, value in answer.items() if name != "number"}

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        process = (await self._there()).process
        assert process.stdin is not None and process.stdout is not None
        self.number += 1
        process.stdin.write(json.dumps({"number": self.number, **request}).encode() + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            self.child = None
            raise InputError("the process that reads tables died, perhaps for want of memory: try a smaller table")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        if self.child is not None:
            self.child.kill()
        self.child = None


def how_it_ended(status: int, log: Path) -> str:
    """What to say of a process that ended without a word.

    >>> how_it_ended(-9, Path("run/studio.log"))
    'the process of this run was killed by the system, perhaps for want of memory: go on, or ask for less at a time'
    """
    if status == -signal.SIGKILL:
        return (
            "the process of this run was killed by the system, perhaps for want of memory: go on, or ask for less at "
            "a time"
        )
    if status == ORPHANED:
        return "the process of this run lost the server: go on"
    return f"the process of this run ended with status {status}: {log} says more"
