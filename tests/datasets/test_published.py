"""Published data sets: where they are looked for, and that nothing wrong passes."""

import gzip
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

from centrality import datasets, tables
from centrality.datasets import published
from centrality.datasets.published import SETS, Published, digest

X = np.arange(6.0).reshape(3, 2)


def as_published(parts):
    with np.load(parts[0]) as archive:
        return {"X": archive["X"] + 1}


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A real server with one raw file, from which the set "three" is made by adding 1; nothing else is known."""
    (tmp_path / "web").mkdir()
    np.savez(tmp_path / "web" / "raw.npz", X=X - 1)
    np.savez(tmp_path / "wanted.npz", X=X)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path / "web"))

        def log_message(self, *_):
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CENTRALITY_DATA", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])  # seconds until it hears of its end
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/raw.npz"
        known = Published("few/three.npz", digest(tmp_path / "wanted.npz"), "counted by hand", (url,), as_published)
        monkeypatch.setitem(SETS, "three", known)
        yield tmp_path
        server.shutdown()
        thread.join()


def values(path):
    with np.load(path) as archive:
        return archive["X"]


def test_a_set_is_downloaded_made_and_kept_in_the_cache(web):
    path = datasets.fetch("three")
    assert path == web / "cache" / "centrality" / "few" / "three.npz"
    np.testing.assert_array_equal(values(path), X)
    (web / "web" / "raw.npz").unlink()
    assert datasets.fetch("three") == path  # from the cache: the source is gone


def test_the_data_folder_comes_before_the_cache(web, monkeypatch):
    datasets.fetch("three")
    (web / "mine" / "few").mkdir(parents=True)
    np.savez_compressed(web / "mine" / "few" / "three.npz", X=X)  # other bytes, the same content
    monkeypatch.setenv("CENTRALITY_DATA", str(web / "mine"))
    assert datasets.fetch("three") == web / "mine" / "few" / "three.npz"


def test_a_changed_file_is_an_error_that_names_it(web):
    path = datasets.fetch("three")
    np.savez(path, X=X.astype(np.float32))
    with pytest.raises(ValueError, match=r"three\.npz is not the data set three as published: its checksum differs"):
        datasets.fetch("three")
    path.write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match=r"three\.npz cannot be read as \.npz"):
        datasets.fetch("three")


def test_another_file_at_the_source_is_refused_and_not_kept(web):
    np.savez(web / "web" / "raw.npz", X=X)
    with pytest.raises(ValueError, match=r"raw\.npz offers is not the data set three: its checksum differs"):
        datasets.fetch("three")
    assert not list((web / "cache").rglob("*.npz"))
    np.savez(web / "web" / "raw.npz", X=X - 1)
    np.testing.assert_array_equal(values(datasets.fetch("three")), X)  # put right, it is fetched anew


def test_a_missing_set_says_where_it_comes_from(web, monkeypatch):
    (web / "web" / "raw.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"three \(counted by hand\) is neither in .*raw\.npz: .*404"):
        datasets.fetch("three")
    monkeypatch.setitem(SETS, "three", Published("few/three.npz", "", "counted by hand"))
    with pytest.raises(
        FileNotFoundError, match=r"not offered for download. It is counted by hand; put it at .*few/thr"
    ):
        datasets.fetch("three")
    with pytest.raises(ValueError, match=r"no data set called 'nonesuch'; there are: breastw"):
        datasets.fetch("nonesuch")


def test_a_name_is_as_good_as_a_file(web):
    table = tables.read("three")
    assert table.column_names == ["x0", "x1"]
    np.testing.assert_array_equal(tables.numbers(table), X)


def test_the_digest_feels_names_types_shapes_and_values(tmp_path):
    def of(**arrays):
        np.savez(tmp_path / "a.npz", **arrays)
        return digest(tmp_path / "a.npz")

    first = of(X=X, y=[1, 2])
    assert of(y=[1, 2], X=X) == first  # the order in the file does not matter
    others = [of(X=X), of(Z=X, y=[1, 2]), of(X=X.T, y=[1, 2]), of(X=X + 1e-12, y=[1, 2]), of(X=X, y=[1.0, 2.0])]
    assert len({first, *others}) == 6


def built(name: str, *parts: Path) -> dict[str, np.ndarray]:
    """The arrays that are made of a set's raw files."""
    build = SETS[name].build
    assert build is not None
    return build(list(parts))


def test_raw_files_become_arrays(tmp_path):
    pixels, labels = tmp_path / "pixels.gz", tmp_path / "labels.gz"
    image = np.arange(2 * 784, dtype=np.uint64).astype(np.uint8)
    pixels.write_bytes(gzip.compress(bytes(16) + image.tobytes()))
    labels.write_bytes(gzip.compress(bytes(8) + bytes([7, 2])))
    digits = built("mnist", pixels, labels)
    np.testing.assert_array_equal(digits["X"], image.reshape(2, 28, 28))
    np.testing.assert_array_equal(digits["y"], [7, 2])
    for split in ("train", "test"):
        (tmp_path / split).write_text("-1\t0.5\t2\n1\t3\t4\n")
    series = built("forda", tmp_path / "train", tmp_path / "test")
    np.testing.assert_array_equal(series["X_test"], [[0.5, 2], [3, 4]])
    np.testing.assert_array_equal(series["y_train"], [-1, 1])
    np.savez(tmp_path / "outliers.npz", X=np.array([[1, 2], [3, 4]], dtype=np.int16), y=np.array([[0.0], [1.0]]))
    for name, number, label in (("breastw", np.float64, np.uint8), ("cifar10_resnet18", np.float32, np.int64)):
        made = built(name, tmp_path / "outliers.npz")
        assert made["X"].dtype == number
        assert made["y"].dtype == label
        np.testing.assert_array_equal(made["X"], [[1, 2], [3, 4]])
        np.testing.assert_array_equal(made["y"], [0, 1])


@pytest.mark.data
@pytest.mark.parametrize("name", datasets.names())
def test_every_set_in_the_data_folder_is_as_published(data, name):
    assert datasets.fetch(name) == data / SETS[name].path
    if SETS[name].path.endswith(".gz"):
        with pytest.raises(ValueError, match="holds text"):
            published.rows(name)
        return
    rows = published.rows(name)
    assert rows.ndim == 2
    assert np.isfinite(rows).all()
