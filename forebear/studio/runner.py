"""The runs of the studio: which there are, whose turn it is, and what their processes say."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forebear.errors import InputError
from forebear.run.bars import TimeLeft, left_told
from forebear.storage.files import unwritable
from forebear.storage.lock import alone_in
from forebear.storage.memory import available_memory
from forebear.studio.asked import targets_of
from forebear.studio.children import Child, how_it_ended
from forebear.studio.files import FILES, ready
from forebear.studio.hub import Hub
from forebear.studio.place import Place
from forebear.studio.runs import CANCELLED, DONE, FAILED, RUNNING, UNFINISHED, WAITING, Run, load_run, now
from forebear.web.answers import Refused

LOG = "studio.log"
# A run uses the cores that there are, but for stretches that run on one.
_CORES_EACH = 4
_REDRAWN = 0.2
_USUAL_GIGABYTES = 1.0
_GONE = ".deleted-"
_LONGEST_NAME = 120


@dataclass
class Live:
    """How far the process of a run is, in the part that it is in."""

    phase: str
    stage: str = ""
    share: float = 0.0
    left: str = ""

    def __post_init__(self) -> None:
        self._clock: TimeLeft | None = None
        self._from = 0.0

    def told(self) -> dict[str, Any]:
        """For the page."""
        return {"phase": self.phase, "stage": self.stage, "share": self.share, "left": self.left}

    def move(self, stage: str, share: float, when: float) -> None:
        """To where it is now. A run that goes on begins with a share that took no time."""
        if self._clock is None:
            self._clock, self._from = TimeLeft(when), min(share, 0.99)
        own = max(0.0, share - self._from) / (1 - self._from)
        self.stage, self.share, self.left = stage, share, left_told(self._clock.at(own, when))


@dataclass
class Entry:
    """A run with what is known of it only while the server lives."""

    id: str
    folder: Path
    run: Run
    live: Live | None = None
    child: Child | None = None
    ending: str = ""
    """the state that it is to end in, where somebody said so"""
    error: str = ""
    making: list[str] = field(default_factory=list)
    maker: Live | None = None
    """how far the first of them is"""
    unmade: dict[str, str] = field(default_factory=dict)
    """files that could not be made, and why"""
    told_at: float = 0.0
    own: bool = True
    """whether it lies in the studio's folder of runs, and may be deleted"""
    dropped: bool = False
    """whether its table is a copy in the studio's folder"""

    @property
    def needed(self) -> float:
        """Bytes, as estimated before the start."""
        needed = self.run.estimate.get("gigabytes")
        return 1e9 * (float(needed) if isinstance(needed, int | float) else _USUAL_GIGABYTES)

    @property
    def still_to_take(self) -> float:
        """Bytes that its process needs and does not hold yet."""
        return max(0.0, self.needed - (0 if self.child is None else resident(self.child.process.pid)))

    def told(self) -> dict[str, Any]:
        """For the page."""
        run, live = self.run, self.live
        return {
            "id": self.id,
            "folder": str(self.folder),
            "name": run.name,
            "file": run.file,
            "state": run.state,
            "targets": targets_of(run.asked),
            "created": run.created,
            "started": run.started,
            "ended": run.ended,
            "seconds": run.seconds,
            "error": run.error,
            "notes": list(run.notes),
            "answers": list(run.answers),
            "estimate": run.estimate,
            "laws": run.laws,
            "reported": run.reported,
            "elsewhere": run.elsewhere,
            "own": self.own,
            "dropped": self.dropped,
            "live": None if live is None else live.told(),
            "maker": None if self.maker is None else self.maker.told(),
            "ready": ready(self.folder) if run.state == DONE else [],
            "making": list(self.making),
            "unmade": dict(self.unmade),
        }


