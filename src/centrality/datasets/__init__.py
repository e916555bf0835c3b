"""Offer samples of known distributions, small tables that need no download, and published data sets by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import logsumexp

from centrality._internal.checks import InputError, generator
from centrality.datasets.published import fetch, names

HOUSES = 1200
DISTRICTS = ("Altstadt", "Hafen", "Nordend", "Seeblick", "Westend")
HEATING = ("gas", "heat pump", "district", "oil")


def houses() -> pa.Table:
    """Return 1,200 made-up houses with a date, categories and gaps; the last six are odd, each in its own way.

    >>> from centrality.datasets import houses
    >>> table = houses()
    >>> table.num_rows, table.column_names[:3]
    (1200, ['house', 'district', 'sold'])
    """
    rng = np.random.default_rng(2024)
    district = rng.integers(0, len(DISTRICTS), HOUSES)
    built = rng.integers(1890, 2021, HOUSES)
    area = np.exp(rng.normal(4.75, 0.32, HOUSES) + 0.06 * (district == 3))
    rooms = np.clip(np.round(area / 27 + rng.normal(0, 0.7, HOUSES)), 1, None)
    heating = np.where(built > 2005, rng.choice([1, 2], HOUSES), rng.choice([0, 2, 3], HOUSES, p=[0.6, 0.25, 0.15]))
    price = area * (2.6 + 0.5 * district + 0.006 * (built - 1890)) * np.exp(rng.normal(0, 0.14, HOUSES))
    sold = np.datetime64("2019-01-01") + rng.integers(0, 5 * 365, HOUSES)
    columns = {
        "house": [f"H{number:04d}" for number in range(HOUSES)],
        "district": [DISTRICTS[k] for k in district],
        "sold": sold,
        "built": built.astype(np.int64),
        "area": np.round(area, 1),
        "rooms": rooms.astype(np.int64),
        "heating": [HEATING[k] for k in heating],
        "garden": rng.choice(["yes", "no"], HOUSES, p=[0.45, 0.55]),
        "price": np.round(price).astype(np.int64),
    }
    for column, value in (("area", rng.uniform(size=HOUSES) < 0.06), ("heating", rng.uniform(size=HOUSES) < 0.04)):
        columns[column] = [None if gone else v for v, gone in zip(columns[column], value.tolist(), strict=True)]
    rows = pa.table(columns).to_pylist()
    for row, odd in zip(rows[-6:], ODD_HOUSES, strict=True):
        row.update(odd)
    return pa.Table.from_pylist(rows, schema=pa.table(columns).schema)


# What is odd about the last six: the price, the size, a combination that no other house has, a typing error.
ODD_HOUSES: tuple[dict[str, object], ...] = (
    {"price": 4_900, "area": 118.0, "rooms": 4},
    {"area": 940.0, "rooms": 5, "price": 2_100},
    {"built": 1893, "heating": "heat pump", "price": 1_900},
    {"rooms": 19, "area": 64.0},
    {"built": 2020, "heating": "oil", "district": "Seeblick", "price": 95},
    {"area": 1.2, "rooms": 1, "price": 690},
)


def _from_scikit_learn(loader: str) -> pa.Table:
    from sklearn import datasets

    bunch = getattr(datasets, loader)()
    names = [str(name).replace(" (cm)", "").replace(" ", "_") for name in bunch.feature_names]
    return pa.table({name: bunch.data[:, j] for j, name in enumerate(names)})


BUNDLED: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "houses": (houses, "1,200 made-up houses: dates, categories, gaps; six of them are odd"),
    "wine": (partial(_from_scikit_learn, "load_wine"), "178 wines, 13 chemical measurements (scikit-learn)"),
    "iris": (partial(_from_scikit_learn, "load_iris"), "150 flowers, 4 lengths (scikit-learn)"),
    "breast_cancer": (partial(_from_scikit_learn, "load_breast_cancer"), "569 tumours, 30 measurements (scikit-learn)"),
    "digits": (partial(_from_scikit_learn, "load_digits"), "1,797 handwritten digits of 8 x 8 pixels (scikit-learn)"),
}


def bundled(name: str) -> pa.Table:
    """Return a data set that comes with the package or with scikit-learn, as an Arrow table without labels.

    >>> from centrality.datasets import bundled
    >>> bundled("wine").num_rows
    178
    """
    if name not in BUNDLED:
        raise InputError(f"There is no bundled data set called {name!r}; there are: {', '.join(BUNDLED)}.")
    return BUNDLED[name][0]()


Array = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | None  # what numpy's `default_rng` takes


def normal(n: int = 5000, d: int = 2, *, random_state: Seed = None) -> Array:  # (n, d)
    """Draw from N(0, Σ) with a random covariance from scikit-learn's `make_spd_matrix`.

    >>> from centrality.datasets import normal
    >>> normal(100, 3, random_state=0).shape
    (100, 3)
    """
    rng = generator(random_state)
    from sklearn.datasets import make_spd_matrix  # here: who imports FUSE should not wait for it

    covariance = make_spd_matrix(d, random_state=int(rng.integers(2**31)))
    return rng.multivariate_normal(np.zeros(d), covariance, size=n)


def student_t(n: int = 5000, d: int = 2, *, df: float = 10, random_state: Seed = None) -> Array:  # (n, d)
    """Draw independent coordinates, each Student-t with `df` degrees of freedom.

    >>> from centrality.datasets import student_t
    >>> x = student_t(20_000, 1, df=10, random_state=0)
    >>> bool(abs(x.var() - 10 / (10 - 2)) < 0.1)
    True
    """
    return generator(random_state).standard_t(df, size=(n, d))


def uniform(n: int = 5000, d: int = 2, *, random_state: Seed = None) -> Array:  # (n, d)
    """Draw uniformly from the cube [-2, 2]^d.

    >>> from centrality.datasets import uniform
    >>> bool(abs(uniform(1000, 2, random_state=0)).max() < 2)
    True
    """
    return generator(random_state).uniform(-2, 2, size=(n, d))


@dataclass(frozen=True)
class Mixture:
    """Mixes equally likely spherical Gaussians of variance 1; knows its own density, also after smoothing.

    >>> import numpy as np
    >>> from centrality.datasets import Mixture
    >>> line = Mixture(np.array([[0.0]]))
    >>> line.log_density(np.array([[0.0], [2.0]]))  # -x² / 2
    array([ 0., -2.])
    >>> line.log_density(np.array([[2.0]]), noise=1.0)  # -x² / (2 + 2)
    array([-1.])
    """

    means: Array  # (k, d)

    def sample(self, n: int, *, random_state: Seed = None) -> Array:  # (n, d)
        """Draw n rows."""
        rng = generator(random_state)
        component = rng.integers(len(self.means), size=n)
        return self.means[component] + rng.normal(size=(n, self.means.shape[1]))

    def log_density(self, x: Array, noise: Array | float = 0.0) -> Array:  # (n,)
        """Return log p(x) up to a constant, after adding Gaussian noise of this deviation, a number or one a column."""
        deviation = np.sqrt(1 + np.broadcast_to(noise, self.means.shape[1:]) ** 2)
        squares = (((x[:, None] - self.means) / deviation) ** 2).sum(2)
        return np.asarray(logsumexp(-0.5 * squares, axis=1))


def four_clusters() -> Mixture:
    """Return a mixture of four standard normals around (±3, ±3), our choice: the paper does not print its own.

    >>> import numpy as np
    >>> from centrality.datasets import four_clusters
    >>> mixture = four_clusters()
    >>> between, mode = mixture.log_density(np.array([[0.0, 0.0], [3.0, 3.0]]))
    >>> bool(between < mode)
    True
    """
    return Mixture(np.array([[-3.0, -3.0], [-3.0, 3.0], [3.0, -3.0], [3.0, 3.0]]))


def random_clusters(k: int = 5, d: int = 64, *, random_state: Seed = None) -> Mixture:
    """Return a mixture of k components whose means are drawn from N(0, I).

    >>> from centrality.datasets import random_clusters
    >>> random_clusters(5, 64, random_state=0).means.shape
    (5, 64)
    """
    return Mixture(generator(random_state).normal(size=(k, d)))


__all__ = [
    "Mixture",
    "bundled",
    "fetch",
    "four_clusters",
    "houses",
    "names",
    "normal",
    "random_clusters",
    "student_t",
    "uniform",
]
