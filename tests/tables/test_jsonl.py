"""JSON lines: empty objects, depth, and types asked for."""

import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError
from centrality.tables.json import DEEPEST, depth, parse_rows
from centrality.tables.text import TextSource


def test_every_object_is_one_again_with_new_values_at_its_end(tmp_path):
    lines = ['{"a": 1}', "{}", "{ } ", '{"a": 3, "b": {}}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    with tables.open_rows(tmp_path / "t.jsonl") as source:
        assert isinstance(source, TextSource)
        [(table, records)] = source.records(["a"])
        values = {"s%": np.array([0.5, 1.0, np.nan, 2.0]), "why": np.array(['"', "", "x", "y"], dtype=object)}
        extended = source.dialect.extended_records(records, values)
    assert source.dialect.extended_header(["s%"]) == b""
    assert table["a"].to_pylist() == [1, None, None, 3]
    assert [json.loads(line) for line in extended] == [
        {"a": 1, "s%": 0.5, "why": '"'},
        {"s%": 1.0, "why": ""},
        {"s%": None, "why": "x"},
        {"a": 3, "b": {}, "s%": 2.0, "why": "y"},
    ]


@pytest.mark.parametrize(
    ("line", "deep"),
    [(b"{}", 1), (b'{"a": [[1], [2]]}', 3), (rb'{"a": "[[[\"[["}', 1), (b"", 0), (b'{"a": [], "b": [{}]}', 3)],
)
def test_depth_is_that_of_lists_and_objects_not_of_text(line, deep):
    assert depth(line) == deep


def nested(deep: int) -> str:
    return '{"a": ' + "[" * deep + "]" * deep + "}\n"


def test_what_lies_too_deep_is_refused_before_the_parser_runs_out_of_stack(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": []}\n' * 3 + nested(10_000))
    with pytest.raises(TableError, match=rf"row 4: at most {DEEPEST} lists and objects inside each other"):
        tables.open_rows(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_text(nested(DEEPEST - 1))
    assert tables.read(tmp_path / "t.jsonl").num_rows == 1
    wide = {"a": [[i] for i in range(10 * DEEPEST)], "note": "[" * 10 * DEEPEST}
    (tmp_path / "t.jsonl").write_text(json.dumps(wide) + "\n")
    assert tables.read(tmp_path / "t.jsonl").to_pylist() == [wide]


def test_names_that_come_later_are_columns_of_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("centrality.tables.text.Blocks.__init__.__kwdefaults__", {"live": False, "size": 64})
    monkeypatch.setattr("centrality.tables.text.LARGE_BLOCK", 64)
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' * 50 + '{"b": "x", "a": 1.5}\n' * 50)
    table = tables.read(tmp_path / "t.jsonl")
    assert table.schema == pa.schema([("a", pa.float64()), ("b", pa.string())])
    assert table["b"].to_pylist() == [None] * 50 + ["x"] * 50


def test_rows_of_a_request_come_in_the_types_a_model_asks_for():
    lines = b'{"n": 1, "day": "2024-01-05", "gone": null}\n{"n": 2, "day": "2024-01-06", "gone": null}'
    types = {"n": pa.float64(), "day": pa.string(), "gone": pa.string()}
    table = parse_rows(lines, ["day", "gone", "n"], types, "rows")
    assert table.to_pydict() == {"day": ["2024-01-05", "2024-01-06"], "gone": [None, None], "n": [1.0, 2.0]}
    assert table.schema.types == [pa.string(), pa.string(), pa.float64()]
    with pytest.raises(TableError, match=r"rows cannot be read as \.jsonl: .*column 'day'.* in row 1"):
        parse_rows(lines, ["day"], {"day": pa.float64()}, "rows")


def test_a_number_stays_one_where_text_is_wanted():
    """A model that reads $1,234.50 is also sent 1234.5: as text, a decimal comma's reader could mistake it."""
    types = {"a": pa.string(), "b": pa.string()}
    rows = parse_rows(b'{"a": 1.5, "b": "x"}\n{"a": 2, "b": "y"}\n', ["a", "b"], types, "rows")
    assert rows["a"].to_pylist() == [1.5, 2.0]
    texts = parse_rows(b'{"a": "1,5", "b": "x"}\n', ["a", "b"], types, "rows")
    assert texts["a"].to_pylist() == ["1,5"]
    with pytest.raises(TableError, match=r"cannot be read as \.jsonl"):
        parse_rows(b'{"a": [1], "b": "x"}\n', ["a", "b"], types, "rows")
