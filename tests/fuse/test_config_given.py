"""The columns that `given` names: found by name or place, and refused where nothing would be left to judge."""

import numpy as np
import pytest
from scipy import sparse

from centrality._internal.checks import InputError
from centrality.fuse.config import find_context
from tests.fuse.cases import config_of

NAMES = ["size", "city", "price"]
OWNER = np.array([0, 1, 1, 2])  # city is written as two numbers


@pytest.mark.parametrize("given", ["city", ["city"], 1, [-2], np.array([1])])
def test_a_feature_is_found_by_name_or_place_with_all_numbers_that_belong_to_it(given):
    places, features = find_context(given, NAMES, OWNER)
    assert places.tolist() == [1, 2]
    assert features.tolist() == [1, 1]


def test_the_order_and_repetition_of_names_do_not_matter():
    for given in (["city", "size"], ["size", "city", "size"], [0, "city"]):
        assert find_context(given, NAMES, OWNER)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "names", "message"),
    [
        ([], NAMES, "at least one column and leave one to be judged"),
        (NAMES, NAMES, "at least one column and leave one to be judged"),
        ("prize", NAMES, "Did you mean 'price'"),
        ("price", None, "the rows came without names: give its position"),
        (3, NAMES, "positions from 0 to 2, got 3"),
        (True, NAMES, "positions from 0 to 2, got True"),
        (0.5, NAMES, "positions from 0 to 2, got 0.5"),
    ],
)
def test_what_names_no_context_is_said(given, names, message):
    with pytest.raises(ValueError, match=message):
        find_context(given, names, OWNER)


@pytest.mark.parametrize(
    ("settings", "dissimilarity", "X", "message"),
    [
        ({"metric": "cosine"}, None, np.eye(3), "metric='cosine': take euclidean or manhattan"),
        ({"epochs": 3}, None, np.eye(3), "epochs, which follow the paper"),
        ({}, np.eye(3), np.eye(3), "a dissimilarity, which does not know the context"),
        ({}, None, sparse.eye(3), "sparse rows: give a dense array"),
    ],
)
def test_what_does_not_go_with_a_context_is_refused(settings, dissimilarity, X, message):
    config_of(np.eye(3), given=[0])
    with pytest.raises(InputError, match=message):
        config_of(X, dissimilarity, given=[0], **settings)
