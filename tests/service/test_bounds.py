"""What bodies may take: room, time, and memory when they are decoded."""

import asyncio
import tracemalloc

import numpy as np
import orjson
import pyarrow as pa
import pytest

from centrality.apps.service import Limits
from centrality.apps.service.connections import Bodies
from centrality.apps.service.queue import RequestError
from centrality.apps.service.requests import _decoded_bytes, table_of

MIB = 1 << 20
PART = {"type": "http.request", "body": b"x" * 1000, "more_body": True}
LAST = {"type": "http.request", "body": b"y", "more_body": False}


def reader(bodies: Bodies, mebibytes: float, order: list[float], done: asyncio.Event) -> asyncio.Task:
    """Reads a body of this size, which is held until `done`; notes when it was let in."""

    async def receive():
        order.append(mebibytes)
        return LAST

    async def read() -> list[bytes]:
        async with bodies.read(PART, int(mebibytes * MIB), receive) as pieces:
            await done.wait()
            return pieces

    return asyncio.create_task(read())


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_large_bodies_wait_until_there_is_room_and_the_smallest_comes_first():
    async def several():
        bodies, order, done = Bodies(Limits(body_bytes=10 * MIB)), list[float](), [asyncio.Event() for _ in range(5)]
        tasks = [reader(bodies, size, order, one) for size, one in zip((9, 8, 7, 6, 0.01), done, strict=True)]
        await settled()
        assert order == [9, 8, 0.01]  # room for 20, and small ones need none
        done[0].set()
        await settled()
        assert order == [9, 8, 0.01, 6]
        tasks[1].cancel()
        await settled()
        assert order == [9, 8, 0.01, 6, 7]
        for one in done:
            one.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [found[0], *found[2:]] == 4 * [[PART["body"], LAST["body"]]]
        assert bodies.free_bytes == 20 * MIB

    asyncio.run(several())


def test_who_gives_up_while_waiting_takes_no_room():
    async def two():
        bodies, order, done = Bodies(Limits(body_bytes=10 * MIB)), list[float](), asyncio.Event()
        held = [reader(bodies, 10, order, done) for _ in range(2)]
        await settled()
        hasty = reader(bodies, 10, order, done)
        await settled()
        hasty.cancel()
        done.set()
        await asyncio.gather(*held, hasty, return_exceptions=True)
        assert (order, bodies.free_bytes) == ([10, 10], 20 * MIB)

    asyncio.run(two())


def test_a_body_that_hardly_comes_is_refused():
    async def never():
        await asyncio.sleep(60)

    async def slow():
        async with Bodies(Limits(body_grace=0.1)).read(PART, 1000 * MIB, never):
            pass

    with pytest.raises(RequestError, match="The body came too slowly: 1,000 bytes") as refused:
        asyncio.run(slow())
    assert refused.value.status == 408


@pytest.mark.parametrize(
    "row", [b"[]", b"[1.5,2.25,0.75]", b'{"a":1.5,"b":2.25}', b'"text"', b'["a","b"]', b"[[[[]]]]", b"{}", b"123456"]
)
def test_what_json_becomes_is_not_underestimated(row):
    body = b"[" + b",".join([row] * 10_000) + b"]"
    tracemalloc.start()
    decoded = orjson.loads(body)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(decoded) == 10_000
    assert taken <= _decoded_bytes(body) <= 10 * taken


@pytest.mark.parametrize(
    ("column", "decoded"),
    [
        (np.zeros(1000), 16 * 1000),
        (pa.array(["x" * 100]).dictionary_encode().take(pa.array([0] * 1000)), (100 + 32) * 1000),
        (pa.array([[1.0, 2.0]] * 1000), (3 * 32 + 2 * 8) * 1000),
        (pa.array([[None] * 50] * 1000, pa.list_(pa.null())), 51 * 32 * 1000),
    ],
)
def test_arrow_columns_are_measured_as_they_are_when_written_out(column, decoded):
    sink = pa.BufferOutputStream()
    table = pa.table({"a": column})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    body = sink.getvalue().to_pybytes()
    assert table_of(body, ["a"], Limits(body_bytes=decoded // 8)).equals(table)
    with pytest.raises(RequestError, match="bytes decoded") as refused:
        table_of(body, ["a"], Limits(body_bytes=decoded // 8 - 1))
    assert refused.value.status == 413


def test_dictionaries_in_parts_are_refused():
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    batches = [pa.record_batch({"a": pa.array(texts).dictionary_encode()}) for texts in (["u"], ["u", "v"])]
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as stream:
        for batch in batches:
            stream.write_batch(batch)
    with pytest.raises(RequestError, match="dictionaries in parts"):
        table_of(sink.getvalue().to_pybytes(), None, Limits())
