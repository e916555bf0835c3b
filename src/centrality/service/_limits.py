"""Bound what one request may ask for, and refuse what cannot be answered."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds what one request may ask for."""

    body_bytes: int = 64 << 20
    rows: int = 1_000_000
    seconds: float = 30.0
    rows_waiting: int = 4_000_000  # of all requests together


class RequestError(Exception):
    """Refuses a request: with an HTTP status, and a sentence that says what was wanted."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
