"""What `make house` counts: source written for each measure, and calls traced in a process of their own."""

import importlib.util
import sys
from pathlib import Path

import pytest

from centrality import FUSE

SPEC = importlib.util.spec_from_file_location("docs_measures", Path(__file__).parents[2] / "docs" / "measures.py")
measures = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = measures
SPEC.loader.exec_module(measures)

SOURCE = {
    "private functions used once": (
        "def _f(x):\n    return x\n\nprint(_f(1))",
        "def _f(x):\n    return x\n\n_f(_f(1))",
    ),
    "several assignments on a line": ("a, b = 1, 2", "a, b = pair"),
    "names from a generator": ("a, b = (f(x) for x in y)", "a, b = [f(x) for x in y]"),
    "bundled arguments": ("f(*parts)", "f(*parts())"),
    "locals of nine empty names": ("def f():\n    found = 1\n    found = 2", "found = 1"),
    "names of the banned list": ("def f(shown):\n    return shown", "def f(given):\n    return given"),
    "classes": ("class A:\n    pass", "A = 1"),
    "dataclasses": ("@dataclass(frozen=True)\nclass A:\n    a: int", "class A:\n    a: int"),
}


@pytest.mark.parametrize("measure", SOURCE)
def test_a_measure_counts_what_it_is_named_for_once_and_nothing_else(measure, tmp_path):
    counted, passed = SOURCE[measure]
    for source, expected in ((counted, 1), (passed, 0)):
        (tmp_path / "module.py").write_text(source)
        assert measures.of_source(tmp_path)[measure] == expected


def test_a_private_function_is_short_by_the_lines_of_its_body_without_the_docstring(tmp_path):
    for lines, expected in ((8, 1), (9, 0)):
        body = '    """Return one."""\n' + "    print()\n" * lines
        (tmp_path / "module.py").write_text(f"def _f():\n{body}\n_f()")
        assert measures.of_source(tmp_path)["of these, 8 lines or less"] == expected


def test_one_scored_row_passes_through_the_estimator_and_into_the_engine():
    """Files by their class, wherever it lies; the row is scored by the compiled engine, and nothing is fitted."""
    passed = measures.traced("one scored row")
    assert f"{FUSE.__mro__[1].__module__.partition('.')[2].replace('.', '/')}.py" in passed["files"]
    assert passed["native"] >= 1
    assert len(passed["files"]) <= passed["functions"]
    assert not [file for file in passed["files"] if "train" in file]
