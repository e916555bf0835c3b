"""A scoring job: which columns it adds under which names, and by what it knows that a file is done."""

import json

import numpy as np
import pytest

from centrality import FUSE
from centrality._internal.checks import InputError
from centrality.bulk.score import ScoringJob
from tests.conftest import quick


@pytest.fixture(scope="module")
def model(blob) -> FUSE:
    return quick(holdout=0.3, max_steps=10).fit(blob)


def test_columns_come_kind_by_kind_and_within_a_kind_by_t(model):
    job = ScoringJob(model, [0.0, 0.5], p_values=True, explain=True)
    assert job.names == ["centrality_t0", "centrality", "p_value_t0", "p_value", "reasons_t0", "reasons"]


def test_one_t_given_twice_has_no_column_of_its_own(model):
    with pytest.raises(InputError, match="Every t must have a column of its own, got centrality_t25, centrality_t25"):
        _ = ScoringJob(model, [0.25, 0.25]).names


def test_columns_of_numbers_are_those_of_the_model(model, blob):
    job = ScoringJob(model, [0.0, 1.0], p_values=True)
    found = job.score_columns(model.fitted_.units(blob))
    assert list(found) == job.names
    np.testing.assert_array_equal(np.column_stack(list(found.values())[:2]), model.centrality(blob, t=[0, 1]))
    np.testing.assert_array_equal(np.column_stack(list(found.values())[2:]), model.p_values(blob, t=[0, 1]))


def test_a_note_tells_models_columns_and_rows_apart(model, blob, tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", blob)
    here, there = str(tmp_path / "a.npy"), str(tmp_path / "b.npy")
    note = ScoringJob(model, [0.5]).note(here)
    assert ScoringJob(model, [0.5], p_values=False, progress=True).note(here) == note
    other = quick(random_state=1, max_steps=10).fit(blob)
    assert (
        len(
            {
                note,
                ScoringJob(model, [0.25]).note(here),
                ScoringJob(other, [0.5]).note(here),
                ScoringJob(model, [0.5]).note(there),
            }
        )
        == 4
    )
    assert json.loads(ScoringJob(model, [0.5]).note(None))["rows"] is None
