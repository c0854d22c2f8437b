"""A browser without a window for the scripts that look at pages: chromium of the machine, by playwright."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def browser() -> Iterator[Any]:
    """Start the browser, and end it."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        sys.exit(f"no browser: install chromium, for example by your system's packages ({_NAMES})")
    with sync_playwright() as playwright:
        # Without a sandbox of its own it runs as root, too, as in containers.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


class _Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer without an error where a browser asks for an icon that a page does not have."""
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Write no line for each request."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder, and return the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
