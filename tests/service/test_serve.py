"""A real server process, asked by a real HTTP client."""

import json
import os
import re
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import FUSE, load
from centrality.apps.cli import main
from tests.conftest import quick
from tests.foreground import background
from tests.promise import assert_same_scores
from tests.served import ARROW, JSON, Server, arrow, wait_for

pytestmark = pytest.mark.slow  # each waits for a process that imports torch
ROUNDING = 1e-6  # of float32: rows scored alone or with others
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(500, 3)), columns=["a", "b", "c"])  # what conftest fits


@pytest.fixture(scope="module")
def model(file) -> FUSE:
    return load(file)


@pytest.fixture(scope="module")
def server(file):
    running = Server(str(file), "--max-rows", "200000", "--max-bytes", "9000000")
    yield running
    assert running.stop()[0] == 0


def test_rows_as_lists_or_objects_get_the_models_own_scores(server, model):
    some = X[:5]
    lists = server.score(rows=some.to_numpy().tolist())
    objects = server.score(rows=[{"name": "x"} | row for row in some[["c", "a", "b"]].to_dict("records")])
    assert lists == objects
    assert list(lists) == ["centrality"]
    assert_same_scores(lists["centrality"], model.centrality(some))


def test_several_t_are_several_columns(server, model):
    found = server.score(rows=X.to_numpy().tolist(), t=[0, 0.25, 1])
    assert list(found) == ["centrality_t0", "centrality_t25", "centrality_t100"]
    assert_same_scores(np.column_stack(list(found.values())), model.centrality(X, t=[0, 0.25, 1]))


def test_an_arrow_stream_is_answered_by_one_and_no_row_is_lost_between_batches(server, model):
    many = RNG.normal(size=(100_000, 3))
    table = pa.table({"id": np.arange(len(many)), **{name: many[:, j] for j, name in enumerate("abc")}})
    status, headers, content = server.ask("POST", "/score?t=0,1", arrow(table), ARROW)
    assert (status, headers["Content-Type"]) == (200, ARROW)
    found = pa.ipc.open_stream(content).read_all()
    assert found.column_names == ["centrality_t0", "centrality_t100"]
    expected = model.centrality(pd.DataFrame(many, columns=["a", "b", "c"]), t=[0, 1])
    assert_same_scores(np.column_stack(found.columns), expected)


def test_p_values_are_the_models_own(server, model):
    found = server.score(rows=X[:50].to_numpy().tolist(), t=[0, 1], p_values=True)
    assert list(found) == ["centrality_t0", "centrality_t100", "p_value_t0", "p_value_t100"]
    expected = model.p_values(X[:50], t=[0, 1])
    np.testing.assert_array_equal(np.column_stack([found["p_value_t0"], found["p_value_t100"]]), expected)


def test_severities_are_the_models_own_beside_p_values_or_alone(server, model):
    rows = X[:50].to_numpy().tolist()
    alone = server.score(rows=rows, t=[0, 1], severity=True)
    expected = model.severity(X[:50], t=[0, 1])
    np.testing.assert_allclose(np.column_stack([alone["severity_t0"], alone["severity_t100"]]), expected)
    both = server.score(rows=rows, t=[0, 1], severity=True, p_values=True)
    assert both["severity_t0"] == alone["severity_t0"]
    assert "p_value_t0" in both


def test_explanations_are_the_models_own(server, model):
    found = server.score(rows=X[:7].to_numpy().tolist(), t=0.25, explain=True)
    assert list(found) == ["centrality_t25", "contribution_a", "contribution_b", "contribution_c"]
    parts = np.column_stack([found[f"contribution_{name}"] for name in "abc"])
    np.testing.assert_allclose(parts, model.explain(X[:7], t=0.25), atol=1e-6)
    centre = pd.DataFrame(model.center_[None], columns=["a", "b", "c"])
    whole = np.array(found["centrality_t25"]) - model.centrality(centre, t=0.25)
    np.testing.assert_allclose(parts.sum(1), whole, atol=1e-3)


