"""Rows of any kind as vectors, whose distance says how alike two of them are."""

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality.selection.copies import likeness_by_model, of_images, of_texts, vectors_of_table
from tests.conftest import quick


def test_columns_of_numbers_count_alike_whatever_their_units():
    X = np.random.default_rng(0).normal(size=(200, 2))
    small, large = (vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1] * unit}))[0] for unit in (1.0, 1e6))
    np.testing.assert_allclose(small, large, rtol=1e-4, atol=1e-5)


def test_a_wild_cell_leaves_the_other_rows_their_differences():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0, 0] = 1e9
    Z, _ = vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1]}))
    assert len(np.unique(Z[:, 0])) == 200


def test_noise_in_a_column_that_is_zero_but_for_a_few_rows_stays_small():
    """The column's own values, not those of the noise in other rows, say what is large in it."""
    X = np.zeros((500, 2))
    X[:, 0] = np.random.default_rng(0).normal(size=500)
    X[:10, 1], X[10:40, 1] = 5.0, 1e-3
    Z, _ = vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1]}))
    assert np.abs(Z[10:40, 1] - Z[-1, 1]).max() < 1e-2 < 1 < Z[0, 1] - Z[-1, 1]


def test_tables_with_gaps_and_words_have_finite_vectors():
    Z, _ = vectors_of_table(pa.table({"a": [1.0, None, 3.0] * 10, "b": ["x", "y", None] * 10}))
    assert len(Z) == 30
    assert np.isfinite(Z).all()
    assert np.linalg.norm(Z[0] - Z[3]) < 1e-6 < np.linalg.norm(Z[0] - Z[1])


def test_case_and_spaces_of_texts_do_not_count_and_letters_do():
    Z = of_texts(["A long  day", "a long day", "a long dav", "quite another thing", None])
    apart = np.linalg.norm(Z - Z[0], axis=1)
    assert apart[1] == pytest.approx(0, abs=1e-6)
    assert apart[1] < apart[2] < apart[3]
    assert np.isfinite(Z).all()


def test_a_resized_image_is_nearly_what_it_was():
    coarse = np.random.default_rng(0).integers(0, 255, (2, 4, 4, 3), dtype=np.uint8)
    first, second = (Image.fromarray(each).resize((64, 64), Image.Resampling.BICUBIC) for each in coarse)
    Z = of_images([first, first.resize((40, 40)), second])
    assert np.linalg.norm(Z[0] - Z[1]) < 0.1 * np.linalg.norm(Z[0] - Z[2])


def test_a_model_shows_rows_as_its_network_sees_them():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 100, 1e4]
    Z = likeness_by_model(quick().fit(X), X)
    assert Z.shape == X.shape
    assert Z.std(0).max() < 3 * Z.std(0).min()  # in comparable units
