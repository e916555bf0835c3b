"""A fitted model is a value: equal by content, and nothing changes it in place."""

import copy
import pickle
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from centrality._internal.arrays import FrozenArrays, read_only


@dataclass(frozen=True, eq=False)
class Pair(FrozenArrays):
    array: Any
    other: Any = None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(4), False),
        (np.arange(3), np.arange(3.0), False),  # another type is another value
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.array(["a", "b"]), np.array(["a", "b"]), True),
        ({"w": np.ones(2)}, {"w": np.ones(2)}, True),
        ({"w": np.ones(2)}, {"v": np.ones(2)}, False),
        ({"loss": [np.nan, 1.0]}, {"loss": [np.nan, 1.0]}, True),
        ([1.0, 2.0], [1.0], False),
        (np.ones(2), None, False),
        ("soft", "clip", False),
    ],
)
def test_values_are_equal_by_content(a, b, same):
    assert (Pair(a) == Pair(b)) is same
    assert (Pair(0, a) == Pair(0, b)) is same


def test_a_value_is_equal_to_nothing_of_another_kind_and_is_no_key():
    assert Pair(1) != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair(1))


def test_locking_leaves_the_givers_array_as_it_was():
    given = np.zeros(3)
    value = Pair(given)
    given[0] = 1.0  # whoever made it may write to it still
    with pytest.raises(ValueError, match="read-only"):
        value.array[0] = 2.0
    assert read_only("text") == "text"


def test_a_mapping_of_arrays_cannot_be_changed():
    value = Pair({"w": np.zeros(2)})
    with pytest.raises(TypeError, match="does not support item assignment"):
        value.array["w"] = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        value.array["w"][0] = 1


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_is_equal_and_locked_too(twin):
    value = Pair({"w": np.zeros(2)}, np.ones(3))
    again = twin(value)
    assert again == value
    assert isinstance(again.array, MappingProxyType)
    assert not again.other.flags.writeable
    assert not again.array["w"].flags.writeable


# The fitted model.
