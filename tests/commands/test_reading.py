"""How columns were read, as `fit` and `inspect` show it: the same table, doubts first."""

import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import load
from centrality.apps.cli import main
from centrality.apps.commands._reading import reading_lines
from centrality.model.reader import reader_of
from centrality.tables import write


def test_columns_in_doubt_come_first_and_the_others_as_in_the_file():
    shown = reading_lines({"a": "number", "long name": "category", "c": "number"}, {"c": "could be 1.234"})
    assert [line.strip("\ue000\ue001\ue002\ue003\ue004") for line in shown] == [
        "column     read as",
        "c          number",
        "           doubtful: could be 1.234",
        "a          number",
        "long name  category",
    ]


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 200
    folder = tmp_path_factory.mktemp("orders")
    table = pa.table(
        {
            "amount": [f"${x:,.2f}" for x in rng.lognormal(7, 1, n)],
            "share": [f"{x:.1f}%" if x > 1 else "n/a" for x in rng.uniform(0, 20, n)],
            "order": rng.permutation(n) + 1000,
        }
    )
    write(table, folder / "orders.csv")
    return folder


def test_fit_says_how_each_column_was_read_and_inspect_says_it_again(orders, capsys):
    fit = ["fit", str(orders / "orders.csv"), "-o", str(orders / "m.safetensors"), "--represent", "table"]
    assert main([*fit, "--max-steps", "9", "--random-state", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("column  read as")
    table = lines[start : start + 5]
    assert table[1] == "order   left out: it looks like an identifier: whole numbers, which hardly come again"
    assert table[2] == "        doubtful: if it is no identifier, what it says is lost"
    assert table[3].startswith("amount  number written as $1,234.50, scaled")
    assert table[4].startswith("share   number written as 1234.5%, scaled")
    assert main(["inspect", str(orders / "m.safetensors")]) == 0
    again = capsys.readouterr().out.splitlines()
    assert again[again.index("column  read as") :] == table
    about = reader_of(load(orders / "m.safetensors")).about()
    assert list(about["doubts"]) == ["order"]
    assert list(about["reads"]) == ["amount", "share", "order"]
    assert main([*fit, "--max-steps", "9", "--random-state", "0", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["doubts"]) == ["order"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_same_orders_written_as_plain_numbers_score_the_same(orders, ending, tmp_path, capsys):
    model = load(orders / "m.safetensors")
    written = pa.table({"amount": ["$1,234.50", "$99,999.00"], "share": ["2.5%", "n/a"], "order": [1001, 1002]})
    plain = pa.table({"amount": [1234.5, 99999.0], "share": [2.5, None], "order": [1001, 1002]})
    write(plain, tmp_path / f"plain.{ending}")
    arguments = [str(orders / "m.safetensors"), str(tmp_path / f"plain.{ending}"), "-o", str(tmp_path / "s.parquet")]
    assert main(["score", *arguments]) == 0
    from pyarrow import parquet

    scores = parquet.read_table(tmp_path / "s.parquet").columns[-1].to_numpy()
    np.testing.assert_allclose(scores, model.centrality(written), atol=1e-5)


def test_the_encoding_of_a_text_file_is_named(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes("имя,b\n".encode("cp1251") + b"1,2\n1,2\n3,4\n5,1\n" * 5)
    assert main(["copies", str(tmp_path / "t.csv")]) == 2
    assert "Name its encoding" in capsys.readouterr().err
    assert main(["copies", str(tmp_path / "t.csv"), "--encoding", "cp1251"]) == 0
    assert "20 rows in 3 groups are exact copies" in capsys.readouterr().out
