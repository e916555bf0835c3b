"""Serve the page on this machine, to one reader.

It listens on the loopback interface unless told otherwise. The address it prints holds a token, which the first visit
exchanges for a cookie; without it every answer is a refusal. A name other than this machine's own in the Host header is
refused too: a page from elsewhere could otherwise point its own name here (DNS rebinding). There are no paths to files,
only the few addresses in `answer` and `consider`; pictures are asked for by row number. What the reader says of rows is
kept in the one file that the server was given for it. A client that sends nothing, or reads nothing, is dropped after a
while, and earlier when others come, because it occupies a thread.
"""

import gzip
import ipaddress
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from centrality._atomic import require_writable
from centrality._checks import InputError
from centrality.explorer import marks, page, payload
from centrality.explorer.header import BetterMap, Change, KeptMarks, Renewed
from centrality.explorer.jobs import Jobs
from centrality.explorer.live import decoded
from centrality.explorer.selection import selection_csv
from centrality.explorer.view import View

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": page.SERVED_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Answer = tuple[int, str, bytes]  # status, content type, body
MOST_CONNECTIONS = 32  # at a time; one reader's browser opens six
PATIENCE = 20.0  # seconds that a client may be silent
MOST_SAID = 100_000_000  # bytes of marks, or of the numbers of selected rows
OF_MANY_ROWS = ("/marks", "/marks-file", "/selection", "/review", "/pick")
MOST_VALUES = 1_000_000  # bytes of the values that a row is to have
MOST_DIGITS = 9  # of a row's number
PACKED, FEW = ("text/", "application/json"), 2000  # kinds of answers that are sent compressed, beyond so many bytes
NOT_HERE: Answer = (404, "text/plain", b"There is nothing here.")


class Explorer(ThreadingHTTPServer):
    """Serves one view to clients that have the token."""

    daemon_threads = False  # `server_close` waits for them

    def __init__(
        self, view: View, host: str = "127.0.0.1", port: int = 8000, *, marks_file: Path | None = None
    ) -> None:
        self.view, self.host, self.token = view, host, secrets.token_urlsafe(24)
        self.marks = marks.MarksFile(marks_file)
        self.data = payload.pack(view, pictures=False, reasons=False)
        self._connections: dict[int, socket.socket] = {}  # by their thread's turn, the oldest first
        self._lock = threading.Lock()
        self._fitting = threading.Lock()  # held while a model is fitted
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise OSError(
                f"Cannot listen on {host}, port {port}: {error.strerror or error}. "
                "Choose another port with --port; --port 0 takes any that is free."
            ) from None
        self.cookie = f"centrality-{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in its own thread; if there are too many, close the oldest."""
        with self._lock:
            self._connections[id(request)] = request
            oldest = next(iter(self._connections)) if len(self._connections) > MOST_CONNECTIONS else None
            stalled = None if oldest is None else self._connections.pop(oldest)
        if stalled is not None:
            with suppress(OSError):  # it may have ended by itself
                stalled.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Remove a connection that has been answered."""
        with self._lock:
            self._connections.pop(id(request), None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close all connections and wait for their threads, so that the view can be freed."""
        if self.view.later is not None:
            self.view.later.end()
        with self._lock:
            connections = list(self._connections.values())
        for connection in connections:
            with suppress(OSError):  # it may have ended by itself
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no error for clients that left or timed out: that is normal."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Return the address to open in a browser."""
        name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(
            self.host, f"[{self.host}]" if ":" in self.host else self.host
        )
        return f"http://{name}:{self.server_port}/?token={self.token}"

    def is_own_name(self, name: str) -> bool:
        """Say whether this is one of the server's own names; a bare address is, as DNS cannot redirect it."""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in {"localhost", self.host.lower(), socket.gethostname().lower()}
        return True

    def answer(self, path: str) -> Answer:
        """Answer a GET request for this path; paths that are not listed here do not exist."""
        fixed: dict[str, Callable[[], Answer]] = {
            "/": lambda: (200, "text/html; charset=utf-8", page.served_page(self.view.title).encode()),
            "/explorer.js": lambda: (200, "text/javascript; charset=utf-8", page.built_file("explorer.js").encode()),
            "/explorer.css": lambda: (200, "text/css; charset=utf-8", page.style_sheet().encode()),
            "/marks": self._kept,
            "/map": self._map,
            "/data": lambda: (200, "application/octet-stream", self.data),
            "/favicon.ico": lambda: (204, "image/x-icon", b""),  # every browser asks for it
        }
        by_row: dict[str, Callable[[int], Answer]] = {
            "picture": self._picture,
            "full": lambda row: self._picture(row, full=True),
            "why": lambda row: _json(payload.why(self.view, row)),
            "words": lambda row: _json(payload.words(self.view, row)),
            "texts": lambda row: _json(payload.whole_texts(self.view, row)),
            "copies": lambda row: _answered(lambda: payload.jobs(self.view).copies_of(row)),
        }
        if path in fixed:
            return fixed[path]()
        what, row = self._what_and_row(path)
        return by_row[what](row) if what in by_row and row is not None else NOT_HERE

    def take(self, path: str, body: bytes) -> Answer:
        """Answer what the page sends: marks to keep or learn from, rows to save or pick, values to try, a context."""
        whole = {"/marks": self.keep, "/marks-file": self.take_over, "/selection": self.select, "/given": self.renew}
        jobs = {"/review": Jobs.review, "/pick": Jobs.pick}
        if path in jobs:
            return _answered(lambda: jobs[path](payload.jobs(self.view), decoded(body)))
        return whole[path](body) if path in whole else self.consider(path, body)

    def renew(self, body: bytes) -> Answer:
        """Fit the model again with the columns named in the body as context, and show the same rows by it."""

        def renewed() -> Renewed:
            with self._fitting:
                view = payload.again(self.view, decoded(body))
                data = payload.pack(view, pictures=False, reasons=False)
                before, self.view, self.data = self.view, view, data
            if before.later is not None:
                before.later.end()
            return {"given": list(view.given)}

        return _answered(renewed)

    def consider(self, path: str, body: bytes) -> Answer:
        """Answer with a row's score for the values in the body, or with its way to a typical point."""
        questions = {"what-if": payload.what_if, "way": payload.way}
        what, row = self._what_and_row(path)
        if what not in questions or row is None:
            return NOT_HERE
        return _answered(lambda: questions[what](self.view, row, decoded(body)))

    def keep(self, body: bytes) -> Answer:
        """Merge marks that the page sends into those that are kept, and answer with the result."""
        return self._merged(lambda: marks.decoded(body))

    def take_over(self, body: bytes) -> Answer:
        """Merge the marks of a file that the reader chose: a CSV file, or a page with marks in it."""
        return self._merged(lambda: marks.as_changes(marks.from_bytes(body, "The file")))

    def _merged(self, changes: Callable[[], list[Change]]) -> Answer:
        try:
            return _json(self.marks.take(*changes()))
        except (InputError, OSError) as error:
            return 422 if isinstance(error, InputError) else 500, "text/plain; charset=utf-8", str(error).encode()

    def _map(self) -> Answer:
        """Answer with the better map, or its progress; it is started by the first such request."""
        later = self.view.later
        if later is not None:
            later.start()
        if later is None or later.points is None:
            share, trouble = (0.0, "") if later is None else (later.share, later.trouble)
            waiting: BetterMap = {"share": share, "trouble": trouble}
            return _json(waiting)
        return _json(payload.better_map(later.points, later.axes))

    def select(self, body: bytes) -> Answer:
        """Answer with the rows whose numbers are in the body as a CSV file."""
        try:
            return 200, "text/csv; charset=utf-8", selection_csv(self.view, decoded(body))
        except InputError as error:
            return 422, "text/plain; charset=utf-8", str(error).encode()

    def _kept(self) -> Answer:
        """Answer with all marks, read from their file: another explorer may have written it."""
        kept: KeptMarks = {"marks": [], "where": "in memory, until centrality explore ends", "trouble": ""}
        try:
            kept["marks"] = self.marks.marks()
            if self.marks.path is not None:
                kept["where"] = f"in {self.marks.path.name}"
                require_writable(self.marks.path)
        except (InputError, OSError) as error:
            kept["trouble"] = str(error)
        return _json(kept)

    def _picture(self, row: int, *, full: bool = False) -> Answer:
        file = payload.readable_picture(self.view, row, full=full)
        if file is None:
            return 404, "text/plain", b"There is no picture of this row, or it cannot be read."
        return 200, "image/png" if file[:1] == b"\x89" else "image/jpeg", file

    def _what_and_row(self, path: str) -> tuple[str, int | None]:
        """Return the question and the row in a path such as /why/12; None if there is no such row."""
        _, what, number, *more = [*path.split("/"), "", ""]
        known = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS and not any(more)
        return what, int(number) if known and int(number) < len(self.view) else None


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


