"""The detectors compared, each under one name with `fit(X)` and `outlyingness(Q)`: larger is odder.

Nothing is chosen per data set. FUSE gets the rows as they are, for scaling is part of it. IForest, ECOD, COPOD and HBOS
look at one column at a time and do not care; all others get columns standardised on the training rows, as is customary.
Peers have the defaults of scikit-learn and PyOD, but for: LOF 20 neighbours, kNN the mean distance to 10, DTE-NP the
mean distance to 5 (its score increases with that and with nothing else), GMM 5 components, KDE the median distance to
the 10th neighbour over √p as bandwidth (the strongest simple rule we know), and three that would take hours: OCSVM and
KDE learn from at most 10,000 random rows, MCD from at most 200 principal components.
"""

import importlib
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

FEW_ROWS = 10_000  # what detectors of quadratic cost learn from, at the most
FEW_COLUMNS = 200  # what detectors of cubic cost look at, at the most
NEIGHBOUR = 10
RIDGE = 0.1  # of the mean variance: what keeps a covariance of few rows from being singular
BLOCK = 100  # queries whose distances to all rows are held at once


class Detector(Protocol):
    def fit(self, X: np.ndarray) -> None: ...

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        """Of any rows; `Q is X`, the very array that was fitted, asks for the training rows' own scores."""
        ...


class Fuse:
    def __init__(self, seed: int, clean: bool) -> None:
        from centrality import FUSE

        self.model = FUSE(novelty=clean, random_state=seed)

    def fit(self, X: np.ndarray) -> None:
        self.model.fit(X)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return -self.model.score_samples(Q)


class ScikitLearn:
    """Any of its models whose `score_samples` is larger for what is normal."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: np.ndarray) -> None:
        self.model.fit(X)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return -self.model.score_samples(Q)


class Lof:
    """The training rows are judged without themselves among their neighbours, as LOF is defined."""

    def __init__(self) -> None:
        self.model = LocalOutlierFactor(n_neighbors=20, novelty=True)

    def fit(self, X: np.ndarray) -> None:
        self.X = X
        self.model.fit(X)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return -(self.model.negative_outlier_factor_ if Q is self.X else self.model.score_samples(Q))


class Neighbours:
    """The mean distance to the k nearest training rows, oneself not counted."""

    def __init__(self, k: int) -> None:
        self.k = k

    def fit(self, X: np.ndarray) -> None:
        self.X = X
        self.model = NearestNeighbors(n_neighbors=min(self.k, len(X) - 1)).fit(X)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.model.kneighbors(None if Q is self.X else Q)[0].mean(1)


class Farthest(Neighbours):
    """The distance to the k-th nearest training row, oneself not counted."""

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.model.kneighbors(None if Q is self.X else Q)[0][:, -1]


class Whitened:
    """Mahalanobis' distance, the covariance ridged by a tenth of its mean variance."""

    def fit(self, X: np.ndarray) -> None:
        self.mean = X.mean(0)
        covariance = np.atleast_2d(np.cov(X.T))
        ridge = RIDGE * np.trace(covariance) / len(covariance) or 1.0
        self.precision = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        off = Q - self.mean
        return np.einsum("ij,ij->i", off @ self.precision, off)


class Pyod:
    """PyOD scores its training rows while it fits, so that `score_s` of those is nearly nothing."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.kind = getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)
        self.settings = settings

    def fit(self, X: np.ndarray) -> None:
        self.X = X
        self.model = self.kind(**self.settings).fit(X)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.model.decision_scores_ if Q is self.X else self.model.decision_function(Q)


class Cblof(Pyod):
    """Eight clusters; fewer where so many cannot be told into large and small ones, which PyOD refuses to do."""

    def __init__(self, seed: int) -> None:
        super().__init__("CBLOF", random_state=seed)

    def fit(self, X: np.ndarray) -> None:
        for clusters in range(8, 1, -1):
            try:
                self.settings["n_clusters"] = clusters
                return super().fit(X)
            except ValueError as error:
                if "cluster" not in str(error) or clusters == 2:
                    raise
        return None


class Kde:
    """An exact Gaussian kernel density; minus its logarithm."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray) -> None:
        self.X = few_rows(X, self.seed)
        near = few_rows(self.X, self.seed, 2000)
        k = min(NEIGHBOUR, len(near) - 1)
        bandwidth = np.median(NearestNeighbors(n_neighbors=k).fit(near).kneighbors()[0][:, -1]) / np.sqrt(X.shape[1])
        # Where most rows have ten copies: Scott's rule.
        self.bandwidth = bandwidth if bandwidth > 0 else len(self.X) ** (-1 / (X.shape[1] + 4))

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        lengths, columns, found = np.square(self.X).sum(1), np.ascontiguousarray(self.X.T), []
        for start in range(0, len(Q), BLOCK):
            q = Q[start : start + BLOCK]
            a = q @ columns  # in place from here on: this is most of the time
            a *= 2
            a -= lengths
            a -= np.square(q).sum(1)[:, None]
            a /= 2 * self.bandwidth**2  # minus the squared distance, in bandwidths
            nearest = a.max(1, keepdims=True)
            a -= nearest
            np.exp(a, out=a)
            found.append(-(nearest[:, 0] + np.log(a.sum(1))))
        return np.concatenate(found)


