"""Can one tell from its scores whether a row was trained on? From f at t = 1/2, and from the pair of units.

An attacker who may ask a model for scores knows, of some rows, whether they were trained on, and wants to know it of
others. AUC of two attacks: "f" takes a row for a training row the more central it is; "pair" learns a logistic
regression from units, their squares and their product on half of the rows, and is judged on the other half. 1/2 is
chance. Fresh rows are drawn as the training rows were, as many as these, five times for each world. With defaults each
of six networks has seen half of the rows; one network alone has seen nine tenths of them.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks._results import save
from centrality import FUSE, Chain
from centrality.representations import Table

SEEDS = range(5)
N = 300
Draw = Callable[[np.random.Generator], NDArray[np.float64] | pd.DataFrame]


def normal(p: int) -> Draw:
    return lambda rng: rng.normal(size=(N, p))


def categories(rng: np.random.Generator) -> pd.DataFrame:
    """Eight columns of six categories, some common, some rare: hardly a record comes twice."""
    shares = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    return pd.DataFrame({f"c{j}": rng.choice(list("abcdef"), size=N, p=shares) for j in range(8)})


WORLDS: dict[str, Draw] = {
    "normal p=5": normal(5),
    "normal p=30": normal(30),
    "normal p=100": normal(100),
    "categories": categories,
}
SETTINGS = {"default": {}, "one network": {"ensemble": 1}, "novelty": {"novelty": True}}


def attacks(seen: NDArray[np.float64], fresh: NDArray[np.float64], model: FUSE | Chain) -> tuple[float, float]:
    """AUC of both attacks on units (n, 2) of training rows and of fresh ones."""
    units, member = np.concatenate([seen, fresh]), np.repeat([1, 0], [len(seen), len(fresh)])
    known = np.arange(len(units)) % 2 == 0
    learned = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    guess = learned.fit(units[known], member[known]).predict_proba(units[~known])[:, 1]
    return (
        float(roc_auc_score(member, model.mixing_.mixed(units, 0.5))),
        float(roc_auc_score(member[~known], guess)),
    )


def main() -> None:
    rows: list[dict[str, object]] = []
    for world, draw in WORLDS.items():
        for setting, changes in SETTINGS.items():
            found = []
            for seed in SEEDS:
                rng = np.random.default_rng(seed)
                train, fresh = draw(rng), draw(rng)
                fuse = FUSE(random_state=seed, **changes)
                model = Chain(Table(), fuse) if isinstance(train, pd.DataFrame) else fuse
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    model.fit(train)
                seen, new = (model.fitted_.units(model.vectors(each)) for each in (train, fresh))
                found.append(attacks(seen, new, model))
            mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / np.sqrt(len(found))
            rows.append(
                {
                    "world": world,
                    "settings": setting,
                    "f": float(mean[0]),
                    "f_error": float(error[0]),
                    "pair": float(mean[1]),
                    "pair_error": float(error[1]),
                }
            )
    save("membership", rows)


if __name__ == "__main__":
    main()
