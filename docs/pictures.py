"""Makes the pictures of README.md and docs/: `make pictures`."""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from centrality import FUSE, Chain, datasets, maps, plots
from centrality.apps.commands.demo import make_demo
from centrality.depths import Halfspace, Spatial
from centrality.pictures import PictureRegions
from centrality.regions import dd_plot, median
from centrality.representations import Table

FOLDER = Path(__file__).parent / "pictures"
STATIC = FOLDER.parent.parent / "src" / "centrality" / "apps" / "explorer" / "static"
TS = (0.0, 0.25, 0.5, 0.75, 1.0)


def contours() -> None:
    """The dial on three unimodal clouds and a mixture; the paper's first figure, with our schedule."""
    samples = {
        "Normal": datasets.normal(5000, random_state=0),
        "Student-t": datasets.student_t(5000, random_state=0),
        "Uniform": datasets.uniform(5000, random_state=0),
        "Mixture": datasets.four_clusters().sample(5000, random_state=0),
    }
    # η = 1 as in the paper; the mixture's deviation is three times its components', so it wants a smaller one.
    models = [
        FUSE(noise_scale=0.25 if name == "Mixture" else 1.0, random_state=0).fit(X) for name, X in samples.items()
    ]
    grids = [maps.grid(model, X, TS) for model, X in zip(models, samples.values(), strict=True)]
    figure = plots.contours(grids, TS, points=[X[:1000] for X in samples.values()], titles=list(samples))
    figure.savefig(FOLDER / "contours.png", dpi=200)
    with Image.open(FOLDER / "contours.png") as picture:  # a palette is enough, and a third of the size
        picture.convert("RGB").quantize(96).save(FOLDER / "contours.png", optimize=True)


def social_card() -> None:
    """What is shown beside a link to the site: the name, the question, and the dial on four groups."""
    from matplotlib.figure import Figure

    X = datasets.four_clusters().sample(4000, random_state=0)
    model = FUSE(random_state=0).fit(X)
    x, y, f = maps.grid(model, X, (0.0, 0.5, 1.0))
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.text(0.05, 0.85, "centrality", fontsize=46, weight="bold", color="#222222")
    figure.text(0.05, 0.74, "How typical is this data point?", fontsize=27, color="#444444")
    for k, name in enumerate(("global", "both", "local")):
        panel = figure.add_axes((0.05 + 0.31 * k, 0.1, 0.28, 0.53))
        panel.contourf(x, y, f[:, :, k], levels=12, cmap=plots.figures.COLOUR_MAP)
        panel.set(xticks=[], yticks=[])
        panel.set_xlabel(name, fontsize=20)
    figure.savefig(FOLDER.parent / "_static" / "social_card.png")
    with Image.open(FOLDER.parent / "_static" / "social_card.png") as picture:
        picture.convert("RGB").quantize(64).save(FOLDER.parent / "_static" / "social_card.png", optimize=True)


def depths() -> None:
    """A bagplot, and a DD-plot of two samples that differ by a shift, side by side."""
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.6], [0.0, 0.8]])
    X = np.concatenate([rng.normal(size=(300, 2)) @ mix, [[4.2, -2.0], [-3.5, 3.5], [1.0, 5.5]]])
    depth = Halfspace().fit(X)
    plots.bagplot(X, depth.score_samples(X), center=median(depth, X)).savefig(FOLDER / "bagplot.png", dpi=180)
    later = rng.normal(size=(300, 2)) @ mix + [0.8, 0.0]
    dd_plot(Spatial(), X, later).figure(labels=("before", "after")).savefig(FOLDER / "dd_plot.png", dpi=180)


def explanations() -> None:
    """Four clusters and 40 points strewn about: global against local scores, and some points along t."""
    strewn = np.random.default_rng(1).uniform(-11, 11, size=(40, 2))
    X = np.concatenate([datasets.four_clusters().sample(2500, random_state=0), strewn, [[0.0, 0.0]]])
    model = FUSE(random_state=0).fit(X)
    heads, kinds = model.heads(X), model.kind(X)
    plots.scores(heads, kinds=kinds, bounds=model.fitted_.bounds(0.05)).savefig(FOLDER / "scores.png", dpi=180)
    plots.profile(heads, rows=[0, 17, 2510, 2520, 2540]).savefig(FOLDER / "profile.png", dpi=180)


def classes() -> None:
    """Of each digit the six most typical and the six oddest, by a model of that digit alone."""
    digits, groups = load_digits(), {}
    for digit in digits.target_names:
        rows = np.flatnonzero(digits.target == digit)
        score = FUSE(random_state=0).fit(digits.data[rows]).centrality(digits.data[rows])
        ends = np.argsort(-score)[[*range(6), *range(-6, 0)]]
        groups[f"{digit}: the six most typical, and the six oddest"] = (digits.images[rows[ends]], score[ends])
    plots.images(groups, columns=12).savefig(FOLDER / "classes.png", dpi=90)
    with Image.open(FOLDER / "classes.png") as picture:
        picture.convert("L").quantize(32).save(FOLDER / "classes.png", optimize=True)


