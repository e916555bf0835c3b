import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from centrality import FUSE, Chain, load
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.depths import Halfspace
from centrality.representations import Table
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
    "pandas, sparse": lambda X: pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0.0)),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "torch": torch.from_numpy,
    "torch with gradient": lambda X: torch.from_numpy(X).requires_grad_(),
    "CSR matrix": sparse.csr_matrix,
    "CSR array": sparse.csr_array,
    "CSC matrix": sparse.csc_matrix,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_scores(kind):
    given = KINDS[kind](X)
    expected = quick().fit(X).heads(X)
    model = quick().fit(given)
    np.testing.assert_allclose(model.heads(given), expected, rtol=1e-6)
    if kind in ("pandas", "pandas, sparse", "polars", "Arrow"):
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


@pytest.mark.parametrize("rows", [[[None, 0.1, 0.2]], [[0.3, 0.1, 0.2], [None, 1, 2]]])
def test_none_in_lists_is_a_missing_value_when_fitting_and_when_scoring(rows):
    model = quick().fit(X)
    with pytest.raises(InputError, match=r"column 0 \(1 rows\)"):
        model.centrality(rows)
    with pytest.raises(InputError, match=r"column 0 \(1 rows\)"):
        quick().fit([*rows, *X.tolist()])


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


@pytest.mark.parametrize("dtype", [str, object])
def test_text_in_an_array_is_refused_with_what_to_do(dtype):
    text = np.array([["1", "2"], ["3", "x"], ["5", "6"]], dtype=dtype)
    with pytest.raises(InputError, match=r"Numbers were wanted, got text, such as '1'. X.astype\(float\) makes"):
        quick().fit(text)
    with pytest.raises(InputError, match=r"Chain\(Table\(\), FUSE\(\)\) takes text as it is"):
        quick().fit(X).centrality(np.array([["1", "2", "x"]], dtype=dtype))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (X.ravel(), r"got a 1D array of 270 numbers. Reshape your data: X.reshape\(-1, 1\)"),
        (pd.Series(X[:, 0]), "got a 1D array of 90 numbers"),
        (3.0, "Rows of numbers were wanted .* got 3.0"),
        ("rows.csv", "Rows of numbers were wanted .* got 'rows.csv'"),
        ([[1.0, 2.0, 3.0], [1.0]], "Rows of equal length were wanted"),
    ],
)
def test_what_has_no_rows_and_columns_is_answered_in_one_short_line(wrong, said):
    with pytest.raises(InputError, match=said) as error:
        quick().fit(X).centrality(wrong)
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


def query(kind):
    """The rows of X as a query that nobody has run yet."""
    if kind == "LazyFrame":
        return pl.DataFrame(X, schema=NAMES).lazy()
    arrow = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
    return pytest.importorskip("duckdb").from_arrow(arrow)


@pytest.mark.parametrize("kind", ["LazyFrame", "DuckDB"])
def test_a_query_is_run_and_its_rows_are_taken(kind):
    model = quick().fit(query(kind))
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.heads(query(kind)), quick().fit(X).heads(X))
    table = Chain(Table(), quick()).fit(query(kind))
    assert table.centrality(query(kind)).shape == (90,)


def test_arrays_of_other_libraries_are_taken():
    strict = pytest.importorskip("array_api_strict")
    np.testing.assert_array_equal(quick().fit(strict.asarray(X)).heads(strict.asarray(X)), quick().fit(X).heads(X))


@pytest.mark.slow
def test_an_xarray_dataset_is_told_its_way_in():
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({name: ("row", X[:, j]) for j, name in enumerate(NAMES)})
    for model in (quick(), Chain(Table(), quick())):
        with pytest.raises(InputError, match=r"got an xarray Dataset: give its to_dataframe\(\) instead"):
            model.fit(data)
    model = quick().fit(X)
    np.testing.assert_array_equal(model.heads(xarray.DataArray(X)), model.heads(X))
    np.testing.assert_array_equal(quick().fit(data.to_dataframe()).heads(data.to_dataframe()), model.heads(X))


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow"])
def test_columns_are_found_by_their_names_in_any_order_and_among_others(kind):
    model = quick().fit(KINDS[kind](X))
    moved = pd.DataFrame(X, columns=NAMES)[["c", "a", "b"]].assign(note="text", d=1.0)
    moved = {"pandas": moved, "polars": pl.from_pandas(moved), "Arrow": pa.Table.from_pandas(moved)}[kind]
    np.testing.assert_array_equal(model.heads(moved), model.heads(KINDS[kind](X)))


def test_a_missing_column_is_named():
    model = quick().fit(KINDS["pandas"](X))
    with pytest.raises(InputError, match=r"names should match those of fit: 'b' is missing. There are: 'a', 'c'."):
        model.centrality(pd.DataFrame(X[:, [0, 2]], columns=["a", "c"]))


def test_a_class_in_a_chain_is_told_to_be_made_first():
    with pytest.raises(InputError, match=r"representation must be made first: Table\(\), got the class Table"):
        Chain(Table, quick()).fit(X)
    with pytest.raises(InputError, match=r"model must be made first: FUSE\(\), got the class FUSE"):
        Chain(Table(), FUSE).fit(X)


def test_columns_called_by_their_places_need_no_names(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert main(["fit", str(tmp_path / "x.npy"), "-o", str(tmp_path / "m.safetensors"), "--max-steps", "20"]) == 0
    model = load(tmp_path / "m.safetensors")
    expected = model.centrality(pd.DataFrame(X, columns=["x0", "x1", "x2"]))
    for rows in (X, X.tolist(), sparse.csr_matrix(X)):  # a warning would be an error here
        np.testing.assert_allclose(model.centrality(rows), expected, rtol=1e-6)
    with pytest.raises(InputError, match="X has 2 features, but FUSE is expecting 3"):
        model.centrality(X[:, :2])


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "zero"])
def test_what_is_no_seed_is_refused(seed):
    for estimator in (quick(random_state=seed), Halfspace(directions=10, random_state=seed)):
        with pytest.raises(InputError, match=rf"random_state must be None, a whole number from 0 .* got {seed!r}"):
            estimator.fit(X).score_samples(X)


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.PT"])
def test_a_model_is_not_saved_under_the_name_of_another_kind_of_file(tmp_path, name):
    for model in (quick().fit(X), Chain(Table(), quick()).fit(X)):
        with pytest.raises(InputError, match=r"written as a safetensors file, .*: name it m\.safetensors"):
            model.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


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
