"""Packages that only some need: where one is missing, the message says which extra brings it."""

import math

import pytest

from centrality._internal.checks import MissingExtraError, optional


def test_a_package_that_is_there_is_imported():
    assert optional("math", "plots") is math


def test_of_one_that_is_missing_the_extra_is_named():
    with pytest.raises(MissingExtraError, match=r"needs nosuch, which is not installed\. .*pip install '\.\[plots\]'"):
        optional("nosuch.part", "plots")


def test_of_one_that_lacks_something_itself_that_is_shown(tmp_path, monkeypatch):
    (tmp_path / "halfway.py").write_text("import nosuch\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=r"needs halfway, which could not be imported.*nosuch") as caught:
        optional("halfway", "plots")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
