"""Commands that are given data and no model: they fit one by themselves, and say how the data was read."""

import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from centrality.model.reader import reader_of

pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """Orders with an id, prices as people write them, per cents, gaps and kinds; the last price is a hundredfold."""
    rng = np.random.default_rng(0)
    n = 150
    price, discount = rng.lognormal(5, 0.3, n), rng.uniform(0, 20, n)
    price[-1] *= 100
    table = pa.table(
        {
            "order": [f"ORD-{number:05d}" for number in range(n)],
            "price": [f"${x:,.2f}" for x in price],
            "discount": [f"{x:.1f}%" if x > 1 else "n/a" for x in discount],
            "kind": rng.choice(["book", "pen", "lamp"], n).tolist(),
        }
    )
    path = tmp_path_factory.mktemp("messy") / "orders.csv"
    tables.write(table, path)
    return path


def answer(capsys, *arguments) -> tuple[dict, str]:
    assert main([*map(str, arguments), "--json"]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


@pytest.mark.slow
def test_rank_shows_the_odd_price_first_says_how_columns_were_read_and_keeps_the_model(messy, capsys, tmp_path):
    model = tmp_path / "orders.safetensors"
    result, said = answer(capsys, "rank", messy, "--top", "2", "--save", model)
    assert result["peripheral"][0]["row"] == 149
    assert result["peripheral"][0]["reasons"][0]["feature"] == "price"
    assert "as a table: 2 numbers, 1 category; left out: order" in said
    assert str(model) in said
    reads = reader_of(load(model)).about()["reads"]
    assert reads["price"].startswith("number")
    assert reads["discount"].startswith("number")
    again, _ = answer(capsys, "rank", model, messy, "--top", "2")
    assert again["peripheral"][0]["row"] == 149


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["detect", "--contamination", "0.01"], lambda result: result["found"][0]["row"]),
        (["explain", "--rows", "149"], lambda result: 149 if "price" in json.dumps(result) else None),
        (["pick", "--odd", "1"], lambda result: result["picked"][0]["row"]),
    ],
    ids=["detect", "explain", "pick"],
)
def test_the_other_commands_need_no_model_either(messy, capsys, command, found):
    result, said = answer(capsys, command[0], messy, *command[1:])
    assert found(result) == 149
    assert "--save MODEL keeps the model" in said


@pytest.mark.slow
def test_explore_writes_a_page_from_data_alone(messy, capsys, tmp_path):
    result, _ = answer(capsys, "explore", messy, "--map", "pca", "--export", tmp_path / "page.html")
    assert result["rows"] == 150
    assert result["bytes"] == (tmp_path / "page.html").stat().st_size
    assert (tmp_path / "page.html").read_text().startswith("<!")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rank", "-"], "stdin can be read once only"),
        (["rank", "model.safetensors"], "is a model: say of which data"),
        (["pick", "MESSY", "--odd", "1", "--save", "MESSY"], ".safetensors"),
        (["pick", "MESSY"], "--typical"),
        (["pick", "MESSY", "--odd", "0"], "a whole number above 0"),
        (["rank", "MESSY", "--by", "colour"], "'colour'"),
    ],
)
def test_what_cannot_be_answered_is_told(messy, capsys, arguments, said):
    arguments = [str(messy) if word == "MESSY" else word for word in arguments]
    code: object
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert said in capsys.readouterr().err
