"""Define the answer to a request, and turn errors into answers."""

import logging
from collections.abc import Awaitable, Sequence
from typing import NamedTuple

import orjson

from centrality._checks import InputError
from centrality.service._limits import RequestError

LOG = logging.getLogger(__name__)
JSON = "application/json"
CLOSE = (b"connection", b"close")
TOO_LARGE = "This takes more memory than the service has for a request: send fewer rows."


class Answer(NamedTuple):
    """Hold an HTTP answer: status, headers and body; a large body comes in pieces."""

    status: int
    content_type: str
    body: bytes | Sequence[bytes]
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def pieces(self) -> Sequence[bytes]:
        """Return the body in pieces; a whole body is one piece."""
        return [self.body] if isinstance(self.body, bytes) else self.body


async def answer_of(work: Awaitable[Answer], path: str) -> Answer:
    """Return the answer that the work returns, or the answer for the error that it raises."""
    try:
        return await work
    except RequestError as error:
        return refusal(error.status, str(error))
    except InputError as error:  # the model's own words about rows that it cannot score
        return refusal(422, str(error))
    except MemoryError:
        return refusal(413, TOO_LARGE)
    except Exception:  # a bug of ours: the log has the traceback, the answer no internals
        LOG.exception("An error of the service at %s, not of the request", path)
        return refusal(500, "An error of the service, not of the request. The service's log says more.")


def json_answer(value: object, status: int = 200) -> Answer:
    """Return a value as an answer in JSON."""
    return Answer(status, JSON, orjson.dumps(value))


def refusal(status: int, message: str) -> Answer:
    """Return an error as an answer in JSON, with the headers that belong to its status."""
    headers = {503: ((b"retry-after", b"1"),), 401: ((b"www-authenticate", b"Bearer"),), 408: (CLOSE,)}
    headers[415] = ((b"accept-encoding", b"identity"),)
    return json_answer({"error": message}, status)._replace(headers=headers.get(status, ()))
