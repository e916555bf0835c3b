"""A model of series over HTTP: each series keeps its last moments, and the newest are judged."""

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from centrality import Timeline
from centrality.apps.service import App, Limits
from centrality.apps.service.model import Metrics, ModelFile
from centrality.chain import load
from centrality.series import Stream
from tests.present import present


def season(count: int, seed: int = 0) -> np.ndarray:
    both = np.column_stack([np.sin(np.arange(count) / 9), np.cos(np.arange(count) / 9)])
    return both + np.random.default_rng(seed).normal(0, 0.1, (count, 2))


@pytest.fixture(scope="module")
def model() -> Timeline:
    return Timeline(random_state=0).fit(season(1600))


@pytest.fixture
def app(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    metrics = Metrics()
    return App(ModelFile(tmp_path / "m.safetensors", load, metrics), metrics, Limits(), None)


def ask(app: App, body: bytes, path: str = "/score", kind: bytes = b"application/json") -> tuple[int, dict[str, Any]]:
    scope: dict[str, Any] = {"type": "http", "method": "POST" if body else "GET", "path": path, "query_string": b""}
    scope["headers"] = [(b"content-type", kind)]
    sent: list[dict[str, Any]] = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def score(app: App, **request: Any) -> dict[str, Any]:
    status, body = ask(app, json.dumps(request).encode())
    return body if status == 200 else {"status": status, **body}


def test_moments_are_judged_as_a_stream_judges_them_and_series_do_not_mix(app, model):
    stream, values = Stream(model), season(300, seed=3).tolist()
    expected = [stream.push(row) for row in values]
    first = score(app, series="pump-7", rows=values[:200])
    score(app, series="pump-8", rows=season(150, seed=4).tolist())
    second = score(app, series="pump-7", rows=[dict(zip(("x0", "x1"), row, strict=True)) for row in values[200:]])
    assert first["centrality"] + second["centrality"] == [moment and moment.centrality for moment in expected]
    last = present(expected[-1])
    assert second["p_value"][-1] == last.p_value
    assert second["channels"][-1] == dict(last.channels)


def test_a_wrong_moment_is_refused_and_nothing_of_its_request_remembered(app):
    rows = season(200).tolist()
    refused = score(app, series="a", rows=[*rows, [1.0]])
    assert refused["status"] == 422
    assert "Row 200: 2 values were wanted" in refused["error"]
    assert score(app, series="a", rows=rows[:126])["centrality"][:125] == [None] * 125
    for request, message in (
        ({"rows": rows, "t": 0.5}, "Unknown: 't'. A request has rows, series."),
        ({"rows": rows, "series": 7}, "must be a text"),
        ({"rows": []}, "From 1 to 10,000 moments"),
        ({"rows": [[0.0, 1.0]] * 10_001}, "From 1 to 10,000 moments"),
    ):
        assert message in score(app, **request)["error"]
    assert ask(app, b"x", kind=b"text/plain")[0] == 415


def test_a_new_model_goes_on_with_the_series(app, tmp_path):
    values = season(260, seed=3).tolist()
    score(app, series="a", rows=values[:200])
    Timeline(random_state=1).fit(season(1600, seed=8)).save(tmp_path / "m.safetensors")
    before = app.file.current
    asyncio.run(app.file.look())
    assert app.file.current is not before
    assert None not in score(app, series="a", rows=values[200:])["centrality"]


def test_the_model_is_described(app, model):
    _, about = ask(app, b"", "/model")
    assert about["model"] == "Timeline"
    assert about["columns"] == ["x0", "x1"]
    assert about["window"] == model.window_


def test_rows_name_their_series_where_the_model_has_a_column_for_it(tmp_path):
    import pyarrow as pa

    table = pa.table({"machine": np.repeat(["a", "b"], 800), "load": season(1600)[:, 0]})
    Timeline(by="machine", random_state=0).fit(table).save(tmp_path / "m.safetensors")
    metrics = Metrics()
    app = App(ModelFile(tmp_path / "m.safetensors", load, metrics), metrics, Limits(), None)
    rows = [{"machine": name, "load": 0.1} for _ in range(101) for name in ("a", "b")]
    answered = score(app, rows=rows)["centrality"]
    assert answered[:200] == [None] * 200
    assert None not in answered[200:]
