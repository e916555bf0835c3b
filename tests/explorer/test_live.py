"""What only a running model answers: scores of rows that hold something else, whole texts, guilty words, two models."""

import base64
import http.client
import io
import json
import re
import shutil
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow.csv import write_csv

from centrality import FUSE, Chain, tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.explorer.content import FULL_SIDE, items_of, row_keys, with_folders
from centrality.apps.explorer.marks import MarksFile, read
from centrality.apps.explorer.payload import pack, readable_picture
from centrality.apps.explorer.questions import answer_to, typical_with, whole_texts, words
from centrality.apps.explorer.server import Explorer
from centrality.apps.explorer.view import view_of
from centrality.findings import check
from centrality.representations import Images, Table
from centrality.representations.base import Representation
from tests.conftest import quick
from tests.explorer.pages import grid, stored_units, unpacked


@pytest.fixture(scope="module")
def view(mixed):
    model, table = mixed
    return view_of(model, table, on="pca")


class Counted(Representation):
    """Texts as how many words of four kinds they hold: as good an encoder as any for what is tested here."""

    kind, spellings, columns_ = "text", ("counted:COLUMN",), None

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        kinds = ("cat", "dog", "sun", "gun")
        return np.array([[str(text).split().count(word) for word in kinds] for text in X], dtype=np.float32)

    def shown(self, X):
        return X

    def describe(self):
        return {"text": "counted words"}


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    # Of different lengths: were all equally long, the counts would be tied, and a text without any of its words be odd.
    rows = [" ".join(rng.choice(["cat", "dog", "sun"], size=rng.integers(4, 9))) for _ in range(200)]
    rows[5] = "cat dog gun gun gun gun sun"
    return Chain(Counted(), FUSE(random_state=0, max_steps=150)).fit(rows), rows


def test_the_fewest_guilty_cells_that_make_a_row_typical_are_found_by_the_model(mixed, view):
    model, table = mixed
    found = typical_with(view, 7, 0.5)
    assert found["columns"] == ["width"]  # its width was what made it odd
    row = table.slice(7, 1).select(["length", "width", "height"])
    changed = row.set_column(1, "width", table["width"].slice(found["like"], 1))
    assert found["units"] == pytest.approx(model.fitted_.units(np.column_stack(list(changed.to_pydict().values())))[0])
    scores = view.centrality(0.5)
    assert model.centrality(changed, 0.5)[0] >= np.quantile(scores, 0.25) > scores[7]


def test_of_a_typical_row_nothing_need_be_changed(view):
    row = int(np.argmax(view.centrality(0.5)))
    assert typical_with(view, row, 0.5)["columns"] == []


def test_columns_that_the_model_does_not_read_are_not_changed(view):
    assert view.live.columns == ("length", "width", "height")
    header, _ = unpacked(pack(view, pictures=False, reasons=False))
    assert (header["typical_with"], header["words"], header["findings"]) == (True, [], "ask")
    exported, _ = unpacked(pack(view, pictures=True, reasons=True))
    assert not {"typical_with", "words", "whole"} & set(exported)  # nobody would answer


def test_values_of_a_table_keep_their_kind():
    rng = np.random.default_rng(0)
    size, kind = rng.normal(size=200), rng.choice(["a", "b"], 200)
    size[3], kind[3] = 40.0, "zzz"
    day = pa.array(np.datetime64("2020-01-01", "D") + np.arange(200))
    table = pa.table({"size": size, "kind": kind, "on": rng.random(200) < 0.5, "day": day})
    model = Chain(Table(), FUSE(random_state=0, max_steps=60)).fit(table)
    view = view_of(model, table, on="pca")
    found = typical_with(view, 3, 0.5)
    assert set(view.live.columns) == set(table.column_names)
    changed = table.slice(3, 1)
    for name in found["columns"]:
        changed = changed.set_column(table.column_names.index(name), name, table[name].slice(found["like"], 1))
    assert view.mixing.squeeze(np.array(found["units"])) == pytest.approx(model.heads(changed)[0], abs=1e-6)


def test_of_pictures_and_texts_no_cells_are_told(texts):
    chain, rows = texts
    with pytest.raises(InputError, match="which cells"):
        typical_with(view_of(chain, rows, on="pca"), 5, 0.5)
    X = np.random.default_rng(0).normal(size=(100, 3))
    pictures = view_of(quick(max_steps=50).fit(X), X, on="pca", columns={"digit": list("0123456789" * 10)})
    assert pictures.live is None  # what is shown is not what the model reads


class Undescribed(Counted):
    """A representation of the user's own that breaks where rows are checked."""

    def describe(self):
        raise RuntimeError("no words")


