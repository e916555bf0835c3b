"""Which rows lie near a row, which pixels make it odd, and which features make odd rows so."""

import numpy as np

from centrality import blend
from centrality.explorer import neighbours
from centrality.explorer.items import items_of
from centrality.explorer.neighbours import NEAREST, neighbours_of
from centrality.explorer.payload import guilty_features, pack, why
from tests.explorer.pages import some_view, unpacked


def test_neighbours_are_those_of_all_pairs_of_distances():
    rng = np.random.default_rng(0)
    vectors, heads = rng.normal(size=(300, 4)), rng.uniform(size=(300, 2))
    found = neighbours_of(vectors, blend(heads, 0.25))(np.array([0, 5, 299]))
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(apart, np.inf)
    f = blend(heads, 0.25)
    typical = np.flatnonzero(f >= np.sort(f)[150])
    for row, near in zip((0, 5, 299), found, strict=True):
        assert near[1:].tolist() == np.argsort(apart[row])[: NEAREST - 1].tolist()
        assert near[0] == typical[np.argmin(apart[row, typical])]


def test_of_too_few_rows_no_neighbours_are_told_and_of_many_a_part_is_compared(monkeypatch):
    rng = np.random.default_rng(0)
    assert neighbours_of(rng.normal(size=(11, 2)), rng.uniform(size=11)) is None
    monkeypatch.setattr(neighbours, "MOST_CANDIDATES", 20)
    vectors = np.arange(100.0)[:, None]
    found = neighbours_of(vectors, np.ones(100))(np.array([51]))[0]
    assert found[1:].tolist() == [50, 55, 45, 60, 40]  # every fifth row is compared with


def test_pixels_are_painted_where_each_is_a_feature():
    def reasons(rows):  # row k: pixel k takes 1 at t = 0, gives 0.5 at t = 1
        out = np.zeros((len(rows), 16, 2))
        out[np.arange(len(rows)), rows % 16] = [-1.0, 0.5]
        return out

    parts = {"features": tuple(f"x{k}" for k in range(16)), "reasons": reasons}
    view = some_view(items=items_of(np.zeros((50, 4, 4)), 50), **parts)
    heat = why(view, 5)["heat"]
    assert (heat["width"], heat["height"]) == (4, 4)
    wanted = np.full(32, 128)
    wanted[[5, 16 + 5]] = [1, 255]  # the most either way, of its own head
    assert heat["values"] == wanted.tolist()
    header, found = unpacked(pack(view, pictures=True, reasons=True))
    rows = found["get"](header["heat"]["rows"]).tolist()
    assert rows == list(range(50))
    np.testing.assert_array_equal(found["get"](header["heat"]["values"]).reshape(50, 32)[5], wanted)
    other = some_view(items=items_of(np.zeros((50, 5, 4)), 50), **parts)  # twenty pixels, sixteen features
    assert "heat" not in why(other, 5)
    assert "heat" not in unpacked(pack(other, pictures=True, reasons=True))[0]


def test_guilty_features_are_those_that_take_most_from_the_odd_rows():
    heads = np.ones((200, 2))
    heads[:50] = 0.01  # the odd rows

    def reasons(rows):
        odd = np.where(rows < 50, -1.0, 1.0)[:, None]
        return np.stack([odd * [0.2, 0.9, 0.0], odd * [0.4, 0.1, 0.0]], axis=2)

    view = some_view(200, heads=heads, features=("a", "b", "c"), reasons=reasons, t=0.5)
    assert guilty_features(view) == ["b", "a"]  # 0.5 and 0.3 on average; c takes nothing
    assert guilty_features(some_view(200, heads=heads, features=("a", "b", "c"), reasons=reasons, t=1.0)) == ["a", "b"]
