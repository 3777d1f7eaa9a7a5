"""`forebear studio`: the page on this machine, from its start to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebear.cli.options import parse_whole
from forebear.cli.output import note, say
from forebear.storage.lock import alone_in
from forebear.web.need import need_web

USUAL_PORT = 8765


def run_studio(
    out: Path, folders: Sequence[Path], host: str, port: str | None, names: Sequence[str], browser: bool
) -> None:
    """Check, listen, say where, serve until Ctrl-C."""
    need_web("forebear studio")
    from forebear.studio.app import Studio
    from forebear.studio.place import open_place
    from forebear.web.serving import access_to, bind, browser_file, first_address, open_browser, serve, warning_of

    place = open_place(out, folders or [Path()])
    with alone_in(place.root):
        bound = bind(host, None if port is None else parse_whole(port, "--port", 0), usual=USUAL_PORT)
        access = access_to(bound, tuple(names))
        address, studio = first_address(bound, access), Studio(place)

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
