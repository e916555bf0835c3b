"""What only a running model answers: scores of rows that hold something else, whole texts, guilty words, two models."""

import base64
import http.client
import io
import json
import re
import threading
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow.csv import write_csv

from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.explorer.content import FULL_SIDE, items_of
from centrality.apps.explorer.payload import pack, readable_picture
from centrality.apps.explorer.questions import way, what_if, whole_texts, words
from centrality.apps.explorer.server import Explorer
from centrality.apps.explorer.view import view_of
from centrality.representations import Table
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
        return np.array([[text.split().count(word) for word in kinds] for text in X], dtype=np.float32)

    def shown(self, X):
        return X


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    # Of different lengths: were all equally long, the counts would be tied, and a text without any of its words be odd.
    rows = [" ".join(rng.choice(["cat", "dog", "sun"], size=rng.integers(4, 9))) for _ in range(200)]
    rows[5] = "cat dog gun gun gun gun sun"
    return Chain(Counted(), FUSE(random_state=0, max_steps=150)).fit(rows), rows


def heads(view, answer):
    """The scores of the units in an answer."""
    return view.mixing.squeeze(np.array(answer["units"]))


def test_a_row_with_other_values_scores_as_the_model_scores_such_a_row(mixed, view):
    model, table = mixed
    found = what_if(view, 7, {"width": 0.3})
    X = np.array([[*(table[name][7].as_py() for name in ("length",)), 0.3, table["height"][7].as_py()]])
    row = pa.table(dict(zip(("length", "width", "height"), X.T, strict=True)))
    assert found["units"] == pytest.approx(model.fitted_.units(X)[0], abs=1e-6)
    assert heads(view, found) == pytest.approx(model.heads(row)[0], abs=1e-6)
    assert what_if(view, 7, {})["units"] == pytest.approx(view.units[7], abs=1e-6)
    assert heads(view, found)[0] > view.heads[7, 0] + 0.1  # its width was what made it odd
    expected = dict(zip(("length", "width", "height"), model.fitted_.contributions(X)[0].T.tolist(), strict=True))
    assert {r["name"]: [r["global"], r["local"]] for r in found["reasons"]} == expected
    for k, head in enumerate(("global", "local")):  # they add up to what lies between the row and its typical point
        change = found["units"][k] - found["typical"][k]
        assert sum(dict(reason)[head] for reason in found["reasons"]) == pytest.approx(change, rel=0.01)


def test_columns_that_the_model_does_not_read_are_not_offered(view):
    assert view.live.columns == ("length", "width", "height")
    header, _ = unpacked(pack(view, pictures=False, reasons=False))
    assert (header["what_if"], header["way"], header["words"]) == (["length", "width", "height"], True, False)
    exported, _ = unpacked(pack(view, pictures=True, reasons=True))
    assert not {"what_if", "way", "words", "whole"} & set(exported)  # nobody would answer


@pytest.mark.parametrize(
    "changes", [{"name": "x"}, {"width": float("inf")}, {"width": [1]}, {"width": None}, [1], "x", None]
)
def test_what_cannot_be_a_value_is_refused_in_words(view, changes):
    with pytest.raises(InputError):
        what_if(view, 7, changes)


def test_the_way_ends_at_values_that_are_more_typical(view):
    steps = way(view, 7, 0.5)
    assert (len(steps), steps[0]) == (21, {})
    widths = [step["width"] for step in steps[1:]]
    assert abs(widths[-1]) < 10 < abs(widths[0]) + 25
    first, last = (heads(view, what_if(view, 7, step)) for step in (steps[0], steps[-1]))
    assert sum(last) > sum(first) + 0.2


def test_values_of_a_table_keep_their_kind():
    rng = np.random.default_rng(0)
    table = pa.table({
        "size": rng.integers(0, 9, 200), "kind": rng.choice(["a", "b", "c"], 200), "on": rng.random(200) < 0.5,
        "day": pa.array(np.datetime64("2020-01-01", "D") + np.arange(200)),
    })  # fmt: skip
    model = Chain(Table(), FUSE(random_state=0, max_steps=60)).fit(table)
    view = view_of(model, table, on="pca")
    assert set(view.live.columns) == set(table.column_names)
    changes = {"size": 2.5, "kind": "b", "on": "True", "day": 1.6e12}
    day = pa.array([1_600_000_000_000], pa.timestamp("ms")).cast(pa.date32(), safe=False)
    row = pa.table({"size": [2.5], "kind": ["b"], "on": [True], "day": day})
    assert heads(view, what_if(view, 3, changes)) == pytest.approx(model.heads(row)[0], abs=1e-6)
    assert way(view, 3, 0.5)[0] == {}


def test_rows_of_plain_numbers_and_texts_can_be_changed_and_pictures_cannot(texts):
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = quick(max_steps=50).fit(X)
    view = view_of(model, X, on="pca")
    assert heads(view, what_if(view, 4, {"x1": 2.0})) == pytest.approx(
        model.heads([[X[4, 0], 2.0, X[4, 2]]])[0], abs=1e-6
    )
    pictures = view_of(model, X, on="pca", columns={"digit": list("0123456789" * 10)})
    assert pictures.live is None  # what is shown is not what the model reads
    chain, rows = texts
    view = view_of(chain, rows, on="pca")
    assert heads(view, what_if(view, 5, {"item": "cat dog sun"})) == pytest.approx(
        chain.heads(["cat dog sun"])[0], abs=1e-6
    )
    assert what_if(view, 5, {"item": "cat"})["reasons"] == []  # the numbers of a text have no names


def test_the_words_without_which_a_text_would_be_more_typical_are_guilty(texts):
    chain, rows = texts
    view = view_of(chain, rows, on="pca")
    answer = words(view, 5)
    found = answer["words"]
    assert list(answer["typical"]) in chain.fitted_.units(chain.fitted_.typical).tolist()
    whole, without = (
        chain.fitted_.units(chain.representation_.transform([text])) for text in (rows[5], rows[5].replace("cat ", ""))
    )
    assert [found[0]["global"], found[0]["local"]] == pytest.approx((whole - without)[0], abs=1e-6)
    assert "".join(word["text"] for word in found) == rows[5]
    guilty = [word["text"].strip() for word in found if word["global"] + word["local"] < 0]
    assert guilty.count("gun") == 4
    assert words(grid(), 5)["words"] == []  # these rows are no texts
    assert unpacked(pack(view, pictures=False, reasons=False))[0]["words"]


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
    status, body = ask('{"ask": "what-if", "row": 7, "given": {"width": 0.3}}')
    assert (status, json.loads(body)) == (200, json.loads(json.dumps(what_if(view, 7, {"width": 0.3}))))
    assert len(json.loads(ask('{"ask": "way", "row": 7, "given": 0.5}')[1])) == 21
    assert json.loads(ask('{"ask": "texts", "row": 7}')[1]) == {"name": "row 7"}
    assert json.loads(ask('{"ask": "words", "row": 7}')[1])["words"] == []


def test_the_server_refuses_what_it_cannot_consider(ask):
    assert ask('{"ask": "what-if", "row": 7, "given": {"name": 3}}') == (
        422,
        b"'name' is no column that the model reads and the page shows.",
    )
    assert ask('{"ask": "way", "row": 7, "given": 7}')[0] == 422
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
