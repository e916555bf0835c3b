"""What one request may ask for, and what it is told when that cannot be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body_bytes: int = 64 << 20
    rows: int = 1_000_000
    seconds: float = 30.0
    rows_waiting: int = 4_000_000  # of all requests together


class RequestError(Exception):
    """A request that is not answered with scores: a status, and a sentence that says what was wanted."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status
