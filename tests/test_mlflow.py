"""Models of MLflow: logged to a tracking folder, loaded, and served by its own server."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import mlflow
import mlflow.sklearn
import numpy as np
import pandas as pd
import pytest
import skops.io
from mlflow.models import infer_signature
from sklearn.exceptions import NotFittedError

import centrality.mlflow
from centrality import FUSE, Chain, Timeline
from centrality._internal.checks import InputError
from centrality.datasets import houses
from centrality.representations import Table
from tests.conftest import quick

pytestmark = pytest.mark.slow

STARTED_WITHIN = 180  # seconds: it imports much, and other tests want the processor too


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["length", "width", "height"])


@pytest.fixture(scope="module")
def model(rows) -> FUSE:
    return quick().fit(rows)


@pytest.fixture(scope="module")
def tracking(tmp_path_factory) -> Iterator[Path]:
    """A folder in which MLflow keeps runs and models; it asks for this variable before it uses one."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    folder = tmp_path_factory.mktemp("mlflow") / "runs"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(folder.as_uri())
    yield folder
    mlflow.set_tracking_uri(before)
    del os.environ["MLFLOW_ALLOW_FILE_STORE"]


@pytest.fixture(scope="module")
def logged(tracking, model) -> Any:
    """The model, logged in a run and registered as orders."""
    with mlflow.start_run():
        return centrality.mlflow.log_model(model, "orders", registered_model_name="orders")


def test_a_logged_model_is_loaded_by_each_of_its_addresses_and_scores_as_it_did(logged, model, rows, tmp_path):
    for address in (logged.model_uri, "models:/orders/1", "models:/orders/latest"):
        loaded = centrality.mlflow.load_model(address)
        np.testing.assert_array_equal(loaded.centrality(rows), model.centrality(rows))
    centrality.mlflow.load_model("models:/orders/1", dst_path=str(tmp_path))
    assert list(tmp_path.rglob("model.safetensors"))


def test_as_a_function_it_answers_centrality_and_p_values_at_any_t(logged, model, rows):
    function = mlflow.pyfunc.load_model(logged.model_uri)
    some = rows.iloc[[5, 3, 8]]
    for params, t in ((None, model.t), ({"t": 0.0}, 0.0), ({"t": 1.0}, 1.0)):
        scores = function.predict(some, params=params)
        assert list(scores.columns) == ["centrality", "p_value"]
        assert list(scores.index) == [5, 3, 8]
        np.testing.assert_array_equal(scores["centrality"], model.centrality(some, t=t))
        np.testing.assert_array_equal(scores["p_value"], model.p_values(some, t=t))
    with pytest.raises(InputError, match=r"t must lie between 0 \(global\) and 1 \(local\).* got 2.0"):
        function.predict(some, params={"t": 2.0})
    with pytest.raises(InputError, match="'width', 'height' are missing"):
        function.predict(some[["length"]])


def test_the_folder_holds_no_pickle_and_says_what_it_answers(logged, tmp_path):
    folder = Path(mlflow.artifacts.download_artifacts(logged.model_uri, dst_path=str(tmp_path)))
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert "data/model.safetensors" in files
    assert not [file for file in files if Path(file).suffix in {".pkl", ".pickle", ".joblib"}]
    assert logged.signature.outputs.input_names() == ["centrality", "p_value"]
    assert [one.name for one in logged.signature.params] == ["t"]
    assert f"centrality[mlflow]=={centrality.__version__}" in (folder / "requirements.txt").read_text()


