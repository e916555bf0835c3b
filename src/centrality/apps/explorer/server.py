"""Serve the page and its answers, or write it as one file.

It listens on the loopback interface unless told otherwise. The address it prints holds a token, which the first visit
exchanges for a cookie; without it every answer is a refusal. A name other than this machine's own in the Host header is
refused too: a page from elsewhere could otherwise point its own name here (DNS rebinding). There are no paths to files,
only the few addresses in `answer` and in `answers`; pictures are asked for by row number. What the reader says of rows
is kept in the one file that the server was given for it. A client that sends nothing, or reads nothing, is dropped
after a while, and earlier when others come, because it occupies a thread.
"""

import base64
import gzip
import hashlib
import html
import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from centrality._internal.checks import InputError, is_own
from centrality._internal.files import require_writable, write_atomically
from centrality.apps.explorer import marks, payload, questions
from centrality.apps.explorer.header import BetterMap, KeptMarks, Mark, Renewed
from centrality.apps.explorer.view import View

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}<title>{title}</title>
{style}
</head>
<body>
<div id="centrality-page"><noscript>This page needs JavaScript.</noscript></div>
{data}{marks}{script}
</body>
</html>
"""
FILL_WINDOW = "html,body{height:100%;margin:0}#centrality-page{height:100%}"


@cache
def built_file(name: str) -> str:
    """Return the text of a file of the built front end."""
    return (files("centrality.apps.explorer") / "static" / name).read_text(encoding="utf-8")


def served_page(title: str) -> str:
    """Return the page that the server gives; it asks the server for the rest."""
    return FRAME.format(
        policy="",
        title=html.escape(title),
        style='<link rel="stylesheet" href="explorer.css">',
        data="",
        marks="",
        script='<script type="module" src="explorer.js"></script>',
    )


SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def style_sheet() -> str:
    """Return the style sheet of a page that the explorer has to itself."""
    return FILL_WINDOW + built_file("explorer.css")


def single_file_page(view: View, page_marks: Sequence[Mark] = ()) -> str:
    """Return the page as one file, with marks in it: its policy lets it run its own script and reach nothing."""
    script = built_file("explorer.js")
    style = style_sheet()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    data = base64.b64encode(payload.pack(view, pictures=True, reasons=True)).decode()
    return FRAME.format(
        policy=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        title=html.escape(view.title),
        style=f"<style>{style}</style>",
        data=f'<script type="application/octet-stream" id="centrality-data">{data}</script>\n',
        marks=marks.in_page(page_marks),
        script=f'<script type="module">{script}</script>',
    )


def export(view: View, path: str | os.PathLike[str], page_marks: Sequence[Mark] = ()) -> int:
    """Write the page to one file, with marks in it, completely or not at all, and return its size in bytes."""
    text = single_file_page(view, page_marks).encode()
    with write_atomically(path) as beside:
        beside.write_bytes(text)
    return len(text)


def _hash(text: str) -> str:
    """Return the text's hash as a content security policy spells it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": SERVED_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Answer = tuple[int, str, bytes]  # status, content type, body
MOST_CONNECTIONS = 32  # at a time; one reader's browser opens six
PATIENCE = 20.0  # seconds that a client may be silent
MOST_BYTES = 100_000_000  # bytes that a page may send: marks, or the numbers of selected rows
MOST_DIGITS = 9  # of a row's number
COMPRESSED = ("text/", "application/json")  # kinds of answers that are sent compressed
FEW = 2000  # bytes; an answer with more is compressed
NOT_HERE: Answer = (404, "text/plain", b"There is nothing here.")


