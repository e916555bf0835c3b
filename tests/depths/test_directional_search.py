"""The search for directions that show a point worst, which projection and halfspace depth share."""

import numpy as np
import pytest

from centrality.depths import (
    Halfspace,
    Projection,
    directional,
)
from tests.depths.samples import SQUARE, cloud


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_the_search_is_tighter_than_as_many_random_directions(depth):
    rows = cloud(300, 20)
    auto = depth(random_state=0).fit(rows).score_samples(rows)
    random = depth(directions=2000, random_state=0).fit(rows).score_samples(rows)
    assert auto.mean() < 0.8 * random.mean()


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_climbing_finds_directions_that_show_points_worse(depth, monkeypatch):
    rows = cloud(300, 5)
    climbed = depth(random_state=0).fit(rows).score_samples(rows)
    monkeypatch.setattr(directional, "SEARCH_STEPS", 0)
    before = depth(random_state=0).fit(rows).score_samples(rows)
    assert (climbed <= before).all()
    assert (climbed < before).mean() > 0.25


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_a_search_guided_by_some_rows_still_judges_by_all(depth, monkeypatch):
    rows = cloud(300, 4)
    by_all = depth(random_state=0).fit(rows).score_samples(rows)
    monkeypatch.setattr(directional, "SEARCH_ROWS", 100)
    by_some = depth(random_state=0).fit(rows).score_samples(rows)
    # Any direction gives an upper bound: shares of all rows for one, and close to the full search for both.
    assert np.abs(by_some - by_all).max() < 0.05
    if depth is Halfspace:
        np.testing.assert_allclose(by_some * 300, np.rint(by_some * 300), atol=1e-9)


@pytest.mark.parametrize("depth", [Projection, Halfspace])
@pytest.mark.parametrize("wrong", ["all", 0, -3, 2.5, True])
def test_wrong_directions_are_named(depth, wrong):
    with pytest.raises(ValueError, match="directions must be"):
        depth(directions=wrong).fit(SQUARE)