def test_everybody_gets_their_own_scores_when_many_ask_at_once(server, model):
    rows = RNG.normal(size=(16, 40, 3))
    expected = model.centrality(pd.DataFrame(rows.reshape(-1, 3), columns=["a", "b", "c"]), 1.0).reshape(16, 40)
    rows_before, asked_before = server.metric("centrality_rows_total"), server.metric("centrality_requests_total")

    def client(mine):
        connection, found = server.connection(), []
        for row in mine:
            connection.request("POST", "/score", json.dumps({"rows": [row.tolist()], "t": 1}), {"Content-Type": JSON})
            found += json.loads(connection.getresponse().read())["centrality_t100"]
        connection.close()
        return found

    with ThreadPoolExecutor(16) as pool:
        np.testing.assert_allclose(list(pool.map(client, rows)), expected, atol=ROUNDING)
    assert server.metric("centrality_rows_total") - rows_before == 640
    assert server.metric("centrality_requests_total", path="/score", status="200") - asked_before <= 640


def test_counts_are_those_of_the_requests(server):
    before = server.metric("centrality_requests_total", path="/score", status="422")
    seconds = server.metric("centrality_score_seconds_count")
    server.score(rows=[[1]])
    server.score(rows=[[1, 2, 3]])
    assert server.metric("centrality_requests_total", path="/score", status="422") == before + 1
    assert server.metric("centrality_score_seconds_count") == seconds + 2
    assert server.metric("centrality_rows_waiting") == 0
    assert time.time() - 3600 < server.metric("centrality_model_loaded_seconds") < time.time()


