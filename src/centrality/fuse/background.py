"""Fit the background that potentials start from: a mixture of a few groups of rows with shrunk covariances.

A potential is the log-density of the rows blurred by noise. The background is a first model of it, with all that means,
correlations and a few groups of rows explain; the network learns what it leaves. Beyond the rows, and between groups
that lie apart, where a network has nothing to learn from, the background decides.

Rows that may hold outliers have t-distributions, whose means and covariances far rows hardly move; clean rows have
Gaussians, and may have smaller groups. Each covariance is low-rank plus isotropic: of many columns it keeps the axes of
the largest variances, and one variance for all other directions. Noise adds to variances, so the same components serve
every noise scale; and a last, sharp level of hardly any noise keeps the narrow directions that noise as wide as the
rows' spacing hides.

Far from the rows a network goes on in straight lines, and would soon outweigh t-distributions, which fall like a
logarithm there. So what it adds is bounded by what it adds to rows that it has not learned.
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
SHARP = 0.05  # noise of the last level, times the least noise scale
MOST_AXES = 64  # of each component; the other directions share a variance
MOST_COMPONENTS, MOST_IF_CLEAN = 16, 64
LEAST_SHARE, LEAST_SHARE_IF_CLEAN = 0.05, 0.01  # of the rows, in a component: fewer may be a group of outliers
FEWEST_ROWS, ROWS_PER_AXIS = 20, 2  # in a component
WORTH = 0.1  # nats a value by which twice as many components must be likelier to be taken, unless rows are clean
SHRINKAGES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001)  # shares of the mean variance in each covariance
SHRINKAGE_WHILE_FITTING = 0.1
SAMPLE = 3000  # rows looked at, at most
BOUNDS_ROWS = 20_000  # rows that bound what the networks add to their backgrounds
BOUNDS = (0.01, 0.99)  # quantiles of what the network adds; its bounds are as far again from each other on either side
HELD_OUT = 4  # one row of so many is held out, to choose the number of components and the shrinkage
ROUNDS = 6  # of k-means, and then of components and the rows that they own

Matrix = NDArray[np.float64]
Vectors = NDArray[np.floating]  # (n, p)
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class _Components:
    """Means, axes and variances of the components, before shrinkage and blur."""

    share: Matrix  # (C,)
    mean: Matrix  # (C, p)
    axes: Matrix  # (C, d, p) orthonormal
    variance: Matrix  # (C, d) along the axes
    total: Matrix  # (C,) the sum of all p variances
    degrees: float

    def spreads(self, shrinkage: Matrix | float, noise: Matrix | float) -> tuple[Matrix, Matrix]:
        """Return the variances along the axes and that of all other directions, shrunk and blurred."""
        d, p = self.axes.shape[1:]
        average = self.total / p
        rest = np.maximum(self.total - self.variance.sum(1), 0.0) / max(p - d, 1)
        blur = np.square(noise)
        along = (1 - shrinkage) * self.variance.T + shrinkage * average  # (d, C)
        return along.T + blur, (1 - shrinkage) * rest + shrinkage * average + blur

    def distances(self, z: Matrix) -> tuple[Matrix, Matrix]:
        """Return squared distances from the means: along the axes, (C, d, n), and in all other directions, (C, n)."""
        count, d, p = self.axes.shape
        along = (self.axes.reshape(count * d, p) @ z.T).reshape(count, d, len(z))
        along -= self.axes @ self.mean[:, :, None]
        np.square(along, out=along)
        if d == p:
            return along, np.zeros((count, len(z)))
        whole = np.square(z).sum(1) - 2 * self.mean @ z.T + np.square(self.mean).sum(1)[:, None]
        return along, np.maximum(whole - along.sum(1), 0.0)

    def squares(self, distances: tuple[Matrix, Matrix], shrinkage: float, noise: float) -> Matrix:  # (C, n)
        """Return Mahalanobis' squared distances of rows at these distances."""
        along, other = distances
        spread, rest = self.spreads(shrinkage, noise)
        return np.asarray(((1 / spread)[:, None] @ along)[:, 0] + other / rest[:, None])

    def logarithms(self, squares: Matrix, shrinkage: float, noise: float) -> Matrix:  # (C, n)
        """Return the log-density of each component, up to a constant, at rows of these squares."""
        p = self.axes.shape[2]
        spread, rest = self.spreads(shrinkage, noise)
        fall = 0.5 * squares
        if self.degrees:
            fall = 0.5 * (self.degrees + p) * np.log1p(squares / self.degrees)
        return np.asarray((np.log(self.share) + _log_scale(spread, rest, p))[:, None] - fall)

    def weights(self, squares: Matrix) -> Matrix:
        """Return how much rows of these squares count in mean and covariance: the farther the less, if by t."""
        p = self.axes.shape[2]
        return np.asarray((self.degrees + p) / (self.degrees + squares)) if self.degrees else np.ones_like(squares)


