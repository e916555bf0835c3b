"""Texts and images without anybody's weights."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from centrality import FUSE, Chain, load
from centrality._internal.checks import InputError
from centrality.representations import Images, Text
from centrality.representations.plain_encoders import GradientEncoder, NgramEncoder
from tests.conftest import quick

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
SENTENCE = "the house on the hill has a green door and a small garden with old trees"
TEXTS = [" ".join(RNG.choice(SENTENCE.split(), 12)) for _ in range(150)]
CODE = "for (i = 0; i < n; ++i) { x[i] = y[i] * 2; }"


def stripes(angle: float, colour: tuple[float, float, float] = (1, 1, 1)) -> np.ndarray:
    """Return a picture of waves that run in a direction, with a phase of its own."""
    row, column = np.mgrid[:40, :40]
    wave = 0.5 + 0.5 * np.sin(0.8 * (np.cos(angle) * column + np.sin(angle) * row) + RNG.uniform(0, 6))
    return (255 * wave[:, :, None] * np.array(colour)).astype(np.uint8)


def test_a_text_of_another_kind_is_the_oddest():
    chain = Chain(Text(), quick(max_steps=100)).fit(TEXTS)
    assert chain.score_samples([CODE])[0] < chain.score_samples(TEXTS).min()


def test_texts_that_share_their_words_are_nearer_than_others():
    encoder = NgramEncoder()
    encoder.fit(TEXTS)
    one, again, other = encoder([TEXTS[0], TEXTS[0].upper(), CODE])
    assert one @ again > 0.99 * (one @ one)  # capitals are no other letters
    assert one @ other < 0.5 * np.linalg.norm(one) * np.linalg.norm(other)


def test_a_file_scores_texts_alone(tmp_path):
    chain = Chain(Text(), quick(max_steps=20)).fit(TEXTS)
    chain.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").heads(TEXTS[:9]), chain.heads(TEXTS[:9]))


def test_a_text_without_letters_has_a_vector():
    assert np.isfinite(Text().fit(TEXTS).transform(["", "?"])).all()


def test_one_text_is_too_few():
    with pytest.raises(InputError, match="At least two texts were wanted to learn from, got 1"):
        Text().fit(["alone"])


def test_arrays_that_no_fit_has_written_are_refused():
    with pytest.raises(InputError, match="An encoder of n-grams has 4096 weights"):
        NgramEncoder.restored({"weight": np.zeros(3)})


@pytest.mark.slow
def test_a_picture_of_other_edges_and_one_of_another_colour_are_the_oddest():
    usual = [stripes(0.2 * RNG.normal()) for _ in range(120)]
    chain = Chain(Images(), quick(max_steps=100)).fit(usual)
    assert (chain.centrality([stripes(1.5), stripes(0.0, (1, 0, 0))], t=1) < chain.centrality(usual, t=1).min()).all()


def test_edges_have_the_direction_in_which_the_grey_changes():
    """Stripes that change along a row have gradients of angle 0: their strength is in the first or the last turn."""
    from PIL import Image

    vector = GradientEncoder()([Image.fromarray(stripes(0.0))])[0]
    turns = vector[: 8 * 8 * 9].reshape(8, 8, 9).sum((0, 1))
    assert turns[[0, 8]].sum() > 0.95 * turns.sum()


@pytest.mark.slow
def test_neither_needs_torch():
    script = (
        "import numpy as np\n"
        "from centrality.representations import Images, Text\n"
        "Text().fit_transform(['a b', 'c d', 'e'])\n"
        "Images().fit_transform([np.zeros((9, 9), np.uint8)])\n"
    )
    hidden, cases = json.dumps(["torch", "transformers"]), json.dumps({"both": script})
    done = subprocess.run(
        [sys.executable, "-m", "tests.without", hidden, cases], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout) == {"both": None}


@pytest.mark.slow
def test_nothing_is_odder_than_any_text():
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(20)]
    texts = [" ".join(rng.choice(words, rng.integers(5, 15))) for _ in range(300)]
    chain = Chain(Text(), quick(max_steps=100)).fit(texts)
    for t in (0.0, 0.5, 1.0):
        assert (chain.p_values(["", " \n"], t=t) < 0.01).all()


@pytest.mark.slow
def test_an_empty_picture_is_odder_than_any_other():
    chain = Chain(Images(), FUSE(random_state=0)).fit([stripes(0.2 * RNG.normal()) for _ in range(300)])
    empty = [np.full((40, 40, 3), grey, np.uint8) for grey in (0, 128, 255)]
    for t in (0.0, 0.5, 1.0):
        assert (chain.p_values(empty, t=t) < 0.01).all()


def test_nothing_among_the_training_items_does_not_move_the_others():
    found = Text().fit(TEXTS).transform(TEXTS)
    beside = Text().fit([*TEXTS, "", " "])
    lengths = np.linalg.norm(beside.transform([*TEXTS, "", " "]), axis=1)
    assert lengths[-2:] == pytest.approx(6 * np.sqrt(256))
    assert np.linalg.norm(found, axis=1).mean() == pytest.approx(lengths[:-2].mean(), rel=0.05)
