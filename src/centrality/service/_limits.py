"""Define the limits of requests and connections, and the error that refuses a request."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Hold the limits of requests and connections; docs/internals/service.md says what each is for."""

    body_bytes: int = 64 << 20
    rows: int = 1_000_000
    seconds: float = 30.0
    rows_waiting: int = 4_000_000  # of all requests together
    connections: int = 1000  # open at once
    strangers: int = 100  # connections of one peer that have brought no request (with the token, where there is one)
    head_bytes: int = 32 << 10  # of a request without its body
    head_seconds: float = 10.0  # until a request's head is complete
    body_grace: float = 10.0  # seconds that a large body may take beside those that its bytes allow
    body_rate: int = 1 << 20  # bytes a second that a large body must come with
    unread_seconds: int = 5  # seconds in which a client may read nothing of its answer
    linger_seconds: float = 3.0  # after the signal to stop, for requests that are on their way
    memory_bytes: int = 4 << 30  # that the process for large requests may take beyond what it starts with

    @property
    def bodies_bytes(self) -> int:
        """Return the largest number of bytes of large bodies in memory at a time."""
        return 2 * self.body_bytes

    @property
    def decoded_bytes(self) -> int:
        """Return the most memory that a decoded body may take."""
        return 8 * self.body_bytes


class RequestError(Exception):
    """Refuses a request: with an HTTP status, and a sentence that says what was wanted."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
