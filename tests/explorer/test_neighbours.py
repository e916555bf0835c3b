"""Which rows lie near a row, which pixels make it odd, and which features make odd rows so."""

import json

import numpy as np

from centrality import blend
from centrality.apps.explorer.content import items_of
from centrality.apps.explorer.layout import NEAREST, neighbours_of
from centrality.apps.explorer.payload import pack
from centrality.apps.explorer.questions import why
from centrality.apps.explorer.session import MOST_REASONS, RANKED_AT, Explained
from centrality.apps.explorer.view import view_of
from centrality.network.calibration import SOFT
from tests.conftest import quick
from tests.explorer.pages import some_view, told, unpacked


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


def test_of_too_few_rows_no_neighbours_are_told_and_far_from_zero_they_are_right():
    rng = np.random.default_rng(0)
    assert neighbours_of(rng.normal(size=(11, 2)), rng.uniform(size=11)) is None
    vectors = np.arange(100.0)[:, None] + 1e8  # far from zero, where products of numbers round distances away
    found = neighbours_of(vectors, np.ones(100))(np.array([51, 20]))
    assert found[:, 1:].tolist() == [[50, 52, 49, 53, 48], [19, 21, 18, 22, 17]]


def embedded_answers(data: bytes) -> dict[int, dict]:
    """The answers in the bytes of a page, by row."""
    header, found = unpacked(data)
    rows, ends, text = (
        found["get"](place)
        for place in (header["why"]["rows"], header["why"]["answers"]["ends"], header["why"]["answers"]["text"])
    )
    whole = text.tobytes().decode()
    return {row: json.loads(whole[a:b]) for row, a, b in zip(rows.tolist(), [0, *ends[:-1]], ends, strict=True)}


def test_pixels_are_painted_where_each_is_a_feature():
    def reasons(rows):  # row k: pixel k takes 1 globally, gives 0.5 locally
        out = np.zeros((len(rows), 2, 16))
        out[np.arange(len(rows)), :, rows % 16] = [-1.0, 0.5]
        return told(out)

    parts = {"features": tuple(f"x{k}" for k in range(16)), "reasons": reasons}
    view = some_view(items=items_of(np.zeros((50, 4, 4)), 50), **parts)
    heat = why(view, 5)["heat"]
    assert (heat["width"], heat["height"]) == (4, 4)
    wanted = np.zeros(32)
    wanted[[5, 16 + 5]] = [-1.0, 0.5]
    assert heat["values"] == wanted.tolist()
    answers = embedded_answers(pack(view, pictures=True, reasons=True))
    assert sorted(answers) == list(range(50))
    assert answers[5] == json.loads(json.dumps(why(view, 5)))
    other = some_view(items=items_of(np.zeros((50, 5, 4)), 50), **parts)  # twenty pixels, sixteen features
    assert "heat" not in why(other, 5)
    assert "heat" not in embedded_answers(pack(other, pictures=True, reasons=True))[5]


def test_guilty_features_are_those_that_take_most_from_the_odd_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:50, 1] += 12  # these are the odd rows
    model = quick(max_steps=200).fit(X)
    view = view_of(model, X, on="pca")
    odd = np.argsort(view.centrality(view.t))[:50]
    taken = model.explain(X[odd]).clip(max=0).mean(0)
    assert view.main_features[0] == "x1"
    assert view.main_features == tuple(f"x{k}" for k in np.argsort(taken) if taken[k] < 0)


def test_the_first_features_at_every_t_are_told_for_every_row():
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(30, 2, 40)) ** 3
    found = Explained(parts, parts.sum(2) + 1.0, np.ones((30, 2)))
    which = found.strongest(SOFT)
    assert MOST_REASONS < which.shape[1] < 40
    for t in RANKED_AT:
        first = np.argsort(-np.abs(found.at(SOFT, t)), axis=1)[:, :MOST_REASONS]
        assert all(set(known) >= set(wanted) for known, wanted in zip(which, first, strict=True))
