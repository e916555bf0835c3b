"""`PaperFUSE`, trained by the engine, is the paper's method as `algorithm.py` writes it down, number by number.

Both draw from the same seeds in the same order, so that nothing but rounding may differ.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from centrality import FUSE, PaperFUSE
from tests.reference import algorithm

pytestmark = pytest.mark.numbers

# 23 rows: thirds of 7 with 9 anchors, and batches of 16 that the last one of a pass does not fill. Multiples of 1/16 of
# up to 4: all squared distances are exact in float32, so that rounding decides no comparison; some are exact ties,
# which count against the first row of the pair, as printed.
N, P, WIDTH = 23, 3, 32
X = np.round(16 * np.random.default_rng(0).normal(size=(N, P))) / 16
PAPER: dict[str, Any] = {"R": 4, "eta": 0.7, "m": 5, "b": 16, "rate": 1e-3}
T = {1: 6, 2: 5, 3: 5, 4: 2}  # epochs of each scheme
UPDATES = {1: 54, 2: 60, 3: 60, 4: 80}  # 1, 4, 4 or 32 batches of pairs an epoch, and 4 passes of 2 batches of rows

# A weight below 1 is rounded to float32 in each update, by at most 2^-25: together by no more than this. The gradient's
# own rounding, relative to it some 1e-7, moves a weight by that share of the rate: less by orders of magnitude.
ROUNDED = {scheme: updates * 2.0**-25 for scheme, updates in UPDATES.items()}
LOSSES = 1e-5  # relative: the engine adds up to 48 numbers in float32
SCORES = 1e-5  # what is promised of scores in [0, 1] (tests/promise.py)


@cache
def paper_fuse(scheme: int) -> PaperFUSE:
    words = {"resamples": PAPER["R"], "noise_scale": PAPER["eta"], "anchors": PAPER["m"], "batch_size": PAPER["b"]}
    model = FUSE.as_in_paper("synthetic", scheme=scheme, epochs=T[scheme], literal=True, random_state=0, **words)
    return model.fit(X)


@cache
def reference(scheme: int, **changes: Any) -> tuple[algorithm.Heads, list[tuple[float, float]]]:
    """Networks trained by the paper, and their losses. PaperFUSE's three generators have these seeds."""
    seed = int(np.random.RandomState(0).randint(2**31))
    rng, start, noise = (np.random.default_rng(seed + more) for more in range(3))
    theta = algorithm.Heads(P, WIDTH, start)
    options = {"scheme": scheme, "T": T[scheme]} | PAPER | changes
    return theta, algorithm.train(theta, torch.from_numpy(X), rng=rng, noise=noise, **options)


def scores(theta: algorithm.Heads) -> torch.Tensor:  # (n, 2)
    x = torch.from_numpy(X)
    return algorithm.heads(theta, x, *algorithm.calibration_quantiles(theta, x))


def largest_difference_of_weights(model: PaperFUSE, theta: algorithm.Heads) -> float:
    pairs = zip(model.fitted_.network.weights.values(), theta.parameters(), strict=True)
    return max(float(np.abs(weights[0] - weight.detach().numpy()).max()) for weights, weight in pairs)


@pytest.mark.parametrize("scheme", T)
def test_after_fifty_updates_and_more_by_any_scheme_the_weights_are_the_papers(scheme):
    assert paper_fuse(scheme).history_["step"][-1] == UPDATES[scheme]
    assert largest_difference_of_weights(paper_fuse(scheme), reference(scheme)[0]) <= ROUNDED[scheme]


@pytest.mark.parametrize("scheme", T)
def test_the_losses_of_every_epoch_are_the_papers(scheme):
    history = paper_fuse(scheme).history_
    np.testing.assert_allclose(
        np.column_stack([history["global"], history["local"]]), reference(scheme)[1], rtol=LOSSES
    )


@pytest.mark.parametrize("scheme", T)
def test_heads_and_their_mixtures_are_the_papers_at_every_t(scheme):
    model, expected = paper_fuse(scheme), scores(reference(scheme)[0])
    np.testing.assert_allclose(model.heads(X), expected, atol=SCORES, rtol=0)
    for t in (0, 0.3, 0.5, 1):
        np.testing.assert_allclose(model.centrality(X, t), algorithm.f(expected, t), atol=SCORES, rtol=0)


@pytest.mark.parametrize(
    "other",
    [
        {"R": 3},
        {"eta": 0.71},
        {"m": 4},
        {"b": 15},
        {"rate": 1.01e-3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_tolerance_is_too_narrow_for_anything_but_rounding(other):
    """Each number of the paper is in these weights: with another, even a slightly other one, they are far away."""
    changed, _ = reference(1, **other)
    assert largest_difference_of_weights(paper_fuse(1), changed) > 50 * ROUNDED[1]


def test_the_reference_reads_on_fewer_than_two_hundred_lines_and_imports_nothing_of_ours():
    lines = Path(algorithm.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 200
    assert not [line for line in lines if "import" in line and "centrality" in line]
