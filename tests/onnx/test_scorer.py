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
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import erf
from sklearn.exceptions import NotFittedError
from torch import nn

from centrality import FUSE, Chain
from centrality._checks import InputError
from centrality.cli import main
from centrality.network.scorer import folded_head
from centrality.onnx import Scorer
from centrality.representations import Table
from tests.conftest import quick
from tests.promise import Exact, assert_same_scores

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 3)), 100 * RNG.standard_cauchy(400), 1e6 + RNG.normal(size=400)])
PLAIN = X - [0, 0, 0, 0, 1e6]  # for a network that sees rows as they are: float32 keeps 0.06 of 1e6 ± 1
KINDS = {
    "defaults": {"hidden": (128, 128), "max_steps": 15},
    "clip": {"calibration": "clip"},
    "one noise scale": {"noise_scale": 0.7},
    "two trunks": {"shared_encoder": False, "hidden": (8, 16, 4)},
    "one layer": {"hidden": (16,), "noise_scale": 1.0},
    "ensemble": {"ensemble": 3},
    "ensemble of two trunks": {"ensemble": 2, "shared_encoder": False, "noise_scale": 1.0},
    "clean rows": {"novelty": True},
    "clean rows, ensemble of two trunks": {"novelty": True, "ensemble": 2, "shared_encoder": False},
    "unscaled": {"scaling": "none"},
    "standard": {"scaling": "standard", "calibration": "clip", "ensemble": 2},
}


def new(rows: np.ndarray) -> np.ndarray:
    """Rows next to those that were trained on."""
    return rows + 0.01 * np.abs(rows).clip(1e-3)


def exported(model: FUSE, folder) -> Scorer:
    path = folder / "model.onnx"
    model.to_onnx(path)
    return Scorer(path)


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory) -> tuple[FUSE, Scorer, np.ndarray]:
    rows = PLAIN if request.param == "unscaled" else X
    model = quick(**KINDS[request.param]).fit(rows)
    return model, exported(model, tmp_path_factory.mktemp("onnx")), rows


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
def test_the_file_says_what_the_torch_module_says(pair):
    """Both are made of the same fitted value, the training rows are rows like any others."""
    model, scorer, rows = pair
    module, Q = model.to_torch(), np.concatenate([rows, new(rows), 100 * rows])
    assert_same_scores(scorer.heads(Q), module.heads(torch.from_numpy(Q)))
    for t in (0, 0.3, 1):
        assert_same_scores(scorer.centrality(Q, t), module(torch.from_numpy(Q), t))


def rounding_of_heads(model: FUSE, rows: np.ndarray) -> np.ndarray:
    """(n, 2) how far float32 may put the heads from exact ones, for one trunk, one member and one noise scale.

    A running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1): a sum of m products
    in float32, in any order, is off by at most m u of the sum of their sizes, u = 2^-24; what comes in with an error e
    goes on with |W| e. GELU's slope is at most 1.13, and is found to a few units in the last place. The heads are
    summed in float64. The calibration's slope is at most 1/2 for a unit, the upper half of the training rows.
    """
    u = 2.0**-24
    network = model.fitted_.network
    a, error = np.abs(model.fitted_.scaling.apply(rows)).astype(float), 0.0
    values = model.fitted_.scaling.apply(rows).astype(float)
    for place in range(len(network.layout.hidden)):
        weight, bias = (part.astype(float) for part in network.linear(f"trunks.0.{2 * place}", 0))
        error = error @ np.abs(weight).T if np.ndim(error) else 0.0
        error = error + (weight.shape[1] + 1) * u * (a @ np.abs(weight).T + np.abs(bias))
        values = gelu(values @ weight.T + bias)
        a, error = np.abs(values), 1.13 * error + 4 * u * np.abs(values)
    up = [folded_head(network, 0, head, 0)[0] for head in ("global_head", "local_head")]
    of_outputs = np.concatenate([error @ np.abs(weight).T for weight in up], axis=1)
    halves = model.fitted_.calibration.halves
    return of_outputs * 0.5 / (halves[:, 1] - halves[:, 0])


def gelu(h: np.ndarray) -> np.ndarray:
    return 0.5 * h * (1 + erf(h / np.sqrt(2)))


@pytest.mark.numbers
def test_unscaled_rows_far_from_zero_agree_as_far_as_float32_lets_them(tmp_path):
    """1000 ± 1 as it is: hidden units are a thousand times as large as their differences."""
    rows = PLAIN[:, :3] + [0, 0, 1000]
    model = quick(scaling="none", noise_scale=1.0, ensemble=1).fit(rows)
    allowed = 2 * rounding_of_heads(model, new(rows))  # either may be off
    assert 1e-5 < allowed.max() < 0.1  # more than is promised, and not so much that all would pass
    Q = new(rows)
    found = exported(model, tmp_path).heads(Q)
    for expected in (model.heads(Q), Exact(model, Q).heads):
        assert (np.abs(found - expected) <= allowed).all()


@pytest.mark.numbers
def test_the_prior_of_clean_rows_goes_along(tmp_path):
    rows = RNG.normal(size=(300, 150)) * np.linspace(1, 3, 150)
    model = quick(novelty=True).fit(rows)
    centres = model.fitted_.network.prior["centres"]
    assert 85 <= len(centres) <= 95  # one for three rows of the nine tenths learned from
    scorer = exported(model, tmp_path)
    for Q in (new(rows), 100 * rows, rows + 1e6):
        assert_same_scores(scorer.heads(Q), model.heads(Q))