def test_a_check_that_breaks_does_not_cost_the_reader_the_page(texts, caplog):
    _, rows = texts
    view = view_of(Chain(Undescribed(), FUSE(random_state=0, max_steps=20)).fit(rows), rows, on="pca")
    header, _ = unpacked(pack(view, pictures=True, reasons=True))
    assert header["findings"]["verdict"].startswith("These rows were not checked")
    assert "no words" in caplog.text


def test_findings_are_pythons_to_the_digit_wherever_they_are_asked_for(mixed, view):
    model, table = mixed
    wanted = json.loads(json.dumps(check(table, model=model).as_dict()))
    assert json.loads(json.dumps(answer_to(view, {"ask": "findings"}))) == wanted
    header, _ = unpacked(pack(view, pictures=True, reasons=True))
    assert header["findings"] == wanted


def test_the_words_without_which_a_text_would_be_more_typical_are_guilty(texts):
    chain, rows = texts
    view = view_of(chain, rows, on="pca")
    answer = words(view, 5, "item")
    found = answer["words"]
    assert list(answer["typical"]) in chain.fitted_.units(chain.fitted_.typical).tolist()
    whole, without = (
        chain.fitted_.units(chain.representation_.transform([text])) for text in (rows[5], rows[5].replace("cat ", ""))
    )
    assert [found[0]["global"], found[0]["local"]] == pytest.approx((whole - without)[0], abs=1e-6)
    assert "".join(word["text"] for word in found) == rows[5]
    guilty = [word["text"].strip() for word in found if word["global"] + word["local"] < 0]
    assert guilty.count("gun") == 4
    assert words(grid(), 5, "item")["words"] == []  # these rows are no texts
    assert unpacked(pack(view, pictures=False, reasons=False))[0]["words"]


def test_words_of_a_text_beside_other_columns_are_judged_as_well():
    rng = np.random.default_rng(0)
    said = [" ".join(rng.choice(["sea", "ship", "sail", "shore"], 5)) for _ in range(120)]
    said[7] = "sea ship &lt;b&gt; sail"
    table = pa.table({"size": rng.normal(size=120), "said": [f"{text} {k}" for k, text in enumerate(said)]})
    model = Chain(Table(), quick(max_steps=60)).fit(table)
    view = view_of(model, table, on="pca")
    assert unpacked(pack(view, pictures=False, reasons=False))[0]["words"] == ["said"]
    answer = words(view, 7, "said")["words"]
    assert min(answer, key=lambda word: word["global"] + word["local"])["text"] == "&lt;b&gt; "
    without = table.slice(7, 1).set_column(1, "said", pa.array(["sea ship sail 7"]))
    fall = model.fitted_.units(model.representation_.transform(table.slice(7, 1))) - model.fitted_.units(
        model.representation_.transform(without)
    )
    assert [answer[2]["global"], answer[2]["local"]] == pytest.approx(fall[0], abs=1e-6)


def test_texts_and_pictures_come_in_full_when_asked_for(texts):
    long = [f"{k} " + "word " * 500 for k in range(9)]
    view = grid(items=items_of(long, 9))
    assert len(view.items.texts[3]) == 400
    chain, rows = texts
    X = np.random.default_rng(0).normal(size=(100, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "said": [f"{k} {'so ' * 300}" for k in range(100)]})
    view = view_of(quick(max_steps=20).fit(table.drop_columns(["said"])), table, on="pca")
    assert whole_texts(view, 42) == {"said": table["said"][42].as_py()}
    assert whole_texts(view_of(chain, rows, on="pca"), 5) == {"item": rows[5]}
    photos = grid(items=items_of([np.full((300, 2 * FULL_SIDE), k, dtype=np.uint8) for k in range(9)], 9))

    small, full = (Image.open(io.BytesIO(readable_picture(photos, 3, full=full))) for full in (False, True))
    assert (small.width, full.width) == (96, FULL_SIDE)


def test_another_model_of_the_same_rows_stands_beside(mixed):
    model, table = mixed
    other = quick(max_steps=100, random_state=1).fit(table.drop_columns(["name"]))
    view = view_of(model, table, on="pca", against=other, against_name="other")
    assert view.against.mixing.squeeze(view.against.units) == pytest.approx(
        other.heads(table.drop_columns(["name"])), abs=1e-6
    )
    header, arrays = unpacked(pack(view, pictures=True, reasons=False))
    assert header["against"]["name"] == "other"
    stored = stored_units(arrays["get"](header["against"]["units"]), len(view))
    assert stored == pytest.approx(view.against.units, rel=1e-7)


