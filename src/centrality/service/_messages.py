"""Send requests and answers between the two processes of the service, over a pair of sockets."""

import asyncio
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

# Kinds of messages: to the process for large requests, and back from it.
SETUP, ASK, CANCEL = 1, 2, 3
READY, ANSWER, BATCH, FREED = 4, 5, 6, 7
HEAD = struct.Struct("<BIIQ")  # what it is, about which request, bytes of its facts, bytes of its body
PIECE = 1 << 18  # bytes of a body that are taken from the socket together


class Message(NamedTuple):
    """Holds one message: its kind, the number of its request, its fields and its body."""

    what: int
    number: int  # of the request
    facts: list[Any]
    pieces: list[bytes]


class Channel:
    """Sends and receives messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def over(cls, end: socket.socket) -> "Channel":
        """Return the channel over this end of a pair of sockets."""
        return cls(*await asyncio.open_unix_connection(sock=end, limit=PIECE))

    def send(self, what: int, number: int = 0, facts: Sequence[object] = (), pieces: Sequence[bytes] = ()) -> None:
        """Send a whole message, even if the sender is cancelled; do nothing if the other process has ended."""
        if self._writer.is_closing():
            return
        about = orjson.dumps(facts)
        self._writer.write(HEAD.pack(what, number, len(about), sum(map(len, pieces))) + about)
        for piece in pieces:
            self._writer.write(piece)

    async def receive(self) -> Message | None:
        """Return the next message; None when the channel is closed."""
        try:
            what, number, of_facts, of_body = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            facts = orjson.loads(await self._reader.readexactly(of_facts))
            pieces: list[bytes] = []
            while of_body:
                piece = await self._reader.read(min(of_body, PIECE))
                if not piece:
                    return None
                pieces.append(piece)
                of_body -= len(piece)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Message(what, number, facts, pieces)

    def close(self) -> None:
        """Close the channel, so that the other process ends."""
        self._writer.close()
