"""The adapter between a model and rows of any kind: what it says of rows that the model cannot take."""

import pyarrow as pa
import pytest

from centrality import tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.bulk.adapter import Adapter
from tests.conftest import quick

ROWS = pa.table({"a": [float(i) for i in range(30)], "b": [float(i % 7) for i in range(30)]})


@pytest.fixture(scope="module")
def model():
    return quick().fit(ROWS)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array(["x"] * 30), "these columns hold something else: 'b'. Columns of numbers here: a"),
        (pa.array([None] + [1.0] * 29), r"NaN or infinity \(inf\) in column 'b' \(1 rows\)"),
    ],
)
def test_rows_that_a_model_of_numbers_cannot_take_are_named_with_what_can_be_done(model, column, said):
    adapter = Adapter(model, ["a", "b"])
    with pytest.raises(InputError, match=said + r".*or fit one that reads text, dates and gaps: centrality fit"):
        adapter.vectors(ROWS.set_column(1, "b", column))


def test_no_command_names_an_option_that_it_lacks(model, tmp_path, capsys):
    model.save(tmp_path / "m.safetensors")
    tables.write(ROWS.set_column(1, "b", pa.array(["x"] * 30)), tmp_path / "t.parquet")
    for command in (
        ["score", "m.safetensors", "t.parquet", "-o", "o.csv"],
        ["depth", "halfspace", "t.parquet", "-o", "o.csv"],
        ["fit", "t.parquet", "-o", "n.safetensors", "--represent", "numbers"],
    ):
        assert main([str(tmp_path / part) if "." in part else part for part in command]) == 2
        said = capsys.readouterr().err
        ours = said.partition("centrality fit ")[0]  # what comes after is about another command
        with pytest.raises(SystemExit):
            main([command[0], "--help"])
        options = capsys.readouterr().out
        named = [word.rstrip(".;:,") for word in ours.split() if word.startswith("--")]
        assert [option for option in named if option not in options] == []
        assert ("--represent" in named) == (command[0] == "fit")