def _answered(question: Callable[[], object]) -> Answer:
    """Return the answer to a question, or an answer with the error that it raised."""
    try:
        return _json(question())
    except InputError as error:
        return 422, "text/plain; charset=utf-8", str(error).encode()


class Handler(BaseHTTPRequestHandler):
    """Checks the host name and the token of a request, and passes it on to the explorer."""

    server: Explorer
    server_version, sys_version = "centrality", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        refusal = self._refusal()
        self._send(*(refusal or self.server.answer(urlsplit(self.path).path)))

    def do_PUT(self) -> None:
        """Handle PUT; a page of another site cannot send one, as no answer allows it to."""
        self._send(*(self._refusal() or self._put()))

    def _put(self) -> Answer:
        length = self.headers.get("Content-Length", "")
        from_here = self.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        path = urlsplit(self.path).path
        if not from_here:
            return NOT_HERE
        most = MOST_SAID if path in OF_MANY_ROWS else MOST_VALUES
        if not (length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS and int(length) <= most):
            return 413, "text/plain", b"This is too long, or its length is not said."
        body = self.rfile.read(int(length))
        return self.server.take(path, body)

    def _refusal(self) -> Answer | tuple[int, str, bytes, dict[str, str]] | None:
        """Return the refusal, if this client may not ask; the first visit exchanges the token for a cookie."""
        try:
            address = urlsplit(self.path)
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        except ValueError:  # half an address in brackets
            return 400, "text/plain", b"This is no address."
        if not self.server.is_own_name(host):
            return 403, "text/plain", b"This name is not one of this machine's: use localhost."
        token = parse_qs(address.query).get("token", [""])[0]
        if token and secrets.compare_digest(token.encode(), self.server.token.encode()):
            cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            return 303, "text/plain", b"", {"Location": "/", "Set-Cookie": cookie}
        if not self._has_cookie():
            return 403, "text/plain", b"Open the address that centrality explore printed: it holds a token."
        return None

    do_HEAD = do_GET  # noqa: N815

    def _has_cookie(self) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self.server.token.encode())

    def _send(self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        about_body = {"Content-Type": content_type}
        if len(body) > FEW and content_type.startswith(PACKED) and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, about_body["Content-Encoding"] = gzip.compress(body, compresslevel=5, mtime=0), "gzip"
        about_body["Content-Length"] = str(len(body))
        for name, value in {**HEADERS, **(headers or {}), **about_body}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal belongs to the reader."""
