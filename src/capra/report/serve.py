"""The live page: the report of one or several tunings in the browser, while they go on.

Read-only, on 127.0.0.1 only. There are no files to ask for: a page and one document per run, by exact path. Requests that
name another host (DNS rebinding) or come from another site are refused.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from capra.errors import CapraError, InputError
from capra.overview import open_run
from capra.report.html.compare import comparison_of
from capra.report.html.page import document_of, html_page, policy
from capra.report.html.view import View

__all__ = ["Server"]

HOST = "127.0.0.1"
SHARE = 10.0
"""A document is made again only after so many times the time that it took: looking at runs must not disturb their timing."""
LEAST = 1.0
"""Seconds between two of them, at least."""
ALLOWED_SITES = (None, "same-origin", "none")
"""Who may ask: nobody's page, our own, or the user (Sec-Fetch-Site)."""


class Watched:
    """The current document of some runs. All reading is done in one thread, which owns the connections to the stores."""

    def __init__(self, runs: Sequence[Path], make: Callable[[Sequence[View]], dict[str, Any]]) -> None:
        self._runs, self._make = runs, make
        self._views: list[View] = []
        self._thread = ThreadPoolExecutor(1)
        self._answer: tuple[str, bytes] = ("", b"")
        self._again = 0.0

    def answer(self) -> tuple[str, bytes]:
        """The entity tag and the JSON of what is there now, or was a moment ago."""
        try:
            asked = self._thread.submit(self._refreshed)
        except RuntimeError:  # a page asked while the server was being closed
            return _tagged({"trouble": "the server has ended"})
        return asked.result()

    def _refreshed(self) -> tuple[str, bytes]:
        started = time.monotonic()
        if started >= self._again:
            self._answer = self._read()
            self._again = time.monotonic() + max(LEAST, SHARE * (time.monotonic() - started))
        return self._answer

    def _read(self) -> tuple[str, bytes]:
        try:
            self._views = self._views or [View(run, live=True) for run in self._runs]
            changed = [view.update() for view in self._views]
            if not any(changed) and self._answer[0]:
                return self._answer
            return _tagged(self._make(self._views))
        except (CapraError, OSError) as error:  # the store was moved, damaged or replaced: tell, and try again later
            self._forget()
            return _tagged({"trouble": str(error)})

    def _forget(self) -> None:
        for view in self._views:
            view.close()
        self._views = []

    def close(self) -> None:
        self._thread.submit(self._forget).result()
        self._thread.shutdown()


def _tagged(document: dict[str, Any]) -> tuple[str, bytes]:
    body = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"', body


class Server:
    """Serves the runs; ``url`` is where. A context manager: leave it to stop serving."""

    def __init__(self, runs: Sequence[Path], port: int = 0) -> None:
        for run in runs:
            open_run(run).close()  # whatever is wrong is said before anybody is asked to look
        names = _names(runs)
        self.sources: dict[str, Watched] = {
            f"/data/{k}.json": Watched([run], lambda views: document_of(views[0])) for k, run in enumerate(runs)
        }
        listed = [{"name": name, "url": path} for name, path in zip(names, self.sources, strict=True)]
        if len(runs) > 1:
            self.sources["/data/compare.json"] = Watched(runs, lambda views: comparison_of(names, views))
            listed.append({"name": "Compare", "url": "/data/compare.json"})
        self.page = html_page("Capra", {"runs": listed}).encode()
        try:
            self._server = _HTTPServer((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            hint = "give another --port, or 0 for any that is free"
            raise InputError(f"cannot listen on port {port}: {error}", hint=hint) from None
        self._server.site = self
        self.port: int = self._server.server_address[1]
        self.url = f"http://{HOST}:{self.port}/"
        self.hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}

    def serve(self) -> None:
        """Until ``stop`` is called, from another thread or a signal handler's thread."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        self._server.shutdown()

    def close(self) -> None:
        self._server.server_close()
        for source in self.sources.values():
            source.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _names(runs: Sequence[Path]) -> list[str]:
    """The last parts of the paths, or the whole ones where those are the same."""
    short = [(run.parent if run.is_file() else run).resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    site: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was closed while it was being answered is nothing to tell of."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD; everything else is unknown to it."""

    server: _HTTPServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Capra", ""
    timeout = 60

    def do_GET(self) -> None:
        site = self.server.site
        if self.headers.get("Host") not in site.hosts:
            self._send(HTTPStatus.FORBIDDEN, b"unknown host\n", "text/plain")
        elif self.path == "/":
            self._send(HTTPStatus.OK, site.page, "text/html; charset=utf-8")
        elif self.path not in site.sources:
            self._send(HTTPStatus.NOT_FOUND, b"not found\n", "text/plain")
        elif self.headers.get("Sec-Fetch-Site") not in ALLOWED_SITES:
            self._send(HTTPStatus.FORBIDDEN, b"for this site's own page only\n", "text/plain")
        else:
            self._send_data(*site.sources[self.path].answer())

    do_HEAD = do_GET

    def _send_data(self, tag: str, body: bytes) -> None:
        if self.headers.get("If-None-Match") == tag:
            self._send(HTTPStatus.NOT_MODIFIED, b"", "application/json", tag)
        else:
            self._send(HTTPStatus.OK, body, "application/json", tag)

    def _send(self, status: HTTPStatus, body: bytes, kind: str, tag: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if tag is not None:
            self.send_header("ETag", tag)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Security-Policy", f"{policy(live=True)}; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""
