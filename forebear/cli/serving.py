"""`forebear serve`: a twin behind an address, until Ctrl-C."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forebear.api.twins import KeptTwin
from forebear.cli.options import parse_whole
from forebear.cli.output import long_work, note
from forebear.cli.sample import open_twin
from forebear.errors import InputError
from forebear.twin.store import has_twin
from forebear.web.need import need_web

if TYPE_CHECKING:
    from forebear.serve.limits import Limits
    from forebear.serve.metrics import Metrics
    from forebear.serve.twins import ServedTwin

USUAL_PORT = 8767
_SHORTEST_TOKEN = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Place(NamedTuple):
    """Where to listen, and who may come in."""

    host: str
    port: str | None
    names: Sequence[str]
    token_file: Path | None
    browser: bool


def run_serve(folders: Sequence[str], place: Place, limits: Sequence[tuple[str, str]], watch: bool) -> None:
    """Check, load, listen, and answer until it is told to end."""
    need_web("forebear serve")
    from forebear.serve.application import OPEN_PATHS, Service
    from forebear.serve.metrics import Metrics
    from forebear.serve.reloading import Reloader
    from forebear.web import serving

    bounds = _limits(limits)
    port = None if place.port is None else parse_whole(place.port, "--port", 0)
    token = None if place.token_file is None else read_token(place.token_file)
    bound = serving.bind(place.host, port, USUAL_PORT)
    with bound.socket:
        metrics = Metrics()
        service = Service(_opened(folders, bounds, metrics), bounds, metrics)
        access = serving.access_to(bound, tuple(place.names), OPEN_PATHS)
        access = access if token is None else replace(access, token=token)
        address = serving.first_address(bound, access)
        reloader = Reloader(list(service.twins.values()), watch, note)
        with serving.browser_file(address) if place.browser else nullcontext() as file:

            def started() -> None:
                _tell_start(service.twins, bound.url, address, place.token_file)
                reloader.start()
                if file is not None:
                    serving.open_browser(file)

            def stopping() -> None:
                service.stopping = True
                reloader.stop()
                note("stopping: what is under way is answered first")

            if warning := serving.warning_of(bound):
                note(warning)
            serving.serve(service.application(access), bound, started, stopping, grace=bounds.seconds)
        service.close()


def _tell_start(twins: dict[str, ServedTwin], url: str, address: str, token_file: Path | None) -> None:
    for name, twin in twins.items():
        note(f"serving {name}: {', '.join(twin.current.twin.targets)} given {', '.join(twin.current.twin.inputs)}")
    where = address if token_file is None else f"{url} with the token in {token_file}"
    note(f"listening at {where}; Ctrl-C ends it")


def _limits(given: Sequence[tuple[str, str]]) -> Limits:
    """From the options, by the names of the fields."""
    from forebear.serve.limits import Limits

    options = {"rows": "--max-rows", "draws": "--max-draws", "body": "--max-bytes", "seconds": "--timeout"}
    numbers = {name: parse_whole(text, options.get(name, f"--{name}"), 1) for name, text in given}
    return Limits(**numbers)


def _opened(folders: Sequence[str], limits: Limits, metrics: Metrics) -> dict[str, ServedTwin]:
    from forebear.serve.twins import ServedTwin

    found: dict[str, ServedTwin] = {}
    for text in folders:
        name, folder = named(text)
        if name in found:
            raise InputError(f"two twins would be called '{name}': give one another name, such as second={folder}")
        with long_work(None, ""):
            twin = open_twin(folder)
            kept = folder if has_twin(folder) else KeptTwin(folder).folder
            found[name] = ServedTwin(name, kept, limits, metrics, twin)
    return found


def named(text: str) -> tuple[str, Path]:
    """The name of a twin in addresses, and its folder.

    >>> named("runs/pump")
    ('pump', PosixPath('runs/pump'))
    >>> named("second=runs/pump")
    ('second', PosixPath('runs/pump'))
    >>> named("runs/pump/twin")
    ('pump', PosixPath('runs/pump/twin'))
    """
    before, sign, after = text.partition("=")
    if sign and not Path(text).exists() and "/" not in before:
        if not _NAME.fullmatch(before):
            raise InputError(f"{text}: a twin's name has letters, digits, '.', '_' and '-'; got '{before}'")
        return before, Path(after)
    folder = Path(text)
    own = folder.absolute()
    word = own.parent.name if own.name == "twin" and own.parent.name else own.name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", word).strip("-._")[:64] or "twin", folder


def read_token(file: Path) -> str:
    """The token in a file; a file that is not there is made, with a token that nobody guesses."""
    if not file.exists():
        token = secrets.token_urlsafe(32)
        try:
            with open(file, "x", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="ascii") as made:
                made.write(f"{token}\n")
        except OSError as error:
            raise InputError(
                f"--token-file {file}: cannot be written ({error.strerror}): choose another place"
            ) from None
        note(f"a new token is in {file}")
        return token
    try:
        with open(file, encoding="utf-8") as opened:
            token = opened.read(1_000).strip()
        if os.name == "posix" and file.stat().st_mode & 0o077:
            note(f"warning: other users of this machine may read {file}: chmod 600 {file}")
    except OSError as error:
        raise InputError(f"--token-file {file}: cannot be read ({error.strerror}): choose another file") from None
    except ValueError:
        raise InputError(f"--token-file {file}: holds no text: write a token into it, or name a new file") from None
    if not (_SHORTEST_TOKEN <= len(token) <= 500 and token.isascii() and token.isprintable() and " " not in token):
        raise InputError(
            f"--token-file {file}: a token is one word of {_SHORTEST_TOKEN} or more letters and digits: name a file "
            "that is not there yet, and one is made"
        )
    return token
