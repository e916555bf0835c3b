"""The engine computes what torch computes: outputs, slopes, steps of training and whole fits."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from centrality.engine import engine
from centrality.fuse.paper import Algorithm1
from centrality.fuse.torch_trainer import TorchTrainer
from centrality.fuse.train import EPSILON, MEAN_DECAY, SQUARE_DECAY, EngineTrainer, Trainer, bias_corrected
from centrality.network.engine_backend import EngineScorer
from centrality.network.network import Layout
from centrality.network.scaling import Scaling
from centrality.torch.module import TorchScorer
from tests.conftest import quick
from tests.engine.cases import ROWS, Task, gaps, network_of, rows_of, task_of
from tests.pairwise import pairwise
from tests.promise import exact_outputs

pytestmark = pytest.mark.numbers

HIDDEN = [(5,), (20, 33), (64, 64, 64)]
WIDTHS = [1, 2, 17, 100]
layouts_and_backgrounds = pytest.mark.parametrize(
    ("layout", "background"),
    [
        pytest.param(
            Layout(width=width, hidden=hidden, shared=shared, members=members, potentials=potentials),
            background,
            id=f"{'one trunk' if shared else 'two trunks'} {members} {hidden} {width} {potentials} {background}",
        )
        for shared, members, hidden, width, potentials, background in pairwise(
            [True, False], [1, 3], HIDDEN, WIDTHS, [1, 5], [False, True]
        )
    ],
)

"""How close. A sum of m products in float32 is off by at most m u of the sum of their sizes, u = 2^-24 (Higham,
section 3.1); where roundings are as often up as down, by √m u of it. Weights within ±1/√m and rows of about 1 make the
sizes' sum .4 √m, so the first layer is off by .4 m u: 2.4e-6 for 100 columns. Later ones take in at most 64 features,
of less than 1, and shrink what comes by √3; the heads are summed in float64. So 1e-5 is four times what must be
expected. A background's places along its axes are such sums too."""
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-6}


def scorers(layout: Layout, background: bool) -> tuple[EngineScorer, TorchScorer]:
    network = network_of(layout, background=background)
    return EngineScorer(network, engine()), TorchScorer(network, "cpu")


@layouts_and_backgrounds
def test_outputs_are_those_of_torch_and_of_exact_arithmetic(layout, background):
    ours, theirs = scorers(layout, background)
    for n in (1, 5, 32, 100):  # part of a tile, one, more blocks
        z = rows_of(layout.width, n, seed=3)
        found = ours(z)
        assert found.shape == (layout.members, n, 1 + network_of(layout, background=background).potentials)
        np.testing.assert_allclose(found, theirs(z), **CLOSE)
        np.testing.assert_allclose(found, exact_outputs(network_of(layout, background=background), z), **CLOSE)


@layouts_and_backgrounds
def test_outputs_along_lines_and_the_way_back_are_those_of_torch(layout, background):
    ours, theirs = scorers(layout, background)
    rng = np.random.default_rng(4)
    step, at = rows_of(layout.width, 3, seed=5), rng.random((3, 9), dtype=np.float32)
    by = rng.normal(size=(layout.members, 3, 9, 1 + layout.potentials + background)).astype(np.float32)
    for start in (rows_of(layout.width, 3, seed=6), rows_of(layout.width, 1, seed=6)):
        (found, back), (expected, theirs_back) = (each.along(start, step, at) for each in (ours, theirs))
        np.testing.assert_allclose(found, expected, **CLOSE)
        slopes, expected = back(by), theirs_back(by)
        # Derivatives by 9 points and all members' outputs are added up: so much larger, and so much farther off.
        np.testing.assert_allclose(slopes, expected, atol=1e-5 * (1 + np.abs(expected).max()), rtol=0)


def by_name(layout: Layout, learner: Trainer) -> dict[str, list[np.ndarray]]:
    """The values of each parameter and Adam's running means of its gradient and of its square, as float64."""
    arrays, start = {}, 0
    for place, (name, shape) in enumerate(layout.shapes().items()):
        if isinstance(learner, EngineTrainer):
            stop = start + int(np.prod(shape[1:]))
            parts = [whole[:, start:stop] for whole in (learner._weights, learner._mean, learner._square)]
            start = stop
        else:
            assert isinstance(learner, TorchTrainer)
            value = learner._module.state_dict()[name]
            parts = [part.detach().cpu().numpy() for part in (value, learner._means[place], learner._squares[place])]
        arrays[name] = [part.reshape(shape).astype(np.float64) for part in parts]
    return arrays


LEARNING_RATE = 1e-3
RATE = float(bias_corrected(np.array([LEARNING_RATE]))[0])  # of the first step


def assert_alike(layout: Layout, before: dict[str, np.ndarray], ours: Trainer, theirs: Trainer) -> None:
    """After one step: gradients, moments and weights.

    A gradient is a sum over some 50 rows of products down and up the layers, in float32. Where it is nearly nothing,
    Adam's first step, as long as the rate, has a sign by chance; else an error of the gradient moves it by its share.
    No loss feels the projection's bias: the engine knows that, autograd finds some 1e-9 of rounding instead of zero.
    """
    by_engine, by_torch = by_name(layout, ours), by_name(layout, theirs)
    for name, start in before.items():
        value, mean, square = by_engine[name]
        expected, its_mean, _ = by_torch[name]
        largest = np.abs(its_mean).max()
        np.testing.assert_allclose(mean, its_mean, atol=1e-5 * largest + 1e-8, rtol=0, err_msg=name)
        np.testing.assert_allclose(
            square, (1 - SQUARE_DECAY) * (mean / (1 - MEAN_DECAY)) ** 2, rtol=1e-5, atol=1e-30, err_msg=name
        )
        np.testing.assert_allclose(value, start - RATE * mean / (np.sqrt(square) + EPSILON), rtol=1e-6, atol=1e-7)
        # Where their sign is no question: 1e-5 of 1e-2 is off by a thousandth.
        clear = np.abs(its_mean) > max(1e-2 * largest, 1e-8)
        np.testing.assert_allclose(value[clear], expected[clear], rtol=1e-6, atol=1e-3 * RATE, err_msg=name)