@pytest.mark.filterwarnings("ignore:Operation with range:DeprecationWarning")  # MLflow's own, of pandas
def test_a_chain_on_raw_rows_is_saved_with_an_example_and_a_signature_of_ones_own(tmp_path, tracking):
    frame = houses().to_pandas()
    chain = Chain(Table(), quick()).fit(frame)
    signature = infer_signature(model_output=pd.DataFrame({"centrality": [0.5], "p_value": [0.5]}))
    centrality.mlflow.save_model(
        chain, tmp_path / "houses", signature=signature, input_example=frame.head(3), metadata={"of": "houses"}
    )
    scores = mlflow.pyfunc.load_model(str(tmp_path / "houses")).predict(frame.head(5))
    np.testing.assert_array_equal(scores["centrality"], chain.centrality(frame.head(5)))
    described = mlflow.models.Model.load(str(tmp_path / "houses"))
    assert described.metadata == {"of": "houses"}
    assert described.saved_input_example_info is not None
    assert described.signature.params is None


def test_a_model_without_p_values_answers_centrality_alone(tmp_path, rows):
    model = quick(epochs=1, max_steps=None).fit(rows)  # the paper's algorithm leaves no row out of training
    centrality.mlflow.save_model(model, tmp_path / "m")
    scores = mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(rows.head(2))
    assert list(scores.columns) == ["centrality"]


def test_what_is_no_model_of_rows_is_refused(tmp_path, tracking, rows):
    with pytest.raises(InputError, match="A fitted FUSE or Chain was wanted, got Timeline"):
        centrality.mlflow.save_model(Timeline(), tmp_path / "m")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        centrality.mlflow.save_model(FUSE(), tmp_path / "m")
    assert not (tmp_path / "m").exists()
    mlflow.pyfunc.save_model(str(tmp_path / "other"), loader_module="somebody.elses", pip_requirements=["somebody"])
    with pytest.raises(InputError, match=r"a model that centrality.mlflow logged was wanted, got one of python_"):
        centrality.mlflow.load_model(str(tmp_path / "other"))


def test_the_flavor_of_scikit_learn_dumps_by_skops_and_wants_the_types_named(tmp_path, model, rows):
    save = partial(mlflow.sklearn.save_model, model, pip_requirements=["centrality"])
    with pytest.raises(mlflow.MlflowException, match="untrusted types"):
        save(str(tmp_path / "refused"))
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    save(str(tmp_path / "m"), skops_trusted_types=types)
    loaded = mlflow.sklearn.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.centrality(rows), model.centrality(rows))


@pytest.fixture(scope="module")
def served(logged, tracking) -> Iterator[str]:
    """The address of `mlflow models serve`, as its users start it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "models:/orders/1", "--env-manager", "local"]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
        env=os.environ | {"MLFLOW_TRACKING_URI": tracking.as_uri(), "PATH": with_environment_first()},
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/ping", server)
        yield address
    finally:
        with suppress(ProcessLookupError):  # it ended by itself, as `wait_for` says
            os.killpg(server.pid, signal.SIGTERM)  # the command, and the server that it has started
        server.wait(timeout=60)


def with_environment_first() -> str:
    """PATH as in an activated environment: mlflow starts uvicorn by its name."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def wait_for(address: str, server: subprocess.Popen) -> None:
    ends = time.monotonic() + STARTED_WITHIN
    while True:
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return
        except OSError:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < ends, "the server does not answer"
            time.sleep(0.2)


def asked(address: str, body: object) -> tuple[int, Any]:
    """The status and the answer to a request for scores."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/invocations", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are ended otherwise there")
def test_its_server_answers_what_the_model_says(served, model, rows):
    some = rows.head(4)
    split = some.to_dict(orient="split", index=False)
    for body, t in (({}, model.t), ({"params": {"t": 0.0}}, 0.0)):
        status, answer = asked(served, {"dataframe_split": split} | body)
        assert status == 200
        scores = pd.DataFrame(answer["predictions"])
        np.testing.assert_allclose(scores["centrality"], model.centrality(some, t=t), rtol=1e-12)
        np.testing.assert_allclose(scores["p_value"], model.p_values(some, t=t), rtol=1e-12)
    status, answer = asked(served, {"dataframe_split": some[["length"]].to_dict(orient="split", index=False)})
    assert status >= 400
    assert "'width', 'height' are missing" in json.dumps(answer)
