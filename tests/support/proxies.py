"""nginx on loopback, with the very lines that a page of the documentation shows, TLS included."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "howto"
NAME = "plant.example"
LACKS = next((f"no {tool}: install it to run these" for tool in ("nginx", "openssl") if not shutil.which(tool)), "")
"""why there is no proxy here; empty where there is one"""


def shown(page: str) -> str:
    """The configuration on a page, as a block `server`."""
    found = re.search(r"```nginx\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, page
    text = found[1]
    return (
        text if text.startswith("server") else f"server {{\n    listen 443 ssl;\n    server_name {NAME};\n{text}}}\n"
    )


class Proxy:
    """One that is up."""

    def __init__(self, port: int, folder: Path):
        self.port, self.folder = port, folder

    def connect(self) -> HTTPSConnection:
        """As a browser elsewhere would; who signed the certificate is not asked."""
        context = ssl._create_unverified_context()
        return HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[HTTPResponse, bytes]:
        """A request under the name of the proxy, unless the headers have another."""
        connection = self.connect()
        connection.request(method, path, body, {"Host": NAME, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content


@contextmanager
def proxy(page: str, port: int, more: str = "") -> Iterator[Proxy]:
    """nginx before a server that listens at a port; `more` stands in the block as well."""
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        folder = Path(place)
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
        free.close()
        words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
        files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
        subprocess.run(["openssl", *words, *files], check=True, capture_output=True)
        files = f"ssl_certificate {folder}/cert.pem;\nssl_certificate_key {folder}/key.pem;\n"
        listen = f"listen 127.0.0.1:{own} ssl;\n{files}{more}"
        block = shown(page).replace("listen 443 ssl;", listen)
        block, count = re.subn(r"http://127\.0\.0\.1:\d+", f"http://127.0.0.1:{port}", block)
        assert count == 1 and listen in block
        block = block.replace("PORT", str(port))
        kept = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in _KEPT)
        user = "user root;" if os.geteuid() == 0 else ""  # who writes to the folders above
        (folder / "nginx.conf").write_text(
            f"{user}\ndaemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nworker_processes 1;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{kept}\n{block}\n}}\n"
        )
        command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _wait(own, process)
            yield Proxy(own, folder)
        finally:
            process.terminate()
            process.communicate(timeout=20)


_KEPT = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _wait(port: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 20
    while True:
        assert process.poll() is None, process.communicate()[1]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)
