"""Golden model files, one pair for each way a file was ever written: they load for ever, and score as they did.

A new version of the format is a new pair in this folder (`python -m tests.golden.make NAME`); old pairs stay.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import load
from tests.promise import assert_same_scores, assert_same_unbounded

FILES = sorted(Path(__file__).parent.glob("*.safetensors"))


def test_there_are_golden_files_of_numbers_and_of_tables():
    assert {file.stem.endswith("chain") for file in FILES} == {False, True}


@pytest.mark.numbers
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_scores_as_on_the_day_it_was_written(file):
    pinned, model = json.loads(file.with_suffix(".json").read_text()), load(file)
    rows = pa.table(pinned["table"]) if "table" in pinned else np.array(pinned["rows"])
    assert_same_scores(model.heads(rows), pinned["heads"])
    assert_same_scores(model.centrality(rows), pinned["centrality"])
    if "score_samples" in pinned:
        assert_same_unbounded(model.score_samples(rows), pinned["score_samples"])
        np.testing.assert_array_equal(model.predict(rows), pinned["predict"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_saved_again_scores_the_same(file, tmp_path):
    pinned, model = json.loads(file.with_suffix(".json").read_text()), load(file)
    rows = pa.table(pinned["table"]) if "table" in pinned else np.array(pinned["rows"])
    model.save(tmp_path / "again.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "again.safetensors").heads(rows), model.heads(rows))
