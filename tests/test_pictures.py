"""The odd part of a picture: where it is, how odd it is, what is refused, and that a file brings the model back."""

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from centrality import FUSE, load
from centrality.apps.cli import main
from centrality.pictures import PictureHeat, PictureRegions
from centrality.tables import TableError
from centrality.tables.columns import DataNote
from tests.conftest import quick

SIDE = 64
STAIN = (slice(40, 52), slice(12, 28))  # rows, columns of pixels


def walls(count: int, seed: int = 0) -> list[np.ndarray]:
    """Grey walls with grain."""
    rng = np.random.default_rng(seed)
    return list(rng.integers(90, 130, size=(count, SIDE, SIDE, 3), dtype=np.uint8))


def stained(wall: np.ndarray) -> np.ndarray:
    picture = wall.copy()
    picture[STAIN] = (200, 60, 50)
    return picture


def plain(**changes) -> PictureRegions:
    return PictureRegions(**({"model": quick(t=1.0, novelty=True), "random_state": 0} | changes))


@pytest.fixture(scope="module")
def of_walls() -> PictureRegions:
    return plain().fit(walls(20))


def test_a_stained_wall_is_odder_than_any_clean_one(of_walls):
    clean = walls(10, seed=1)
    scores = of_walls.score_samples([*clean, stained(clean[0])])
    assert scores.argmin() == 10
    assert scores[10] < of_walls.offset_
    assert of_walls.predict([stained(clean[0])]).tolist() == [-1]


def test_the_oddest_patch_and_the_first_box_lie_on_the_stain(of_walls):
    heat = of_walls.regions(stained(walls(1, seed=1)[0]))
    row, column = np.unravel_index(heat.scores.argmin(), heat.scores.shape)
    assert STAIN[0].start - 2 <= 2 * row < STAIN[0].stop + 2  # a patch has 2 pixels; its edges are the oddest
    assert STAIN[1].start - 2 <= 2 * column < STAIN[1].stop + 2
    box = heat.boxes()[0]
    assert box.left <= 20 < box.right
    assert box.top <= 46 < box.bottom
    assert box.severity == heat.severity.max()


def test_the_score_of_a_picture_is_the_mean_of_its_lowest_hundredth_of_patches(of_walls):
    picture = stained(walls(1, seed=1)[0])
    heat = of_walls.regions(picture)
    lowest = np.sort(heat.scores.ravel())[:10]  # of 32 x 32 patches, a hundredth is 10
    assert heat.scores.shape == (32, 32)
    assert heat.score == pytest.approx(lowest.mean(), rel=1e-12)
    assert of_walls.score_samples([picture])[0] == pytest.approx(heat.score, rel=1e-12)
    oddest = plain(lowest=0).fit(walls(20))
    of_oddest = oddest.regions(picture)
    assert of_oddest.score == of_oddest.scores.min()


def test_p_values_count_the_pictures_kept_aside(of_walls):
    clean = walls(1, seed=1)[0]
    with pytest.warns(DataNote, match=r"Only 4 pictures were kept aside .* is below 0.2. 95 pictures in fit"):
        p = of_walls.p_values([stained(clean)])
    assert p.tolist() == [1 / 5]  # odder than all 4 of them
    assert of_walls.regions(stained(clean)).p_value == 1 / 5


def test_hardly_any_fresh_ordinary_picture_is_marked():
    """Odder than the oddest of 20 pictures aside is a share of fresh ones that exceeds 1/3 with chance (2/3)^20."""
    model = plain().fit(walls(100))
    marked = [len(model.regions(wall).boxes()) > 0 for wall in walls(60, seed=1)]
    assert sum(marked) <= 20


def heat_of(severity: list[list[float]], limit: float = 50.0, height: int = 20, width: int = 40) -> PictureHeat:
    grid = np.array(severity)
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    return PictureHeat(picture, scores=-grid, severity=grid, score=0.0, p_value=0.5, limit=limit)


