"""What a long computation has finished of itself: taken up again by a later process, and gone when the whole is kept.

At the border of a stage stands `kept.load(name, form) or kept.save(name, form, made())`: what is kept under the name
comes back, or it is made and kept. Something kept that cannot be read is as good as absent: it is made again, and
comes out the same.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from forebear.errors import InputError
from forebear.storage.arrays import load_arrays, save_arrays
from forebear.storage.files import read_json, write_json
from forebear.storage.records import from_record, to_record

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""what reading a record of the wrong form raises"""


class Form(Protocol[T]):
    """How a value is kept: as arrays and plain numbers, and back. Damage shows as one of `DAMAGED`."""

    def pack(self, value: T) -> tuple[Mapping[str, np.ndarray], Any]:
        """Arrays by name, and whatever JSON holds."""
        ...

    def unpack(self, arrays: Mapping[str, np.ndarray], about: Any) -> T:
        """The value that was packed."""
        ...


class Checkpoint:
    """Values by name in a folder, each there whole or not at all; without a folder nothing is kept.

    >>> import tempfile
    >>> form = AsRecord(int)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for attempt in (1, 2):
    ...         kept = Checkpoint(Path(folder) / "00000")
    ...         print(kept.load("sum", form) or kept.save("sum", form, 1 + 1), kept.load("sum", form))
    2 2
    2 2
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder

    def load(self, name: str, form: Form[T]) -> T | None:
        """What is kept under this name; None if nothing is, or it cannot be read."""
        if self.folder is None:
            return None
        with suppress(InputError, *DAMAGED):
            if (self.folder / f"{name}.safetensors").is_file():
                return form.unpack(*load_arrays(self.folder / f"{name}.safetensors", ""))
            return form.unpack({}, read_json(self.folder / f"{name}.json"))
        return None

    def save(self, name: str, form: Form[T], value: T) -> T:
        """Keep a value, and hand it on: as safetensors where it has arrays, else as JSON, which loses nothing."""
        if self.folder is None:
            return value
        arrays, about = form.pack(value)
        if arrays:
            save_arrays(self.folder / f"{name}.safetensors", arrays, about)
        else:
            write_json(self.folder / f"{name}.json", about)
        return value

    def journal(self, name: str, entries: Entries[Key, Value]) -> Journal[Key, Value]:
        """Many small findings of one computation."""
        return Journal(None if self.folder is None else self.folder / f"{name}.json", entries)

    def clear(self) -> None:
        """The whole is kept: its parts are not needed any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):  # something else is still kept beside it
                self.folder.parent.rmdir()


class AsRecord(Generic[T]):
    """The form of records, see `forebear.storage.records`: plain lists and numbers."""

    def __init__(self, kind: type[T]):
        self.kind = kind

    def pack(self, value: T) -> tuple[Mapping[str, np.ndarray], Any]:
        """No arrays."""
        return {}, to_record(value)

    def unpack(self, arrays: Mapping[str, np.ndarray], about: Any) -> T:
        """What was packed."""
        return from_record(self.kind, about)


class Entries(NamedTuple, Generic[Key, Value]):
    """What a journal is about: the types of its keys and of its values, both records or plain."""

    key: type[Key]
    value: type[Value]


class Journal(Generic[Key, Value]):
    """Findings by key; those of an earlier process are there from the start.

    Kept now and then: often enough to lose seconds, rarely enough to cost next to nothing.

    >>> squares = Journal()
    >>> squares.load_or(3, lambda: 9), squares.load_or(3, lambda: 1 / 0)
    (9, 9)
    """

    def __init__(self, file: Path | None = None, entries: Entries[Key, Value] | None = None):
        self.file, self.entries = file, entries
        self.found: dict[Key, Value] = {}
        self._not_before = 0.0
        if file is not None and entries is not None:
            with suppress(InputError, *DAMAGED):
                self.found = {from_record(entries.key, k): from_record(entries.value, v) for k, v in read_json(file)}

    def load_or(self, key: Key, make: Callable[[], Value]) -> Value:
        """What was found under this key, or what `make` finds, which is known from then on."""
        if key not in self.found:
            self.found[key] = make()
            self._keep()
        return self.found[key]

    def _keep(self) -> None:
        began = time.monotonic()
        if self.file is None or began < self._not_before:
            return
        try:
            write_json(self.file, to_record(list(self.found.items())))
        except InputError:  # a full disk, say
            raise
        except ValueError:  # a number that JSON does not have: found out again, then
            pass
        done = time.monotonic()
        self._not_before = done + max(1.0, 20 * (done - began))
