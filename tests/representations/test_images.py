"""Images as vectors: paths, bytes, arrays and PIL; damage, cache, CLIP's loading code, and EfficientNet on CIFAR."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from centrality import Chain, load
from centrality.representations import Images
from centrality.representations.images import _vectors
from centrality.tables import TableError
from centrality.tables.columns import DataNote
from tests.conftest import quick

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, size=(12, 8, 8, 3), dtype=np.uint8)


class Colours(torch.nn.Module):
    """A module of one's own: three maps, the channels, times a weight."""

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, x):
        return x * self.weight


def own(**options) -> Images:
    return Images(Colours(), size=8, mean=(0, 0, 0), std=(1, 1, 1), **options)


@pytest.fixture
def files(tmp_path):
    paths = []
    for i, pixels in enumerate(PIXELS):
        paths.append(tmp_path / f"{i:02d}.png")
        Image.fromarray(pixels).save(paths[-1])
    return paths


def test_maps_of_a_module_are_averaged():
    images = own(normalize=False).fit(PIXELS)
    np.testing.assert_allclose(images._encode(PIXELS), PIXELS.mean((1, 2)) / 255, rtol=1e-5)  # noqa: SLF001  (before they are scaled)


def test_paths_bytes_arrays_and_pil_images_are_the_same_images(files):
    images = own().fit(PIXELS)
    expected = images.transform(PIXELS)
    as_bytes = [path.read_bytes() for path in files]
    frame = pd.DataFrame({"path": [str(path) for path in files], "n": range(12)})
    stored = [{"bytes": content, "path": None} for content in as_bytes]  # as data sets keep images in Parquet
    for items in (files, [str(path) for path in files], as_bytes, [Image.open(path) for path in files], stored):
        np.testing.assert_array_equal(images.transform(items), expected)
    of_frame = own(column="path").fit(frame)
    np.testing.assert_array_equal(of_frame.transform(frame), expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: own(corrupt="ignore").fit(PIXELS), ValueError, "corrupt must be one of refuse, skip, got 'ignore'"),
        (lambda: own(corrupt="skip").fit([b"no", b"image"]), ValueError, "none of 2 could be read"),
        (lambda: Images(One(), size=8).fit(PIXELS), ValueError, r"must give one vector an image, got shape \(1, 3\)"),
        (lambda: own().fit(pd.DataFrame({"a": ["x"], "b": ["y"]})), TableError, "Say which column to read, column="),
    ],
)
@pytest.mark.filterwarnings("ignore::centrality.tables.columns.DataNote")
def test_what_cannot_be_a_vector_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make()


class One(Colours):
    """A module that forgets how many images it was given."""

    def forward(self, x):
        return x.mean((0, 2, 3))[None]


def test_of_tokens_the_first_stands_for_the_image():
    tokens = torch.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(_vectors(SimpleNamespace(last_hidden_state=tokens)), tokens[:, 0])
    maps = torch.arange(16.0).reshape(1, 4, 2, 2)
    np.testing.assert_array_equal(_vectors(SimpleNamespace(last_hidden_state=maps)), [[1.5, 5.5, 9.5, 13.5]])


def test_grey_and_transparent_images_become_rgb():
    images = own(normalize=False).fit(PIXELS)
    grey = RNG.integers(0, 256, size=(8, 8), dtype=np.uint8)
    as_rgb = np.repeat(grey[:, :, None], 3, axis=2)
    clear = np.dstack([PIXELS[0], np.full((8, 8), 9, dtype=np.uint8)])
    got = images.transform([grey, grey[:, :, None], clear])
    np.testing.assert_array_equal(got, images.transform([as_rgb, as_rgb, PIXELS[0]]))


def test_a_damaged_image_is_refused_by_name_or_skipped_and_reported(files):
    files[3].write_bytes(b"no image")
    files[5].write_bytes(files[5].read_bytes()[:50])
    with pytest.raises(TableError, match=r"03.png cannot be read as an image: .* --corrupt skip"):
        own().fit(files)
    images = own(corrupt="skip")
    with pytest.warns(DataNote, match=r"could not be read have no score \(2\): .*03.png.*05.png"):
        Z = images.fit_transform(files)
    assert np.flatnonzero(np.isnan(Z).any(1)).tolist() == [3, 5]
    assert images.skipped_ == [str(files[3]), str(files[5])]
    with pytest.warns(DataNote):
        chain = Chain(own(corrupt="skip"), quick()).fit(files)
    with pytest.warns(DataNote):
        heads = chain.heads(files)
    assert np.flatnonzero(np.isnan(heads).any(1)).tolist() == [3, 5]


