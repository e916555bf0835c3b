"""Serve the page on this machine, to one reader.

It listens on the loopback interface unless told otherwise. The address it prints holds a token, which the first visit
exchanges for a cookie; without it every answer is a refusal. A name other than this machine's own in the Host header is
refused too: a page from elsewhere could otherwise point its own name here (DNS rebinding). There are no paths to files,
only the few addresses in `answer`; pictures are asked for by row number.
"""

import ipaddress
import json
import secrets
import socket
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from centrality.explorer import page
from centrality.explorer.payload import pack, reasons_for
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
NOT_HERE: Answer = (404, "text/plain", b"There is nothing here.")


class Explorer(ThreadingHTTPServer):
    """Serves one view to whoever holds the token."""

    daemon_threads = True

    def __init__(self, view: View, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.view, self.host, self.token = view, host, secrets.token_urlsafe(24)
        self.data = pack(view, pictures=False, reasons=False)
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

    @property
    def url(self) -> str:
        """Return the address to open in a browser."""
        name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(
            self.host, f"[{self.host}]" if ":" in self.host else self.host
        )
        return f"http://{name}:{self.server_port}/?token={self.token}"

    def is_own_name(self, name: str) -> bool:
        """Tell whether this is one of our own names; a bare address is, as no name server can point it elsewhere."""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in {"localhost", self.host.lower(), socket.gethostname().lower()}
        return True

    def answer(self, path: str) -> Answer:
        """Answer a request for this path; no others are known than those here."""
        fixed: dict[str, Callable[[], Answer]] = {
            "/": lambda: (200, "text/html; charset=utf-8", page.served_page(self.view.title).encode()),
            "/explorer.js": lambda: (200, "text/javascript; charset=utf-8", page.built_file("explorer.js").encode()),
            "/explorer.css": lambda: (200, "text/css; charset=utf-8", page.style_sheet().encode()),
            "/data": lambda: (200, "application/octet-stream", self.data),
            "/favicon.ico": lambda: (204, "image/x-icon", b""),  # every browser asks for it
        }
        by_row: dict[str, Callable[[int], Answer]] = {"picture": self._picture, "reasons": self._reasons}
        if path in fixed:
            return fixed[path]()
        _, what, number, *more = [*path.split("/"), "", ""]
        row = self._row(number)
        return by_row[what](row) if what in by_row and row is not None and not any(more) else NOT_HERE

    def _picture(self, row: int) -> Answer:
        if self.view.items.picture is None:
            return NOT_HERE
        try:
            file = self.view.items.picture(row)
        except OSError:
            return 404, "text/plain", b"The picture of this row cannot be read."
        return 200, "image/png" if file[:1] == b"\x89" else "image/jpeg", file

    def _reasons(self, row: int) -> Answer:
        return 200, "application/json", json.dumps(reasons_for(self.view, row)).encode()

    def _row(self, number: str) -> int | None:
        return int(number) if number.isascii() and number.isdigit() and int(number) < len(self.view) else None


class Handler(BaseHTTPRequestHandler):
    """Checks the host name and the token of a request, and passes it on to the explorer."""

    server: Explorer
    server_version, sys_version = "centrality", ""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if not self.server.is_own_name(host):
            return self._send(403, "text/plain", b"This name is not one of this machine's: use localhost.")
        token = parse_qs(address.query).get("token", [""])[0]
        if token and secrets.compare_digest(token.encode(), self.server.token.encode()):
            cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            return self._send(303, "text/plain", b"", {"Location": "/", "Set-Cookie": cookie})
        if not self._has_cookie():
            return self._send(403, "text/plain", b"Open the address that centrality explore printed: it holds a token.")
        return self._send(*self.server.answer(address.path))

    do_HEAD = do_GET  # noqa: N815

    def _has_cookie(self) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self.server.token.encode())

    def _send(self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        about_body = {"Content-Type": content_type, "Content-Length": str(len(body))}
        for name, value in {**HEADERS, **(headers or {}), **about_body}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the reader."""
