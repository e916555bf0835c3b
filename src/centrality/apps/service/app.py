"""Answer requests, as an ASGI application: check the client, find the handler of the path, and send its answer."""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from centrality._internal.checks import is_own
from centrality.apps.service import openapi, requests
from centrality.apps.service.connections import Bodies, Message, Receive
from centrality.apps.service.model import CONTENT_TYPE, Metrics, ModelFile, ServedSeries
from centrality.apps.service.queue import QUICK, Limits, RequestError, count
from centrality.apps.service.requests import CLOSE, Answer, answer_of, json_answer, refusal
from centrality.apps.service.worker import LARGE_BODY, RequestScorer, Worker

Scope: TypeAlias = Message
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Page: TypeAlias = Callable[[Scope, Receive], Awaitable[Answer]]


class App:
    """Scores over HTTP, without a framework, which a few paths do not need and which would slow down every request.

    Without a token, only requests to this machine's addresses or to one of the `hosts` are answered. Where there is a
    worker, it handles requests that may take longer than a millisecond.
    """

    def __init__(
        self,
        file: ModelFile,
        metrics: Metrics,
        limits: Limits,
        token: str | None,
        *,
        hosts: Collection[str] = (),
        worker: Worker | None = None,
    ) -> None:
        self.file = file
        self.metrics = metrics
        self.limits = limits
        self.secret = None if token is None else f"Bearer {token}".encode()
        self._hosts = frozenset(host.lower() for host in hosts)
        self.scorer = RequestScorer(limits, metrics.scored_together)
        self.worker = worker
        self.bodies = Bodies(limits)
        self.running = 0  # requests for scores
        # For each path its method, its handler, and whether it needs no token.
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
            await self._live(receive, send)
        if scope["type"] != "http":
            return
        path = scope["path"]
        try:
            page = self._page(scope)
        except RequestError as error:
            answer = refusal(error.status, str(error))
        else:
            answer = await answer_of(page(scope, receive), path)
        self.metrics.answered(path if path in self._pages else "other", answer.status)

        pieces = answer.pieces
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(sum(map(len, pieces))).encode()),
            *answer.headers,
        ]
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            if scope["method"] == "HEAD":
                pieces = [b""]
            for piece in pieces[:-1]:  # `send` waits while the client has much to read
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": pieces[-1]})
        finally:
            if self.worker is not None and not isinstance(answer.body, bytes):
                self.worker.outgoing.remove(answer)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Handle ASGI's lifespan: watch the model's file from the server's start to its end."""
        watching: asyncio.Task[None] | None = None
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                watching = asyncio.create_task(self.file.watch(self._prepare))
                await self._prepare()
                await send({"type": "lifespan.startup.complete"})
            else:
                if watching is not None:
                    watching.cancel()
                if self.worker is not None:
                    await self.worker.close()
                self.scorer.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _prepare(self) -> None:
        """Start the process for large requests with the current model; this takes seconds."""
        served = self.file.current
        if self.worker is not None and not isinstance(served, ServedSeries):
            await self.worker.open(served)

    def _page(self, scope: Scope) -> Page:
        """Return the handler of this request; raise if there is none, or if the client is not allowed to use it."""
        path = scope["path"]
        method = scope["method"]
        if self.secret is None and not is_own(_header(scope, b"host"), self._hosts):
            raise RequestError(403, "The Host header names another host than this one: use localhost, or --allow-host.")
        if path not in self._pages:
            raise RequestError(404, f"There is no {path}. There are: {', '.join(self._pages)}.")
        wanted, page, needs_no_token = self._pages[path]
        if method != wanted and (method, wanted) != ("HEAD", "GET"):
            raise RequestError(405, f"{path} wants {wanted}, got {method}.")
        if self.secret is None or needs_no_token or hmac.compare_digest(_header(scope, b"authorization"), self.secret):
            return page
        raise RequestError(401, "A token was wanted: Authorization: Bearer TOKEN.")

    async def score(self, scope: Scope, receive: Receive) -> Answer:
        """Answer a request for scores, within the time limit of a request."""
        start = time.perf_counter()
        self.running += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                first = await receive()
                if not first.get("more_body") and len(first.get("body", b"")) <= LARGE_BODY:
                    return await self._scores(scope, [first.get("body", b"")])
                length = _header(scope, b"content-length")
                async with self.bodies.read(first, int(length) if length.isdigit() else None, receive) as pieces:
                    return await self._scores(scope, pieces)
        except TimeoutError:
            answer = refusal(503, f"This took longer than {self.limits.seconds:g} s. Send fewer rows, or try again.")
            return answer._replace(headers=(*answer.headers, CLOSE))  # its body may still be coming
        finally:
            self.running -= 1
            self.metrics.seconds.observe(time.perf_counter() - start)

    async def _scores(self, scope: Scope, pieces: list[bytes]) -> Answer:
        # A compressed body could become very large, and few clients compress requests.
        encodings = [value for key, value in scope["headers"] if key == b"content-encoding"]
        if any(value.strip().lower() not in (b"", b"identity") for value in encodings):
            got = b", ".join(encodings).decode("latin-1")
            raise RequestError(
                415, f"A body that is not packed was wanted, got Content-Encoding {got:.40}: send it as it is."
            )
        kind = _header(scope, b"content-type").partition(b";")[0].strip().lower().decode("latin-1")
        query = scope["query_string"]
        served = self.file.current  # the request keeps this model, even if another is loaded meanwhile
        if isinstance(served, ServedSeries):
            if kind != requests.JSON:
                raise RequestError(415, f"Moments of series come as {requests.JSON}, got {kind or 'none'}.")
            rows, options = requests.from_json(b"".join(pieces), self.limits.decoded_bytes, ("series",))
            judgements = await asyncio.to_thread(served.judge, rows, options.get("series", ""))
            self.metrics.scored_together(1, len(rows))
            return json_answer(judgements)._replace(headers=((b"centrality-model", served.version.encode()),))
        if self.worker is None:
            return await self.scorer.answer(served, kind, query, b"".join(pieces))
        if served.is_quick and sum(map(len, pieces)) <= LARGE_BODY:
            request = requests.parse(served, kind, query, b"".join(pieces), self.limits)
            if not request.explain and count(request.raw_rows) * served.width <= QUICK:
                return await self.scorer.scores(request)
        return await self.worker.answer(served, kind, query, pieces)

    async def model(self, scope: Scope, receive: Receive) -> Answer:
        return json_answer(self.file.current.describe() | {"trouble": self.file.trouble})

    async def health(self, scope: Scope, receive: Receive) -> Answer:
        return json_answer({"status": "ok"})

    async def numbers(self, scope: Scope, receive: Receive) -> Answer:
        elsewhere = 0 if self.worker is None else self.worker.waiting
        self.metrics.waiting.set(self.scorer.queue.waiting + elsewhere)
        self.metrics.running.set(self.running)
        return Answer(200, CONTENT_TYPE, self.metrics.page())

    async def document(self, scope: Scope, receive: Receive) -> Answer:
        return json_answer(openapi.document(self.limits))

    async def docs(self, scope: Scope, receive: Receive) -> Answer:
        return Answer(200, "text/html; charset=utf-8", openapi.page(self.limits).encode())


def _header(scope: Scope, name: bytes) -> bytes:
    """Return the value of a header, empty if the request has none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""
