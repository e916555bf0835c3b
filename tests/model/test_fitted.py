"""A fitted model is one value: equal by content, locked, and with one scorer."""

import copy
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from centrality import FUSE, load
from centrality.model.interface import with_fitted
from centrality.network.engine_backend import EngineScorer
from tests.conftest import quick

KINDS = {
    "defaults": {},
    "one network, clipped": {"ensemble": 1, "calibration": "clip"},
    "clean": {"novelty": True},
    "held aside": {"holdout": 0.2},
    "the paper's": {"epochs": 1},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, blob) -> FUSE:
    return quick(max_steps=20, **KINDS[request.param]).fit(blob)


def arrays_in(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from arrays_in(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from arrays_in(getattr(value, each.name))


def test_a_fitted_value_equals_its_copy_its_pickle_and_its_saved_and_loaded_self(model, tmp_path):
    fitted = model.fitted_
    model.save(tmp_path / "m.safetensors")
    others = [copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))]
    for other in (*others, load(tmp_path / "m.safetensors").fitted_):
        assert other == fitted
    assert replace(fitted, offset=fitted.offset + 1) != fitted
    weights = dict(fitted.network.weights)
    name = next(iter(weights))
    nudged = replace(fitted.network, weights={**weights, name: np.nextafter(weights[name], np.float32(9))})
    assert replace(fitted, network=nudged) != fitted


def test_two_fits_with_one_seed_are_equal_and_with_another_are_not(blob):
    first, second, other = (quick(max_steps=10, random_state=seed).fit(blob).fitted_ for seed in (0, 0, 1))
    assert first == second
    assert first != other


def test_no_array_of_a_fitted_model_can_be_written_to(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    for fitted in (model.fitted_, load(tmp_path / "m.safetensors").fitted_, pickle.loads(pickle.dumps(model.fitted_))):
        held = [
            array
            for each in fields(fitted)
            if each.name != "remembered"
            for array in arrays_in(getattr(fitted, each.name))
        ]
        assert len(held) > 10
        for array in held:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.fixture
def packed(monkeypatch) -> list[EngineScorer]:
    """Every engine scorer that is made from now on."""
    made: list[EngineScorer] = []
    make = EngineScorer.__init__

    def counted(self, *args, **kwargs):
        made.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(EngineScorer, "__init__", counted)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_packs_one_scorer_of_what_is_kept_and_one_to_bound_it(blob, packed, kind):
    """What a network adds to its background is bounded by what it adds to rows: a scorer without background tells."""
    model = quick(max_steps=5, **KINDS[kind]).fit(blob)
    assert len(packed) == 1 + bool(model.fitted_.network.background)


def test_calibrate_makes_a_new_value_with_the_scorer_it_has(blob, packed):
    model = quick(max_steps=5).fit(blob)
    before, twin = model.fitted_, copy.deepcopy(model.fitted_)
    packed.clear()
    model.calibrate(blob[:50] + 0.1)
    assert model.fitted_ is not before
    assert model.fitted_ != before
    assert before == twin
    assert packed == []


def test_partial_fit_makes_a_new_value_and_packs_as_many_scorers_as_a_fit(blob, packed):
    model = quick(max_steps=5).fit(blob)
    before, twin = model.fitted_, copy.deepcopy(model.fitted_)
    scores = model.heads(blob)
    packed.clear()
    model.partial_fit(blob[:50] + 0.1)
    assert len(packed) == 2
    assert model.fitted_ != before
    assert before == twin
    np.testing.assert_array_equal(with_fitted(model, before).heads(blob), scores)


def test_rows_near_the_largest_float_are_learned_scored_and_explained():
    rows = 4e307 * np.random.default_rng(0).normal(size=(300, 2))
    model = FUSE(random_state=0, max_steps=30).fit(rows)
    scores = model.centrality(rows)
    assert np.isfinite(scores).all()
    assert scores[np.abs(rows).max(1).argmax()] < np.median(scores)
    np.testing.assert_allclose(
        model.explain(rows[:3]).sum(1), scores[:3] - model.centrality(model.center_[None]), atol=1e-3
    )
