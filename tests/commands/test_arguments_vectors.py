"""--vectors and --with: vectors that stand for the rows, in a column or in a file of their own."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from tests.commands.said import as_json, refused, said

ODD = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    vectors = np.random.default_rng(0).normal(size=(200, 10)).astype(np.float32)
    vectors[ODD] += 6
    np.save(folder / "vectors.npy", vectors)
    rows = pa.table({"id": [f"r{i}" for i in range(200)], "kind": ["a", "b"] * 100})
    tables.write(rows, folder / "rows.csv")
    tables.write(rows.slice(1), folder / "short.csv")
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 10)
    tables.write(rows.append_column("embedding", column), folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    from centrality.apps.cli import main

    path = folder / "m.safetensors"
    options = ["--vectors", "embedding", "--max-steps", "100", "--random-state", "0", "-o", str(path)]
    assert main(["fit", str(folder / "rows.parquet"), *options]) == 0
    return path


def by_column(folder):
    return folder / "rows.parquet", "--vectors", "embedding"


def by_file(folder):
    return folder / "vectors.npy", "--with", folder / "rows.csv"


@pytest.mark.parametrize("data", [by_column, by_file])
def test_rows_are_ranked_by_their_vectors_and_their_other_columns_come_along(folder, capsys, data):
    result = as_json(capsys, "rank", *data(folder), "--top", "1")
    (odd,) = result["peripheral"]
    assert odd["row"] == ODD
    assert odd["holds"]["id"] == "r5"


def test_both_ways_give_the_same_scores(folder, capsys):
    one = as_json(capsys, "rank", *by_column(folder), "--top", "3")["peripheral"]
    other = as_json(capsys, "rank", *by_file(folder), "--top", "3")["peripheral"]
    assert [row["centrality"] for row in one] == [row["centrality"] for row in other]


def test_vectors_are_never_printed_number_by_number(folder, capsys):
    text = said(capsys, "rank", *by_column(folder), "--top", "2")
    assert "embedding=of 10 numbers" in text
    assert "[" not in text.replace("[0", "")


def test_a_group_may_be_the_context(folder, capsys):
    assert as_json(capsys, "rank", *by_column(folder), "--given", "kind", "--top", "1")["peripheral"][0]["row"] == ODD


@pytest.mark.parametrize("command", [("detect",), ("explain", "--rows", ODD), ("pick", "--odd", 1)])
def test_commands_that_fit_take_them(folder, capsys, command):
    name, *options = command
    assert "r5" in said(capsys, name, *by_file(folder), *options) or name != "pick"


def test_drift_compares_vectors(folder, capsys):
    result = as_json(capsys, "drift", folder / "rows.parquet", *by_column(folder))
    assert not result["changed"]


def test_scores_stand_beside_the_rows_and_vectors_stay_in_their_file(folder, capsys, tmp_path):
    fit = ["--max-steps", "100", "--random-state", "0"]
    said(capsys, "fit", *by_file(folder), *fit, "-o", tmp_path / "m.safetensors")
    said(capsys, "score", tmp_path / "m.safetensors", *by_file(folder), "-o", tmp_path / "scores.csv")
    scores = tables.read(tmp_path / "scores.csv")
    assert scores.column_names == ["id", "kind", "centrality"]
    assert np.argmin(scores["centrality"].to_numpy()) == ODD


def test_a_model_says_which_column_it_reads(folder, model, capsys):
    assert as_json(capsys, "rank", model, *by_column(folder), "--top", "1")["peripheral"][0]["row"] == ODD
    assert "does not read a column 'vectors', but 'embedding': rename the column, or fit again" in refused(
        capsys, "rank", model, *by_file(folder)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("rank", "vectors.npy", "--with", "short.csv"), "holds 200 vectors, but"),
        (("rank", "rows.csv", "--with", "vectors.npy"), "vectors in a .npy or .npz file were wanted beside"),
        (("rank", "rows.parquet", "--vectors", "kind"), "in column 'kind', but it holds string"),
        (("rank", "rows.parquet", "--vectors", "embedding", "--columns", "kind"), "leave out --columns"),
        (("rank", "rows.parquet", "--vectors", "embedding", "--represent", "table"), "leave out --represent"),
        (("score", "m.safetensors", "-", "--with", "rows.csv"), "wants a file of vectors as DATA, .npy or .npz"),
    ],
)
def test_what_does_not_go_is_an_error_of_one_line(folder, model, capsys, options, message):
    places = [folder / o if (folder / o).suffix in (".npy", ".csv", ".parquet", ".safetensors") else o for o in options]
    assert message in refused(capsys, *places)


def test_an_output_never_overwrites_the_rows_of_the_vectors(folder, capsys):
    assert "would be overwritten" in refused(capsys, "rank", *by_file(folder), "-o", folder / "rows.csv")