class Explorer(ThreadingHTTPServer):
    """Serves one view to clients that have the token: one that is there, or one that `show` brings later."""

    daemon_threads = False  # `server_close` waits for them
    request_queue_size = 128  # connections not yet accepted; a client beyond them would try again a second later

    def __init__(
        self,
        view: View | None = None,
        host: str = "127.0.0.1",
        port: int = 8000,
        *,
        title: str = "Centrality",
        marks_file: Path | None = None,
    ) -> None:
        self.host = host
        self.token = secrets.token_urlsafe(24)
        self.title = title
        self.names = frozenset({host.lower(), socket.gethostname().lower()})
        self._answers: Future[Answers] = Future()
        if view is not None:
            self.title = view.title
            self.show(view, marks_file)
        self._connections: dict[int, socket.socket] = {}  # by their thread's turn, the oldest first
        self._lock = threading.Lock()
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
        self.fail(RuntimeError("there was nothing to show yet."))
        if self._answers.exception() is None:
            self.answers.end()
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

    def show(self, view: View, marks_file: Path | None = None) -> None:
        """Show this view: answer the questions that wait for it, and all that come."""
        self._answers.set_result(Answers(view, marks_file))

    def fail(self, error: BaseException) -> None:
        """Tell those who wait that there will be no view, and why."""
        if not self._answers.done():
            self._answers.set_exception(error)

    @property
    def answers(self) -> "Answers":
        """Return what answers questions about the view, once there is one."""
        return self._answers.result()

    def answer(self, path: str) -> Answer:
        """Answer a GET request: for the page's own files at once, for all else when there is a view."""
        if path == "/":
            return 200, "text/html; charset=utf-8", served_page(self.title).encode()
        if path == "/explorer.js":
            return 200, "text/javascript; charset=utf-8", built_file("explorer.js").encode()
        if path == "/explorer.css":
            return 200, "text/css; charset=utf-8", style_sheet().encode()
        if path == "/favicon.ico":
            return 204, "image/x-icon", b""  # every browser asks for it
        return self._asked(lambda answers: answers.answer(path))

    def take(self, path: str, body: bytes) -> Answer:
        """Answer what the page sends."""
        return self._asked(lambda answers: answers.take(path, body))

    def _asked(self, question: "Callable[[Answers], Answer]") -> Answer:
        try:
            answers = self.answers
        except BaseException as error:  # noqa: BLE001  (whatever kept the view from being made)
            return 503, "text/plain; charset=utf-8", f"centrality explore has ended: {error}".encode()
        return question(answers)


