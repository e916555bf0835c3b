"""Data sets that Hugging Face's `datasets` saved to disk: the files are written by that package itself."""

import json

import numpy as np
import pytest

from centrality import tables
from centrality.apps.cli import main

datasets = pytest.importorskip("datasets")
FEATURES = datasets.Features(
    {
        "text": datasets.Value("string"),
        "kind": datasets.ClassLabel(names=["lamp", "toaster"]),
        "embedding": datasets.List(datasets.Value("float32"), length=8),
    }
)


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 8))
    vectors[5] += 9
    columns = {
        "text": [f"thing {i}" for i in range(200)],
        "kind": [None, *(i % 2 for i in range(1, 200))],
        "embedding": vectors.tolist(),
    }
    data = datasets.Dataset.from_dict(columns, features=FEATURES)
    data.save_to_disk(tmp_path / "one", num_shards=3)
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "two")
    data.select([5, 1]).save_to_disk(tmp_path / "some")
    return tmp_path


def test_its_files_are_one_table_in_their_order_and_class_labels_are_words(saved):
    table = tables.read(saved / "one")
    assert table.column_names == ["text", "kind", "embedding"]
    assert table["text"].to_pylist() == [f"thing {i}" for i in range(200)]
    assert table["kind"].to_pylist()[:3] == [None, "toaster", "lamp"]
    assert len(table["embedding"][0]) == 8


def test_some_rows_that_were_chosen_are_those(saved):
    assert tables.read(saved / "some")["text"].to_pylist() == ["thing 5", "thing 1"]


def test_its_vectors_stand_for_the_rows_in_the_terminal(saved, capsys):
    assert main(["rank", str(saved / "one"), "--vectors", "embedding", "--top", "1", "--json"]) == 0
    (odd,) = json.loads(capsys.readouterr().out)["peripheral"]
    assert odd["row"] == 5
    assert odd["holds"]["kind"] == "toaster"


def test_a_folder_of_several_says_which_there_are(saved):
    with pytest.raises(tables.TableError, match=r"it holds several: 'test', 'train'. Name one, such as .*two.test"):
        tables.read(saved / "two")


def test_a_damaged_description_is_an_error_of_one_line(saved):
    state = saved / "one" / "state.json"
    described = json.loads(state.read_text())
    state.write_text(json.dumps({"_data_files": [{"filename": "../one/data.arrow"}]}))
    with pytest.raises(tables.TableError, match=r"names of .arrow files beside it were wanted, got \['\.\./one"):
        tables.read(saved / "one")
    state.write_text(json.dumps(described | {"_indices_files": [{"filename": "indices.arrow"}]}))
    with pytest.raises(tables.TableError, match="its rows are a choice by index: call flatten_indices"):
        tables.read(saved / "one")
    state.write_text("[]")
    with pytest.raises(tables.TableError, match="an object of JSON was wanted, got list"):
        tables.read(saved / "one")
    state.write_text("{")
    with pytest.raises(tables.TableError, match=r"state.json cannot be read as JSON"):
        tables.read(saved / "one")


def test_a_cut_file_is_an_error(saved):
    path = saved / "some" / "data-00000-of-00001.arrow"
    path.write_bytes(path.read_bytes()[:-700])
    with pytest.raises(tables.TableError, match="cannot be read as a data set that save_to_disk wrote"):
        tables.read(saved / "some")


def test_a_folder_of_lance_says_how_its_rows_come_in(tmp_path):
    (tmp_path / "things.lance").mkdir()
    with pytest.raises(tables.TableError, match=r"lance.dataset\(.*things.lance'\).to_table\(\)"):
        tables.read(tmp_path / "things.lance")
