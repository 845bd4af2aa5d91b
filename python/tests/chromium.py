"""A headless Chromium that is driven over a pipe, with nothing but the standard library.

It speaks the protocol of its developer tools: https://chromedevtools.github.io/devtools-protocol
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path.home() / ".cache/laptime/npm/node_modules/axe-core/axe.min.js"
"""The accessibility checker, which `make page-tools` fetches from npm."""
PATIENCE = 120.0
"""Seconds to wait for a browser while the machine is busy."""
PLAIN = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --force-color-profile=srgb
    --disable-dev-shm-usage --remote-debugging-pipe
""".split()
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """A browser with a profile of its own; pages are tabs of it."""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        hears, self._say = os.pipe()
        self._hear, says = os.pipe()
        command = [str(CHROMIUM), *PLAIN, f"--user-data-dir={self._profile.name}", "about:blank"]
        # It reads from 3 and writes to 4, which may be in use here.
        places = f"10<&{hears} 11>&{says} 3<&10 4>&11"
        shell = ["bash", "-c", f'exec "$@" {places}', "bash", *command]
        self._process = subprocess.Popen(
            shell, pass_fds=(hears, says), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(hears)
        os.close(says)
        self._asked = 0
        self._rest = b""
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._say)
        os.close(self._hear)
        self._profile.cleanup()

    def open(
        self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> Page:
        """A tab with this page, once it is loaded."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.ask("Page.enable")
        page.ask("Runtime.enable")
        page.ask("Log.enable")
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", features=[scheme])
        page.go(address)
        return page

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        self._asked += 1
        number = self._asked
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._say, rest) :]
        until = time.monotonic() + PATIENCE
        while True:
            heard = self._message(until)
            if heard.get("id") == number:
                assert "error" not in heard, (method, heard["error"])
                return heard["result"]
            if heard.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.troubles.append(heard["params"])

    @property
    def troubles(self) -> list[dict[str, Any]]:
        """What went wrong in pages: exceptions, and what a policy forbade."""
        return self.__dict__.setdefault("_troubles", [])

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._hear], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._hear, 1 << 16) if ready else b""
            assert part, "the browser does not answer"
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command about this tab."""
        return self._browser.ask(method, self._session, **parameters)

    def go(self, address: str) -> None:
        """Goes to a page and waits until it is loaded."""
        went = self.ask("Page.navigate", url=address)
        assert "errorText" not in went, went
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width: int, height: int) -> None:
        """Makes the window so many pixels large."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression: str) -> Any:
        """What an expression gives in the page; promises are waited for."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Waits until an expression is true in the page."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if value := self.evaluate(expression):
                    return value
            except AssertionError:
                # A page that is being left answers nothing.
                if time.monotonic() > until:
                    raise
            assert time.monotonic() < until, (expression, self.text())
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Presses a key, one letter or one of KEYS."""
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        pressed = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **pressed)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def text(self) -> str:
        """What can be read."""
        return self.evaluate("document.body.innerText")

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        clip = {}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        picture = self.ask("Page.captureScreenshot", format="png", **clip)
        path.write_bytes(base64.b64decode(picture["data"]))

    def is_wider_than_window(self) -> bool:
        """Whether one has to scroll sideways."""
        return self.evaluate("document.documentElement.scrollWidth > innerWidth")

    def axe(self) -> list[str]:
        """What makes the page hard to use for some, as axe-core finds it: only what is serious."""
        self.evaluate(AXE.read_text() + "; 1")
        found = self.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
        )
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        return [
            f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in serious
        ]
