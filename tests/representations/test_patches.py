"""Patches of pictures as vectors: what the plain encoder tells apart, and how the outputs of models become grids."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from centrality.representations.patches import CELL, SIDE, GradientPatches, patch_grids

CELLS = SIDE // CELL


def grid_of(pixels: np.ndarray) -> np.ndarray:
    return GradientPatches()([Image.fromarray(pixels)])[0]


def test_patches_of_one_colour_are_all_alike_and_those_of_another_differ():
    red, blue = (np.full((50, 90, 3), colour, dtype=np.uint8) for colour in ((200, 30, 30), (30, 30, 200)))
    of_red = grid_of(red)
    assert of_red.shape == (CELLS, CELLS, 20)
    np.testing.assert_allclose(of_red, np.broadcast_to(of_red[0, 0], of_red.shape), atol=1e-3)
    assert np.abs(of_red - grid_of(blue)).max() > 0.5  # a colour of 1 spans sqrt(2) of red against green


def test_a_mark_changes_the_patches_near_it_and_no_others():
    clean = np.full((SIDE, SIDE, 3), 120, dtype=np.uint8)
    marked = clean.copy()
    marked[64:68, 64:68] = 255
    change = np.abs(grid_of(marked) - grid_of(clean)).max(2)
    row, column = np.unravel_index(change.argmax(), change.shape)
    assert abs(row - 16) <= 1
    assert abs(column - 16) <= 1
    assert change[:4].max() < 1e-3  # 48 pixels off: beyond four deviations of the widest window


def test_edges_across_and_down_are_told_apart():
    stripes = np.tile(np.repeat([0, 255], 8).astype(np.uint8), (SIDE, SIDE // 16))
    across, down = (grid_of(np.repeat(picture[:, :, None], 3, axis=2))[16, 16] for picture in (stripes, stripes.T))
    assert across[0] > across[2]  # the change goes across, along the angle 0
    assert down[2] > down[0]


def test_tokens_become_a_grid_without_those_that_stand_for_no_patch():
    tokens = torch.arange(2 * 13 * 3.0).reshape(2, 13, 3)
    wide = SimpleNamespace(config=SimpleNamespace(patch_size=8))
    grid = patch_grids(SimpleNamespace(last_hidden_state=tokens), wide, (24, 32))  # 3 x 4 patches and a class
    assert tuple(grid.shape) == (2, 3, 4, 3)
    np.testing.assert_array_equal(grid[0, 0, 0], tokens[0, 1])
    timm = SimpleNamespace(patch_embed=SimpleNamespace(patch_size=(8, 16)))
    assert tuple(patch_grids(tokens, timm, (32, 48)).shape) == (2, 4, 3, 3)
    nothing_known = patch_grids(tokens, SimpleNamespace(), (32, 32))  # the largest square: 9, after 4 others
    np.testing.assert_array_equal(nothing_known[0, 0, 0], tokens[0, 4])


def test_models_that_join_patches_give_a_square():
    swin = SimpleNamespace(config=SimpleNamespace(patch_size=4))
    assert tuple(patch_grids(torch.zeros(1, 49, 5), swin, (224, 224)).shape) == (1, 7, 7, 5)


def test_maps_become_a_grid_and_several_are_smoothed_and_brought_to_the_size_of_the_first():
    maps = torch.arange(12.0).reshape(1, 3, 2, 2)
    np.testing.assert_array_equal(patch_grids(maps, None, (8, 8))[0, 1, 0], maps[0, :, 1, 0])
    fine, coarse = torch.ones(1, 2, 8, 8), 3 * torch.ones(1, 1, 4, 4)
    joined = patch_grids([fine, coarse], None, (64, 64))
    assert tuple(joined.shape) == (1, 8, 8, 3)
    np.testing.assert_allclose(joined[0, 4, 4], [1, 1, 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (torch.zeros(2, 5), r"tokens \(n, tokens, d\) or maps .* got \(2, 5\). One vector a picture is what Images"),
        (torch.zeros(1, 418, 4), "418 tokens are no square of patches with at most 16"),  # 20 x 20, and 18 others
        ([torch.zeros(1, 2, 3)], "several outputs must give maps"),
        ("text", "got str"),
    ],
)
def test_outputs_without_patches_are_refused(output, message):
    with pytest.raises(ValueError, match=message):
        patch_grids(output, SimpleNamespace(), (64, 64))
