"""Numbers and shapes at the edge, and input that does not fit: a result or an error, never a crash."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centrality.engine import engine
from centrality.fuse.train import EPSILON, MEAN_DECAY, SQUARE_DECAY
from centrality.network.engine_backend import EngineScorer
from centrality.network.network import LOWEST, Layout
from tests.engine.cases import BUILDS, background_for, network_of

ODD = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e-45, 1e30, -1e30, 3e38, 7.5, np.float32(np.pi)]
numbers = st.sampled_from(ODD)
layouts = st.builds(
    Layout,
    width=st.sampled_from([1, 2, 15, 16, 17, 33]),
    hidden=st.lists(st.sampled_from([1, 2, 5, 16, 17, 31]), min_size=1, max_size=3).map(tuple),
    shared=st.booleans(),
    members=st.integers(1, 3),
    potentials=st.sampled_from([1, 2, 5]),
)
WRONG = (TypeError, ValueError, OverflowError, MemoryError)


def odd_array(draw: Any, *shape: int) -> np.ndarray:
    """Mostly ordinary numbers, some odd ones among them, or nothing but one odd number."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    array = rng.normal(size=shape).astype(np.float32)
    for value in draw(st.lists(numbers, max_size=3)):
        array[rng.random(shape) < 0.2] = value
    if draw(st.booleans()):
        array[:1] = draw(numbers)
    return array


@settings(max_examples=75)
@given(st.data(), layouts, st.integers(0, 100), st.booleans())
def test_odd_numbers_and_shapes_score_the_same_bits_alone_and_together(data, layout, n, background):
    scorer = EngineScorer(network_of(layout, background=background), engine())
    z = odd_array(data.draw, n, layout.width)
    found = scorer(z)
    assert found.shape == (layout.members, n, 1 + layout.potentials + background)
    usual = np.abs(z).max(1, initial=0) < 1e3
    assert np.isfinite(found[:, usual]).all()
    for i in range(min(n, 5)):
        np.testing.assert_array_equal(scorer(z[i : i + 1])[:, 0], found[:, i])
    np.testing.assert_array_equal(scorer(z[::-1])[:, ::-1], found)
    s = data.draw(st.integers(0, 5))
    at = odd_array(data.draw, n, s)
    outputs, back = scorer.along(z, z, at)
    assert outputs.shape == (layout.members, n, s, 1 + layout.potentials + background)
    slopes = back(outputs.astype(np.float32))
    assert slopes.shape == z.shape
    if s == 0:
        np.testing.assert_array_equal(slopes, 0)


def test_minus_zero_scores_as_zero_does():
    layout = Layout(width=3, hidden=(5,), potentials=2)
    scorer = EngineScorer(network_of(layout, background=True), engine())
    np.testing.assert_array_equal(*(scorer(np.full((2, 3), zero, dtype=np.float32)) for zero in (0.0, -0.0)))


WIDTH, HIDDEN, POTENTIALS, B, R, M, STEPS, N = 3, [5, 4], 2, 4, 6, 7, 2, 20
PARAMETERS = (3 + 1) * 5 + (5 + 1) * 4 + (4 + 1) * 4 + (4 + 1) + (4 + 1) * 2


