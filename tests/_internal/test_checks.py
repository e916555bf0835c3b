"""What users give is checked: the message says what was wanted and what came."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from centrality._internal import checks
from centrality._internal.checks import InputError
from centrality.representations import Table


@pytest.mark.parametrize("value", [3, np.int64(3)])
def test_whole_numbers_of_any_library_become_pythons(value):
    assert type(checks.whole_number("k", value)) is int


@pytest.mark.parametrize("value", [0, 2.0, True, "3", None])
def test_what_is_no_whole_number_or_too_small_is_named(value):
    with pytest.raises(InputError, match="k must be a whole number of at least 1, got "):
        checks.whole_number("k", value)


def test_a_whole_number_may_have_a_greatest_value():
    assert checks.whole_number("k", 9, at_most=9) == 9
    with pytest.raises(InputError, match="k must be a whole number of at most 1,000, got 1001"):
        checks.whole_number("k", 1001, at_most=1000)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True, "1"])
def test_what_is_not_positive_is_named(value):
    with pytest.raises(InputError, match="eta must be a number above 0, got "):
        checks.positive("eta", value)


def test_zero_is_taken_only_where_it_may_be():
    assert checks.positive("decay", 0, or_zero=True) == 0.0
    with pytest.raises(InputError, match="decay must be a number of at least 0, got -1"):
        checks.positive("decay", -1, or_zero=True)


@pytest.mark.parametrize("value", [0, 1, float("nan"), "half"])
def test_a_share_lies_strictly_between_0_and_1(value):
    assert checks.fraction("fdr", 0.25) == 0.25
    with pytest.raises(InputError, match="fdr must be a share above 0 and below 1, got "):
        checks.fraction("fdr", value)


def test_layers_are_counted_and_each_has_a_width():
    assert checks.widths([8, np.int32(4)]) == (8, 4)
    with pytest.raises(InputError, match=f"at most {checks.MOST_LAYERS} layers, got {checks.MOST_LAYERS + 1}"):
        checks.widths([1] * (checks.MOST_LAYERS + 1))


def test_a_seed_makes_the_same_generator_twice_and_a_generator_is_itself():
    assert checks.generator(7).integers(1000) == checks.generator(7).integers(1000)
    rng = np.random.default_rng(0)
    assert checks.generator(rng) is rng
    with pytest.raises(InputError, match="random_state must be None or a whole number from 0 on, got -1"):
        checks.generator(-1)


def test_a_name_may_come_once_in_a_json_object():
    assert checks.distinct_keys([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="the name 'a' comes twice"):
        checks.distinct_keys([("a", 1), ("a", 1)])


def test_a_warning_points_at_the_line_of_the_caller_outside_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checks.warn_caller("mind this")
    assert [(str(one.message), one.filename) for one in caught] == [("mind this", __file__)]


def test_a_note_of_a_method_that_scikit_learn_wraps_points_at_the_caller_too():
    numbers = [str(number) for number in range(100)]
    reader = Table().fit(pa.table({"size": numbers, "weight": numbers[::-1]}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader.transform(pa.table({"size": ["five", *numbers[1:]], "weight": numbers}))
    assert [one.filename for one in caught] == [__file__]
