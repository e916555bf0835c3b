"""Where rows lie: at once, better a while later, and from a file the next time."""

import json
import os
import threading
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from centrality._internal.checks import InputError
from centrality.apps.explorer import payload
from centrality.apps.explorer.layout import UmapJob, keep, kept_points, lay_out
from centrality.apps.explorer.server import Explorer
from tests.explorer.pages import some_view


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


NO_TABLE = pa.table({})


@pytest.mark.skipif(find_spec("umap") is None, reason="There is no UMAP: pip install umap-learn.")
def test_who_would_wait_for_umap_gets_pca_and_the_better_map_later(vectors):
    soon = lay_out(vectors, NO_TABLE, "auto", 0, defer_umap=True)
    assert soon.axes == ("PCA 1", "PCA 2")
    assert soon.better_layout is not None
    at_once = lay_out(vectors, NO_TABLE, "pca", 0, defer_umap=True)
    assert at_once.better_layout is None
    assert (at_once.points == soon.points).all()


def test_a_kept_map_is_taken_for_the_same_rows_and_the_same_seed_only(vectors, tmp_path):
    path, points = tmp_path / "rows.map.npz", np.arange(120.0).reshape(60, 2)
    keep(path, vectors, 0, points)
    for soon in (True, False):
        found = lay_out(vectors, NO_TABLE, "umap", 0, defer_umap=soon, map_file=path)
        assert (found.points == points).all()
        assert (found.axes, found.better_layout) == (("UMAP 1", "UMAP 2"), None)
    assert kept_points(path, vectors + 1, 0) is None
    assert kept_points(path, vectors, 1) is None
    assert kept_points(tmp_path / "none.npz", vectors, 0) is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no map"])
def test_a_damaged_file_is_no_map(vectors, tmp_path, content):
    path = tmp_path / "rows.map.npz"
    path.write_bytes(content)
    assert kept_points(path, vectors, 0) is None


def test_a_folder_that_is_not_there_keeps_no_map_and_stops_nothing(vectors, tmp_path):
    keep(tmp_path / "gone" / "rows.map.npz", vectors, 0, np.zeros((60, 2)))
    assert not (tmp_path / "gone").exists()


def test_two_columns_are_a_map_in_their_own_units():
    table = pa.table({"year": np.arange(1900, 1960), "price": np.linspace(1e5, 2e6, 60)})
    scaled = np.random.default_rng(0).normal(size=(60, 2))
    found = lay_out(scaled, table, "auto", 0)
    assert (found.axes, found.own_scales) == (("year", "price"), True)
    assert (found.points == np.column_stack([table["year"], table["price"]])).all()
    gaps = table.set_column(0, "year", pa.array([None, *range(59)]))
    assert lay_out(scaled, gaps, "auto", 0).axes == ("1", "2")  # a gap has a place only as the model sees it


def test_a_map_of_ones_own_has_two_numbers_for_each_row(vectors):
    with pytest.raises(InputError, match="two finite numbers for each of the 60 rows"):
        lay_out(vectors, NO_TABLE, np.zeros((60, 3)), 0)


def test_the_page_is_told_how_far_the_better_map_is_and_then_gets_it(vectors, monkeypatch):
    monkeypatch.setattr(UmapJob, "start", lambda later: None)
    later = UmapJob(vectors[:50], 0, None)
    server = Explorer(some_view(better_layout=later), port=0)
    try:
        later.share = 0.4
        assert json.loads(server.answer("/map")[2]) == {"share": 0.4, "trouble": ""}
        later.points = np.random.default_rng(1).normal(size=(50, 2))
        answer = json.loads(server.answer("/map")[2])
        assert answer["axes"]["names"] == ["UMAP 1", "UMAP 2"]
        assert answer == json.loads(json.dumps(payload.better_map(later.points, later.axes)))
    finally:
        server.server_close()


# UMAP itself takes many seconds to compile: this one takes the first two columns, and shows its progress as UMAP does.
UMAP = """
from tqdm import tqdm

class UMAP:
    def __init__(self, tqdm_kwds, **_):
        self.bar = tqdm_kwds

    def fit_transform(self, Z):
        list(tqdm(range(10), **self.bar))
        return Z[:, :2]
"""


@pytest.mark.slow
def test_the_better_map_is_made_in_another_process_and_kept(vectors, tmp_path, monkeypatch):
    (tmp_path / "umap.py").write_text(UMAP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    path = tmp_path / "rows.map.npz"
    later = UmapJob(vectors, 0, path)
    later.start()
    for thread in threading.enumerate():
        if thread.name.startswith("better map"):
            thread.join()
    assert (later.share, later.trouble) == (1.0, "")
    np.testing.assert_array_equal(later.points, vectors[:, :2])
    assert kept_points(path, vectors, 0) == pytest.approx(later.points, rel=1e-6)  # it is kept as float32


def test_a_better_map_that_cannot_be_made_says_so(vectors, monkeypatch, tmp_path):
    monkeypatch.setattr("centrality.apps.explorer.layout.sys.executable", "/bin/false")
    later = UmapJob(vectors, 0, tmp_path / "rows.map.npz")
    later._make()  # noqa: SLF001  (what its thread does)
    assert later.points is None
    assert "the map stays as it is" in later.trouble
    assert not (tmp_path / "rows.map.npz").exists()


def test_rows_without_a_value_lie_apart_from_all_others_and_the_axis_says_so():
    table = pa.table({"price": [10.0, None, 30.0, 20.0], "size": [1.0, 2.0, 3.0, 4.0]})
    layout = lay_out(np.zeros((4, 2)), table, "price,size", 0)
    assert layout.axes == ("price (gaps at the left)", "size")
    assert layout.points[[0, 2, 3], 0].tolist() == [10.0, 30.0, 20.0]
    assert 10 - 0.1 * 20 < layout.points[1, 0] < 10 - 0.05 * 0.98 * 20