@pytest.mark.numbers
@settings(max_examples=100)
@given(Q=arrays(np.float64, (4, 5), elements=st.floats(-1e300, 1e300)), t=st.floats(0, 1))
def test_no_number_however_large_breaks_the_agreement(fuse_and_scorer, Q, t):
    model, scorer = fuse_and_scorer
    assert_same_scores(scorer.centrality(Q, t), model.centrality(Q, t))


@pytest.fixture(scope="module")
def fuse_and_scorer(tmp_path_factory) -> tuple[FUSE, Scorer]:
    model = quick(novelty=True).fit(X)
    assert model.fitted_.scaling.heavy.tolist() == [3]  # the case in which a column passes through asinh
    return model, exported(model, tmp_path_factory.mktemp("onnx"))


def test_far_outliers_do_not_tie(fuse_and_scorer):
    _, scorer = fuse_and_scorer
    away = X.mean(0) + np.outer([1e1, 1e2, 1e3, 1e4], [1.0, 0, 0, 0, 0])
    heads = scorer.heads(away)
    assert (np.diff(heads[:, 1]) < 0).all()
    assert ((heads > 0) & (heads < 1)).all()


def test_the_file_says_its_opset_and_takes_any_batch_and_any_t(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 20)]
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in [*model.graph.input, *model.graph.output]
    }
    assert shapes == {"rows": ["n", 5], "t": ["m"], "heads": ["n", 2], "centrality": ["n", "m"]}


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


def test_files_of_the_first_version_have_no_checksum_and_are_read(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    facts = {entry.key: entry.value for entry in model.metadata_props}
    as_then = json.loads(facts["centrality"])
    del as_then["checksum"]
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, {"centrality": json.dumps(as_then)})
    onnx.save(model, tmp_path / "old.onnx")
    np.testing.assert_array_equal(Scorer(tmp_path / "old.onnx").heads(X), fuse_and_scorer[1].heads(X))


def test_a_model_that_is_not_fitted_cannot_be_exported(tmp_path):
    with pytest.raises(NotFittedError):
        FUSE().to_onnx(tmp_path / "m.onnx")


class Gated(nn.Module):
    """An encoder that looks at values to decide: ONNX has no such thing."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) if x.sum() > 0 else self.layer(-x)


@pytest.mark.slow
def test_an_encoder_of_ones_own_goes_along(tmp_path):
    encoder = nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.Dropout(0.2), nn.SiLU(), nn.Linear(8, 4))
    model = quick(encoder=encoder, ensemble=2).fit(X)
    scorer = exported(model, tmp_path)
    for n in (1, 2, 400):
        assert_same_scores(scorer.heads(new(X[:n])), model.heads(new(X[:n])))


@pytest.mark.slow
def test_an_encoder_that_torch_cannot_export_is_named_and_nothing_is_written(tmp_path):
    model = quick(encoder=Gated(), noise_scale=1.0, max_steps=5).fit(X)
    with pytest.raises(ValueError, match=r"The encoder Gated cannot be written as ONNX\. torch.onnx.export says"):
        model.to_onnx(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_export_writes_what_to_onnx_writes(fuse_and_scorer, tmp_path, capsys):
    model, _ = fuse_and_scorer
    model.save(tmp_path / "m.safetensors")
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["opset"], said["features"], said["without"]) == (20, 5, None)
    model.to_onnx(tmp_path / "same.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "same.onnx").read_bytes()
    assert said["bytes"] == (tmp_path / "m.onnx").stat().st_size


def test_of_a_chain_the_fuse_part_is_exported_and_that_is_said(tmp_path, capsys):
    frame = pd.DataFrame({"x": RNG.normal(size=200), "kind": RNG.choice(["a", "b"], 200)})
    chain = Chain(Table(), quick(ensemble=1)).fit(frame)  # several would know rows next to trained ones
    chain.save(tmp_path / "m.safetensors")
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx")]) == 0
    assert "Only the FUSE part: Table stays in Python" in capsys.readouterr().out
    fresh = frame.assign(x=new(frame.x))
    found = Scorer(tmp_path / "m.onnx").heads(chain.representation_.transform(fresh))
    assert_same_scores(found, chain.heads(fresh))


@pytest.mark.parametrize(
    ("output", "message"), [("m.pb", "must end in .onnx"), ("no/m.onnx", "the folder"), ("m.onnx", "no model file")]
)
def test_wrong_exports_exit_2_with_a_sentence(tmp_path, monkeypatch, capsys, output, message):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "none.safetensors", "-o", output]) == 2
    assert message in capsys.readouterr().err


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


def test_no_other_kind_of_number_is_written_and_the_command_asks_for_it(tmp_path):
    model = quick().fit(PLAIN)
    with pytest.raises(InputError, match="rows must be one of float64, float32, got 'float16'"):
        model.to_onnx(tmp_path / "m.onnx", rows="float16")
    model.save(tmp_path / "m.safetensors")
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--float32"]) == 0
    assert onnx.load(tmp_path / "m.onnx").graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
