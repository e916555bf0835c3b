"""What does the local network add to the background that its potentials start from?

    python -m benchmarks.network_worth [--only collections,worlds] [--seeds 1]   ten minutes of one core; needs data

Each model is fitted twice from one seed: whole, and with what its network adds bounded to a constant, so that
background and global head alone decide. Everything else is the same to the bit.

collections   The development collections of tables (without InternetAds), both protocols, t = 1/2 and 1: mean AUC-ROC
              and average precision of both, and the mean difference over sets with its standard error.
worlds        Rows along curved lines and sheets, and images: AUC-ROC of rows whose columns come from different rows
              ("mixed"), and of rows beside the others, a quarter of each column's deviation away ("beside"), against
              fresh ones, at t = 1. Beside both models, the mean distance to ten neighbours.

results/network_worth.csv and network_worlds.csv; each set's cells go to results/network_worth_cells.csv as they come.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors

from benchmarks._results import RESULTS, data, save
from benchmarks.cells import Lines
from benchmarks.detection.protocols import PROTOCOLS, load, split
from centrality import FUSE

COLLECTIONS = ("adbench_dev", "macrodata_dev")
LEFT_OUT = ("InternetAds",)  # 1,555 columns take as long as all other sets together
DIAL = (0.5, 1.0)
CELLS = RESULTS / "network_worth_cells.csv"
NAMES = ("collection", "protocol", "data", "seed", "model", "t", "roc", "ap")
Rng = np.random.Generator


@contextmanager
def background_alone() -> Iterator[None]:
    """Let what networks add be a constant: the median of what they would add."""
    with patch("centrality.fuse.background.BOUNDS", (0.5, 0.5)):
        yield


def fitted(rows: np.ndarray, seed: int, *, clean: bool, whole: bool) -> FUSE:
    model = FUSE(novelty=clean, random_state=seed)
    if whole:
        return model.fit(rows)
    with background_alone():
        return model.fit(rows)


def collections(seeds: int) -> None:
    lines = Lines(CELLS, NAMES)
    known = [dict(line) for line in lines.read()]
    done = {(line["collection"], line["protocol"], line["data"], line["seed"]) for line in known}
    for collection in COLLECTIONS:
        for path in sorted(data(collection).glob("*.npz"), key=lambda path: path.stat().st_size):
            for seed in range(seeds):
                for protocol in PROTOCOLS:
                    key = (collection, protocol, path.stem, str(seed))
                    if path.stem in LEFT_OUT or key in done:
                        continue
                    found = list(cells(key, *split(protocol, *load(path), seed)))
                    lines.append(*found)
                    known += [dict(zip(NAMES, line, strict=True)) for line in found]
            print(path.stem, flush=True)
    save("network_worth", list(differences(known)))


def cells(key: tuple[str, ...], rows: np.ndarray, asked: np.ndarray, labels: np.ndarray) -> Iterator[list[str]]:
    for name in ("whole", "background"):
        model = fitted(rows, int(key[3]), clean=key[1] == "one-class", whole=name == "whole")
        for t in DIAL:
            odd = -model.set_params(t=t).score_samples(asked)
            quality = roc_auc_score(labels, odd), average_precision_score(labels, odd)
            yield [*key, name, f"{t:g}", *(f"{float(value):.5f}" for value in quality)]


def differences(known: list[dict[str, str]]) -> Iterator[dict[str, object]]:
    for collection in COLLECTIONS:
        for protocol in PROTOCOLS:
            for t in DIAL:
                own = [k for k in known if (k["collection"], k["protocol"], k["t"]) == (collection, protocol, f"{t:g}")]
                sets = sorted({k["data"] for k in own})
                row: dict[str, object] = {"collection": collection, "protocol": protocol, "t": t, "sets": len(sets)}
                for metric in ("roc", "ap"):
                    mean = {
                        model: np.array(
                            [
                                np.mean([float(k[metric]) for k in own if (k["data"], k["model"]) == (name, model)])
                                for name in sets
                            ]
                        )
                        for model in ("whole", "background")
                    }
                    added = mean["whole"] - mean["background"]
                    row |= {f"{metric} {model}": float(values.mean()) for model, values in mean.items()}
                    row |= {f"{metric} added": float(added.mean())}
                    row |= {f"{metric} se": float(added.std(ddof=1) / np.sqrt(len(added)))}
                yield row


def ring(n: int, rng: Rng) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * rng.normal(size=(n, 2))


def spiral(n: int, rng: Rng) -> np.ndarray:
    angle = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, n))
    return np.stack([angle * np.cos(angle), angle * np.sin(angle)], 1) / 9 + 0.03 * rng.normal(size=(n, 2))


def rolled(n: int, rng: Rng) -> np.ndarray:
    """A sheet rolled up in three columns."""
    angle = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    sheet = np.stack([angle * np.cos(angle), 21 * rng.uniform(size=n) - 10, angle * np.sin(angle)], 1)
    return sheet / 10 + 0.03 * rng.normal(size=(n, 3))


def sheet(n: int, rng: Rng) -> np.ndarray:
    """A sheet bent in a hundred columns: each is a wave of the same two numbers."""
    fixed = np.random.default_rng(7)
    slopes, phases = 2 * fixed.normal(size=(2, 100)), fixed.uniform(0, 2 * np.pi, 100)
    return np.sin(rng.uniform(-1, 1, (n, 2)) @ slopes + phases) + 0.1 * rng.normal(size=(n, 100))


def products(n: int, rng: Rng) -> np.ndarray:
    """Twenty columns, one of which is the product of two others, and one a square."""
    rows = rng.normal(size=(n, 20))
    rows[:, 0] = rows[:, 1] * rows[:, 2] + 0.1 * rows[:, 0]
    rows[:, 3] = np.square(rows[:, 4]) + 0.1 * rows[:, 3]
    return rows


def digits(n: int, rng: Rng) -> np.ndarray:
    """Pictures of digits, every second pixel of every second line."""
    with np.load(data("paper", "mnist_test10k.npz")) as archive:
        pixels = archive["X"][:, ::2, ::2].reshape(len(archive["X"]), -1) / 255.0
    return pixels[rng.choice(len(pixels), n, replace=False)] + 0.01 * rng.normal(size=(n, pixels.shape[1]))


WORLDS: dict[str, tuple[Callable[[int, Rng], np.ndarray], tuple[int, ...]]] = {
    "ring, 2 columns": (ring, (1000, 20_000)),
    "spiral, 2 columns": (spiral, (1000, 20_000)),
    "rolled sheet, 3 columns": (rolled, (1000, 5000, 20_000)),
    "product and square, 20 columns": (products, (1000, 20_000)),
    "bent sheet, 100 columns": (sheet, (1000, 20_000)),
    "digits, 196 columns": (digits, (1000, 5000)),
}


def worlds(seeds: int) -> None:
    rows: list[dict[str, object]] = []
    for name, (draw, sizes) in WORLDS.items():
        for n in sizes:
            for clean in (False, True):
                found = [of_world(draw, n, seed, clean=clean) for seed in range(seeds)]
                means = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
                rows.append({"world": name, "rows": n, "novelty": clean, **means})
                print(rows[-1], flush=True)
    save("network_worlds", rows)


def of_world(draw: Callable[[int, Rng], np.ndarray], n: int, seed: int, *, clean: bool) -> dict[str, float]:
    rng = np.random.default_rng([seed, n])
    everything = draw(n + 4000, rng)
    learned, fresh, mixed, beside = np.split(everything, [n, n + 2000, n + 3000])
    mixed = np.stack([rng.permutation(column) for column in mixed.T], 1)
    beside = beside + 0.25 * learned.std(0) * rng.normal(size=beside.shape)
    near = NearestNeighbors(n_neighbors=10).fit(learned)
    scores: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        name: fitted(learned, seed, clean=clean, whole=name == "whole").set_params(t=1.0).score_samples
        for name in ("whole", "background")
    }
    scores["kNN"] = lambda asked: -near.kneighbors(asked)[0].mean(1)
    labels = np.repeat([0, 1], [len(fresh), len(mixed)])
    return {
        f"{kind}, {name}": float(roc_auc_score(labels, -np.concatenate([score(fresh), score(odd)])))
        for name, score in scores.items()
        for kind, odd in (("mixed", mixed), ("beside", beside))
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network_worth", description=__doc__)
    parser.add_argument("--only", default="worlds,collections", help="parts, by commas")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    parts = {"collections": collections, "worlds": worlds}
    for part in arguments.only.split(","):
        parts[part](arguments.seeds)


if __name__ == "__main__":
    main()
