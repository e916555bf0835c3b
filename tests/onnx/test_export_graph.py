"""The graph that a model is written as: what it takes, and that it says what the torch module says."""

import numpy as np
import onnx
import pytest
import torch
from scipy.special import erf

from centrality import FUSE
from centrality.network.engine_backend import folded_head
from tests.conftest import quick
from tests.onnx.samples import PLAIN, RNG, exported, new
from tests.promise import Exact, assert_same_scores


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
@pytest.mark.parametrize("novelty", [False, True])
def test_the_background_goes_along(tmp_path, novelty):
    """Of 150 columns, 64 axes and a rest."""
    rows = RNG.normal(size=(300, 150)) * np.linspace(1, 3, 150)
    model = quick(novelty=novelty).fit(rows)
    assert model.fitted_.network.background["rest"].min() > 0
    scorer = exported(model, tmp_path)
    for Q in (new(rows), 100 * rows, rows + 1e6):
        assert_same_scores(scorer.heads(Q), model.heads(Q))


def test_the_file_says_its_opset_and_takes_any_batch_and_any_t(fuse_and_scorer, tmp_path):
    fuse_and_scorer[0].to_onnx(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 20)]
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in [*model.graph.input, *model.graph.output]
    }
    of_rows = {"p_value": ["n"], "severity": ["n"], "extrapolated": ["n"]}
    assert shapes == {"rows": ["n", 5], "t": ["m"], "heads": ["n", 2], "centrality": ["n", "m"]} | of_rows