def _log_scale(spread: Matrix, rest: Matrix, p: int) -> Matrix:
    """Return minus half the logarithm of the determinants of covariances."""
    return np.asarray(-0.5 * (np.log(spread).sum(-1) + (p - spread.shape[-1]) * np.log(rest)))


def background_of(
    members: Sequence[NDArray[np.float32]], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Return a background for each member, fitted to the scaled rows that it learns from.

    Members of the same rows, one array, share a background. Where one has fewer components than another, its first is
    repeated at a level so low that it counts for nothing.
    """
    fits: dict[int, Weights] = {}
    for z in members:
        if id(z) not in fits:
            fits[id(z)] = fit_background(z, noise_scales, rng, clean=clean)
    components = max(len(fit["mean"]) for fit in fits.values())
    filled = [_filled(fits[id(z)], components) for z in members]
    parts: dict[str, NDArray[np.float32]] = {name: np.stack([fit[name] for fit in filled]) for name in filled[0]}
    parts["degrees"] = np.full(len(members), 0.0 if clean else DEGREES, dtype=np.float32)
    unbounded = np.array([-np.inf, np.inf], dtype=np.float32)  # until it is trained
    parts["bounds"] = np.tile(unbounded, (len(members), len(noise_scales), 1))
    return parts


def bound_to_held_out(network: Network, data: TrainingData, device: str) -> Network:
    """Return the network with bounds of what it adds to its background, set by rows that it has not learned."""
    if not network.background:
        return network
    index = evenly_spaced(len(data), BOUNDS_ROWS)
    added = scorer_for(replace(network, background={}), device)(data.z[index])[:, :, 1:]  # (members, n, k)
    counts = np.ones(added.shape[:2], dtype=bool)
    for member in range(network.members):
        held_out = ~np.isin(index, data.learned_by(member))
        if held_out.any():  # none are where rows in memory are a sample, of which none is held out
            counts[member] = held_out
    return replace(network, background={**network.background, "bounds": bounds_of(added, counts)})


def bounds_of(added: NDArray[np.floating], counts: NDArray[np.bool_]) -> NDArray[np.float32]:  # (members, k, 2)
    """Return the bounds of what each member adds to its background, from what it adds to rows, (members, n, k).

    `counts`, (members, n), are the rows that count for each.
    """
    by_member = [np.quantile(of_rows[row], BOUNDS, axis=0) for of_rows, row in zip(added, counts, strict=True)]
    low, high = np.stack(by_member, axis=1)
    return np.stack([2 * low - high, 2 * high - low], axis=2).astype(np.float32)


def _filled(fit: Weights, count: int) -> Weights:
    """Return the fit with so many components."""
    index = np.arange(count) % len(fit["mean"])
    index[len(fit["mean"]) :] = 0
    found = {name: part[index] if name in ("mean", "axes") else part[:, index] for name, part in fit.items()}
    found["level"][:, len(fit["mean"]) :] = LOWEST
    return found


def fit_background(
    z: NDArray[np.float32], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Fit the mixture to scaled rows, (n, p), for the levels of blur: the noise scales, and a sharp one.

    `mean` (C, p), `axes` (C, d, p), `precision` (levels, C, d) along the axes, `rest` (levels, C) of all other
    directions, and `level` (levels, C), each component's logarithm at its mean. The number of components doubles for as
    long as rows held out are likelier by it; these choose the shrinkage of the covariances too.
    """
    rows = z[np.sort(rng.permutation(len(z))[:SAMPLE])].astype(np.float64)
    n, p = rows.shape
    sharp = SHARP * min(noise_scales)
    degrees, most, share = (
        (0.0, MOST_IF_CLEAN, LEAST_SHARE_IF_CLEAN) if clean else (DEGREES, MOST_COMPONENTS, LEAST_SHARE)
    )
    fewest = max(share * n, FEWEST_ROWS, ROWS_PER_AXIS * min(p, MOST_AXES))
    held_out = rng.permutation(n) < n // HELD_OUT
    best, chosen, shrinkage, count = -np.inf, 1, SHRINKAGE_WHILE_FITTING, 1
    # Groups may show at eight components that do not at two: stop at the third doubling that does not pay.
    while count <= min(most, max(1, n // fewest)) and count <= 8 * chosen:
        components = _fit(rows[~held_out], count, fewest * (1 - 1 / HELD_OUT), rng, degrees=degrees, noise=sharp)
        distances = components.distances(rows[held_out])
        price = 0.0 if clean else WORTH * p * np.log2(len(components.mean))
        for share_of_mean in SHRINKAGES:
            squares = components.squares(distances, share_of_mean, sharp)
            logarithms = components.logarithms(squares, share_of_mean, sharp)
            worth = float(np.logaddexp.reduce(logarithms, axis=0).mean()) - price if held_out.any() else -price
            if worth > best:
                best, chosen, shrinkage = worth, count, share_of_mean
        count *= 2
    components = _fit(rows, chosen, fewest, rng, degrees=degrees, noise=sharp)
    return _parts(components, shrinkage, [*noise_scales, sharp])


def _fit(
    rows: Matrix, count: int, fewest: float, rng: np.random.Generator, *, degrees: float, noise: float
) -> _Components:
    """Fit so many components, or fewer where groups have fewer rows than `fewest`, each to the rows that it owns."""
    n = len(rows)
    owner = np.zeros(n, dtype=np.int64)
    if count > 1:
        owner = k_means(rows, count, int(rng.integers(2**31)), rounds=ROUNDS)[1]
    components: _Components | None = None
    weight = np.ones(n)
    for _ in range(ROUNDS):
        sizes = np.bincount(owner)
        large = np.flatnonzero(sizes >= fewest)
        if not len(large):
            large = np.array([sizes.argmax()])
        groups = [owner == group for group in large]
        if components is None and degrees:
            means = [np.median(rows[group], axis=0) for group in groups]
        else:
            means = [np.average(rows[group], axis=0, weights=weight[group]) for group in groups]
        axes = [_axes(rows[group] - mean, weight[group]) for group, mean in zip(groups, means, strict=True)]
        components = _Components(
            share=sizes[large] / sizes[large].sum(),
            mean=np.stack(means),
            axes=np.stack([part[0] for part in axes]),
            variance=np.stack([part[1] for part in axes]),
            total=np.array([part[2] for part in axes]),
            degrees=degrees,
        )
        squares = components.squares(components.distances(rows), SHRINKAGE_WHILE_FITTING, noise)
        nearest = components.logarithms(squares, SHRINKAGE_WHILE_FITTING, noise).argmax(0)
        if len(large) == len(sizes) and (nearest == owner).all() and not degrees:
            break
        owner = nearest
        weight = components.weights(squares[owner, np.arange(n)])
    assert components is not None
    return components


def _axes(off: Matrix, weights: Matrix) -> tuple[Matrix, Matrix, float]:
    """Return the axes of the largest weighted variances, these, and the sum of all variances."""
    n, p = off.shape
    root = off * np.sqrt(weights / n)[:, None]
    total = float(np.square(root).sum())
    if p <= 2 * MOST_AXES:
        variance, axes = np.linalg.eigh(root.T @ root)
        variance, axes = np.maximum(variance[::-1], 0.0)[:MOST_AXES], axes.T[::-1][:MOST_AXES]
        return axes, variance, total
    # The leading axes alone, by a random start and power iterations (Halko, Martinsson and Tropp, 2011).
    turned = root.T @ (root @ np.random.default_rng(0).normal(size=(p, MOST_AXES + 16)))
    for _ in range(2):
        turned = root.T @ (root @ np.linalg.qr(turned)[0])
    basis = np.linalg.qr(turned)[0]  # (p, axes)
    projected = root @ basis
    variance, axes = np.linalg.eigh(projected.T @ projected)
    return (basis @ axes).T[::-1][:MOST_AXES], np.maximum(variance[::-1], 0.0)[:MOST_AXES], total


def _parts(components: _Components, shrinkage: float, noise: Sequence[float]) -> Weights:
    """Return what the network holds of these components, shrunk, for each level of blur."""
    p, d = components.axes.shape[2], components.axes.shape[1]
    spreads = [components.spreads(shrinkage, scale) for scale in noise]
    level = np.stack([np.log(components.share) + _log_scale(spread, rest, p) for spread, rest in spreads])
    parts = {
        "mean": components.mean,
        "axes": components.axes,
        "precision": np.stack([1 / spread for spread, _ in spreads]),
        "rest": np.stack([1 / rest if d < p else np.zeros(len(rest)) for _, rest in spreads]),
        "level": level - level.max(1)[:, None],
    }
    return {name: np.ascontiguousarray(part, dtype=np.float32) for name, part in parts.items()}


def k_means(
    rows: Vectors, count: int, seed: int, *, rounds: int, start: Positions | None = None
) -> tuple[NDArray[np.float64], Positions]:
    """Return the centres of so many groups, (m, p), and the group of each row; of copies there may be fewer groups.

    `start` are the positions of the rows to begin with; without it, rows that lie far apart.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    if start is None:
        start = far_apart(rows, count, seed, trials=2 + int(np.log(count)))
    centres = rows[start].astype(np.float64)
    return centres, engine().k_means(rows, centres, rounds)


def far_apart(rows: Vectors, count: int, seed: int, *, trials: int) -> Positions:  # (count,)
    """Return the positions of `count` rows that lie far from one another, as k-means++ chooses its start.

    The next row is drawn by its squared distance to the nearest one chosen, `trials` times; the one that leaves the
    least distance in all is taken. The rows are the same as scikit-learn's.
    """
    rng, n = np.random.RandomState(seed), len(rows)
    first = int(rng.choice(n, p=np.full(n, 1 / n)))
    drawn = rng.uniform(size=(count - 1, trials))
    return engine().far_apart(np.ascontiguousarray(rows, dtype=np.float32), first, drawn)
