"""p-values and severities in an ONNX file: those of the model at its own t."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from centrality._internal.checks import InputError
from centrality.onnx.export import TIE
from centrality.onnx.graph import Graph, count_up_to
from tests.conftest import quick
from tests.onnx.samples import RNG, exported
from tests.onnx.tables import run

X = RNG.normal(size=(900, 4))
NEW = RNG.normal(size=(2000, 4)) * RNG.choice([1.0, 1.5, 3.0, 30.0], size=(2000, 1))
Settings = dict[str, float | tuple[int, ...]]
SETTINGS: tuple[Settings, ...] = (
    {},
    {"t": 0.0},
    {"t": 1.0},
    {"ensemble": 3},
    {"novelty": True},
    {"holdout": 0.3},
    {"hidden": (8,)},
)


@pytest.mark.numbers
@pytest.mark.parametrize(
    "settings",
    [{}, {"t": 0.0}, {"t": 1.0}, {"ensemble": 3}, {"novelty": True}, {"holdout": 0.3}, {"hidden": (8,)}],
    ids=str,
)
def test_p_values_and_severities_are_those_of_the_model(tmp_path, settings):
    """A row whose score lies within rounding of calibration rows' may count them as ties: p is no smaller, then.

    Extrapolated severities change by less than a thousandth where scores change by their rounding.
    """
    model = quick(**settings).fit(X)
    scorer = exported(model, tmp_path)
    m = scorer.calibration_rows
    assert m == model.fitted_.calibration_count(model.t) > 0
    inliers, scores = model.fitted_.inlier_scores(model.t), model.score_samples(NEW)
    near = np.abs(inliers[:, None] - scores) <= 3 * TIE * (1 + np.abs(inliers[:, None]))
    p, found = model.p_values(NEW), scorer.p_values(NEW)
    np.testing.assert_allclose(found[~near.any(0)], p[~near.any(0)], atol=1e-12)
    assert ((found >= p - 1e-12) & (found <= p + near.sum(0) / (m + 1) + 1e-12)).all()
    severity, of_file = model.severity(NEW), scorer.severity(NEW)
    np.testing.assert_allclose(of_file[~near.any(0)], severity[~near.any(0)], rtol=1e-3)
    if m >= 150:  # of fewer rows no tail is fitted
        assert ((severity > m + 1) & (severity < 10 * (m + 1))).any()
        assert (of_file == 10 * (m + 1)).any()  # the cap


def test_equal_rows_tie_whatever_the_runtime_rounds(tmp_path):
    """Calibrated by one row, twenty times over: that row is no more odd than any of them, so p is 1 and severity 1."""
    model = quick().fit(X)
    model.calibrate(np.repeat(NEW[:1], 20, axis=0))
    scorer = exported(model, tmp_path)
    assert scorer.calibration_rows == 20
    assert scorer.p_values(NEW[:1]).tolist() == [1.0]
    assert scorer.severity(NEW[:1]).tolist() == [1.0]


def test_the_file_says_where_a_severity_is_extrapolated(tmp_path):
    model = quick().fit(X)
    scorer = exported(model, tmp_path)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    severity, flag = session.run(["severity", "extrapolated"], {"rows": NEW, "t": np.array([0.1])})
    np.testing.assert_array_equal(flag, severity > scorer.calibration_rows + 1)
    np.testing.assert_array_equal(severity, scorer.severity(NEW))  # at the model's own t, whatever t is asked for


def test_without_calibration_rows_the_file_has_none_and_says_what_to_do(tmp_path):
    model = quick().fit(X)
    model.fitted_ = replace(model.fitted_, inliers=None)
    scorer = exported(model, tmp_path)
    assert scorer.calibration_rows == 0
    for method in (scorer.p_values, scorer.severity):
        with pytest.raises(InputError, match=r"need calibration rows, and the file has none: call calibrate\(C\)"):
            method(NEW)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 1000])
def test_counting_in_the_graph_is_searching_from_the_right(length):
    rising = np.sort(RNG.integers(0, 300, length)).astype(float)
    values = np.concatenate([RNG.uniform(-10, 310, 500), rising, [-np.inf, np.inf]])
    graph = Graph(1)
    graph.output("count", count_up_to(rising, graph.input("x", "float64", ("n",))), "int64", ("n",))
    [found] = run(graph, {"x": values})
    np.testing.assert_array_equal(found, np.searchsorted(rising, values, side="right"))
