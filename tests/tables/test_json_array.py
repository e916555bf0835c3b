"""JSON files: one list of objects, or objects line by line under the same name."""

import json

import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError

ROWS = [{"a": 1, "b": "x", "c": 0.1}, {"a": 2.5, "b": None, "c": 1e-7}, {"c": 3, "b": "ü", "a": 4}]
TABLE = pa.table({"a": [1.0, 2.5, 4.0], "b": ["x", None, "ü"], "c": [0.1, 1e-7, 3.0]})


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_objects_is_a_table(tmp_path, indent):
    (tmp_path / "t.json").write_text(json.dumps(ROWS, indent=indent))
    assert tables.read(tmp_path / "t.json").equals(TABLE)


def test_lines_of_objects_under_this_name_are_read_too(tmp_path):
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert tables.read(tmp_path / "t.json").equals(TABLE)


def test_what_is_written_is_one_list(tmp_path):
    tables.write(TABLE, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text()) == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", r'a list of objects was wanted, as in \[{"a": 1}, {"a": 2}\], got 1'),
        ('[{"a": 1}', "cannot be read as .json: Expecting ',' delimiter"),
        ('[{"a": 1, "a": 2}]', "the name 'a' comes twice in one JSON object"),
        ("[" * 100_000, "cannot be read as .json"),
        ("[]", "is empty: it has 0 rows"),
    ],
)
def test_what_is_no_table_says_why(tmp_path, text, said):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(TableError, match=said):
        tables.read(tmp_path / "t.json")
