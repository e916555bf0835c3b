"""Records the walks of docs/internals/explorer.md: twenty outliers reviewed on digits and on Adult, as a reader would.

python docs/explorer_walk.py     (needs Chromium, umap-learn, and Adult at $CENTRALITY_DATA/extra)
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from PIL import Image
from sklearn.datasets import load_digits

sys.path.append(str(Path(__file__).parents[1]))
from tests.browser import opened

from centrality import FUSE, Chain, representations

FOLDER = Path(__file__).parent / "pictures"
STATIC = FOLDER.parent.parent / "src" / "centrality" / "apps" / "explorer" / "static"
ROWS_OF_ADULT = 4000  # so that the map takes seconds
# The keys that are pressed. A script cannot judge: these only show the way.
VERDICTS = {"digits": "ofoofoolfoofoooffoooo", "adult": "oofofoolofoofoofoofoo"}


def shot(tab: Any, name: str) -> None:
    """A picture of the window in few colours, which is enough and a third of the size."""
    tab.wait_for_timeout(700)
    tab.screenshot(path=FOLDER / f"walk_{name}.png")
    with Image.open(FOLDER / f"walk_{name}.png") as picture:
        small = picture.convert("RGB").resize((1000, 1000 * picture.height // picture.width), Image.Resampling.LANCZOS)
        small.quantize(160).save(FOLDER / f"walk_{name}.png", optimize=True)


def walk(tab: Any, address: str, name: str, n: int) -> None:
    """Set a threshold of twenty rows, review them, and look at what was called an outlier."""
    tab.goto(f"{address}#rule=share_{20 / n:.6f}&panel=review")
    tab.wait_for_selector("[data-ready]")
    tab.locator(".sentences, .facts").first.wait_for()
    shot(tab, f"{name}_1")
    verdicts = VERDICTS[name]
    for key in verdicts[:7]:
        tab.keyboard.press(key)
        tab.wait_for_timeout(150)
    shot(tab, f"{name}_2")
    for key in verdicts[7:]:
        tab.keyboard.press(key)
        tab.wait_for_timeout(150)
    outliers = tab.evaluate("""() => Object.values(localStorage).flatMap((text) => { try { return JSON.parse(text); }
      catch { return []; } }).filter((m) => m.mark === "outlier").map((m) => m.row).sort((a, b) => a - b)""")
    gaps = np.diff([0, *outliers])  # how a link names rows
    steps = ".".join(np.base_repr(gap, 36).lower() for gap in gaps)
    tab.goto("about:blank")
    tab.goto(f"{address}#rows={steps}&panel=columns&table={'gallery' if name == 'digits' else 'table'}")
    tab.wait_for_selector("[data-ready]")
    shot(tab, f"{name}_3")


def main() -> None:
    digits = load_digits()
    columns = {"digit": digits.target.astype(str), "ink": digits.data.sum(1)}
    model = FUSE(holdout=0.2, random_state=0).fit(digits.data)
    points = np.load(STATIC / "digits_umap.npy").astype(float)  # as `centrality demo` has it
    of_digits = model.explore(digits.data, items=digits.images, columns=columns, on=points, title="Handwritten digits")
    adult = pq.read_table(Path(os.environ["CENTRALITY_DATA"]) / "extra" / "adult_train.parquet")
    adult = adult.drop_columns(["fnlwgt", "race", "sex", "native_country"])  # a weight, and what is nobody's oddity
    adult = adult.take(np.sort(np.random.default_rng(0).permutation(len(adult))[:ROWS_OF_ADULT]))
    chain = Chain(representations.Table(), FUSE(random_state=0)).fit(adult)
    of_adult = chain.explore(adult, on="umap", title="Adult: a census of 1994")
    with tempfile.TemporaryDirectory() as folder, opened() as browser:
        for name, widget, scheme in (("digits", of_digits, "dark"), ("adult", of_adult, "light")):
            path = Path(folder) / f"{name}.html"
            widget.export(path)
            tab = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme=scheme)
            walk(tab, path.as_uri(), name, len(widget.view))
            tab.close()


if __name__ == "__main__":
    main()