def test_heat_is_the_logarithm_of_the_severity_between_the_middles_of_patches():
    heat = heat_of([[1, 100, 1, 1], [1, 1, 1, 1]]).heat()
    assert heat.shape == (20, 40)
    # A patch is 10 x 10 pixels: the middle of the second is between pixels 4 and 5 down, 14 and 15 across.
    np.testing.assert_allclose(heat[4:6, 14:16].mean(), 2 * 0.95 * 0.975, rtol=1e-12)  # half a pixel off, both ways
    np.testing.assert_allclose(heat[0, 14:16], 1.9, rtol=1e-12)  # above the middle of the first row it stays as it is
    assert heat[15:].max() == 0


def test_a_heat_is_printed_as_a_line_that_counts_its_odd_regions(of_walls):
    heat = of_walls.regions(stained(walls(1, seed=1)[0]))
    regions = f"odd regions: {len(heat.boxes())}"
    assert repr(heat) == f"PictureHeat({SIDE}x{SIDE} pixels, {regions}, p-value {heat.p_value:.2g})"


def test_inspect_says_that_a_model_of_patches_is_not_one_of_rows(of_walls, tmp_path, capsys):
    of_walls.save(tmp_path / "m.safetensors")
    assert main(["inspect", str(tmp_path / "m.safetensors")]) == 2
    assert "is a model of the patches of pictures: load it in Python" in capsys.readouterr().err


def test_patches_that_touch_are_one_box_and_boxes_come_oddest_first():
    boxes = heat_of([[60, 1, 1, 900], [1, 70, 1, 1]]).boxes()
    assert [tuple(box) for box in boxes] == [(30, 0, 40, 10, 900.0), (0, 0, 20, 20, 70.0)]
    assert heat_of([[50, 1], [1, 1]]).boxes() == []  # not beyond the limit


def test_pictures_are_drawn_with_their_heat_and_a_frame_around_each_odd_part(of_walls):
    figure = of_walls.regions(stained(walls(1, seed=1)[0])).plot()
    assert [axes.get_title() for axes in figure.axes[:2]] == ["the picture", "what is odd in it"]
    assert len(figure.axes[1].patches) == len(of_walls.regions(stained(walls(1, seed=1)[0])).boxes())