def both(layout: Layout, balance: float, **settings: Any) -> list[tuple[Task, Trainer]]:
    tasks = task_of(layout, **settings), task_of(layout, **settings)
    return [
        (tasks[0], tasks[0].engine_trainer(engine(), balance=balance)),
        (tasks[1], tasks[1].torch_trainer(balance=balance)),
    ]


def assert_the_same_step(layout: Layout, **settings: Any) -> None:
    """One step of our schedule, in which both heads have a part."""
    losses, learners, before = [], [], {}
    for task, learner in both(layout, layout.width**-0.5, **settings):
        before = {name: array.astype(np.float64) for name, array in task.network.weights.items()}
        with learner.running(1, progress=False):
            losses.append(learner.take_steps(task.sampler().draw(1), np.array([LEARNING_RATE])))
        learners.append(learner)
    assert losses[0].shape == (1, 2)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    assert_alike(layout, before, *learners)


@layouts_and_backgrounds
def test_a_step_teaches_every_layout_what_torch_trains_it(layout, background):
    assert_the_same_step(layout, background=background)


SETTINGS = ["euclidean", "manhattan", "cosine", "given"], [1, 4], [0.0, 0.1], [False, True]


@pytest.mark.parametrize(("metric", "scheme", "weight_decay", "background", "width"), pairwise(*SETTINGS, [1, 17]))
def test_a_step_by_any_metric_and_scheme_is_torchs(metric, scheme, weight_decay, background, width):
    layout = Layout(width=width, hidden=(20, 33), shared=True, members=2, potentials=5)
    assert_the_same_step(layout, metric=metric, scheme=scheme, weight_decay=weight_decay, background=background)


def take_one(task: Task, learner: Trainer, head: str) -> float:
    """Take the first update of an epoch of Algorithm 1 for this head, and return its loss."""
    scales, noise = task.config.noise_scales, np.random.default_rng(2)
    with learner.running(1, progress=False):
        if head == "local":
            rows = task.rng.integers(ROWS, size=(2, 32))
            epsilon = noise.standard_normal((2, 32, learner.width), dtype=np.float32)
            return learner.local_step(rows, epsilon, scales, LEARNING_RATE)
        algorithm = Algorithm1(scheme=task.config.scheme, T=1, R=1, m=7, b=32, eta=scales, rate=LEARNING_RATE)
        loss, _ = next(algorithm.epoch(learner, ROWS, task.comparison, task.rng, noise))
        assert loss is not None
        return loss


@pytest.mark.parametrize(
    ("metric", "scheme", "weight_decay", "background", "shared"), pairwise(*SETTINGS, [True, False])
)
def test_each_step_of_an_epoch_is_torchs(metric, scheme, weight_decay, background, shared):
    layout = Layout(width=17, hidden=(20, 33), shared=shared, members=2, potentials=5)
    asked = {"metric": metric, "scheme": scheme, "weight_decay": weight_decay, "background": background}
    for head in ("global", "local"):
        losses, learners, before = [], [], {}
        for task, learner in both(layout, 1.0, **asked):
            before = {name: array.astype(np.float64) for name, array in task.network.weights.items()}
            losses.append(take_one(task, learner, head))
            learners.append(learner)
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
        assert losses[0] != 0
        assert_alike(layout, before, *learners)


FITS = {
    "defaults": {},
    "one network": {"ensemble": 1},
    "two trunks": {"shared_encoder": False, "ensemble": 1},
    "one layer": {"hidden": (5,), "noise_scale": 0.5},
    "clean": {"novelty": True},
    "manhattan": {"metric": "manhattan", "weight_decay": 0.01},
    "cosine": {"metric": "cosine", "scheme": 4},
    "a function": {"metric": gaps},
    "epochs": {"epochs": 3, "max_steps": None, "scheme": 1},
}


@pytest.mark.parametrize("kind", FITS)
def test_whole_fits_have_the_same_losses_and_rank_rows_alike(kind, request):
    """The draws are the same; what rounding differs by grows a little from step to step."""
    X = np.random.default_rng(0).normal(size=(300, 5)) + 1
    ours = quick(**FITS[kind]).fit(X)
    request.getfixturevalue("torch_trains")
    theirs = quick(**FITS[kind]).fit(X)
    for head, name in enumerate(("global", "local")):
        np.testing.assert_allclose(ours.history_[name], theirs.history_[name], rtol=2e-3)
        assert spearmanr(ours.heads(X)[:, head], theirs.heads(X)[:, head])[0] > 0.99


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("scaling", ["auto", "standard", "none"])
def test_rows_are_scaled_as_numpy_does_it(scaling, kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(500, 2)), 100 * rng.standard_cauchy(500), 1e6 * rng.normal(size=500)])
    X[0], X[1] = 1e30, -1e30
    X = np.ascontiguousarray(X.astype(kind))
    by = Scaling.fit(X[2:], scaling)
    ours, theirs = scorers(Layout(width=4, hidden=(5,), potentials=2), background=False)
    np.testing.assert_allclose(ours.of_rows(X, by), ours(by.apply(X)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(theirs.of_rows(X, by), theirs(by.apply(X)))