class OnFewRows:
    def __init__(self, inner: Detector, seed: int) -> None:
        self.inner, self.seed = inner, seed

    def fit(self, X: np.ndarray) -> None:
        self.inner.fit(few_rows(X, self.seed))

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.inner.outlyingness(Q)


class OnFewColumns:
    """On principal components, where there are too many columns."""

    def __init__(self, inner: Detector, seed: int) -> None:
        self.inner, self.seed = inner, seed

    def fit(self, X: np.ndarray) -> None:
        self.rotation = None
        if X.shape[1] > FEW_COLUMNS:
            self.rotation = PCA(min(FEW_COLUMNS, len(X)), svd_solver="randomized", random_state=self.seed).fit(X)
        self.inner.fit(self._turned(X))

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.inner.outlyingness(self._turned(Q))

    def _turned(self, X: np.ndarray) -> np.ndarray:
        return X if self.rotation is None else self.rotation.transform(X)


class Standardised:
    def __init__(self, inner: Detector) -> None:
        self.inner = inner

    def fit(self, X: np.ndarray) -> None:
        self.X, self.scaler = X, StandardScaler()
        self.scaled = self.scaler.fit_transform(X)
        self.inner.fit(self.scaled)

    def outlyingness(self, Q: np.ndarray) -> np.ndarray:
        return self.inner.outlyingness(self.scaled if Q is self.X else self.scaler.transform(Q))


def few_rows(X: np.ndarray, seed: int, limit: int = FEW_ROWS) -> np.ndarray:
    return X if len(X) <= limit else X[np.sort(np.random.default_rng(seed).permutation(len(X))[:limit])]


# name: (seed, whether the training rows are clean) -> detector. Names as in published/adbench_26_methods.csv.
METHODS: dict[str, Callable[[int, bool], Detector]] = {
    "FUSE": lambda seed, clean: Fuse(seed, clean),
    "IForest": lambda seed, _: ScikitLearn(IsolationForest(random_state=seed)),
    "LOF": lambda *_: Standardised(Lof()),
    "kNN": lambda *_: Standardised(Neighbours(NEIGHBOUR)),
    "kNN-max": lambda *_: Standardised(Farthest(5)),
    "Mahalanobis": lambda *_: Standardised(Whitened()),
    "DTE-NP": lambda *_: Standardised(Neighbours(5)),
    "ECOD": lambda *_: Pyod("ECOD"),
    "COPOD": lambda *_: Pyod("COPOD"),
    "HBOS": lambda *_: Pyod("HBOS"),
    "MCD": lambda seed, _: Standardised(OnFewColumns(Pyod("MCD", random_state=seed), seed)),
    "CBLOF": lambda seed, _: Standardised(Cblof(seed)),
    "PCA": lambda seed, _: Standardised(Pyod("PCA", random_state=seed)),
    "OCSVM": lambda seed, _: Standardised(OnFewRows(ScikitLearn(OneClassSVM()), seed)),
    "GMM": lambda seed, _: Standardised(ScikitLearn(GaussianMixture(5, random_state=seed))),
    "KDE": lambda seed, _: Standardised(Kde(seed)),
}

SEEDLESS = ("LOF", "kNN", "kNN-max", "Mahalanobis", "DTE-NP", "ECOD", "COPOD", "HBOS")


def quietly(call: Callable[[], Any]) -> Any:
    """Peers warn about data sets being what they are (duplicates, singular covariances): not our subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()
