"""Can one tell from its scores whether a row was trained on? From f at t = 1/2, and from the pair of units.

An attacker who may ask a model for scores knows, of some rows, whether they were trained on, and wants to know it of
others. AUC of three attacks, where 1/2 is chance:

f : a row is taken for a training row the more central it is.
pair : a logistic regression on units, their squares and products, learned on half of the rows, judged on the others.
file : the same on each network's own pair, in the order of their scores; for that one needs the model's file.

Fresh rows are drawn as the training rows were, as many as these, five times for each world. With defaults each of six
networks has seen half of the rows; one network alone has seen nine tenths of them.
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
from centrality.model.reader import reader_of
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


def learned(features: NDArray[np.float64], member: NDArray[np.int64]) -> float:
    """AUC of a logistic regression that was learned on every other row, on the rest."""
    known = np.arange(len(member)) % 2 == 0
    regression = make_pipeline(StandardScaler(), PolynomialFeatures(2), StandardScaler(), LogisticRegression(C=0.1))
    guess = regression.fit(features[known], member[known]).predict_proba(features[~known])[:, 1]
    return float(roc_auc_score(member[~known], guess))


def attacks(model: FUSE | Chain, rows: NDArray[np.float64], member: NDArray[np.int64]) -> tuple[float, float, float]:
    """AUC of all attacks on rows, of which those with `member` 1 were trained on."""
    fitted = model.fitted_
    units = fitted.units(rows)
    pairs = fitted.calibration.of_members(fitted.scorer.of_rows(rows, fitted.scaling))  # (members, n, 2)
    in_order = np.sort(pairs, axis=0).transpose(1, 0, 2).reshape(len(rows), -1)
    by_f = float(roc_auc_score(member, model.fitted_.mixing.mixed(units, 0.5)))
    return by_f, learned(units, member), learned(in_order, member)


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
                rows_asked = np.concatenate(
                    [np.asarray(reader_of(model).vectors(each), dtype=float) for each in (train, fresh)]
                )
                found.append(attacks(model, rows_asked, np.repeat([1, 0], N)))
            line: dict[str, object] = {"world": world, "settings": setting}
            for name, values in zip(("f", "pair", "file"), zip(*found, strict=True), strict=True):
                line |= {
                    name: float(np.mean(values)),
                    f"{name}_error": float(np.std(values, ddof=1) / len(values) ** 0.5),
                }
            rows.append(line)
    save("membership", rows)


if __name__ == "__main__":
    main()