def job(draw: Any = None, **changes: Any) -> dict[str, Any]:
    """A job of training that fits together."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32) if draw is None else odd_array(draw, *shape)

    return {
        "values": normal(PARAMETERS),
        "mean": np.zeros(PARAMETERS, dtype=np.float32),
        "square": np.zeros(PARAMETERS, dtype=np.float32),
        "hidden": HIDDEN,
        "trunks": 1,
        "rows": normal(N, WIDTH),
        "vectors": normal(N, WIDTH),
        "metric": "euclidean",
        "tie": 1e-6,
        "positions": rng.integers(N, size=(STEPS, 2 * B + R + M)),
        "noise": normal(STEPS, R, WIDTH),
        "preferred": None,
        "candidates": B,
        "opponents": 2,
        "potentials": POTENTIALS,
        "eta": np.full(R, 0.5, dtype=np.float32),
        "weight": np.ones(R, dtype=np.float32),
        "learned": np.ones(WIDTH, dtype=np.float32),
        "balance": 1.0,
        "weight_decay": 0.0,
        "mean_decay": MEAN_DECAY,
        "square_decay": SQUARE_DECAY,
        "smallest_root": EPSILON,
        "rates": np.full(STEPS, 1e-3, dtype=np.float32),
        "losses": np.zeros((STEPS, 2), dtype=np.float32),
        "background": None,
        "member": 0,
        "heads": "both",
    } | changes


def test_the_job_as_it_is_works():
    asked = job()
    before = asked["values"].copy()
    engine().train(**asked)
    assert (asked["losses"] > 0).all()
    assert (asked["values"] != before).mean() > 0.9  # all but the projection's bias, which no loss feels


def a_background(width: int, potentials: int) -> object:
    return engine().Background(*background_for(width, potentials).values(), LOWEST)


def at(place: tuple[int, ...], value: float) -> Any:
    return lambda array: np.asarray(np.where(_mask(array.shape, place), value, array), dtype=array.dtype)


def _mask(shape: tuple[int, ...], place: tuple[int, ...]) -> np.ndarray:
    mask = np.zeros(shape, dtype=bool)
    mask[place] = True
    return mask


VERY_WIDE = lambda a: np.empty((0, 2**59), dtype=a.dtype)  # noqa: E731  (no memory: there are no rows)
MISFITS: dict[str, dict[str, Any]] = {
    "no rows of very many columns": {"rows": VERY_WIDE, "vectors": VERY_WIDE},
    "a position below": {"positions": at((1, 3), -1)},
    "a position beyond": {"positions": at((0, 0), N)},
    "a position far beyond": {"positions": at((1, -1), 2**62)},
    "positions in int32": {"positions": lambda a: a.astype(np.int32)},
    "too few positions": {"positions": lambda a: a[:, : 2 * B + R - 1].copy()},
    "no anchors": {"positions": lambda a: a[:, : 2 * B + R].copy()},
    "fewer steps of noise": {"noise": lambda a: a[:1].copy()},
    "narrow noise": {"noise": lambda a: a[:, :, :2].copy()},
    "noise in float64": {"noise": lambda a: a.astype(np.float64)},
    "flat noise": {"noise": lambda a: a.reshape(STEPS, -1)},
    "rows in another order": {"rows": np.asfortranarray},
    "every other row": {"rows": lambda a: np.repeat(a, 2, axis=0)[::2]},
    "rows without columns": {"rows": lambda a: a[:, :0].copy(), "vectors": lambda a: a[:, :0].copy()},
    "fewer vectors": {"vectors": lambda a: a[:-1].copy()},
    "wider vectors": {"vectors": lambda a: np.tile(a, 2)},
    "no rows": {"rows": lambda a: a[:0].copy(), "vectors": lambda a: a[:0].copy()},
    "fewer parameters": {"values": lambda a: a[:-1].copy()},
    "parameters that cannot be changed": {"values": lambda a: np.frombuffer(a.tobytes(), dtype=np.float32)},
    "fewer moments": {"square": lambda a: a[:-1].copy()},
    "other layers": {"hidden": lambda _: [5, 5]},
    "no layers": {"hidden": lambda _: []},
    "a layer without units": {"hidden": lambda _: [5, 0]},
    "a layer of negative width": {"hidden": lambda _: [5, -4]},
    "a layer as wide as a number can be": {"hidden": lambda _: [2**63 - 1, 4]},
    "three trunks": {"trunks": lambda _: 3},
    "no potentials": {"potentials": lambda _: 0},
    "very many potentials": {"potentials": lambda _: 2**62},
    "negative candidates": {"candidates": lambda _: -1},
    "more candidates than positions": {"candidates": lambda _: 2**63 - 1},
    "candidates that overflow": {"candidates": lambda _: 2**62},
    "more opponents than candidates": {"opponents": lambda _: B + 1},
    "no opponents": {"opponents": lambda _: 0},
    "an unknown metric": {"metric": lambda _: "chebyshev"},
    "preferences of other pairs": {"preferred": lambda _: np.zeros((STEPS, 2, B + 1), dtype=np.float32)},
    "preferences of fewer steps": {"preferred": lambda _: np.zeros((1, 2, B), dtype=np.float32)},
    "fewer scales": {"eta": lambda a: a[:-1].copy()},
    "fewer weights": {"weight": lambda a: a[:-1].copy()},
    "fewer columns that are learned": {"learned": lambda a: a[:-1].copy()},
    "no column that is learned": {"learned": np.zeros_like},
    "fewer rates": {"rates": lambda a: a[:-1].copy()},
    "losses of one head": {"losses": lambda a: a[:, :1].copy()},
    "losses in float64": {"losses": lambda a: a.astype(np.float64)},
    "a wider background": {"background": lambda _: a_background(WIDTH + 1, POTENTIALS)},
    "a background of other scales": {"background": lambda _: a_background(WIDTH, POTENTIALS + 1)},
    "a member without a background": {
        "background": lambda _: a_background(WIDTH, POTENTIALS),
        "member": lambda _: 1,
    },
    "a background that is none": {"background": lambda _: "background"},
    "one head of a trunk for both": {"heads": lambda _: "local"},
    "heads that there are not": {"heads": lambda _: "left"},
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", MISFITS)
def test_a_job_that_does_not_fit_together_is_an_error_and_changes_nothing(build, kind):
    asked = job()
    for name, change in MISFITS[kind].items():
        asked[name] = change(asked[name])
    before = np.array(asked["values"])
    with pytest.raises(WRONG):
        BUILDS[build].train(**asked)
    np.testing.assert_array_equal(asked["values"], before)


def test_a_job_without_one_of_its_parts_is_an_error():
    for name in job():
        asked = job()
        del asked[name]
        with pytest.raises(TypeError):
            engine().train(**asked)


@pytest.mark.parametrize("build", BUILDS)
def test_a_neighbour_that_rows_do_not_have_is_an_error_and_copies_are_at_no_distance(build):
    rows = np.zeros((4, 3), dtype=np.float32)
    for wrong in ((rows, 4), (rows, 0), (rows, -1), (rows[:0], 1), (rows.astype(float), 1)):
        with pytest.raises(WRONG):
            BUILDS[build].neighbour_distances(*wrong)
    assert (BUILDS[build].neighbour_distances(rows, 3) == 0).all()


@pytest.mark.parametrize("build", BUILDS)
def test_groups_that_cannot_be_are_an_error_and_rows_without_a_number_end(build):
    rows, centres, drawn = np.zeros((4, 3), dtype=np.float32), np.zeros((2, 3)), np.full((2, 1), 0.5)
    for wrong in (
        (rows, 4, drawn),
        (rows, -1, drawn),
        (rows[:0], 0, drawn),
        (rows, 0, drawn[:, :0]),
        (centres, 0, drawn),
    ):
        with pytest.raises(WRONG):
            BUILDS[build].far_apart(*wrong)
    for also in ((rows, centres[:, :2].copy(), 1), (rows, centres[:0], 1), (rows, centres, -1), (centres, centres, 1)):
        with pytest.raises(WRONG):
            BUILDS[build].k_means(*also)
    assert set(BUILDS[build].k_means(np.full_like(rows, np.nan), centres, 3)) <= {0, 1}
    assert set(BUILDS[build].far_apart(np.full_like(rows, np.nan), 0, drawn)) <= {0, 1, 2, 3}


@settings(max_examples=75)
@given(st.data(), st.sampled_from(["euclidean", "manhattan"]), st.booleans(), st.sampled_from([B, 1, 0]))
def test_odd_numbers_train_to_something_and_rows_stay_as_they_are(data, metric, background, candidates):
    asked = job(data.draw, metric=metric, candidates=candidates, opponents=min(1, candidates))
    if background:
        asked["background"] = a_background(WIDTH, POTENTIALS)
    kept = {name: np.array(asked[name]) for name in ("rows", "vectors", "positions", "noise", "eta", "rates")}
    engine().train(**asked)
    assert (asked["losses"][:, 0] == 0).all() == (candidates == 0)
    for name, array in kept.items():
        np.testing.assert_array_equal(asked[name], array)


ANYTHING = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-1, 0, 1, 2, 2**31, 2**62, 2**63 - 1]),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-3, 70), max_size=4),
    st.tuples(
        st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.uint8, np.complex64, object]),
        st.lists(st.sampled_from([0, 1, 2, 3, 6, 20, PARAMETERS]), max_size=4),
    ).map(lambda made: np.zeros(made[1], dtype=made[0])),
)


@pytest.mark.slow
@settings(max_examples=250)
@given(st.sampled_from(sorted(job())), ANYTHING)
def test_anything_in_place_of_a_part_is_an_error_or_fits(name, value):
    asked = job(**{name: value})
    with suppress(*WRONG):
        engine().train(**asked)
        assert asked["losses"].dtype == asked["values"].dtype == np.float32  # else they were left as they were


LAYERS = [(np.zeros((5, 3), dtype=np.float32), np.zeros(5, dtype=np.float32))]
HEAD = np.zeros((2, 5)), np.zeros(2)


@pytest.mark.parametrize(
    "members",
    [
        [],
        [[]],
        [[([], HEAD)]],
        [[(LAYERS * 2, HEAD)]],
        [[(LAYERS, (np.zeros((2, 4)), np.zeros(2)))]],
        [[(LAYERS, (np.zeros((2, 5)), np.zeros(3)))]],
        [[(LAYERS, (np.zeros((2, 5), dtype=np.float32), np.zeros(2)))]],
        [[([(LAYERS[0][0], np.zeros(4, dtype=np.float32))], HEAD)]],
        [[(LAYERS, HEAD)], [(LAYERS, (np.zeros((3, 5)), np.zeros(3)))]],
        "network",
        None,
    ],
    ids=range(11),
)
def test_layers_that_do_not_fit_make_no_network(members):
    for build in BUILDS.values():
        with pytest.raises(WRONG):
            build.Model(members, None)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((4, 2), dtype=np.float32),
        np.zeros(3, dtype=np.float32),
        np.zeros((1, 4, 3), dtype=np.float32),
        np.zeros((4, 3), dtype=np.float16),
        np.zeros((4, 3), dtype=np.int64),
        np.zeros((4, 6), dtype=np.float32)[:, ::2],
        np.zeros((4, 3), dtype=object),
        [[0.0, 0.0, 0.0]],
        None,
    ],
    ids=range(9),
)
def test_rows_that_do_not_fit_are_an_error(rows):
    model = engine().Model([[(LAYERS, HEAD)]], None)
    with pytest.raises(WRONG):
        model.outputs(rows, None)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("build", BUILDS)
def test_derivatives_are_slopes_of_the_outputs_and_zero_where_there_are_no_points(build, background):
    layout = Layout(width=3, hidden=(8, 6), potentials=2, members=2)
    scorer, rng = EngineScorer(network_of(layout, background=background), BUILDS[build]), np.random.default_rng(0)
    start, step, at_ = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 3), (4, 3), (4, 5)))
    outputs, back = scorer.along(start, step, at_)
    by = rng.normal(size=outputs.shape).astype(np.float32)
    moves = 2.0**-6 * np.eye(3, dtype=np.float32)
    above, below = (
        np.array([(by * scorer.along(start + sign * move, step, at_)[0]).sum((0, 2, 3)) for move in moves])
        for sign in (1, -1)
    )
    slopes = (above - below).T / 2.0**-5
    np.testing.assert_allclose(back(by), slopes, rtol=0.01, atol=0.01 * np.abs(slopes).max())
    nowhere, back = scorer.along(start, step, at_[:, :0])
    assert nowhere.shape == (2, 4, 0, 1 + layout.potentials + background)
    for _ in range(3):  # memory that somebody else has written to
        np.testing.assert_array_equal(back(nowhere.astype(np.float32)), np.zeros((4, 3)))


def test_lines_and_derivatives_that_do_not_fit_are_an_error():
    model: Any = engine().Model([[(LAYERS, HEAD)]], None)
    start, at_, by = (np.zeros(shape, dtype=np.float32) for shape in ((4, 3), (4, 2), (1, 4, 2, 2)))
    assert model.back(start, start, at_, by).shape == (4, 3)
    for wrong in (
        (start[:3], start, at_),
        (start, start[:, :2].copy(), at_),
        (start, start, at_[:3]),
        (start, start, start[0]),
    ):
        with pytest.raises(WRONG):
            model.along(*wrong)
        with pytest.raises(WRONG):
            model.back(*wrong, by)
    for wrong_by in (
        by[:, :3].copy(),
        by[:, :, :1].copy(),
        by[..., :1].copy(),
        by[0],
        by.astype(np.float64),
        np.tile(by, (2, 1, 1, 1)),
    ):
        with pytest.raises(WRONG):
            model.back(start, start, at_, wrong_by)


def test_a_scaling_that_does_not_fit_is_an_error():
    found = engine()
    model, rows = found.Model([[(LAYERS, HEAD)]], None), np.zeros((4, 3))
    wide = np.ones(3)
    model.outputs(rows, found.Scaling(wide, wide, None, None, None, 10.0, 1e15))
    ends = np.ones((2, 3))
    model.outputs(rows, found.Scaling(wide, wide, None, ends, ends, 10.0, 1e15))
    for parts in (
        (wide[:2], wide, None, None, None),
        (wide, wide, wide[:2], None, None),
        (wide, wide, None, ends, None),
        (wide, wide, None, ends, ends[:1]),
        (wide, wide, None, np.ones((2, 2)), np.ones((2, 2))),
    ):
        with pytest.raises(WRONG):
            model.outputs(rows, found.Scaling(*parts, 10.0, 1e15))
