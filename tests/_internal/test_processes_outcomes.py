"""What a worker process says comes back as it was: results, and errors of their own type."""

import os

import pytest

from centrality._internal import processes
from tests import errands


def failed(work):
    """The error that comes out of a real worker process."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the callers look at its type)
        list(processes.run(work, [3], workers=1))
    trace = "".join(caught.value.__notes__)
    assert f"in {work.__name__}" in trace  # where in the other process it arose
    return caught.value


def test_an_error_whose_constructor_wants_two_arguments_comes_back_whole():
    error = failed(errands.misfit)
    assert type(error) is errands.MisfitError
    assert (str(error), error.row, error.column) == ("row 3 does not fit width", 3, "width")


def test_an_error_that_holds_what_cannot_be_pickled_comes_back_without_that():
    error = failed(errands.held)
    assert type(error) is errands.HeldError
    assert str(error) == "held: a door"
    assert not hasattr(error, "lock")


def test_an_error_of_a_type_that_nobody_knows_comes_back_as_the_nearest_kind_with_its_name_and_message():
    error = failed(errands.nobody_knows)
    assert type(error) is KeyError
    assert "LocalError: no such drawer" in str(error)


def test_a_result_that_cannot_be_pickled_is_an_error_and_no_death():
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock'"):
        list(processes.run(errands.gives_a_lock, [3], workers=1))


def test_an_operating_systems_error_keeps_its_file():
    with pytest.raises(FileNotFoundError) as caught:
        list(processes.run(os.stat, ["no/such/file"], workers=1))
    assert caught.value.filename == "no/such/file"
