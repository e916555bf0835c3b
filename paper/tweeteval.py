"""Figure "tweeteval": 1000 tweets, negative, neutral or positive, compared by the cosine.

The paper embeds them by a DistilBERT trained on sentiment. Where its weights are on the disk it is measured as well;
MiniLM, which knows topics rather than sentiments, stands in for it. The text's claims as numbers: neutral tweets are
the more central ones, by both heads; the dial changes little; positive and negative tweets lie at opposite ends (along
the line between their means, found on every second tweet and tested on the others).
"""

import gzip
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from centrality import datasets, maps, plots
from centrality.metrics import rank_correlation
from centrality.representations import Text
from paper.encoders import at_hand, encoded
from paper.figures import save
from paper.lab import Cell, Found
from paper.models import SEEDS, TS, fuse, mixing, trained

TITLE = "Figure 7: TweetEval from global to local"
MINUTES = 2.0
WHY = """
Where we differ: MiniLM's vectors were not trained on sentiment; neutral tweets are no bridge between the others
there, and not more central. Vectors have length 1, so that noise of η = 1 dwarfs them: at the paper's η Local has
little to go by.
"""
NAMES = np.array(["negative", "neutral", "positive"])
NEUTRAL, MILD = "AUC of neutral against polar", "Spearman of Global with Local"
ENDS = "AUC of positive against negative along their line"
DISTILBERT = "distilbert-base-uncased-finetuned-sst-2-english"  # or a folder with its weights
CLAIMS = {("Global", NEUTRAL): 0.5, ("Local", NEUTRAL): 0.5, ("both heads", MILD): 0.5, ("vectors", ENDS): 0.5}
PRINTED = {(name, *key): f"> {limit}" for name in ("MiniLM", "DistilBERT") for key, limit in CLAIMS.items()}


def cells(quick: bool) -> list[Cell]:
    n, seeds = (150, range(1)) if quick else (1000, SEEDS)
    names = ["MiniLM", "DistilBERT"] if not quick and at_hand(Text(DISTILBERT)) else ["MiniLM"]
    return [
        Cell(name, "FUSE", settings, seed, partial(measure, name, settings, n, seed, quick))
        for seed in seeds
        for name in names
        for settings in ("paper", "ours", "default")
    ]


def measure(name: str, settings: str, n: int, seed: int, quick: bool) -> Found:
    Z, label = tweets(name, n)
    model, seconds = trained(fuse(settings, "real", seed, metric="cosine", quick=quick), Z)
    heads = model.heads(Z)
    found: Found = {
        ("Global", NEUTRAL): roc_auc_score(label == 1, heads[:, 0]),
        ("Local", NEUTRAL): roc_auc_score(label == 1, heads[:, 1]),
        ("both heads", MILD): rank_correlation(*heads.T),
        ("vectors", ENDS): opposite_ends(Z, label),
        ("FUSE", "train s"): seconds,
    }
    return found | ({"heads": heads, "points": embedded(name, n, quick), "labels": label} if seed == 0 else {})


@lru_cache
def tweets(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "DistilBERT":
        lines = gzip.decompress(datasets.fetch("tweeteval").read_bytes()).decode().splitlines()[1 : n + 1]
        label, text = zip(*(line.split("\t", 1) for line in lines), strict=True)
        return encoded(Text(DISTILBERT, pooling="cls", normalize=False), list(text)), np.array(label, dtype=int)
    with np.load(datasets.fetch("tweeteval_minilm")) as archive:
        test = archive["split"] == "test"
        return archive["E"][test][:n].astype(np.float64), archive["y"][test][:n]


def opposite_ends(Z: np.ndarray, label: np.ndarray) -> float:
    some, others = Z[::2], Z[1::2]
    line = some[label[::2] == 2].mean(0) - some[label[::2] == 0].mean(0)
    polar = label[1::2] != 1
    return float(roc_auc_score(label[1::2][polar] == 2, (others @ line)[polar]))


@lru_cache
def embedded(name: str, n: int, quick: bool) -> np.ndarray:
    return maps.embed(tweets(name, n)[0], method="pca" if quick else "umap", random_state=0)


def draw(found: dict[Cell, Found], folder: Path, quick: bool) -> None:
    for cell, f in found.items():
        if cell.seed == 0 and cell.settings != "ours":
            figure = plots.homotopy_map(
                f["points"], mixing(cell.settings)(f["heads"], TS), TS, labels=NAMES[f["labels"]], columns=3
            )
            save(figure, folder / f"tweeteval_{cell.dataset.lower()}_{cell.settings}.png")
