import numpy as np
import pytest

from centrality import FUSE
from centrality.training.rows import Rows
from centrality.training.steps import falling
from tests.conftest import quick


def test_data_larger_than_the_room_is_sampled_anew_while_training(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    monkeypatch.setattr("centrality.fuse.estimator.HELD_VALUES", 6000)
    renewed = []
    renew = Rows.renew
    monkeypatch.setattr(Rows, "renew", lambda rows: (renewed.append(len(rows)), renew(rows)))
    model = FUSE(random_state=0, max_steps=100).fit(X)
    assert set(renewed) == {2000}
    a_step = 2 * 32 + 130  # candidates of both kinds, a quarter of the batch each, and five equal parts of noised rows
    assert len(renewed) >= 100 * a_step // (2 * 2000)  # a sample serves until it was passed over once, or nearly twice
    assert model.centrality(np.zeros((1, 3))) > model.centrality(np.full((1, 3), 4.0))


@pytest.mark.filterwarnings("ignore:The global head has collapsed")  # a few of the paper's steps teach it little
def test_the_budget_of_steps_does_not_grow_with_the_rows(blob):
    for n in (30, 600):
        assert quick(max_steps=40).fit(blob[:n]).history_["step"][-1] == 40
    assert FUSE.as_in_paper("synthetic", max_steps=11).fit(blob).history_["step"][-1] == 11


def test_clean_data_has_a_larger_budget_and_a_network_of_several_a_smaller_one(blob, monkeypatch):
    for name, steps in {"STEPS": 20, "STEPS_OF_EACH": 15, "STEPS_WHEN_CLEAN": 40}.items():
        monkeypatch.setattr(f"centrality.training.plan.{name}", steps)
    kinds = ({"ensemble": 1}, {}, {"novelty": True})
    assert [quick(max_steps=None, **kind).fit(blob).history_["step"][-1] for kind in kinds] == [20, 15, 40]


def test_the_learning_rate_is_constant_for_half_the_steps_and_then_falls_to_zero():
    rates = falling(0.4, 100)
    assert (rates[:51] == 0.4).all()
    assert (np.diff(rates)[50:] < 0).all()
    assert float(rates[75]) == pytest.approx(0.4 / 4)  # half of the way down a parabola
    assert float(rates[99]) == pytest.approx(0.4 * 0.02**2, rel=1e-5)
