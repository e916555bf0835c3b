"""Lay rows out on the plane: as a map of many columns, or as scores over the square around two."""

import warnings
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from centrality._internal.checks import InputError, generator, optional

METHODS = ("pca", "umap")
LANDMARKS = 20_000  # rows that UMAP maps; the others go between the landmarks they are nearest to
NEIGHBOURS = 4
WIDE = 500  # rows and columns beyond which principal components are found by random projections
BAR = "{l_bar}{bar}| [{elapsed}<{remaining}]"  # UMAP's own has no time left

Matrix: TypeAlias = NDArray[np.float64]


class _HasCentrality(Protocol):
    """Describe what has `centrality(rows, t)`: every model and every fitted value."""

    def centrality(self, X: Matrix, /, t: list[float]) -> Matrix:  # (n, len(t))
        """Return how central each row is, at each t."""


def embed(
    Z: ArrayLike, *, method: str = "pca", random_state: int | None = None, progress: bool = False
) -> Matrix:  # (n, 2)
    """Map the rows of Z to the plane: by their two principal components, or by UMAP, which keeps neighbours together.

    Columns are taken as they are; rows of two columns are their own map. UMAP may take a minute; `progress` shows
    a bar with the time left.

    >>> from centrality.maps import embed
    >>> embed([[1.0], [2.0]])  # one column lies on a line
    array([[1., 0.],
           [2., 0.]])
    >>> points = embed([[0.0, 0.0, 5.0], [0.0, 0.0, 7.0], [3.0, 0.0, 6.0], [-3.0, 0.0, 6.0]])
    >>> abs(points[:, 0]).round(6).tolist()  # the widest direction comes first: what is 3 there, up to its sign
    [0.0, 0.0, 3.0, 3.0]
    """
    Z = np.asarray(Z, dtype=np.float64)
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if Z.ndim != 2 or len(Z) < 2:
        raise InputError(f"A map needs at least two rows of numbers, got shape {Z.shape}.")
    if Z.shape[1] == 1:
        return np.column_stack([Z[:, 0], np.zeros(len(Z))])
    if Z.shape[1] == 2:
        return Z
    if method == "umap":
        return _umap(Z, random_state, progress=progress)
    if min(Z.shape) >= WIDE:
        from sklearn.decomposition import PCA  # which takes half a second to import

        return np.asarray(PCA(2, svd_solver="randomized", random_state=0).fit_transform(Z))
    centred = Z - Z.mean(0)
    if len(Z) >= Z.shape[1]:
        axes = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]  # (p, 2)
    else:
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    heaviest = np.take_along_axis(axes, np.abs(axes).argmax(0)[None], axis=0)  # (1, 2)
    points: Matrix = centred @ (axes * np.where(heaviest < 0, -1.0, 1.0))  # the heaviest column of each is positive
    return points


def axis_names(Z: ArrayLike, points: Matrix, method: str = "pca") -> tuple[str, str]:
    """Name the axes of a map that `embed` made of Z; those of PCA say how much of the variance they show.

    >>> import numpy as np
    >>> from centrality.maps import axis_names, embed
    >>> Z = np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    >>> axis_names(Z, embed(Z))
    ('PC 1 (90% of variance)', 'PC 2 (10% of variance)')
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.shape[1] <= 2:
        return "column 1", "column 2"
    if method != "pca":
        return f"{method.upper()} 1", f"{method.upper()} 2"
    first, second = points.var(axis=0) / max(float(Z.var(axis=0).sum()), 1e-300)
    return f"PC 1 ({first:.0%} of variance)", f"PC 2 ({second:.0%} of variance)"


def _umap(Z: Matrix, random_state: int | None, *, progress: bool) -> Matrix:  # (n, 2)
    if len(Z) > LANDMARKS:
        landmarks = np.sort(generator(random_state).permutation(len(Z))[:LANDMARKS])
        return _interpolate(Z, landmarks, _umap(Z[landmarks], random_state, progress=progress))
    # With a seed, UMAP is repeatable on one thread only, and warns unless it is told so.
    threads = -1 if random_state is None else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # about TensorFlow, which is not used here
        umap = optional("umap", "maps").UMAP
    bar = {"disable": not progress, "desc": "Mapping", "leave": False, "bar_format": BAR}
    mapping = umap(n_components=2, random_state=random_state, n_jobs=threads, tqdm_kwds=bar)
    return np.asarray(mapping.fit_transform(Z), dtype=np.float64)


def _interpolate(Z: Matrix, landmarks: NDArray[np.intp], positions: Matrix) -> Matrix:  # (n, 2)
    """Map all rows of Z, given the positions of some, the landmarks: the nearer a landmark, the more it counts."""
    from sklearn.neighbors import NearestNeighbors

    distance, nearest = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(Z[landmarks]).kneighbors(Z)
    weight = 1 / np.maximum(distance, 1e-9 * max(1.0, float(np.abs(Z).max())))
    weight /= weight.sum(1, keepdims=True)
    points = np.einsum("nk,nkd->nd", weight, positions[nearest])
    points[landmarks] = positions
    return np.asarray(points)


def grid(
    model: _HasCentrality, points: Matrix, ts: tuple[float, ...], size: int = 120
) -> tuple[Matrix, Matrix, Matrix]:  # (size,), (size,) and (size, size, len(ts))
    """Score the square that holds nearly all of these points in the plane: x, y and f(x, t), for `plots.contours`.

    >>> import numpy as np
    >>> from centrality.maps import grid
    >>> class Ring:
    ...     def centrality(self, Q, t):
    ...         return np.stack([np.exp(-(Q**2).sum(1)) for _ in t], axis=1)
    >>> x, y, f = grid(Ring(), np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), (0.0, 1.0), size=5)
    >>> x.round(6).tolist(), f.shape
    ([-1.2, -0.6, 0.0, 0.6, 1.2], (5, 5, 2))
    """
    centre = np.median(points, axis=0)
    reach = 1.2 * np.quantile(np.abs(points - centre), 0.995)
    x = np.linspace(centre[0] - reach, centre[0] + reach, size)
    y = np.linspace(centre[1] - reach, centre[1] + reach, size)
    corners = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return x, y, model.centrality(corners, t=list(ts)).reshape(size, size, len(ts))