@pytest.fixture
def ask(view):
    with Explorer(view, port=0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def ask(body: str, path: str = "/ask", **headers: str):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            cookie = {"Cookie": f"{server.cookie}={server.token}"}
            connection.request("PUT", path, body, {**cookie, **headers})
            answer = connection.getresponse()
            with closing(connection):
                return answer.status, answer.read()

        yield ask
        server.shutdown()


def test_the_server_considers_what_the_page_sends(ask, view):
    status, body = ask('{"ask": "typical", "row": 7, "given": 0.5}')
    assert (status, json.loads(body)) == (200, json.loads(json.dumps(typical_with(view, 7, 0.5))))
    assert json.loads(ask('{"ask": "findings"}')[1]) == view.jobs.findings()
    assert json.loads(ask('{"ask": "texts", "row": 7}')[1]) == {"name": "row 7"}
    assert json.loads(ask('{"ask": "words", "row": 7}')[1])["words"] == []


def test_the_server_refuses_what_it_cannot_consider(ask):
    assert ask('{"ask": "typical", "row": 7, "given": 7}')[0] == 422
    for nonsense in ("{", "[" * 100_000, '"why"', '{"ask": ["why"]}', '{"ask": "who", "row": 7}'):
        assert ask(nonsense)[0] == 422
    for row in ("300", "-1", "1.5", "true", '"7"', "null", "9" * 5000):
        assert ask(f'{{"ask": "why", "row": {row}}}')[0] == 422
    why = '{"ask": "why", "row": 7}'
    assert ask(why)[0] == 200
    assert ask(why, "/why/7")[0] == 404
    assert ask(why, **{"Sec-Fetch-Site": "cross-site"})[0] == 404
    assert ask(why, **{"Cookie": ""})[0] == 403
    assert ask(why, **{"Content-Length": "100000001"})[0] == 413


def test_the_command_puts_another_model_beside(mixed, tmp_path, capsys):
    model, table = mixed
    write_csv(table, tmp_path / "t.csv")
    model.save(tmp_path / "first.safetensors")
    quick(max_steps=20).fit(table.drop_columns(["name"])).save(tmp_path / "second.safetensors")
    files = [str(tmp_path / name) for name in ("first.safetensors", "t.csv", "second.safetensors", "page.html")]
    command = ["explore", *files[:2], "--map", "pca", "--against", files[2], "--export"]
    assert main([*command, files[3]]) == 0
    data = re.search(r'id="centrality-data">([^<]+)', (tmp_path / "page.html").read_text()).group(1)
    assert unpacked(base64.b64decode(data))[0]["against"]["name"] == "second"
    assert main([*command, files[2]]) == 2  # never over what is read
    assert "would be overwritten" in capsys.readouterr().err


def test_marks_beside_the_data_are_found_by_row_keys_with_a_model_and_without(mixed, tmp_path):
    model, table = mixed
    write_csv(table, tmp_path / "t.csv")
    model.save(tmp_path / "m.safetensors")
    key = row_keys(tables.read(tmp_path / "t.csv"))[7]
    MarksFile(tmp_path / "t.marks.csv").take({"key": key, "row": 0, "mark": "outlier"})
    data, saved, page = (str(tmp_path / name) for name in ("t.csv", "m.safetensors", "page.html"))
    for command in ([saved, data], [data, "--save", str(tmp_path / "fresh.safetensors")]):
        assert main(["explore", *command, "--map", "pca", "--export", page]) == 0
        text = Path(page).read_text()
        header, parts = unpacked(base64.b64decode(re.search(r'id="centrality-data">([^<]+)', text).group(1)))
        ends, keys = (parts["get"](header["keys"][part]) for part in ("ends", "text"))
        assert bytes(keys[ends[6] : ends[7]]).decode() == key
        assert [mark["key"] for mark in read(page)] == [key]


def test_the_folder_that_a_picture_lies_in_is_a_column(tmp_path):
    for folder in ("bird", "cat"):
        (tmp_path / folder).mkdir()
        for k in range(12):
            grey = np.random.default_rng(k).integers(0, 255, (6, 6)).astype(np.uint8)
            Image.fromarray(grey).save(tmp_path / folder / f"{k}.png")
    table = tables.read(tmp_path)
    model = Chain(Images("gradients"), quick(max_steps=20)).fit(table["path"].to_pylist())
    view = view_of(model, table, on="pca")
    (column,) = (one for one in view.columns if one.name == "folder")
    assert column.levels == ("bird", "cat")
    assert np.bincount(column.values).tolist() == [0, 12, 12]
    assert with_folders(table.slice(0, 5), "path").column_names == ["path"]  # all in one: it says nothing
    shutil.copytree(tmp_path, tmp_path.with_name("moved"))
    moved = view_of(model, tables.read(tmp_path.with_name("moved")), on="pca")
    assert list(moved.keys) == list(view.keys)  # marks find their pictures again