def test_the_same_seed_gives_the_same_scores_and_another_one_others():
    pictures = walls(8)
    first, again, other = (plain(random_state=seed).fit(pictures).score_samples(pictures) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_paths_bytes_and_pil_images_are_the_same_pictures(of_walls, tmp_path):
    pictures = walls(3, seed=2)
    expected = of_walls.score_samples(pictures)
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, pixels in zip(paths, pictures, strict=True):
        Image.fromarray(pixels).save(path)
    for items in (paths, [str(path) for path in paths], [path.read_bytes() for path in paths],
                  [Image.fromarray(pixels) for pixels in pictures], np.stack(pictures)):  # fmt: skip
        np.testing.assert_array_equal(of_walls.score_samples(items), expected)


def test_a_file_brings_the_same_model_back(of_walls, tmp_path):
    path = tmp_path / "walls.safetensors"
    of_walls.save(path)
    again = load(path)
    odd = stained(walls(1, seed=1)[0])
    np.testing.assert_allclose(again.score_samples([odd]), of_walls.score_samples([odd]), rtol=1e-12)
    one, other = again.regions(odd), of_walls.regions(odd)
    np.testing.assert_allclose(one.severity, other.severity, rtol=1e-9)
    assert (one.limit, one.p_value) == (other.limit, other.p_value)
    assert again.offset_ == of_walls.offset_


def tiles(picture: Image.Image) -> np.ndarray:
    """Mean colour of each tile of 8 x 8 pixels: an encoder that is a function."""
    pixels = np.asarray(picture, dtype=float)
    rows, columns = pixels.shape[0] // 8, pixels.shape[1] // 8
    return pixels[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8, 3).mean((1, 3))


def test_a_function_encodes_pictures_of_two_sizes_without_stretching_them(tmp_path):
    wide = [np.concatenate([wall, wall[::-1]], axis=1) for wall in walls(4, seed=3)]
    model = plain(encoder=tiles).fit([*walls(8), *wide])
    heat = model.regions(stained(wide[0]))
    assert heat.scores.shape == (8, 16)
    assert heat.heat().shape == (SIDE, 2 * SIDE)
    path = tmp_path / "tiles.safetensors"
    model.save(path)
    with pytest.raises(ValueError, match=r"an encoder of your own \(tiles\).* pass it again, load\(path, encoder="):
        load(path)
    again = load(path, encoder=tiles).regions(stained(wide[0]))
    np.testing.assert_allclose(again.scores, heat.scores, rtol=1e-9)


def test_where_a_patch_lies_counts_only_if_it_is_asked_for():
    """Half of each picture is red, the other blue: turned upside down, every patch is ordinary but its place."""
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 40, size=(24, SIDE, SIDE, 3), dtype=np.uint8)
    flags[:, : SIDE // 2, :, 0] += 150
    flags[:, SIDE // 2 :, :, 2] += 150
    turned = flags[0, ::-1].copy()
    without = plain(encoder=tiles).fit(flags[1:]).score_samples([flags[0], turned])
    assert without[1] == pytest.approx(without[0], abs=1e-9)  # the same patches in other places
    scores = plain(encoder=tiles, position=1.0).fit(flags[1:]).score_samples([flags[0], turned])
    assert scores[1] < scores[0] - 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plain().fit(walls(1)), r"At least 2 pictures were wanted: .* into tiles. Got 1"),
        (lambda: plain().fit(walls(1)[0]), r"Got one array of shape \(64, 64, 3\): put it into a list"),
        (lambda: plain().fit("pictures/"), r"Got one path, pictures/. For a folder: sorted\(Path\('pictures/'\)"),
        (lambda: plain().fit(7), "A list of pictures was wanted.* Got int"),
        (lambda: plain(holdout=1.5).fit(walls(4)), "holdout must be a share above 0 and below 1, got 1.5"),
        (lambda: plain(lowest=-1).fit(walls(4)), "lowest must be a share above 0 and below 1, got -1"),
        (lambda: plain(position=-1).fit(walls(4)), "position must be a number of at least 0, got -1"),
        (lambda: plain(corrupt="ignore").fit(walls(4)), "corrupt must be one of refuse, skip, got 'ignore'"),
        (lambda: plain(model=FUSE).fit(walls(4)), r"model must be made first: FUSE\(\), got the class"),
        (lambda: plain(encoder=3).fit(walls(4)), "encoder must be 'gradients', .* got 3"),
        (lambda: plain(encoder=lambda picture: [1.0, 2.0]).fit(walls(4)), r"\(rows, columns, d\), got shape \(2,\)"),
        (lambda: plain(encoder=tiles, cache="x").fit(walls(4)), "cache= keeps vectors by picture and encoder"),
        (lambda: plain(encoder=of_many_widths).fit(walls(4)), "vectors of 2 numbers for some pictures and of 3 for"),
        (lambda: plain(encoder=lambda picture: tiles(picture) * np.nan).fit(walls(4)), "gives NaN or infinite numbers"),
        (lambda: plain(encoder=lambda picture: np.ones((2, 2, 3))).fit(walls(4)), "All patches .* the same vector"),
        (lambda: plain().fit([np.full((8, 8), 7, np.uint8)] * 5), r"are blank \(4\) or could not be read \(0\)"),
        (lambda: plain().fit(walls(8)).regions(walls(2)), "One picture was wanted, got a list of 2"),
    ],
)
def test_what_cannot_be_used_is_said(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def of_many_widths(picture: Image.Image) -> np.ndarray:
    grid = tiles(picture)
    return grid if np.asarray(picture)[0, 0, 0] % 2 else grid[:, :, :2]


def test_a_broken_picture_is_refused_by_name_or_skipped_and_reported(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(12)]
    for path, pixels in zip(paths, walls(12), strict=True):
        Image.fromarray(pixels).save(path)
    paths[5].write_bytes(b"no picture")
    with pytest.raises(TableError, match=r"5\.png cannot be read as an image"):
        plain().fit(paths)
    with pytest.warns(DataNote, match=r"could not be read have no score \(1\): .*5.png"):
        model = plain(corrupt="skip").fit(paths)
    assert model.skipped_ == [str(paths[5])]
    with pytest.warns(DataNote):
        scores = model.score_samples(paths)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [5]
    with pytest.raises(TableError, match=r"5\.png cannot be read"):
        model.regions(paths[5])


def test_blank_pictures_are_not_learned_from_and_score_lower_than_all_others(of_walls):
    blank = np.full((SIDE, SIDE, 3), 110, dtype=np.uint8)
    with pytest.warns(DataNote, match=r"Blank pictures are not learned from \(1\): 'picture 3'"):
        plain().fit([*walls(3), blank, *walls(9, seed=4)])
    with pytest.warns(DataNote, match=r"Blank pictures are odd, since nothing is on them \(1\): 'picture 1'"):
        scores = of_walls.score_samples([walls(1)[0], blank])
    assert scores[1] < of_walls._ordinary_pictures[0]  # noqa: SLF001  (the lowest of the pictures kept aside)
    with pytest.warns(DataNote, match="The picture is blank"):
        assert of_walls.regions(blank).score == scores[1]


def test_pictures_of_two_shapes_are_stretched_and_a_note_says_so(of_walls):
    wide = [np.concatenate([wall, wall], axis=1) for wall in walls(6, seed=3)]
    with pytest.warns(DataNote, match=r"from 1.00 to 2.00 times as wide as high, and each is stretched to a square"):
        plain().fit([*walls(6), *wide])
    with pytest.warns(DataNote, match=r"another shape than those of fit, and are stretched \(1\): 'picture 0'"):
        of_walls.score_samples(wide[:1])


def test_a_failed_fit_leaves_the_model_as_it_was(of_walls):
    model = plain().fit(walls(8))
    before = model.score_samples(walls(2, seed=1))
    with pytest.raises(ValueError, match="blank"):
        model.fit([np.zeros((8, 8), np.uint8)] * 4)
    np.testing.assert_array_equal(model.score_samples(walls(2, seed=1)), before)


def test_the_cache_spares_encoding_and_changes_no_score(tmp_path):
    import torch

    class Counting(torch.nn.Module):
        pictures = 0

        def forward(self, x):
            type(self).pictures += len(x)
            return torch.nn.functional.avg_pool2d(x, 8)

    pictures = walls(10)
    first = plain(encoder=Counting(), size=SIDE, cache=tmp_path).fit(pictures).score_samples(pictures)
    assert Counting.pictures == 10  # each once, though all are read again for their scores
    again = plain(encoder=Counting(), size=SIDE, cache=tmp_path).fit(pictures).score_samples(pictures)
    assert Counting.pictures == 10
    np.testing.assert_array_equal(first, again)
    assert len(list(Path(tmp_path).rglob("*.npy"))) == 10


@pytest.fixture(scope="module")
def vit(tmp_path_factory) -> str:
    """A tiny vision transformer with random weights, saved as a real one is; its processor would cut the border off."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("vit")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.Dinov2Config(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=56, patch_size=14
        )
        transformers.Dinov2Model(config).save_pretrained(folder)
    transformers.BitImageProcessorPil(
        size={"shortest_edge": 64}, crop_size={"height": 56, "width": 56}
    ).save_pretrained(folder)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return str(folder)


@pytest.mark.slow
def test_a_transformer_gives_a_vector_for_each_of_its_patches_and_sees_the_border(vit):
    model = plain(encoder=vit).fit(walls(8))
    clean = walls(1, seed=1)[0]
    framed = clean.copy()
    framed[:, :3] = 255  # a strip that a crop from 64 to 56 pixels would cut off
    heat = model.regions(framed)
    assert heat.scores.shape == (4, 4)  # 56 / 14
    assert heat.scores[:, 0].mean() < model.regions(clean).scores[:, 0].mean()


@pytest.mark.slow
def test_clip_gives_the_patches_of_its_vision_model(clip):
    heat = plain(encoder=clip).fit(walls(8)).regions(walls(1)[0])
    assert heat.scores.shape == (4, 4)  # 32 / 8; the token of the class is left out
