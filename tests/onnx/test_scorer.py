"""A model as an ONNX file scores as the model does, without torch."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import NotFittedError

from centrality import FUSE
from centrality._internal.checks import InputError
from centrality.onnx import Scorer
from tests.conftest import quick
from tests.onnx.samples import PLAIN, RNG, X, exported, new
from tests.promise import assert_same_scores


def test_of_more_rows_than_a_block_heads_agree(tmp_path):
    model, many = quick().fit(X), new(X[RNG.integers(400, size=10_000)])
    assert_same_scores(exported(model, tmp_path).heads(many), model.heads(many))


@pytest.mark.parametrize("n", [1, 17, 400])
def test_heads_and_centrality_agree_for_any_number_of_rows(pair, n):
    model, scorer, rows = pair
    # Rows that are not scaled may be so far away that float32 does not know what is left of them once terms cancel.
    farthest = 2 if model.scaling == "none" else 8
    near, far = new(rows[RNG.integers(400, size=n)]), 10.0 ** RNG.uniform(-2, farthest, size=(n, 1))
    for Q in (
        rows[:n],
        near,
        near + far * RNG.normal(size=(n, 5)),
        near.astype(np.float32),
        np.round(near).astype(int),
    ):
        assert_same_scores(scorer.heads(Q), model.heads(Q))
        for t in (None, 0.3, [0, 0.25, 1]):
            expected = model.centrality(Q, t)
            found = scorer.centrality(Q, t)
            assert found.shape == expected.shape
            assert_same_scores(found, expected)


@pytest.mark.numbers
@settings(max_examples=50)
@given(Q=arrays(np.float64, (4, 5), elements=st.floats(-1e300, 1e300)), t=st.floats(0, 1))
def test_no_number_however_large_breaks_the_agreement(fuse_and_scorer, Q, t):
    model, scorer = fuse_and_scorer
    assert_same_scores(scorer.centrality(Q, t), model.centrality(Q, t))


def test_far_outliers_do_not_tie(fuse_and_scorer):
    _, scorer = fuse_and_scorer
    away = X.mean(0) + np.outer([1e1, 1e2, 1e3, 1e4], [1.0, 0, 0, 0, 0])
    heads = scorer.heads(away)
    assert (np.diff(heads[:, 1]) < 0).all()
    assert ((heads > 0) & (heads < 1)).all()


def test_scoring_works_where_there_is_no_torch_at_all(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    np.save(tmp_path / "rows.npy", new(X))
    script = (
        "import sys\n"
        "for name in ('torch', 'sklearn', 'scipy', 'pyarrow', 'onnx', 'safetensors'): sys.modules[name] = None\n"
        "import json, numpy as np\n"
        "from centrality.onnx import Scorer\n"
        "print(json.dumps(Scorer('m.onnx').heads(np.load('rows.npy')).tolist()))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert_same_scores(json.loads(done.stdout), fuse_and_scorer[0].heads(new(X)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_frames_are_found_by_name(tmp_path, frame):
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    model = quick().fit(pd.DataFrame(columns))
    scorer = exported(model, tmp_path)
    assert scorer.feature_names == ["a", "b", "c"]
    fresh = {name: new(column) for name, column in columns.items()}
    mixed = frame({name: fresh[name] for name in "cab"} | {"name": ["x"] * 400})
    assert_same_scores(scorer.heads(mixed), model.heads(pd.DataFrame(fresh)))
    with pytest.raises(ValueError, match="Missing column: 'b'"):
        scorer.heads(frame({name: columns[name] for name in "ca"}))


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (X[:, :3], r"shape \(n, 5\) were wanted, got float64 of shape \(400, 3\)"),
        (X[0], r"shape \(n, 5\)"),
        (X[:0], "Rows were wanted, got none"),
        (np.where(X > 1e6, np.nan, X), "NaN or infinity"),
        (X.astype(str), "Numbers of shape"),
    ],
)
def test_rows_that_cannot_be_scored_are_refused(fuse_and_scorer, Q, message):
    with pytest.raises(ValueError, match=message):
        fuse_and_scorer[1].heads(Q)


def test_a_t_that_is_no_mixture_is_refused(fuse_and_scorer):
    with pytest.raises(ValueError, match="t must lie between 0"):
        fuse_and_scorer[1].centrality(X, t=1.5)


def test_files_of_others_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no ONNX file at"):
        Scorer(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("this is no protobuf")
    with pytest.raises(ValueError, match="cannot be read as ONNX"):
        Scorer(tmp_path / "text.onnx")
    value = onnx.helper.make_tensor_value_info
    nodes, kind = [onnx.helper.make_node("Abs", ["x"], ["y"])], onnx.TensorProto.FLOAT
    body = onnx.helper.make_graph(nodes, "g", [value("x", kind, [1])], [value("y", kind, [1])])
    theirs = onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(theirs, tmp_path / "theirs.onnx")
    with pytest.raises(ValueError, match="not one written by centrality"):
        Scorer(tmp_path / "theirs.onnx")


@pytest.mark.slow
def test_a_file_with_any_bit_changed_is_refused(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    whole = (tmp_path / "m.onnx").read_bytes()
    places = [*RNG.integers(len(whole), size=200), *range(len(whole) - 100, len(whole))]  # the checksum's own, too
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << RNG.integers(8)
        (tmp_path / "damaged.onnx").write_bytes(damaged)
        with pytest.raises(InputError, match=r"checksum does not match|cannot be read as ONNX"):
            Scorer(tmp_path / "damaged.onnx")


def test_a_file_that_another_tool_wrote_anew_is_refused(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    model.doc_string = "optimised"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(InputError, match="was changed after centrality wrote it"):
        Scorer(tmp_path / "other.onnx")


def test_other_readers_see_the_checksum_as_an_entry_of_the_metadata(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model)
    *_, last = model.metadata_props
    content = (tmp_path / "m.onnx").read_bytes()
    assert (last.key, last.value) == ("centrality.sha256", hashlib.sha256(content[:-87]).hexdigest())
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    found = session.run(["heads"], {"rows": X, "t": np.array([0.5])})[0]
    np.testing.assert_array_equal(found, fuse_and_scorer[1].heads(X))


def test_a_file_without_its_checksum_is_refused(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "m.onnx").read_bytes()[:-87])  # the entry that is the checksum
    with pytest.raises(InputError, match="was changed after centrality wrote it"):
        Scorer(tmp_path / "cut.onnx")


def test_a_model_that_is_not_fitted_cannot_be_exported(tmp_path):
    with pytest.raises(NotFittedError):
        FUSE().to_onnx(tmp_path / "m.onnx")


@pytest.mark.numbers
@pytest.mark.parametrize("rows", ["float32", "float64"])
@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_rows_of_either_precision_are_taken_by_either_file(tmp_path, rows, given):
    model = quick().fit(PLAIN)
    model.to_onnx(tmp_path / "m.onnx", rows=rows)
    Q = new(PLAIN).astype(np.float32)  # numbers that both precisions hold
    scorer = Scorer(tmp_path / "m.onnx")
    assert_same_scores(scorer.centrality(Q.astype(given), t=[0, 1]), model.centrality(Q, t=[0, 1]))
    session = onnxruntime.InferenceSession((tmp_path / "m.onnx").read_bytes(), providers=["CPUExecutionProvider"])
    found = session.run(["heads"], {"rows": Q.astype(rows), "t": np.array([0.5])})[0]
    assert_same_scores(found, model.heads(Q))