class Runner:
    """Keeps the runs in order. What must outlive the server is in their folders; the rest is here."""

    def __init__(self, place: Place):
        self.place = place
        self.hub = Hub(self.stand)
        self.entries: dict[str, Entry] = {}
        self.trouble = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()
        self._closing = False

    def start(self) -> None:
        """Take up what was waiting or under way when the last server ended."""
        for rest in self.place.runs.glob(f"{_GONE}*"):
            shutil.rmtree(rest, ignore_errors=True)
        self.scan()
        for entry in self.entries.values():
            if entry.run.state == RUNNING:
                self._set(entry, state=WAITING)
        self._next()

    def close(self) -> None:
        """End all processes; their runs go on with the next server."""
        self._closing = True
        for entry in self.entries.values():
            if entry.child is not None:
                entry.child.kill()
        for task in self._tasks:
            task.cancel()
        self.hub.close()

    def stand(self) -> dict[str, Any]:
        """All runs, the latest first."""
        self.scan()
        runs = sorted(self.entries.values(), key=lambda entry: entry.run.created, reverse=True)
        return {"runs": [entry.told() for entry in runs], "trouble": self.trouble}

    def scan(self) -> None:
        """Find runs that are new, gone, or were taken further elsewhere."""
        folders = {folder.name: folder for folder in _folders(self.place.runs)}
        elsewhere = [one for folder in self.place.folders for one in _folders(folder)]
        folders |= {_name_of(one): one for one in elsewhere if (one / "run.json").is_file()}
        for name, folder in folders.items():
            known = self.entries.get(name)
            if known is None or known.child is None:
                run = load_run(folder)
                if run is not None and known is None:
                    self.entries[name] = self._entry(folder, run, name)
                elif run is not None and known is not None and known.run.state not in (WAITING, RUNNING):
                    known.run = run if not known.run.error or run.state == DONE else known.run
        for name in [name for name in self.entries if name not in folders and self.entries[name].child is None]:
            del self.entries[name]

    def entry(self, name: str) -> Entry:
        """A run by its name."""
        if name not in self.entries:
            self.scan()
        if name not in self.entries:
            raise Refused(404, "there is no such run")
        return self.entries[name]

    def add(self, run: Run) -> Entry:
        """A new run, which waits for its turn."""
        folder = self.place.new_run(run.name)
        entry = self._entry(folder, replace(run, created=now()))
        try:
            entry.run.save(folder)
        except InputError:  # what cannot be kept is not begun, and leaves nothing
            with suppress(OSError):
                folder.rmdir()
            raise
        self.entries[entry.id] = entry
        self._tell(entry)
        self._next()
        return entry

    def _entry(self, folder: Path, run: Run, name: str = "") -> Entry:
        own, file = folder.parent == self.place.runs, Path(run.file)
        dropped = file.parent == self.place.uploads and file.name != ".."
        return Entry(name or folder.name, folder, run, own=own, dropped=dropped)

    def rename(self, name: str, label: str) -> None:
        """Call it otherwise; its folder stays what it is."""
        entry, label = self.entry(name), " ".join(label.split())
        if not 0 < len(label) <= _LONGEST_NAME or not label.isprintable():
            raise Refused(400, f"a name has 1 to {_LONGEST_NAME} letters")
        self._set(entry, name=label)

    async def delete(self, name: str) -> None:
        """Delete its folder, and the copy of its table that was dropped here, unless another run is of it.

        It is gone from the list by one renaming; a server that is killed meanwhile clears away the rest when it
        starts.
        """
        entry = self.entry(name)
        if entry.run.state == RUNNING or entry.child is not None or entry.making:
            raise Refused(409, "this run is at work: cancel it first")
        if not entry.own:
            raise Refused(409, f"this run lies in another folder than the studio's: delete {entry.folder} yourself")
        others = {other.run.file for other in self.entries.values() if other is not entry}
        gone = self.place.runs / f"{_GONE}{entry.folder.name}-{secrets.token_hex(2)}"
        if entry.folder.is_dir():  # nobody else has deleted it
            with alone_in(entry.folder):  # the command line may be going on with it
                try:
                    entry.folder.rename(gone)
                except OSError as error:
                    raise unwritable(self.place.runs, error) from None
        self.entries.pop(name, None)
        if entry.dropped and entry.run.file not in others:
            for file in (Path(entry.run.file), Path(f"{entry.run.file}.json")):
                with suppress(OSError):
                    file.unlink()
        self.hub.tell({"gone": name, "trouble": self.trouble})
        self._next()
        await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)

    def cancel(self, name: str) -> None:
        """End it; what it has done is kept, and it can go on."""
        entry = self.entry(name)
        if entry.run.state == WAITING:
            self._set(entry, state=CANCELLED, ended=now())
        elif entry.run.state == RUNNING:
            entry.ending = CANCELLED
            if entry.child is not None:
                entry.child.kill()

    def go_on(self, name: str) -> None:
        """Let a run that ended too early wait for its turn again, or one that was made elsewhere get its report."""
        entry = self.entry(name)
        if entry.run.state in (WAITING, RUNNING):
            return
        if entry.run.state == UNFINISHED and not entry.run.asked:
            raise Refused(409, "this run is of a table in memory, or of an earlier version: go on where it was begun")
        entry.ending = ""
        self._set(entry, state=WAITING, error="")
        self._next()

    def make(self, name: str, file: str) -> None:
        """Make a file of a finished run, unless it is there or under way."""
        entry = self.entry(name)
        if file not in FILES:
            raise Refused(404, f"there is no file '{file}'")
        if entry.run.state != DONE:
            raise Refused(409, "this run is not finished")
        if file in entry.making or file in ready(entry.folder):
            return
        entry.making.append(file)
        entry.unmade.pop(file, None)
        self._tell(entry)
        self._task(self._make(entry, file))

    def past(self) -> list[tuple[list[int], float]]:
        """What finished runs had to do, and the seconds that they took; those with settings of their own do not
        count."""
        runs = [entry.run for entry in self.entries.values()]
        return [
            (run.estimate["work"], run.seconds)
            for run in runs
            if run.state == DONE and run.seconds and run.estimate.get("work") and not run.asked.get("settings")
        ]

    def _next(self) -> None:
        """Start those whose turn it is: one at a time, or as many as there are cores and memory for."""
        waiting = sorted((e for e in self.entries.values() if e.run.state == WAITING), key=lambda e: e.run.created)
        for entry in waiting:
            if self._closing or not self._room_for(entry):
                return
            self._set(entry, state=RUNNING, started=now(), error="", ended="")
            entry.live = Live("search", "starting")
            self._task(self._work(entry))

    def _room_for(self, entry: Entry) -> bool:
        running = [other for other in self.entries.values() if other.run.state == RUNNING]
        if not running:  # the first one may always try: it says itself what it lacks
            return True
        if len(running) >= (os.cpu_count() or 1) // _CORES_EACH:
            return False
        free = available_memory()
        # What those under way will still take is spoken for.
        return free is None or entry.needed + sum(other.still_to_take for other in running) < free

    async def _work(self, entry: Entry) -> None:
        """The process of a run, from its start to its end."""
        status, words = 0, [str(entry.folder)]
        try:
            self._check_file(entry)
            with open(entry.folder / LOG, "ab") as log:
                entry.child = await Child.start("forebear.studio.worker", words, log)
            if entry.ending:  # somebody was faster than the process
                entry.child.kill()
            status = await entry.child.listen(lambda message: self._hear(entry, message))
        except (Refused, InputError, OSError) as error:
            entry.error = str(error)
        finally:
            entry.child, entry.live = None, None
        if self._closing:
            return
        error = entry.error or ("" if status == 0 else how_it_ended(status, entry.folder / LOG))
        state = entry.ending or (FAILED if error else DONE)
        entry.ending, entry.error = "", ""
        self._set(entry, state=state, error=error if state == FAILED else "", ended=now())
        self._next()

    def _check_file(self, entry: Entry) -> None:
        """The file of a run may have been named by somebody else: it lies in one of our folders, or is not read."""
        if not (entry.folder / "found.json").is_file():
            self.place.file(entry.run.file)

    def _hear(self, entry: Entry, message: dict[str, Any]) -> None:
        """What the process of a run says."""
        if "phase" in message:
            if entry.live is None or entry.live.phase != message["phase"]:
                entry.live = Live(message["phase"])
            entry.live.move(message["stage"], message["share"], time.monotonic())
            if time.monotonic() - entry.told_at > _REDRAWN:
                self._tell(entry)
        elif "note" in message:
            self._set(entry, notes=entry.run.with_notes(message["note"]).notes)
        elif "searched" in message:
            entry.live = Live("report", "fitting the laws of the report")
            self._set(entry, answers=tuple(message["searched"]), seconds=message["seconds"])
        elif "reported" in message:
            self._set(entry, answers=tuple(message["reported"]), reported=True)
        elif "error" in message:
            entry.error = message["error"]

    async def _make(self, entry: Entry, file: str) -> None:
        """One at a time: each fits or loads the twin."""
        said: list[dict[str, Any]] = []

        def hear(message: dict[str, Any]) -> None:
            if "phase" not in message:
                said.append(message)
            elif entry.maker is not None:
                entry.maker.move(message["stage"], message["share"], time.monotonic())
                if time.monotonic() - entry.told_at > _REDRAWN:
                    self._tell(entry)

        async with self._one_at_a_time:
            with open(entry.folder / LOG, "ab") as log:
                child = await Child.start("forebear.studio.worker", [str(entry.folder), file], log)
            try:
                entry.maker = Live(file)
                status = await child.listen(hear)
            finally:
                entry.maker = None
                child.kill()
        wrong = [message["error"] for message in said if "error" in message]
        entry.making.remove(file)
        if wrong or status:
            entry.unmade[file] = wrong[0] if wrong else how_it_ended(status, entry.folder / LOG)
        self._tell(entry)

    def _task(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _set(self, entry: Entry, **changes: Any) -> None:
        """Change what is known of a run, keep it, and tell the pages."""
        entry.run = replace(entry.run, **changes)
        try:
            entry.run.save(entry.folder)
            self.trouble = ""
        except InputError as error:  # on a full disk the run ends by itself; until then the page knows
            self.trouble = str(error)
        self._tell(entry)

    def _tell(self, entry: Entry) -> None:
        entry.told_at = time.monotonic()
        self.hub.tell({"run": entry.told(), "trouble": self.trouble})


def _folders(place: Path) -> Sequence[Path]:
    """Those in a folder that are no links and not hidden; nothing where there is none."""
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        return [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    except OSError:
        return []


def resident(process: int) -> int:
    """Bytes that a process holds; 0 where the system does not tell.

    >>> resident(os.getpid()) > 1_000_000 or not Path("/proc").is_dir()
    True
    """
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _name_of(folder: Path) -> str:
    """Of a run that lies elsewhere than in the studio's own folder."""
    return f"at-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
