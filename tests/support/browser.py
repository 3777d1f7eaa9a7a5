"""A headless Chromium, spoken to through two pipes: no driver and no library is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")

# The browser reads commands from descriptor 3 and answers on 4, whatever numbers the pipes have here.
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_browser() -> str | None:
    """FOREBEAR_BROWSER, a browser on the path, or the one that Playwright has installed."""
    named = os.environ.get("FOREBEAR_BROWSER")
    if named:
        return named
    for name in NAMES:
        if found := shutil.which(name):
            return found
    kept = sorted(Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    return str(kept[-1]) if kept else None


class Browser:
    """One page in one browser; closed at the end of the `with`."""

    def __init__(self, binary: str, width: int = 1280, height: int = 900, more: Sequence[str] = ()):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands_read, self._commands = os.pipe()
        self._answers, answers_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        flags += ["--disable-dev-shm-usage", "--disable-extensions", "--mute-audio", "--remote-debugging-pipe"]
        flags += [f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", *more, "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(commands_read), str(answers_write), binary, *flags],
            pass_fds=(commands_read, answers_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands_read)
        os.close(answers_write)
        self._number, self._buffer, self._session = 0, b"", None
        self.problems: list[str] = []
        """uncaught errors, console errors and requests that left the page"""
        self.own = "file:"
        """how addresses begin that are no problem"""
        try:
            self._attach()
            self.size(width, height)
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser; it ends by itself when nobody speaks to it any more."""
        os.close(self._commands)
        os.close(self._answers)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the Chrome DevTools Protocol, and its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(30)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self, patience: float) -> dict[str, Any]:
        until = time.monotonic() + patience
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self._answers, 1 << 20) if ready else b""
            if not more:
                raise TimeoutError("the browser does not answer")
            self._buffer += more
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, details = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.problems.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {details['args']}")
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            url = details["request"]["url"]
            if not url.startswith((self.own, "data:", "blob:", "about:")):
                self.problems.append(f"asked for {url}")

    def open(self, file: Path) -> None:
        """Load a page and wait until its scripts have run."""
        self.call("Page.navigate", url=file.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def visit(self, url: str) -> None:
        """Load a page of a server, from which everything that is loaded then has to come."""
        self.own = "/".join(url.split("/")[:3])
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.origin === {json.dumps(self.own)}")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, condition: str, patience: float = 10.0) -> None:
        """Until a JavaScript expression holds."""
        until = time.monotonic() + patience
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > until:
                raise TimeoutError(f"never: {condition}")
            time.sleep(0.02)

    def press(self, key: str, code: int) -> None:
        """One key, as a person presses it."""
        text = {"Enter": "\r", " ": " "}.get(key)
        down: dict[str, Any] = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", **down, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def click(self, x: float, y: float) -> None:
        """The left button, at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def size(self, width: int, height: int) -> None:
        """Of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def look(self, scheme: str = "light", media: str = "screen") -> None:
        """Light or dark, screen or print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, file: Path, whole: bool = True) -> bytes:
        """The page, or what the window shows of it, as PNG."""
        picture = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])
        file.write_bytes(picture)
        return picture