@pytest.mark.parametrize(
    ("body", "kind", "path", "status", "message"),
    [
        ("{", JSON, "", 422, "not JSON"),
        ("[[1, 2, 3]]", JSON, "", 422, "An object with a list of rows was wanted"),
        ('{"rows": []}', JSON, "", 422, "Rows were wanted, got none"),
        ('{"rows": [[1, 2, 3], [1, 2]]}', JSON, "", 422, "Row 1: a list of 3 numbers (a, b, c) was wanted, got 2"),
        ('{"rows": [[1, 2, "3"]]}', JSON, "", 422, 'one of them is "3"'),
        ('{"rows": [[1, 2, null]]}', JSON, "", 422, "one of them is null"),
        ('{"rows": ["a"]}', JSON, "", 422, 'was wanted, got "a"'),
        ('{"rows": [[1, 2, 3], {"a": 1}]}', JSON, "", 422, 'Row 1: a list of 3 numbers (a, b, c) was wanted, got {"a"'),
        ('{"rows": [{"a": 1, "b": 2, "C": 3}]}', JSON, "", 422, "Missing column: 'c'. There are: 'a', 'b', 'C'"),
        (
            '{"rows": [{"a": 1, "b": 2, "c": 3}, 4]}',
            JSON,
            "",
            422,
            "Row 1: an object of named values was wanted, got 4",
        ),
        ('{"rows": [[1, 2, 1e999]]}', JSON, "", 422, "number is infinity"),
        ('{"rows": [[1, 2, NaN]]}', JSON, "", 422, "not JSON"),
        ('{"rows": [[1, 2, 3]], "t": 2}', JSON, "", 422, "t must lie between 0 (global) and 1 (local)"),
        ('{"rows": [[1, 2, 3]], "t": []}', JSON, "", 422, "t must lie between"),
        ('{"rows": [[1, 2, 3]], "p": 1}', JSON, "", 422, "Unknown: 'p'. A request has rows, t, p_values, severity"),
        ('{"rows": [[1, 2, 3]]}', JSON, "?t=a", 422, "t must lie between"),
        ('{"rows": [[1, 2, 3]]}', JSON, "?t=0&t=1", 422, "t comes twice in the query"),
        ('{"rows": [[1, 2, 3]], "t": [0, -0.0]}', JSON, "", 422, "Every t must differ from the others"),
        ('{"rows": [[1, 2, 3]]}', JSON, "?q=1", 422, "Unknown: 'q'"),
        ('{"rows": [[1, 2, 3]], "p_values": 1}', JSON, "", 422, "p_values must be true or false, got 1"),
        ('{"rows": [[1, 2, 3]], "t": [0, 1], "explain": true}', JSON, "", 422, "explain wants one t, got 2"),
        (json.dumps({"rows": [[1, 2, 3]], "t": [0.5] * 102}), JSON, "", 422, "at most 101 values of t"),
        ('{"rows": [[1, 2, 3]]}', "text/plain", "", 415, "Content-Type must be application/json or"),
        ('{"rows": [[1, 2, 3]], "rows": [[4, 5, 6]]}', JSON, "", 422, "the name 'rows' comes twice in one JSON object"),
        ('{"rows": [[1, 2, 3]], "t": 0, "t": 1}', JSON, "", 422, "the name 't' comes twice"),
        ('{"rows": [{"a": 1, "b": 2, "c": 3, "a": 9}]}', JSON, "", 422, "the name 'a' comes twice"),
        ('{"rows": [{"a": 1, "b": 2, "c": 3, "\\u0061": 9}]}', JSON, "", 422, "the name 'a' comes twice"),
        ('{"rows": [{"a": 1, "b": 2, "c": 3, "d": {"x": 1, "x": 2}}]}', JSON, "", 422, "the name 'x' comes twice"),
        ("not arrow", ARROW, "", 422, "not an Arrow IPC stream"),
        (arrow(pa.table({"a": [1.0]}), "zstd"), ARROW, "", 422, "The Arrow stream is compressed"),
        (arrow(pa.table({"a": [1.0], "b": [2.0]})), ARROW, "", 422, "Missing column: 'c'"),
        (arrow(pa.table({"a": [1.0], "b": [2.0], "c": ["x"]})), ARROW, "", 422, "hold something else: 'c'"),
        (arrow(pa.table({"a": [1.0], "b": [2.0], "c": [float("nan")]})), ARROW, "", 422, "in column 'c' (1 rows)"),
        (arrow(pa.table({"a": [1.0], "b": [2.0], "c": [3.0]}).slice(0, 0)), ARROW, "", 422, "Rows were wanted"),
    ],
    ids=lambda value: "stream" if isinstance(value, bytes) else None,
)
def test_what_cannot_be_scored_is_answered_with_a_sentence(server, *, body, kind, path, status, message):
    got, headers, content = server.ask("POST", f"/score{path}", body, kind)
    assert (got, headers["Content-Type"]) == (status, JSON)
    assert message in json.loads(content)["error"]


def test_too_many_rows_and_too_many_bytes_are_refused_before_they_are_scored(server):
    scored = server.metric("centrality_rows_total")
    table = pa.table({name: np.zeros(200_001, dtype=np.float32) for name in "abc"})
    status, _, content = server.ask("POST", "/score", arrow(table), ARROW)
    assert status == 422
    assert "At most 200,000 rows a request, got 200,001" in json.loads(content)["error"]
    status, _, content = server.ask("POST", "/score", b" " * 20_000_000)
    assert status == 413
    assert json.loads(content)["error"] == "At most 9,000,000 bytes a request, got 20,000,000: send several."
    assert server.metric("centrality_rows_total") == scored


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [("GET", "/scores", 404, "There is no /scores"), ("GET", "/score", 405, "/score wants POST, got GET")],
)
def test_wrong_paths_and_methods_say_what_there_is(server, method, path, status, message):
    got, _, content = server.ask(method, path)
    assert got == status
    assert message in json.loads(content)["error"]


def test_the_model_in_use_is_described(server, model):
    found = json.loads(server.ask("GET", "/model")[2])
    assert found["columns"] == ["a", "b", "c"]
    assert (found["model"], found["t"], found["trouble"]) == ("FUSE", 0.5, None)
    assert (found["p_values"], found["explain"]) == (True, True)
    assert found["noise_scale"] == list(model.noise_scale_)
    assert server.ask("POST", "/score", '{"rows": [[1, 2, 3]]}')[1]["Centrality-Model"] == found["version"]


