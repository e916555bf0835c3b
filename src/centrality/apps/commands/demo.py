"""centrality demo: fit a mixture and handwritten digits, rank, and make two pictures and the explorer page."""

import argparse
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.text import share
from centrality.apps.commands._terminal import Result, save_figure, shows_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HELP = "fit, rank, draw and make an explorer page, on data that comes with scikit-learn"
CONTOURS_AT = (0.0, 0.25, 0.5, 0.75, 1.0)  # values of t
DIGITS = 10  # digits of each kind


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("centrality-demo"),
        metavar="FOLDER",
        help="where the pictures and the page go (default: centrality-demo)",
    )


def run(arguments: argparse.Namespace) -> Result:
    """Return the folder of the pictures, the page and the model."""
    from centrality._internal.checks import optional

    optional("matplotlib", "plots")  # before the models are fitted, not after
    make_demo(
        arguments.output,
        progress=shows_progress(arguments),
        say=(lambda _: None) if arguments.json else lambda text: print(text, flush=True),
    )
    return {"folder": str(arguments.output)}


def show(result: Result) -> str:
    return ""  # everything was printed while it ran


def make_demo(folder: Path, *, progress: bool = False, say: Callable[[str], None] = print) -> None:
    """Fit both models, `say` what they found, and write the pictures and the page into `folder`."""
    import numpy as np
    from sklearn.datasets import load_digits

    from centrality import maps, plots
    from centrality.apps.explorer import server
    from centrality.apps.explorer.view import view_of
    from centrality.datasets import four_clusters
    from centrality.fuse import FUSE

    folder.mkdir(parents=True, exist_ok=True)
    say("Fitting FUSE to 3,000 points of a four-component mixture ...")
    points = four_clusters().sample(3000, random_state=0)
    mixture = FUSE(noise_scale=0.25, random_state=0, progress=progress).fit(points)
    grid = maps.grid(mixture, points, CONTOURS_AT)
    contours = plots.contours([grid], CONTOURS_AT, points=[points], titles=["mixture"])
    save_figure(contours, folder / "contours.png")
    digits = load_digits()
    say(f"Fitting FUSE to {len(digits.data):,} handwritten digits, 8 × 8 pixels each ...")
    model = FUSE(random_state=0, progress=progress).fit(digits.data)
    heads = model.heads(digits.data)
    score = model.centrality(digits.data)
    order = np.argsort(-score)
    say(_table("The most central digits", order[:DIGITS], digits.target, heads, score))
    say(_table("The most peripheral digits", order[::-1][:DIGITS], digits.target, heads, score))
    groups = {
        "The ten most typical digits": (digits.images[order[:DIGITS]], score[order[:DIGITS]]),
        "The ten oddest digits": (digits.images[order[::-1][:DIGITS]], score[order[::-1][:DIGITS]]),
    }
    save_figure(plots.images(groups), folder / "digits.png")
    model.save(folder / "digits.safetensors")
    columns = {"digit": digits.target.astype(str), "ink": digits.data.sum(1)}
    # UMAP's positions of the digits come with the package, as umap-learn may not be installed.
    with as_file(files("centrality.apps.explorer") / "static" / "digits_umap.npy") as path:
        positions = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)  # (1797, 2)
    looks = {"items": digits.images, "columns": columns, "title": "Handwritten digits", "colour": "digit"}
    view = view_of(model, digits.data, on=positions, **looks)
    server.export(view, folder / "explorer.html")
    say(f"\nPictures: {folder / 'contours.png'}\n          {folder / 'digits.png'}")
    say(f"Explorer: {folder / 'explorer.html'}   (open it in a browser, and turn the dial)")
    say(
        f"Model:    {folder / 'digits.safetensors'}   (look inside: centrality inspect {folder / 'digits.safetensors'})"
    )


def _table(
    heading: str,
    rows: "NDArray[np.intp]",
    labels: "NDArray[np.int64]",
    heads: "NDArray[np.float64]",
    score: "NDArray[np.float64]",
) -> str:
    """Return a table of these rows as text: their labels, heads and scores."""
    lines = [f"\n{heading}", "  row   digit    global     local   centrality"]
    for i in rows:
        lines.append(
            f"{i:5d}   {labels[i]:5d}  {share(heads[i, 0]):>8}  {share(heads[i, 1]):>8}   {share(score[i]):>10}"
        )
    return "\n".join(lines)