def picture_regions() -> None:
    """A gear with a scratch, and the heat over it, by a model of gears without any."""
    sys.path.append(str(FOLDER.parent.parent))
    from benchmarks._planted_pictures import drawn_gear, faulty, gear

    rng = np.random.default_rng(3)
    model = PictureRegions(position=1, random_state=0).fit([gear(rng) for _ in range(100)])
    scratched, _ = faulty("scratch", gear(rng), gear(rng), rng)
    lacking, _ = drawn_gear("teeth lack", rng)
    figures = [model.regions(picture).plot() for picture in (scratched, lacking)]
    panels = []
    for figure in figures:
        file = io.BytesIO()
        figure.savefig(file, dpi=110)
        panels.append(Image.open(file).convert("RGB"))
    both = Image.new("RGB", (panels[0].width, sum(panel.height for panel in panels)), "white")
    for number, panel in enumerate(panels):
        both.paste(panel, (0, number * panel.height))
    both.quantize(256).save(FOLDER / "picture_regions.png", optimize=True)


def map_of_digits() -> None:
    """Where UMAP puts the digits, for the page of `centrality demo`: it is in the package, as umap-learn may not be."""
    digits = load_digits()
    model = FUSE(random_state=0).fit(digits.data)
    points = maps.embed(model.fitted_.scaling.apply(digits.data), method="umap", random_state=0)
    low, high = points.min(0), points.max(0)
    steps = (points - (low + high) / 2) / (high - low).max() * 65_000
    np.save(STATIC / "digits_umap.npy", steps.round().astype(np.int16))


def explorer() -> None:
    """The explorer page as a browser shows it: what is wrong with the houses; narrow, an odd digit under review."""
    sys.path.append(str(FOLDER.parent.parent))
    from tests.browser import opened

    digits = load_digits()
    model = FUSE(holdout=0.2, random_state=0).fit(digits.data)
    columns = {"digit": digits.target.astype(str), "ink": digits.data.sum(1)}
    points = np.load(STATIC / "digits_umap.npy").astype(float)
    widget = model.explore(digits.data, items=digits.images, columns=columns, on=points, title="Handwritten digits")
    with tempfile.TemporaryDirectory() as folder, opened() as browser:
        widget.export(Path(folder) / "page.html")
        address = (Path(folder) / "page.html").as_uri()
        narrow = [under_review(browser, address, *size) for size in SIZES]
        houses = datasets.bundled("houses")
        table = Chain(Table(), FUSE(random_state=0)).fit(houses)
        table.explore(houses, on="pca", title="houses.csv").export(Path(folder) / "houses.html")
        wide = with_findings(browser, (Path(folder) / "houses.html").as_uri())
    wide.quantize(256).save(FOLDER / "explorer.png", optimize=True)
    both = Image.new("RGB", (sum(p.width for p in narrow) + 24, max(p.height for p in narrow)), "white")
    both.paste(narrow[0], (0, 0))
    both.paste(narrow[1], (narrow[0].width + 24, 0))
    both.quantize(256).save(FOLDER / "explorer_narrow.png", optimize=True)


SIZES = ((800, 900, "light"), (400, 900, "dark"))  # pixels of the window, and its ground


def with_findings(browser: Any, address: str) -> Image.Image:
    """The page as it opens, with the first finding open and its rows lit up."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    tab.goto(address)
    tab.locator(".finding").first.click()
    tab.wait_for_timeout(500)
    taken = tab.screenshot()
    tab.close()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def under_review(browser: Any, address: str, width: int, height: int, ground: str) -> Image.Image:
    """The page with its first odd row; where it is narrow the row is scrolled to."""
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=ground)
    tab.goto(address)
    tab.wait_for_selector("[data-ready]")
    tab.keyboard.press("r")
    tab.locator(".facts").wait_for()
    tab.mouse.move(width / 2, 20)
    tab.wait_for_timeout(300)
    taken = tab.screenshot()
    tab.close()
    return Image.open(io.BytesIO(taken)).convert("RGB")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    contours()
    social_card()
    depths()
    explanations()
    classes()
    picture_regions()
    map_of_digits()
    explorer()
    make_demo(FOLDER / "demo")
    (FOLDER / "demo" / "digits.png").replace(FOLDER / "digits.png")
    for left in (FOLDER / "demo").iterdir():
        left.unlink()
    (FOLDER / "demo").rmdir()
