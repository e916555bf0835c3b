import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from tests.conftest import quick

NAMES = ["a", "b", "c"]
X = np.random.default_rng(0).normal(size=(90, 3)).round(2)


def readonly(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


KINDS = {
    "numpy": np.asarray,
    "Fortran order": np.asfortranarray,
    "read-only": readonly,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "list": np.ndarray.tolist,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "torch": torch.from_numpy,
    "torch with gradient": lambda X: torch.from_numpy(X).requires_grad_(),
    "CSR matrix": sparse.csr_matrix,
    "CSR array": sparse.csr_array,
    "CSC matrix": sparse.csc_matrix,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_scores(kind):
    given = KINDS[kind](X)
    expected = quick().fit(X).heads(X)
    model = quick().fit(given)
    np.testing.assert_allclose(model.heads(given), expected, rtol=1e-6)
    if kind in ("pandas", "polars", "Arrow"):
        assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int64, bool])
def test_every_kind_of_number_is_taken(dtype):
    whole = (X > 0).astype(dtype) if dtype is bool else np.abs(10 * X).astype(dtype)
    expected = quick().fit(whole.astype(np.float64)).heads(whole.astype(np.float64))
    np.testing.assert_allclose(quick().fit(whole).heads(whole), expected, rtol=1e-6)


def test_input_is_never_changed():
    given = X.copy()
    quick().fit(given).heads(given)
    np.testing.assert_array_equal(given, X)


def spoiled(value: float, rows: int = 2) -> np.ndarray:
    bad = X.copy()
    bad[:rows, 1] = value
    return bad


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_name_the_column_and_count_the_rows(value):
    model = quick().fit(X)
    for act in (model.fit, model.centrality):
        with pytest.raises(ValueError, match=r"NaN or infinity \(inf\) in column 1 \(2 rows\)"):
            act(spoiled(value))
        with pytest.raises(ValueError, match=r"in column 'b' \(2 rows\)"):
            quick().fit(pd.DataFrame(spoiled(value), columns=NAMES))
        with pytest.raises(ValueError, match=r"in column 1 \(2 rows\)"):
            act(sparse.csr_matrix(spoiled(value)))


def test_infinities_of_both_signs_do_not_cancel_out():
    bad = X.copy()
    bad[0, 0], bad[1, 2] = np.inf, -np.inf
    with pytest.raises(ValueError, match=r"column 0 \(1 rows\), 2 \(1 rows\)"):
        quick().fit(bad)


def test_missing_values_in_frames_are_nan():
    columns = {"a": [1.0, None, 3.0, 4.0], "b": [1, 2, 3, None]}
    for frame in (pl.DataFrame(columns), pa.table(columns)):
        with pytest.raises(ValueError, match=r"in column 'a' \(1 rows\), 'b' \(1 rows\)"):
            quick().fit(frame)


def test_text_in_a_frame_names_the_column():
    for frame in (
        pd.DataFrame({"a": [1.0, 2, 3], "city": ["Oslo", "Rome", "Lima"]}),
        pl.DataFrame({"a": [1.0, 2, 3], "city": ["Oslo", "Rome", "Lima"]}),
        pa.table({"a": [1.0, 2, 3], "city": ["Oslo", "Rome", "Lima"]}),
    ):
        with pytest.raises(ValueError, match=r"Numbers were wanted.* 'city' \(String\).*Chain\(Table\(\), FUSE\(\)\)"):
            quick().fit(frame)


def test_text_in_an_array_is_refused():
    with pytest.raises(ValueError, match="not compatible with arrays of bytes/strings"):
        quick().fit([["1", "2"], ["3", "x"], ["5", "6"]])


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_rows_are_refused(n):
    with pytest.raises(ValueError, match=rf"at least 3 rows \(an anchor and a pair to compare\), got n_samples={n}"):
        quick().fit(X[:n])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        quick().fit(X[:0])


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="All 10 rows are equal"):
        quick().fit(np.ones((10, 2)))


def test_another_number_of_columns_says_both_numbers():
    with pytest.raises(ValueError, match="X has 2 features, but FUSE is expecting 3 features"):
        quick().fit(X).centrality(X[:, :2])


def test_a_wrong_t_is_refused_before_any_work():
    with pytest.raises(ValueError, match=r"t must lie between 0 \(global\) and 1 \(local\).* got 7"):
        quick().fit(X).centrality(X, t=7)


def test_huge_finite_values_are_not_taken_for_infinite_and_never_score_nan():
    big = X.copy()
    big[:, 0] *= 1e150
    assert np.isfinite(quick().fit(big).heads(big)).all()
    model = quick().fit(X)
    assert (model.heads(np.full((1, 3), 1e308)) < model.heads(X).min(0)).all()
    big[0, 1] = 1e308
    with pytest.warns(UserWarning, match="Nearly all variance of column 1 comes from 1 of its cells"):
        heads = quick().fit(big).heads(big)
    assert np.isfinite(heads).all()
    assert heads[:, 0].argmin() == 0


@pytest.mark.parametrize("units", [[1.0, 2.0**-700, 1.0], [2.0**-1000] * 3, [2.0**1000] * 3])
def test_a_row_is_as_odd_in_a_column_of_any_magnitude(units):
    odd = X.copy()
    odd[5, 1] = X[:, 1].mean() + 9 * X[:, 1].std()
    scores = quick(max_steps=300).fit(odd * units).centrality(odd * units)
    assert scores.argmin() == 5