def test_images_are_explained_by_the_numbers_of_their_vectors_and_damaged_ones_not_at_all(files):
    files[3].write_bytes(b"no image")
    with pytest.warns(DataNote):
        chain = Chain(own(corrupt="skip"), quick()).fit(files)
    with pytest.warns(DataNote):
        parts = chain.explain(files, 0.5)
    with pytest.warns(DataNote):
        ways = chain.toward_center(files, steps=2)
    with pytest.warns(DataNote):
        kinds = chain.kind(files)
    with pytest.warns(DataNote):
        centrality = chain.centrality(files, 0.5)
    whole = np.arange(12) != 3
    assert np.isnan(parts[3]).all()
    assert np.isnan(ways[3]).all()
    assert kinds[3] == ""
    assert parts.shape == (12, 3)
    assert ways.shape == (12, 3, 3)
    centre = chain.model_.centrality(chain.model_.center_[None], 0.5)
    np.testing.assert_allclose(parts[whole].sum(1), centrality[whole] - centre, atol=1e-3)
    with pytest.raises(ValueError, match="vectors whose numbers have no names"):
        chain.reasons(files[:2])


class Counting(Colours):
    seen = 0

    def forward(self, x):
        type(self).seen += len(x)
        return super().forward(x)


def test_the_cache_knows_content_and_model_and_survives_a_killed_run(files, tmp_path):
    def images(weight: float = 1.0) -> Images:
        return Images(Counting(weight), size=8, cache=tmp_path / "cache", batch_size=4)

    Counting.seen = 0
    first = images().fit_transform(files)
    assert Counting.seen == 12
    np.testing.assert_array_equal(images().fit_transform(files[::-1]), first[::-1])
    assert Counting.seen == 12  # the same content, in another order: nothing is encoded again
    kept = sorted((tmp_path / "cache").rglob("*.npy"))
    assert len(kept) == 12
    kept[0].write_bytes(b"")  # not ours: written files are whole
    kept[1].with_name(".left-by-a-killed-run.npy").write_bytes(b"half")
    np.testing.assert_array_equal(images().fit_transform(files), first)
    assert Counting.seen == 13
    images(weight=2.0).fit(files)
    assert Counting.seen == 25  # another model: its own vectors


def test_clip_gives_its_image_features(clip, files):
    import transformers

    images = Images(clip, batch_size=5).fit(files)
    model = transformers.CLIPModel.from_pretrained(clip).eval()
    processor = transformers.CLIPImageProcessorPil.from_pretrained(clip)
    pixels = processor(images=[Image.open(path) for path in files], return_tensors="pt")
    with torch.inference_mode():
        expected = model.get_image_features(**pixels).pooler_output.numpy()
    np.testing.assert_allclose(images._encode(files), expected, atol=1e-5)  # noqa: SLF001  (before they are scaled)


def test_a_saved_chain_of_clip_needs_only_its_folder(clip, files, tmp_path):
    chain = Chain(Images(clip), quick()).fit(files)
    chain.save(tmp_path / "m.safetensors")
    np.testing.assert_allclose(load(tmp_path / "m.safetensors").heads(files), chain.heads(files), atol=1e-6)


def test_a_module_of_ones_own_must_come_again_and_be_the_same(files, tmp_path):
    path = tmp_path / "m.safetensors"
    chain = Chain(own(), quick()).fit(files)
    chain.save(path)
    with pytest.raises(ValueError, match=r"a module of your own \(Colours\), which the file does not hold"):
        load(path)
    np.testing.assert_array_equal(load(path, representation=own()).heads(files), chain.heads(files))
    other = Images(Colours(2.0), size=8, mean=(0, 0, 0), std=(1, 1, 1))
    with pytest.raises(ValueError, match="'Colours' is not the one this model was fitted with"):
        load(path, representation=other).heads(files)


@pytest.mark.slow
def test_weights_that_are_not_on_disk_name_the_model_and_the_way_out():
    with pytest.raises(FileNotFoundError, match=r"'openai/clip-vit-base-patch32' are not on this disk. Give a folder"):
        Images("clip").fit(PIXELS)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([np.zeros((4, 4))], r"image 0 cannot be read as an image: pixels of uint8"),
        ([PIXELS[0], None], "image 1 cannot be read as an image: it is missing"),
        (["/nowhere/x.png"], "/nowhere/x.png cannot be read as an image"),
    ],
)
def test_what_is_no_image_is_said(items, message):
    with pytest.raises(TableError, match=message):
        own().fit(items)


@pytest.mark.data
def test_efficientnet_on_cifar_gives_the_stored_vectors(data):
    from benchmarks.modalities import efficientnet

    with np.load(data / "paper" / "cifar10_airplane_images.npz") as archive:
        pixels = archive["X"][:24]
    with np.load(data / "paper" / "cifar10_effnetlite0.npz") as archive:
        stored = archive["E"][:24].astype(np.float32)
    images = Images(efficientnet()).fit(pixels)
    got = images._encode(pixels)  # noqa: SLF001  (before they are scaled)
    cosine = (got * stored).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(stored, axis=1)
    assert np.median(cosine) > 0.95  # theirs were made with another library's resizing
