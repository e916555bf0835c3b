"""Cells that cannot be read are told of over HTTP too: a field, a header, and an error where a column fails."""

import asyncio
import json

import numpy as np
import pandas as pd
import pytest

from centrality import Chain
from centrality.representations import Table
from tests.conftest import quick
from tests.service.test_service import app as app  # the fixture
from tests.service.test_service import score

RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 300, size=200), unit="D")
FRAME = pd.DataFrame({"x": RNG.normal(size=200), "day": DAYS, "kind": RNG.choice(["a", "b"], 200)})


@pytest.fixture(scope="module")
def chain():
    return Chain(Table(), quick()).fit(FRAME)


def rows(n: int, day: str = "2024-03-01") -> list[dict]:
    return [{"x": 0.1 * i, "day": day, "kind": "a"} for i in range(n)]


def test_rows_that_can_be_read_have_no_such_field(app, chain):
    assert list(score(app(chain), rows=rows(3))) == ["centrality"]


def test_one_cell_that_is_no_date_counts_against_its_row_and_is_told_of(app, chain):
    found = score(app(chain), rows=[*rows(30), *rows(1, "hello")])
    assert found["unreadable"] == {"day": {"cannot be read as a date": 1}}
    assert found["centrality"][-1] < min(found["centrality"][:10])


def test_a_column_that_fails_in_many_rows_is_an_error_that_says_which(app, chain):
    wrong = score(app(chain), rows=rows(20, "hello"))
    assert wrong["status"] == 422
    assert "Column 'day' is not what the model was fitted on" in wrong["error"]


def test_answers_carry_the_number_in_a_header(app, chain):
    body = json.dumps({"rows": [*rows(30), *rows(1, "hello")]}).encode()
    served = app(chain)
    sent: list[dict] = []
    scope = {"type": "http", "method": "POST", "path": "/score", "query_string": b"",
             "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")]}  # fmt: skip
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict:
        return next(messages)

    async def send(message: dict) -> None:
        sent.append(message)

    asyncio.run(served(scope, receive, send))
    assert (b"centrality-unreadable", b"1") in sent[0]["headers"]
