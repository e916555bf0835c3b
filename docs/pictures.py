"""Makes the pictures of the README: `make pictures`."""

from pathlib import Path

from PIL import Image

from centrality import FUSE, datasets, demo, plots

FOLDER = Path(__file__).parent / "pictures"
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
    grids = [demo.plane(model, X, TS) for model, X in zip(models, samples.values(), strict=True)]
    figure = plots.contours(grids, TS, points=[X[:1000] for X in samples.values()], titles=list(samples))
    figure.savefig(FOLDER / "contours.png", dpi=100)
    with Image.open(FOLDER / "contours.png") as picture:  # a palette is enough, and a third of the size
        picture.convert("RGB").quantize(96).save(FOLDER / "contours.png", optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    contours()
    demo.run(FOLDER / "demo")
    (FOLDER / "demo" / "digits.png").replace(FOLDER / "digits.png")
    for left in (FOLDER / "demo").iterdir():
        left.unlink()
    (FOLDER / "demo").rmdir()
