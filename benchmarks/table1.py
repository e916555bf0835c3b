"""Table 1 of the paper: does centrality fall with the distance to the mean?

Rank correlation of both heads with minus the Euclidean distance to the mean, n = 5000 in the plane, five seeds
(for Normal each seed draws another covariance). Settings:

- paper: FUSE.as_in_paper("synthetic"), the schedule and the raw features of the paper;
- ours: FUSE(noise_scale=1.0), our schedule and standardised features at the paper's noise;
- ours, raw: the same without scaling, so that distances are measured where the table measures them;
- default: FUSE(), whose noise is much smaller. On the Uniform its local score is rightly flat, since the density
  is: no rank correlation is to be expected there.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import kendalltau, spearmanr
from tqdm import tqdm

from benchmarks._results import save
from centrality import FUSE, datasets

SEEDS = range(5)
SETTINGS: dict[str, Callable[[int], FUSE]] = {
    "paper": lambda seed: FUSE.as_in_paper("synthetic", random_state=seed),
    "ours": lambda seed: FUSE(noise_scale=1.0, random_state=seed),
    "ours, raw": lambda seed: FUSE(noise_scale=1.0, scaling="none", random_state=seed),
    "default": lambda seed: FUSE(random_state=seed),
}
SAMPLES = {"Normal": datasets.normal, "Student-t": datasets.student_t, "Uniform": datasets.uniform}
PRINTED = {  # Spearman, Kendall as the paper prints them
    ("Normal", "Global"): (0.996, 0.951),
    ("Normal", "Local"): (0.982, 0.894),
    ("Student-t", "Global"): (0.998, 0.964),
    ("Student-t", "Local"): (0.999, 0.980),
    ("Uniform", "Global"): (0.998, 0.966),
    ("Uniform", "Local"): (0.998, 0.961),
}


def main() -> None:
    rows: list[dict[str, object]] = []
    with tqdm(total=len(SAMPLES) * len(SETTINGS) * len(SEEDS), unit="fit") as bar:
        for name, sample in SAMPLES.items():
            for setting, make in SETTINGS.items():
                found = []
                for seed in SEEDS:
                    X = sample(5000, random_state=seed)
                    inward = -np.linalg.norm(X, axis=1)
                    raw = make(seed).fit(X).raw(X)
                    found.append([[f(raw[:, k], inward)[0] for f in (spearmanr, kendalltau)] for k in (0, 1)])
                    bar.update()
                rows += _rows(name, setting, np.array(found))
    save("table1", rows)


def _rows(name: str, setting: str, found: np.ndarray) -> list[dict[str, object]]:
    return [
        {
            "data": name,
            "settings": setting,
            "head": head,
            "spearman": float(found[:, k, 0].mean()),
            "spearman_std": float(found[:, k, 0].std(ddof=1)),
            "spearman_paper": PRINTED[name, head][0],
            "kendall": float(found[:, k, 1].mean()),
            "kendall_paper": PRINTED[name, head][1],
        }
        for k, head in enumerate(("Global", "Local"))
    ]


if __name__ == "__main__":
    main()
