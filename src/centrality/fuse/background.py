"""Fit the background that potentials start from: a mixture of a few groups of rows with shrunk covariances.

A potential is the log-density of the rows, blurred by noise. The background is a first model of it, with a mean and
correlations for each of a few groups of rows; the network learns the difference. Beyond the rows and between the groups
a network has nothing to learn from: there the background decides.

If rows may hold outliers, groups are t-distributions, whose means and covariances far rows hardly move. With clean
rows, groups are Gaussians and may be smaller. Each covariance is low-rank plus isotropic: it has the axes of the
largest variances, and one variance for all other directions. Noise adds to these variances, so one fit gives the
background at every noise scale. A second background, the sharp one, has hardly any noise: noise as wide as the spacing
of the rows hides directions in which they are narrow.

A network extrapolates linearly, while the log-density of a t-distribution falls only logarithmically: far out the
network would dominate. So the network's correction is clipped to the range it has on held-out rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import evenly_spaced
from centrality.engine import engine
from centrality.fuse.data import TrainingData
from centrality.model.fitted import scorer_for
from centrality.network.network import LOWEST, Network, Weights

# Measured by benchmarks/ablation.py and benchmarks/known_truth.py; some 80 settings of these were compared.
DEGREES = 4.0  # of freedom of each t-distribution; 0 for Gaussians, where rows are clean
SHARP = 0.05  # noise of the sharp background, as a multiple of the smallest noise scale
AXES = 64  # of each component at most; the other directions share a variance
COMPONENTS = 16  # at most
COMPONENTS_IF_CLEAN = 64  # at most
LEAST_SHARE = 0.05  # of the rows in a component, since fewer may be a group of outliers
LEAST_SHARE_IF_CLEAN = 0.01
FEWEST_ROWS = 20  # in a component
FEWEST_ROWS_PER_AXIS = 2  # in a component
PRICE = 0.1  # nats per column that each doubling of the groups must gain in held-out log-likelihood of a row
SHRINKAGES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001)  # shares of the mean variance in each covariance
SHRINKAGE_WHILE_FITTING = 0.1
SAMPLE = 3000  # rows that a background is fitted to, at most
HELD_OUT = 4  # one row of so many is held out, to choose the number of components and the shrinkage
ROUNDS = 6  # of k-means, and of fitting components to the rows that are nearest to each
BOUNDS_ROWS = 20_000  # rows that bound what the networks add to their backgrounds, at most
BOUNDS = (0.01, 0.99)  # quantiles of what a network adds; the bounds extend the interval by its width on both sides

Matrix = NDArray[np.float64]
Vectors = NDArray[np.floating]  # (n, p)
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class _Components:
    """Means, axes and variances of the components, before shrinkage and noise."""

    share: Matrix  # (C,)
    mean: Matrix  # (C, p)
    axes: Matrix  # (C, d, p) orthonormal
    variance: Matrix  # (C, d) along the axes
    total: Matrix  # (C,) the sum of all p variances
    degrees: float  # of freedom; 0: Gaussians

    def variances(self, shrinkage: float, noise: float) -> tuple[Matrix, Matrix]:  # (C, d), (C,)
        """Return the variances along the axes, and in each other direction, after shrinkage and with noise."""
        d, p = self.axes.shape[1:]
        average = self.total / p
        other = np.maximum(self.total - self.variance.sum(1), 0.0) / max(p - d, 1)
        noise_variance = np.square(noise)
        along = (1 - shrinkage) * self.variance.T + shrinkage * average  # (d, C)
        return along.T + noise_variance, (1 - shrinkage) * other + shrinkage * average + noise_variance

    def log_peak(self, shrinkage: float, noise: float) -> Matrix:  # (C,)
        """Return the logarithm of each component's share over the root of its covariance's determinant."""
        along, other = self.variances(shrinkage, noise)
        d, p = self.axes.shape[1:]
        return np.asarray(np.log(self.share) + -0.5 * (np.log(along).sum(-1) + (p - d) * np.log(other)))

    def distances(self, z: Matrix) -> tuple[Matrix, Matrix]:
        """Return squared distances from the means: along each axis, (C, d, n), and in all other directions, (C, n)."""
        count, d, p = self.axes.shape
        along = (self.axes.reshape(count * d, p) @ z.T).reshape(count, d, len(z))
        along -= self.axes @ self.mean[:, :, None]
        np.square(along, out=along)
        if d == p:
            return along, np.zeros((count, len(z)))
        whole = np.square(z).sum(1) - 2 * self.mean @ z.T + np.square(self.mean).sum(1)[:, None]
        return along, np.maximum(whole - along.sum(1), 0.0)

    def squares(self, distances: tuple[Matrix, Matrix], shrinkage: float, noise: float) -> Matrix:  # (C, n)
        """Return Mahalanobis' squared distances of rows, from what `distances` returns of them."""
        distances_along, distances_off_axes = distances
        along, other = self.variances(shrinkage, noise)
        return np.asarray(((1 / along)[:, None] @ distances_along)[:, 0] + distances_off_axes / other[:, None])

    def log_densities(self, squares: Matrix, shrinkage: float, noise: float) -> Matrix:  # (C, n)
        """Return the log-density of each component, up to a constant, from what `squares` returns of rows."""
        p = self.axes.shape[2]
        fall = 0.5 * squares
        if self.degrees:
            fall = 0.5 * (self.degrees + p) * np.log1p(squares / self.degrees)
        return np.asarray(self.log_peak(shrinkage, noise)[:, None] - fall)

    def weights(self, shrinkage: float, noise_levels: Sequence[float]) -> Weights:
        """Return the arrays that the network stores, for each of these levels of noise, as in `fit_background`."""
        d, p = self.axes.shape[1:]
        variances = [self.variances(shrinkage, noise) for noise in noise_levels]
        log_peak = np.stack([self.log_peak(shrinkage, noise) for noise in noise_levels])
        weights = {
            "mean": self.mean,
            "axes": self.axes,
            "precision": np.stack([1 / along for along, _ in variances]),
            "rest": np.stack([1 / other if d < p else np.zeros(len(other)) for _, other in variances]),
            "level": log_peak - log_peak.max(1)[:, None],
        }
        return {name: np.ascontiguousarray(part, dtype=np.float32) for name, part in weights.items()}


