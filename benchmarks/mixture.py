"""A mixture of five Gaussians in 64 dimensions: does each head learn what it is meant to?

n = 10,000, three mixtures. The global head is compared with minus the mean distance to the distribution, the local
head with the true log-density smoothed by the least noise it was trained with, both on 2,000 fresh points (Spearman).
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from benchmarks._results import save
from centrality import FUSE, PaperFUSE, datasets

SEEDS = range(3)
SETTINGS: dict[str, Callable[[int], FUSE]] = {
    "default": lambda seed: FUSE(random_state=seed),
    "two encoders": lambda seed: PaperFUSE(shared_encoder=False, random_state=seed),
    "novelty (4000 steps)": lambda seed: FUSE(novelty=True, random_state=seed),
    "noise_scale=1": lambda seed: FUSE(noise_scale=1.0, random_state=seed),
    "paper's schedule": lambda seed: FUSE.as_in_paper("outlier", scaling="auto", random_state=seed),
}


def main() -> None:
    rows: list[dict[str, object]] = []
    for setting, make in SETTINGS.items():
        found = []
        for seed in SEEDS:
            mixture = datasets.random_clusters(5, 64, random_state=seed)
            X, queries, others = (mixture.sample(n, random_state=[seed, n]) for n in (10_000, 2000, 5000))
            model = make(seed).fit(X)
            raw, scaling = model.raw(queries), model.fitted_.scaling
            unit = 1 / (scaling.weight if scaling.shrink is None else scaling.weight * scaling.shrink)
            distance = cdist(scaling.apply(queries), scaling.apply(others)).mean(1)
            density = mixture.log_density(queries, noise=model.noise_scale_[0] * unit)
            found.append([spearmanr(raw[:, 0], -distance)[0], spearmanr(raw[:, 1], density)[0]])
        mean, low = np.mean(found, 0), np.min(found, 0)
        rows.append(
            {
                "settings": setting,
                "global": float(mean[0]),
                "global_worst": float(low[0]),
                "local": float(mean[1]),
                "local_worst": float(low[1]),
            }
        )
    save("mixture", rows)


if __name__ == "__main__":
    main()
