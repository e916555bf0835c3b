import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from centrality import load
from centrality.apps.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["demo", "-o", str(folder)]) == 0
    return folder, out.getvalue()


def test_the_demo_ranks_digits_and_says_where_its_pictures_are(shown):
    text = shown[1]
    for part in (
        "The most central digits",
        "The most peripheral digits",
        "contours.png",
        "digits.png",
        "explorer.html",
    ):
        assert part in text
    ranked = [line.split() for line in text.splitlines() if line[:5].strip().isdigit()]
    scores = [0.0 if line[-1] == "<0.001" else float(line[-1]) for line in ranked]
    assert len(scores) == 20
    assert min(scores[:10]) > max(scores[10:])


def test_the_demos_pictures_are_pictures(shown):
    for name, least in (("contours.png", (1400, 300)), ("digits.png", (1000, 300))):
        with Image.open(shown[0] / name) as picture:
            assert picture.width >= least[0]
            assert picture.height >= least[1]
            assert len(np.unique(np.asarray(picture.convert("L")))) > 50  # not a blank page


def test_the_demos_page_stands_alone_and_holds_every_digit(shown):
    text = (shown[0] / "explorer.html").read_text()
    assert "Content-Security-Policy" in text
    assert 300_000 < len(text) < 1_300_000  # 1,797 thumbnails among it, and reasons of the oddest and most typical rows


def test_the_demos_model_loads_and_knows_the_digits(shown):
    model = load(shown[0] / "digits.safetensors")
    digits = load_digits().data
    noise = np.random.default_rng(0).uniform(0, 16, size=digits.shape)
    assert np.median(model.centrality(noise)) < np.quantile(model.centrality(digits), 0.05)
