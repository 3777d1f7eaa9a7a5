"""`forebear studio`: the page on this machine, from its start to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebear.cli.options import parse_whole
from forebear.cli.output import note, say
from forebear.storage.lock import alone_in
from forebear.web.need import need_web

if TYPE_CHECKING:
    from forebear.studio.place import Place
    from forebear.web.serving import Bound

USUAL_PORT = 8765


def run_studio(
    out: Path, folders: Sequence[Path], host: str, port: str | None, names: Sequence[str], browser: bool
) -> None:
    """Check, listen, say where, serve until Ctrl-C."""
    need_web("forebear studio")
    from forebear.studio.place import open_place
    from forebear.web.serving import bind

    bound = bind(host, None if port is None else parse_whole(port, "--port", 0), usual=USUAL_PORT)
    with bound.socket:
        place = open_place(out, folders or [Path()])
        with alone_in(place.root):
            _serve(place, bound, tuple(names), browser)


def _serve(place: Place, bound: Bound, names: tuple[str, ...], browser: bool) -> None:
    from forebear.studio.app import Studio
    from forebear.web.serving import access_to, browser_file, first_address, open_browser, serve, warning_of

    access, studio = access_to(bound, names), Studio(place)
    address = first_address(bound, access)
    with browser_file(address, place.root) as file:

        def started() -> None:
            if warning_of(bound):
                note(warning_of(bound))
            say(f"forebear studio works in {place.root}", f"Open {address}", "Ctrl-C ends it.")
            if browser:
                open_browser(file)

        serve(studio.app(access), bound, started, studio.close)
    waiting = any(entry.run.state in ("waiting", "running") for entry in studio.runner.entries.values())
    note("stopped" + ("; what was under way goes on with the next forebear studio" if waiting else ""))
