"""Planted faults lie where the masks say, and folders laid out as MVTec AD are read."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks._planted_pictures import FAULTS, OF_GEARS, SIDE, drawn_gear, faulty, from_folder, gear, planted, wood
from PIL import Image


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_fault_changes_lies_in_its_mask_or_at_its_rim(fault):
    rng = np.random.default_rng(0)
    picture = wood(rng)
    changed, mask = faulty(fault, picture, wood(rng), rng)
    change = np.abs(changed.astype(float) - picture).max(2)
    assert change[mask].mean() > 4
    rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    around = np.zeros_like(mask)
    reach = 8  # of pixels: rims are soft
    around[max(rows[0] - reach, 0) : rows[-1] + reach + 1, max(columns[0] - reach, 0) : columns[-1] + reach + 1] = True
    assert change[~around].max() <= 1  # rounding


@pytest.mark.parametrize("fault", OF_GEARS)
def test_a_faulty_gear_differs_from_the_same_gear_in_its_mask(fault):
    """The same seed turns, moves and lights both alike; where the fault draws numbers of its own only noise differs."""
    good, _ = drawn_gear("", np.random.default_rng(1))
    bad, mask = drawn_gear(fault, np.random.default_rng(1))
    change = np.abs(bad.astype(float) - good).mean(2)
    assert mask.any()
    assert change[mask].mean() > 2 * change[~mask].mean()


def test_a_set_has_good_pictures_and_as_many_of_each_fault():
    found = planted("gear", np.random.default_rng(0), train=2, good=3, of_each_fault=2)
    assert len(found.train) == 2
    assert found.kinds == ["good"] * 3 + [fault for fault in (*FAULTS, *OF_GEARS) for _ in range(2)]
    assert [bool(mask.any()) for mask in found.masks] == [kind != "good" for kind in found.kinds]


def test_folders_are_read_as_mvtec_lays_them_out(tmp_path):
    pixels = gear(np.random.default_rng(0))
    mask = np.zeros((SIDE, SIDE), dtype=np.uint8)
    mask[10:20, 30:40] = 255
    for place, content in {
        "train/good/000.png": pixels,
        "test/good/000.png": pixels,
        "test/bent/000.png": pixels,
        "ground_truth/bent/000_mask.png": mask,
    }.items():
        path = Path(tmp_path, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(content).save(path)
    found = from_folder(tmp_path)
    assert found.kinds == ["bent", "good"]
    np.testing.assert_array_equal(found.masks[0], mask > 0)
    assert not found.masks[1].any()
    np.testing.assert_array_equal(found.train[0], pixels)
    with pytest.raises(SystemExit, match=r"train/good and test/KIND, got 0, 0"):
        from_folder(tmp_path / "test")
