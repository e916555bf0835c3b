"""Does training beat initialisation, and do scores stay apart, on every development set of up to 20,000 rows?

FUSE with its defaults against the same network untrained. Global: Spearman with how often a row is the nearer one
before an anchor, on 1000 rows. Local: denoising score matching loss, in units where a score of zero costs 0.5.
Different: the share of different rows that have different scores, for the head that has fewer of them.
"""

import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import pairwise_distances
from tqdm import tqdm

from benchmarks._results import data, save
from centrality import FUSE, PaperFUSE

MOST_ROWS = 20_000


def main() -> None:
    rows: list[dict[str, object]] = []
    for path in tqdm(sorted(data("adbench_dev").glob("*.npz")), unit="set"):
        with np.load(path) as archive:
            X = archive["X"]
        if len(X) > MOST_ROWS:
            continue
        untrained = PaperFUSE(max_steps=1, learning_rate=1e-12, random_state=0).fit(X)
        trained = FUSE(random_state=0).fit(X)
        few = np.random.default_rng(0).permutation(len(X))[:1000]
        preferred = -rankdata(pairwise_distances(untrained.fitted_.scaling.apply(X[few])), axis=0).mean(1)
        different = [len(np.unique(head)) for head in trained.heads(X).T]
        rows.append(
            {
                "data": path.stem,
                "rows": X.shape[0],
                "columns": X.shape[1],
                "global_untrained": float(spearmanr(untrained.raw(X[few])[:, 0], preferred)[0]),
                "global_trained": float(spearmanr(trained.raw(X[few])[:, 0], preferred)[0]),
                "local_loss_untrained": untrained.history_["local"][0],
                "local_loss_trained": float(np.mean(trained.history_["local"][-10:])),
                "different": min(different) / len(np.unique(X, axis=0)),
            }
        )
    save("learning", rows)


if __name__ == "__main__":
    main()
