"""The ASGI application: who may ask, what is asked, and the answer."""

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson

from centrality._checks import InputError
from centrality.service import _openapi, _requests
from centrality.service._file import ModelFile
from centrality.service._limits import Limits, RequestError
from centrality.service._metrics import CONTENT, Metrics
from centrality.service._queue import Queue

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LOG = logging.getLogger(__name__)
LARGE = 1 << 16  # bytes of a body that a thread reads, while others are served


class Answer(NamedTuple):
    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class App:
    """Scores over HTTP. Small on purpose: six paths need no framework, and every microsecond is some request's."""

    def __init__(self, file: ModelFile, metrics: Metrics, limits: Limits, token: str | None) -> None:
        self.file, self.metrics, self.limits = file, metrics, limits
        self._secret = None if token is None else f"Bearer {token}".encode()
        self.queue = Queue(limits.rows_waiting, metrics.scored_together)
        self.running = 0  # requests for scores
        self._pages: dict[str, tuple[str, Callable[[Scope, Receive], Awaitable[Answer]], bool]] = {
            "/score": ("POST", self.score, False),
            "/model": ("GET", self.model, False),
            "/metrics": ("GET", self.numbers, False),
            "/health": ("GET", self.health, True),
            "/openapi.json": ("GET", self.document, True),
            "/docs": ("GET", self.docs, True),
            "/": ("GET", self.docs, True),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            answer = await self._answer(scope, receive)
            headers = [
                (b"content-type", answer.kind.encode()),
                (b"content-length", str(len(answer.body)).encode()),
                *answer.headers,
            ]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Watch the model's file from the server's start to its end."""
        watching: asyncio.Task[None] | None = None
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                watching = asyncio.create_task(self.file.watch())
                await send({"type": "lifespan.startup.complete"})
            else:
                if watching is not None:
                    watching.cancel()
                self.queue.thread.shutdown()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path = scope["path"]
        try:
            answer = await self._page(scope)(scope, receive)
        except RequestError as error:
            answer = _refusal(error.status, str(error))
        except TimeoutError:
            answer = _refusal(503, f"This took longer than {self.limits.seconds:g} s. Send fewer rows, or try again.")
            answer = answer._replace(headers=(*answer.headers, (b"connection", b"close")))  # its body may not be over
        except InputError as error:  # the model's own words about rows that it cannot score
            answer = _refusal(422, str(error))
        except Exception:  # a bug of ours: who asked learns nothing of our insides, who serves all of it
            LOG.exception("An error of the service at %s %s, not of the request", scope["method"], path)
            answer = _refusal(500, "An error of the service, not of the request. The service's log says more.")
        self.metrics.answered(path if path in self._pages else "other", answer.status)
        return answer

    def _page(self, scope: Scope) -> Callable[[Scope, Receive], Awaitable[Answer]]:
        """Who answers this request, if it may be answered."""
        path, method = scope["path"], scope["method"]
        if path not in self._pages:
            raise RequestError(404, f"There is no {path}. There are: {', '.join(self._pages)}.")
        wanted, page, free = self._pages[path]
        if method != wanted and (method, wanted) != ("HEAD", "GET"):
            raise RequestError(405, f"{path} wants {wanted}, got {method}.")
        if self._secret is not None and not free:
            given = _header(scope, b"authorization")
            if not hmac.compare_digest(given, self._secret):
                raise RequestError(401, "A token was wanted: Authorization: Bearer TOKEN.")
        return page

    async def score(self, scope: Scope, receive: Receive) -> Answer:
        begun = time.perf_counter()
        self.running += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._scores(scope, await self._body(receive))
        finally:
            self.running -= 1
            self.metrics.seconds.observe(time.perf_counter() - begun)

    async def _scores(self, scope: Scope, body: bytes) -> Answer:
        kind = _header(scope, b"content-type").partition(b";")[0].strip().lower().decode("latin-1")
        served = self.file.current  # this one to the end, whatever is loaded meanwhile
        large = len(body) > LARGE
        what = served, kind, scope["query_string"], body, self.limits.rows
        asked = await _in_thread(_requests.read, *what) if large else _requests.read(*what)
        if asked.p_values:
            served.fitted.calibration_heads()  # if there are none, say so before the work
        explained = served.explanation(asked.ts[0]) if asked.explain else None
        heads = await self.queue.score(served.heads(), asked.rows)
        parts = None if explained is None else await self.queue.score(explained, asked.rows)
        scored = asked, served, heads, parts
        made = await _in_thread(_requests.answer, *scored) if large else _requests.answer(*scored)
        return Answer(200, kind, made, ((b"centrality-model", served.name.encode()),))

    async def _body(self, receive: Receive) -> bytes:
        message = await receive()
        if not message.get("more_body"):
            body: bytes = message.get("body", b"")
            if len(body) <= self.limits.body_bytes:
                return body
        chunks, size = [message.get("body", b"")], len(message.get("body", b""))
        while message.get("more_body"):
            message = await receive()
            size += len(message.get("body", b""))
            if size <= self.limits.body_bytes:
                chunks.append(message.get("body", b""))
            else:
                chunks.clear()  # read on, and forget: one who is still sending does not listen
        if message["type"] == "http.disconnect":
            raise RequestError(400, "The connection ended before the body did.")
        if size > self.limits.body_bytes:
            raise RequestError(413, f"At most {self.limits.body_bytes:,} bytes a request, got {size:,}: send several.")
        return b"".join(chunks)

    async def model(self, scope: Scope, receive: Receive) -> Answer:
        return _json(self.file.current.describe() | {"trouble": self.file.trouble})

    async def health(self, scope: Scope, receive: Receive) -> Answer:
        return _json({"status": "ok"})

    async def numbers(self, scope: Scope, receive: Receive) -> Answer:
        self.metrics.waiting.set(self.queue.waiting)
        self.metrics.running.set(self.running)
        return Answer(200, CONTENT, self.metrics.page())

    async def document(self, scope: Scope, receive: Receive) -> Answer:
        return _json(_openapi.document(self.limits))

    async def docs(self, scope: Scope, receive: Receive) -> Answer:
        return Answer(200, "text/html; charset=utf-8", _openapi.page(self.limits).encode())


async def _in_thread(work: Callable[..., Any], *what: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, work, *what)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, _requests.JSON, orjson.dumps(value))


def _refusal(status: int, said: str) -> Answer:
    answer = _json({"error": said}, status)
    if status == 503:
        return answer._replace(headers=((b"retry-after", b"1"),))
    return answer._replace(headers=((b"www-authenticate", b"Bearer"),)) if status == 401 else answer


def _header(scope: Scope, name: bytes) -> bytes:
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""
