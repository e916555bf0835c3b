"""Each of Arrow's messages about text, as Arrow says it today, in the words of the file's reader."""

import pyarrow as pa
import pytest
from pyarrow import csv, json

from centrality.tables.text import explained, is_about_a_value


def said_of_csv(content: bytes, **types: pa.DataType) -> str:
    with pytest.raises(pa.ArrowInvalid) as error:
        csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(column_names=["a", "b"], use_threads=False),
            convert_options=csv.ConvertOptions(column_types=types),
        )
    return str(error.value)


def said_of_json(content: bytes, **types: pa.DataType) -> str:
    with pytest.raises(pa.ArrowInvalid) as error:
        json.read_json(pa.BufferReader(content), parse_options=json.ParseOptions(explicit_schema=pa.schema(types)))
    return str(error.value)


def test_a_value_of_another_type_in_csv_names_column_and_row():
    said = said_of_csv(b"1,2\n3,x\n", b=pa.float64())
    assert is_about_a_value(said)
    assert "column 'b': row 102: " in explained(said, ["a", "b"], 100)


def test_a_line_of_too_few_fields_names_the_row():
    said = said_of_csv(b"1,2\n3\n")
    assert not is_about_a_value(said)
    assert "row 12: Expected 2 columns, got 1: 3" in explained(said, ["a", "b"], 10)


def test_bytes_that_are_no_text_say_how_to_convert_them():
    said = explained(said_of_csv(b"1,caf\xe9\n", b=pa.string()), ["a", "b"], 0)
    assert said.startswith("not UTF-8 throughout: ")
    assert said.endswith("or save it as UTF-8.")


def test_a_value_of_another_type_in_json_names_column_and_row():
    said = explained(said_of_json(b'{"a": 1}\n{"a": "x"}\n', a=pa.float64()), [], 10)
    assert "column 'a'" in said
    assert "in row 12" in said


def test_what_is_no_json_names_the_row():
    assert "in row 12" in explained(said_of_json(b'{"a": 1}\n{"a": \n'), [], 10)
