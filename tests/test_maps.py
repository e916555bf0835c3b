"""Rows on the plane: by principal components and by UMAP."""

import numpy as np
import pytest

from centrality import maps


def test_a_map_keeps_the_two_widest_directions():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 6)) * [0.1, 5, 0.1, 3, 0.1, 0.1]
    points = maps.embed(Z)
    assert abs(np.corrcoef(points[:, 0], Z[:, 1])[0, 1]) > 0.98
    assert abs(np.corrcoef(points[:, 1], Z[:, 3])[0, 1]) > 0.98
    two = Z[:, :2]
    assert maps.embed(two) is two


@pytest.mark.slow
def test_umap_keeps_clusters_apart_and_shows_a_bar_if_asked(monkeypatch, capfd):
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(size=(40, 10)), rng.normal(30, 1, size=(40, 10))])
    for landmarks in (maps.LANDMARKS, 60):  # all rows are placed by UMAP, or most of them
        monkeypatch.setattr(maps, "LANDMARKS", landmarks)
        points = maps.embed(Z, method="umap", random_state=0, progress=landmarks == 60)
        assert ("Mapping:" in capfd.readouterr().err) == (landmarks == 60)
        centres = points[:40].mean(0), points[40:].mean(0)
        spread = max(points[:40].std(0).max(), points[40:].std(0).max())
        assert np.linalg.norm(centres[0] - centres[1]) > 3 * spread


@pytest.mark.parametrize(
    ("Z", "options", "message"),
    [(np.zeros((5, 3)), {"method": "tsne"}, "method must be one of pca, umap"), (np.zeros(3), {}, "at least two rows")],
)
def test_what_cannot_be_mapped_is_said(Z, options, message):
    with pytest.raises(ValueError, match=message):
        maps.embed(Z, **options)