class Handler(BaseHTTPRequestHandler):
    """Checks the host name and the token of a request, and passes it on to the explorer."""

    server: Explorer
    server_version = "centrality"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        if self._is_allowed():
            self._send(self.server.answer(urlsplit(self.path).path))

    def do_PUT(self) -> None:
        """Handle PUT; a page of another site cannot send one, as no answer allows it to."""
        if not self._is_allowed():
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            self._send(NOT_HERE)
        elif not (length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS and int(length) <= MOST_BYTES):
            self._send((413, "text/plain", b"This is too long, or its length is not said."))
        else:
            self._send(self.server.take(urlsplit(self.path).path, self.rfile.read(int(length))))

    def _is_allowed(self) -> bool:
        """Say whether this client may ask, and refuse it if not; the first visit exchanges the token for a cookie."""
        try:
            address = urlsplit(self.path)
        except ValueError:  # half an address in brackets
            self._send((400, "text/plain", b"This is no address."))
            return False
        host = self.headers.get("Host", "").encode("latin-1", "replace")
        if not host or not is_own(host, self.server.names):
            self._send((403, "text/plain", b"This name is not one of this machine's: use localhost."))
            return False
        token = parse_qs(address.query).get("token", [""])[0]
        if token and secrets.compare_digest(token.encode(), self.server.token.encode()):
            cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            self._send((303, "text/plain", b""), {"Location": "/", "Set-Cookie": cookie})
            return False
        with suppress(CookieError):
            sent = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
            if sent is not None and secrets.compare_digest(sent.value.encode(), self.server.token.encode()):
                return True
        refusal = b"Open the address that centrality explore printed: it holds a token."
        self._send((403, "text/plain", refusal))
        return False

    do_HEAD = do_GET  # noqa: N815

    def _send(self, answer: Answer, headers: dict[str, str] | None = None) -> None:
        status, content_type, body = answer
        self.send_response(status)
        body_headers = {"Content-Type": content_type}
        accepts_gzip = "gzip" in self.headers.get("Accept-Encoding", "")
        if accepts_gzip and len(body) > FEW and content_type.startswith(COMPRESSED):
            body = gzip.compress(body, compresslevel=5, mtime=0)
            body_headers["Content-Encoding"] = "gzip"
        body_headers["Content-Length"] = str(len(body))
        for name, value in {**HEADERS, **(headers or {}), **body_headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal belongs to the reader."""


class Answers:
    """Answers questions about one view, and saves marks in the one file that is meant for them."""

    def __init__(self, view: View, marks_file: Path | None = None) -> None:
        self.view = view
        self.marks = marks.MarksFile(marks_file)
        self.data = payload.pack(view, pictures=False, reasons=False)
        self._fitting = threading.Lock()  # held while a model is fitted

    def end(self) -> None:
        """Stop what is still being computed for the view."""
        if self.view.better_layout is not None:
            self.view.better_layout.end()

    def answer(self, path: str) -> Answer:
        """Answer a GET request for this path; paths that are not listed here do not exist."""
        if path == "/marks":
            return _json(self.saved_marks())
        if path == "/map":
            return _json(self.better_map())
        if path == "/page":
            page = single_file_page(self.view, self.marks.marks())
            return 200, "text/html; charset=utf-8", page.encode()
        if path == "/keys":
            return 200, "application/octet-stream", payload.keys(self.view)
        if path == "/data":
            return 200, "application/octet-stream", self.data

        # A picture, as /picture/12 names it, or it in full: /full/12.
        _, what, number, *more = [*path.split("/"), "", ""]
        is_number = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS
        if not is_number or any(more) or what not in ("picture", "full") or int(number) >= len(self.view):
            return NOT_HERE
        file = payload.readable_picture(self.view, int(number), full=what == "full")
        if file is None:
            return 404, "text/plain", b"There is no picture of this row, or it cannot be read."
        return 200, "image/png" if file[:1] == b"\x89" else "image/jpeg", file

    def take(self, path: str, body: bytes) -> Answer:
        """Answer what the page sends: a question, a context to fit the model by, or marks."""
        acts: dict[str, Callable[[bytes], object]] = {
            "/ask": lambda body: questions.answer_to(self.view, _decoded(body)),
            "/given": self.renew,
            "/marks": lambda body: self.marks.take(*marks.changes_of(_decoded(body))),
            "/marks-file": lambda body: self.marks.take(*marks.as_changes(marks.from_bytes(body, "The file"))),
        }
        if path not in acts:
            return NOT_HERE
        try:
            return _json(acts[path](body))
        except (InputError, OSError) as error:
            return 422 if isinstance(error, InputError) else 500, "text/plain; charset=utf-8", str(error).encode()

    def renew(self, body: bytes) -> Renewed:
        """Fit the model again with the columns named in the body as context, and show the same rows by it."""
        with self._fitting:
            view = questions.refit(self.view, _decoded(body))
            data = payload.pack(view, pictures=False, reasons=False)
            before = self.view
            self.view = view
            self.data = data
        if before.better_layout is not None:
            before.better_layout.end()
        return {"given": list(view.given)}

    def better_map(self) -> BetterMap:
        """Return the better map, or its progress; it is started by the first such request."""
        job = self.view.better_layout
        if job is None:
            return {"share": 0.0, "trouble": ""}
        job.start()
        if job.points is None:
            return {"share": job.share, "trouble": job.trouble}
        return payload.better_map(job.points, job.axes)

    def saved_marks(self) -> KeptMarks:
        """Return all marks, read from their file: another explorer may have written it."""
        answer: KeptMarks = {"marks": [], "where": "in memory, until centrality explore ends", "trouble": ""}
        try:
            answer["marks"] = self.marks.marks()
            if self.marks.path is not None:
                answer["where"] = f"in {self.marks.path.name}"
                require_writable(self.marks.path)
        except (InputError, OSError) as error:
            answer["trouble"] = str(error)
        return answer


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


def _decoded(body: bytes) -> object:
    """Return the JSON value in the body of a request."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This is no JSON: {error}") from None
