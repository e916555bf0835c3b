"""pandas' NA in the columns by which rows are grouped, labelled or marked: a missing value, as None is."""

import numpy as np
import pandas as pd
import pytest

from centrality import rank, select, wrong_labels
from tests.conftest import quick


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    kinds = pd.array([pd.NA, *rng.choice(["ash", "birch"], 99)], dtype="string")
    return pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100), "kind": kinds})


def as_none(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(kind=frame["kind"].astype(object).where(frame["kind"].notna(), None))


def test_a_missing_group_is_one_however_the_frame_writes_it(frame):
    found, expected = (rank(table, by="kind", top=2) for table in (frame, as_none(frame)))
    assert found["row"].tolist() == expected["row"].tolist()
    assert 0 in found["row"].tolist()
    model = quick().fit(frame[["a", "b"]])
    by_kind = [select(model, frame[["a", "b"]], 6, "odd", by=table["kind"]) for table in (frame, as_none(frame))]
    np.testing.assert_array_equal(*by_kind)


def test_a_row_without_a_label_is_not_judged(frame):
    assert 0 not in wrong_labels(frame, "kind", top=100)["row"].tolist()


def test_a_row_with_a_missing_mark_is_not_marked(frame):
    marks = pd.array(["outlier", "fine", *[pd.NA] * 98], dtype="string")
    model = quick().fit(frame[["a", "b"]])
    learned = model.learn_marks(frame[["a", "b"]], marks).centrality(frame[["a", "b"]])
    as_list = model.learn_marks(frame[["a", "b"]], ["outlier", "fine", *[None] * 98]).centrality(frame[["a", "b"]])
    np.testing.assert_array_equal(learned, as_list)
