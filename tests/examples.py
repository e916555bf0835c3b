"""Examples of docstrings, run by a test of their own: those that need a cluster run beside its other tests."""

import doctest
from collections.abc import Callable


def assert_examples_hold(documented: Callable[..., object]) -> None:
    """Run the examples in the docstring of a function, of which there is one at least."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for examples in doctest.DocTestFinder(recurse=False).find(documented, globs={}):
        runner.run(examples)
    assert runner.tries > 0
    assert runner.failures == 0