def test_the_page_and_the_description_speak_of_the_paths_that_answer(server):
    described = json.loads(server.ask("GET", "/openapi.json")[2])
    assert described["openapi"].startswith("3.1")
    page = server.ask("GET", "/docs")[2].decode()
    for path, methods in described["paths"].items():
        method = next(iter(methods)).upper()
        assert f"<b>{method}</b> {path}" in page
        body = '{"rows": [[1, 2, 3]]}' if method == "POST" else None
        assert server.ask(method, path, body)[0] == 200
    assert not re.search(r"(src|href)=.?(https?:)?//", page)  # nothing from elsewhere
    assert "200,000" in page


def test_a_token_is_wanted_where_one_was_set_and_slow_requests_end(start, file, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    arguments = ["--host", "0.0.0.0", "--token-file", str(tmp_path / "token"), "--max-seconds", "2"]
    running = start(str(file), *arguments)
    running.host = "127.0.0.1"
    body = '{"rows": [[1, 2, 3]]}'
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
        for method, path in (("POST", "/score"), ("GET", "/model"), ("GET", "/metrics")):
            status, headers, content = running.ask(method, path, body if method == "POST" else None, **given)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in json.loads(content)["error"]
    assert running.ask("POST", "/score", body, Authorization="Bearer s3cret")[0] == 200
    assert running.ask("GET", "/health")[0] == 200
    # A body that does not come: the server answers all the same.
    head = "POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nAuthorization: Bearer s3cret\r\n\r\n"
    with socket.create_connection((running.host, running.port), timeout=30) as slow:
        slow.sendall(head.encode() + b'{"rows"')
        answer = ""
        while "}" not in answer:
            answer += slow.recv(10_000).decode()
    assert answer.startswith("HTTP/1.1 503")
    assert "retry-after: 1" in answer
    assert "This took longer than 2 s" in answer
    assert running.stop(signal.SIGINT) == (0, "Stopped after 12 requests with 1 rows.\n")


def test_a_server_in_the_background_goes_on_when_ctrl_c_ends_what_is_before_it(start, file):
    running = start(str(file), where=background)
    assert running.ask("GET", "/health")[0] == 200  # from then on it listens to signals
    running.process.send_signal(signal.SIGINT)
    connection = running.connection()
    for _ in range(2):
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.will_close) == (200, False)  # a server that ends closes after its next answer
    connection.close()
    assert running.stop(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_can_reach_wants_a_token(file, capsys, monkeypatch, host):
    monkeypatch.delenv("CENTRALITY_TOKEN", raising=False)
    assert main(["serve", str(file), "--host", host, "--port", "0"]) == 2
    assert f"A token was wanted for {host}" in capsys.readouterr().err


def test_a_port_in_use_or_a_missing_model_is_said(file, server, tmp_path, capsys):
    assert main(["serve", str(file), "--port", str(server.port)]) == 2
    assert "Cannot listen on 127.0.0.1" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none.safetensors"), "--port", "0"]) == 2
    assert "There is no model file" in capsys.readouterr().err
    (tmp_path / "empty").write_text("\n")
    assert main(["serve", str(file), "--token-file", str(tmp_path / "empty")]) == 2
    assert "is empty, a token was wanted" in capsys.readouterr().err


def test_a_bug_is_a_logged_500_that_shows_nothing_of_the_insides(start, file, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        # the real program, with a mistake for t = 0 and another for t = 1
        "from centrality.apps.service import requests\n"
        "def answer(asked, *rest):\n"
        "    return len(None) if asked.ts[0] == 0 else int('drawer')\n"
        "requests.answer = answer\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    server = start(str(file))
    for t in (0, 1):
        found = server.score(rows=[[1, 2, 3]], t=t)
        assert found == {
            "status": 500,
            "error": "An error of the service, not of the request. The service's log says more.",
        }
    assert server.score(rows=[[1, 2, "3"]])["status"] == 422  # the user's own mistake, and the service goes on
    assert server.metric("centrality_requests_total", path="/score", status="500") == 2
    server.stop()
    log = "".join(server.log)
    assert log.count("An error of the service at /score") == log.count("Traceback") == 2
    assert "TypeError: object of type 'NoneType' has no len()" in log
    assert "ValueError: invalid literal for int() with base 10: 'drawer'" in log


def test_what_was_accepted_is_finished_before_the_end(start, file, model):
    running = start(str(file), "--max-seconds", "300")  # however busy the machine
    many = RNG.normal(size=(150_000, 3))
    body = arrow(pa.table({name: many[:, j] for j, name in enumerate("abc")}))
    asked = [running.connection() for _ in range(6)]
    for connection in asked:
        connection.request("POST", "/score?t=1", body, {"Content-Type": ARROW})  # sent, not yet read
    wait_for(lambda: begun_of(running) == 6)
    assert running.metric("centrality_score_running") > 0
    running.process.send_signal(signal.SIGTERM)
    expected = model.centrality(pd.DataFrame(many, columns=["a", "b", "c"]), t=1)
    for connection in asked:
        answer = connection.getresponse()
        assert answer.status == 200
        found = pa.ipc.open_stream(answer.read()).read_all()["centrality_t100"].to_numpy()
        assert_same_scores(found, expected)
        connection.close()
    status, said = running.ended()
    assert status == 0
    assert said.endswith("with 900,000 rows.\n")
    with pytest.raises(ConnectionRefusedError):
        running.ask("GET", "/health")


def begun_of(running: Server) -> float:
    return running.metric("centrality_score_running") + running.metric("centrality_requests_total", path="/score")


def test_a_new_model_file_and_a_stop_lose_no_request_under_load(start, file, tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(file.read_bytes())
    running = start(str(path))
    row = [0.5, -0.5, 1.0]
    frame = pd.DataFrame([row], columns=["a", "b", "c"])
    other = quick(random_state=1).fit(X)
    expected = [load(path).centrality(frame)[0], other.centrality(frame)[0]]
    assert abs(np.diff(expected)) > 1e-3
    found = []

    def client():
        connection = running.connection()
        while True:
            try:
                connection.request("POST", "/score", json.dumps({"rows": [row]}), {"Content-Type": JSON})
                answer = connection.getresponse()
            except (ConnectionError, HTTPException):
                return connection.close()  # not accepted any more: no answer, not half of one
            body = json.loads(answer.read())
            found.append((answer.status, answer.headers["Centrality-Model"], body["centrality"][0]))

    def version_for_large() -> str:
        """The model that a request gets which another process answers."""
        return running.ask("POST", "/score", json.dumps({"rows": [row]}) + 100_000 * " ")[1]["Centrality-Model"]

    with ThreadPoolExecutor(2) as pool:
        clients = [pool.submit(client) for _ in range(2)]
        wait_for(lambda: found)
        large = [version_for_large()]
        other.save(path)
        wait_for(lambda: len({version for _, version, _ in found}) == 2)
        path.write_text("not a model")
        wait_for(lambda: running.metric("centrality_model_reloads_total", result="refused"))
        assert "is not a model file" in json.loads(running.ask("GET", "/model")[2])["trouble"]
        assert running.metric("centrality_model_reloads_total", result="loaded") == 1
        before = len(found)
        wait_for(lambda: len(found) > before + 20)
        large.append(version_for_large())  # of a file that is not there any more
        status, said = running.stop()
        for one in clients:
            one.result()
    assert status == 0
    assert said.endswith(f"with {len(found) + len(large):,} rows.\n")  # none was scored and not answered
    assert {answer for answer, _, _ in found} == {200}
    versions = list(dict.fromkeys(version for _, version, _ in found))
    assert versions == large
    assert len(set(versions)) == 2
    np.testing.assert_allclose(
        [s for _, _, s in found], [expected[versions.index(v)] for _, v, _ in found], atol=ROUNDING
    )
    assert any("the new file cannot be used" in line for line in running.log)
