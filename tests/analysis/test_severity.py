import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centrality import FUSE, load
from centrality.analysis.severity import CAP, Tail, in_words, severity
from tests.present import present

M = 999


@pytest.fixture(scope="module")
def model(blob):
    """A model of the blob, calibrated on 999 fresh points of its kind. Shared: tests must not change it."""
    return FUSE(random_state=0, max_steps=300).fit(blob).calibrate(np.random.default_rng(1).normal(size=(M, 2)))


def ordinary(seed=0, rows=M):
    """Return rising scores whose distances below 0 are exponential: a share of exp(-d) lies beyond d."""
    return np.sort(-np.random.default_rng(seed).exponential(size=rows))


def test_among_the_calibration_rows_severity_is_one_over_the_p_value(model):
    rows = np.random.default_rng(2).normal(size=(500, 2))
    p = model.p_values(rows, t=[0, 1])
    counted = p > 1 / (M + 1)
    assert counted.sum() > 900
    np.testing.assert_allclose(model.severity(rows, t=[0, 1])[counted], 1 / p[counted])


def test_what_is_beyond_all_calibration_rows_is_extrapolated_up_to_ten_times_their_number(model):
    found = model.severity(np.array([[0, 0], [4.5, 0], [50, 50]]))
    assert found[0] < 2
    assert M + 1 < found[1] < CAP * (M + 1)  # in truth 1 in exp(4.5² / 2) = 25,000
    assert found[2] == CAP * (M + 1)


@given(st.integers(0, 10_000), st.integers(2, 400))
def test_an_odder_row_is_never_less_severe_however_few_calibration_rows_there_are(seed, rows):
    inliers = ordinary(seed, rows)
    found = severity(inliers, np.linspace(1, -40, 200), Tail.of(inliers))
    assert (np.diff(found) >= 0).all()
    assert found[0] == 1
    assert found[-1] <= CAP * (rows + 1)


def test_a_tail_begins_with_all_of_the_rows_it_was_fitted_to():
    tail = present(Tail.of(ordinary()))
    assert tail.shares(np.array([0.0]))[0] == pytest.approx(1, abs=1e-12)
    assert tail.weights.sum() == pytest.approx(1)
    assert (ordinary() < tail.start).mean() == pytest.approx(tail.beyond)


def test_severities_of_an_exponential_tail_are_hardly_ever_twice_too_large():
    """Rows at which exp(d) = 3,000 and 6,000 is known, of 300 samples of 999: a twentieth may be more than doubled."""
    true = np.array([3000.0, 6000.0])
    found = [severity(rows, -np.log(true), Tail.of(rows)) for rows in map(ordinary, range(300))]
    assert ((np.array(found) > 2 * true).mean(0) <= 0.05).all()
    assert np.median(found, axis=0)[1] > M + 1  # and the farther says more than that no calibration row is as odd


def test_a_tail_begins_only_where_a_pareto_law_fits():
    """The lowest 30 of 2,000 scores are exponential; those above lie in two lumps, which no such law describes."""
    rng = np.random.default_rng(0)
    lumps = np.concatenate([rng.normal(0, 0.01, 1940), rng.normal(-5, 0.01, 30)])
    tail = present(Tail.of(np.sort(np.concatenate([lumps, -8 - rng.exponential(size=30)]))))
    assert tail.beyond <= 30 / 2000


@pytest.mark.parametrize("scores", [np.zeros(2000), np.sort(np.repeat([-1.0, 0.0], [900, 1100])), ordinary(rows=100)])
def test_ties_and_few_rows_have_no_tail_and_a_severity_of_at_most_one_in_m_plus_one(scores):
    assert Tail.of(scores) is None
    assert severity(scores, np.array([-99.0]), None)[0] == len(scores) + 1


def test_a_row_without_a_score_has_no_severity():
    assert np.isnan(severity(ordinary(), np.array([np.nan]), Tail.of(ordinary()))[0])
    assert in_words(np.nan, M) == "unknown"


def test_severities_are_the_same_from_a_file_and_from_a_pickle(model, tmp_path):
    rows = np.array([[4.2, 0], [0, 1]])
    model.save(tmp_path / "m.safetensors")
    expected = model.severity(rows, t=0)
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").severity(rows, t=0), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).severity(rows, t=0), expected)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1.0, "1 in 1"),
        (2.5, "1 in 2.5"),
        (1000.0, "1 in 1,000"),
        (1234.0, "1 in 1,200 (extrapolated)"),
        (10_000.0, "less than 1 in 10,000 (extrapolated)"),
    ],
)
def test_a_severity_in_words_says_where_it_is_extrapolated(number, words):
    assert in_words(number, M) == words
