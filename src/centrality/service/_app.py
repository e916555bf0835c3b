"""Answer requests, as an ASGI application: check who asks, find the page, and send what it answers."""

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias, TypeVar, TypeVarTuple

import orjson

from centrality._checks import InputError
from centrality.service import _openapi, _requests
from centrality.service._file import ModelFile
from centrality.service._limits import Limits, RequestError
from centrality.service._metrics import CONTENT_TYPE, Metrics
from centrality.service._queue import Queue

Message: TypeAlias = MutableMapping[str, Any]  # as ASGI has it
Scope: TypeAlias = Message
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

LOG = logging.getLogger(__name__)
LARGE_BODY = 1 << 16  # bytes: a larger one is read in a thread, while others are served

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class Answer(NamedTuple):
    """Holds what is sent back."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


Page: TypeAlias = Callable[[Scope, Receive], Awaitable[Answer]]


class App:
    """Scores over HTTP, without a framework: a few paths need none, and every request would pay for its time."""

    def __init__(self, file: ModelFile, metrics: Metrics, limits: Limits, token: str | None) -> None:
        self.file, self.metrics, self.limits = file, metrics, limits
        self._secret = None if token is None else f"Bearer {token}".encode()
        self.queue = Queue(limits.rows_waiting, metrics.scored_together)
        self.running = 0  # requests for scores
        # For each path its method, who answers, and whether that needs no token.
        self._pages: dict[str, tuple[str, Page, bool]] = {
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
            await self._watch_file(receive, send)
        elif scope["type"] == "http":
            answer = await self._answer(scope, receive)
            headers = [
                (b"content-type", answer.content_type.encode()),
                (b"content-length", str(len(answer.body)).encode()),
                *answer.headers,
            ]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _watch_file(self, receive: Receive, send: Send) -> None:
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
            answer = answer._replace(
                headers=(*answer.headers, (b"connection", b"close"))
            )  # its body may still be coming
        except InputError as error:  # the model's own words about rows that it cannot score
            answer = _refusal(422, str(error))
        except Exception:  # a bug of ours: the log tells all of it, the answer nothing of our insides
            LOG.exception("An error of the service at %s %s, not of the request", scope["method"], path)
            answer = _refusal(500, "An error of the service, not of the request. The service's log says more.")
        self.metrics.answered(path if path in self._pages else "other", answer.status)
        return answer

    def _page(self, scope: Scope) -> Page:
        """Find who answers this request; raise if there is nobody, or if a token is missing."""
        path, method = scope["path"], scope["method"]
        if path not in self._pages:
            raise RequestError(404, f"There is no {path}. There are: {', '.join(self._pages)}.")
        wanted, page, needs_no_token = self._pages[path]
        if method != wanted and (method, wanted) != ("HEAD", "GET"):
            raise RequestError(405, f"{path} wants {wanted}, got {method}.")
        if self._secret is not None and not needs_no_token:
            given = _header(scope, b"authorization")
            if not hmac.compare_digest(given, self._secret):
                raise RequestError(401, "A token was wanted: Authorization: Bearer TOKEN.")
        return page

    async def score(self, scope: Scope, receive: Receive) -> Answer:
        """Answer with scores, within the time that a request may take."""
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
        large = len(body) > LARGE_BODY
        parts = served, kind, scope["query_string"], body, self.limits.rows
        request = await _in_thread(_requests.read, *parts) if large else _requests.read(*parts)
        if request.p_values:
            served.fitted.calibration_rows()  # if there are none, say so before the work
        explanation = served.explanation(request.ts[0]) if request.explain else None
        heads = await self.queue.score(served.heads(), request.rows)
        contributions = None if explanation is None else await self.queue.score(explanation, request.rows)
        scored = request, served, heads, contributions
        answer = await _in_thread(_requests.answer, *scored) if large else _requests.answer(*scored)
        return Answer(200, kind, answer, ((b"centrality-model", served.version.encode()),))

    async def _body(self, receive: Receive) -> bytes:
        """Read the body; raise if it is larger than allowed, but only when all of it has come."""
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
                chunks.clear()  # read on, and keep nothing: a client that is still sending does not listen
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
        return Answer(200, CONTENT_TYPE, self.metrics.page())

    async def document(self, scope: Scope, receive: Receive) -> Answer:
        return _json(_openapi.document(self.limits))

    async def docs(self, scope: Scope, receive: Receive) -> Answer:
        return Answer(200, "text/html; charset=utf-8", _openapi.page(self.limits).encode())


async def _in_thread(work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)


def _json(value: object, status: int = 200) -> Answer:
    return Answer(status, _requests.JSON, orjson.dumps(value))


def _refusal(status: int, message: str) -> Answer:
    """Return an error as JSON, with the headers that belong to its status."""
    answer = _json({"error": message}, status)
    if status == 503:
        return answer._replace(headers=((b"retry-after", b"1"),))
    return answer._replace(headers=((b"www-authenticate", b"Bearer"),)) if status == 401 else answer


def _header(scope: Scope, name: bytes) -> bytes:
    """Return the value of a header, empty if the request has none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""
