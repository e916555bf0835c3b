"""Draw samples of known distributions: the paper's, and mixtures of any size."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from centrality._checks import generator

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