def backgrounds_of_members(
    members: Sequence[NDArray[np.float32]], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Return the backgrounds of all members, each fitted to the scaled rows that the member learns from.

    Members with the same array of rows share a background. Where one has fewer components than another, its first is
    repeated, with a log-density so low that it counts for nothing.
    """
    fits: dict[int, Weights] = {}
    for z in members:
        if id(z) not in fits:
            fits[id(z)] = fit_background(z, noise_scales, rng, clean=clean)
    largest = max(len(fit["mean"]) for fit in fits.values())
    filled = []
    for z in members:
        fit = fits[id(z)]
        count = len(fit["mean"])
        component = np.where(np.arange(largest) < count, np.arange(largest), 0)
        of_member = {name: fit[name][component] for name in ("mean", "axes")}
        of_member |= {name: fit[name][:, component] for name in ("precision", "rest", "level")}
        of_member["level"][:, count:] = LOWEST
        filled.append(of_member)
    weights: dict[str, NDArray[np.float32]] = {name: np.stack([fit[name] for fit in filled]) for name in filled[0]}
    weights["degrees"] = np.full(len(members), 0.0 if clean else DEGREES, dtype=np.float32)
    unbounded = np.array([-np.inf, np.inf], dtype=np.float32)  # until it is trained
    weights["bounds"] = np.tile(unbounded, (len(members), len(noise_scales), 1))
    return weights


def limit_departures(network: Network, data: TrainingData, device: str) -> Network:
    """Return the network with its correction of the background clipped to the range it has on held-out rows."""
    if not network.background:
        return network
    index = evenly_spaced(len(data), BOUNDS_ROWS)
    departures = scorer_for(replace(network, background={}), device)(data.z[index])[:, :, 1:]  # (members, n, k)
    is_used = np.ones(departures.shape[:2], dtype=bool)
    for member in range(network.members):
        held_out = ~np.isin(index, data.learned_by(member))
        if held_out.any():  # if no sampled row is held out for this member, use them all
            is_used[member] = held_out
    return replace(network, background={**network.background, "bounds": bounds_of(departures, is_used)})


def bounds_of(departures: NDArray[np.floating], counts: NDArray[np.bool_]) -> NDArray[np.float32]:  # (members, k, 2)
    """Return the bounds of each member and potential, from what the networks add to rows, (members, n, k).

    `counts`, (members, n), says which rows count for a member.
    """
    by_member = [np.quantile(of_rows[row], BOUNDS, axis=0) for of_rows, row in zip(departures, counts, strict=True)]
    low, high = np.stack(by_member, axis=1)
    return np.stack([2 * low - high, 2 * high - low], axis=2).astype(np.float32)


def fit_background(
    z: NDArray[np.float32], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Fit the mixture to scaled rows, (n, p); return its weights for each noise scale, and for the sharp background.

    They are `mean` (C, p), `axes` (C, d, p), `precision` (scales, C, d), one over the variances along the axes, `rest`
    (scales, C), the same in all other directions, and `level` (scales, C), each component's log-density at its mean.

    Held-out rows choose the number of components and the shrinkage. The number doubles while their likelihood improves
    by more than PRICE, or at all if rows are clean; the shrinkage is the likeliest.
    """
    rows = z[np.sort(rng.permutation(len(z))[:SAMPLE])].astype(np.float64)
    n, p = rows.shape
    sharp = SHARP * min(noise_scales)
    degrees = 0.0 if clean else DEGREES
    most_components = COMPONENTS_IF_CLEAN if clean else COMPONENTS
    least_share = LEAST_SHARE_IF_CLEAN if clean else LEAST_SHARE
    fewest = max(least_share * n, FEWEST_ROWS, FEWEST_ROWS_PER_AXIS * min(p, AXES))
    held_out = rng.permutation(n) < n // HELD_OUT
    best_worth = -np.inf
    best_count = 1
    best_shrinkage = SHRINKAGE_WHILE_FITTING
    count = 1
    # Eight components may show groups that two do not: stop only at the third doubling that does not pay.
    while count <= min(most_components, max(1, n // fewest)) and count <= 8 * best_count:
        components = fit_components(
            rows[~held_out], count, fewest * (1 - 1 / HELD_OUT), rng, degrees=degrees, noise=sharp
        )
        distances = components.distances(rows[held_out])
        price = 0.0 if clean else PRICE * p * np.log2(len(components.mean))
        for shrinkage in SHRINKAGES:
            squares = components.squares(distances, shrinkage, sharp)
            densities = components.log_densities(squares, shrinkage, sharp)
            likelihood = float(np.logaddexp.reduce(densities, axis=0).mean()) if held_out.any() else 0.0
            worth = likelihood - price
            if worth > best_worth:
                best_worth = worth
                best_count = count
                best_shrinkage = shrinkage
        count *= 2
    components = fit_components(rows, best_count, fewest, rng, degrees=degrees, noise=sharp)
    return components.weights(best_shrinkage, [*noise_scales, sharp])


def fit_components(
    rows: Matrix, count: int, fewest: float, rng: np.random.Generator, *, degrees: float, noise: float
) -> _Components:
    """Fit `count` components, each to the rows that are nearest to it; leave out any with fewer than `fewest`.

    A row's weight in a t-distribution's mean and covariance is the smaller, the farther away the row is.
    """
    n, p = rows.shape
    group_of_row = np.zeros(n, dtype=np.int64)
    if count > 1:
        group_of_row = k_means(rows, count, int(rng.integers(2**31)), rounds=ROUNDS)[1]
    components: _Components | None = None
    weight = np.ones(n)
    for _ in range(ROUNDS):
        sizes = np.bincount(group_of_row)
        large = np.flatnonzero(sizes >= fewest)
        if not len(large):
            large = np.array([sizes.argmax()])
        groups = [group_of_row == group for group in large]
        if components is None and degrees:
            means = [np.median(rows[group], axis=0) for group in groups]
        else:
            means = [np.average(rows[group], axis=0, weights=weight[group]) for group in groups]
        covariances = [
            largest_axes(rows[group] - mean, weight[group]) for group, mean in zip(groups, means, strict=True)
        ]
        components = _Components(
            share=sizes[large] / sizes[large].sum(),
            mean=np.stack(means),
            axes=np.stack([axes for axes, _, _ in covariances]),
            variance=np.stack([variance for _, variance, _ in covariances]),
            total=np.array([total for _, _, total in covariances]),
            degrees=degrees,
        )
        squares = components.squares(components.distances(rows), SHRINKAGE_WHILE_FITTING, noise)
        nearest = components.log_densities(squares, SHRINKAGE_WHILE_FITTING, noise).argmax(0)
        if len(large) == len(sizes) and (nearest == group_of_row).all() and not degrees:
            break
        group_of_row = nearest
        if degrees:
            weight = (degrees + p) / (degrees + squares[group_of_row, np.arange(n)])
    assert components is not None
    return components


def largest_axes(deviations: Matrix, weights: Matrix) -> tuple[Matrix, Matrix, float]:  # (d, p), (d,)
    """Return the axes of the largest variances of weighted deviations, these variances, and the sum of all."""
    n, p = deviations.shape
    root = deviations * np.sqrt(weights / n)[:, None]  # root.T @ root is the covariance
    total = float(np.square(root).sum())
    if p <= 2 * AXES:
        variances, columns = np.linalg.eigh(root.T @ root)
    else:
        # The leading axes alone, by a random start and power iterations (Halko, Martinsson and Tropp, 2011).
        directions = root.T @ (root @ np.random.default_rng(0).normal(size=(p, AXES + 16)))
        for _ in range(2):
            directions = root.T @ (root @ np.linalg.qr(directions)[0])
        basis = np.linalg.qr(directions)[0]
        projected = root @ basis
        variances, columns = np.linalg.eigh(projected.T @ projected)
        columns = basis @ columns
    return columns.T[::-1][:AXES], np.maximum(variances[::-1], 0.0)[:AXES], total


def k_means(
    rows: Vectors, count: int, seed: int, *, rounds: int, start: Positions | None = None
) -> tuple[NDArray[np.float64], Positions]:
    """Return the centres of `count` groups, (count, p), and each row's group; fewer if there are fewer distinct rows.

    `start` are the positions of the rows to begin with; without it these are rows that lie far apart.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    if start is None:
        start = far_apart(rows, count, seed, trials=2 + int(np.log(count)))
    centres = rows[start].astype(np.float64)
    return centres, engine().k_means(rows, centres, rounds)


def far_apart(rows: Vectors, count: int, seed: int, *, trials: int) -> Positions:  # (count,)
    """Return the positions of `count` rows that lie far from one another, as k-means++ chooses its start.

    For each next row, `trials` candidates are drawn with chances in proportion to their squared distance from the
    nearest row chosen; the one that leaves the least total is taken. The rows are the same as scikit-learn's.
    """
    n = len(rows)
    rng = np.random.RandomState(seed)
    first = int(rng.choice(n, p=np.full(n, 1 / n)))
    draws = rng.uniform(size=(count - 1, trials))
    return engine().far_apart(np.ascontiguousarray(rows, dtype=np.float32), first, draws)
