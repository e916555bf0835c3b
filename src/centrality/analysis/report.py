"""Examine a fit, and say in words what is wrong with it and what to do.

It needs neither the model nor torch: `build_report` takes a function from rows to heads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal import text
from centrality._internal.arrays import divide_by_units, safe_divide, subsample_evenly
from centrality._internal.input import CheckedRows, ColumnBlocks

HEADS = ("global", "local")
WIDTH = 100  # characters a line of the printed report
FLAT = 0.01  # a head whose middle half lies closer together tells few rows apart
TOLD_APART_ENOUGH = 0.75  # with noise of three deviations, 80% can be told apart even in one dimension
FEW_ROWS = 50
ROWS_A_COLUMN = 2
BY_HEART = 2.0
OFF_ZERO = 100.0  # deviations; at 1000 the network's float32 moves scores by 3e-5, and that grows in proportion
SAMPLE = 10_000  # rows looked at, evenly spaced, where there are more
VALUES = 1 << 22  # of wide rows, so many are looked at at once: 32 MiB
LISTED = 10  # columns listed for each head, those that move it the most
MOST_COLUMNS = 2000  # with more, how each of them moves the heads is not measured
PROBES = 20_000  # rows scored to find that out, about: an eighth of a fit of 1,000 columns
TAIL = 0.0025  # beyond this and 1 - this, the global logit is past 6: the sigmoid's ends
NOISE = 3.0  # deviations of a column, of the noise that rows are told apart from
WILD = 0.999  # a share of a column's variance
WILD_CELLS = 0.002  # that is that of so few cells (or of one)
BEYOND = 100.0  # times the range of nearly all values
LARGEST = np.finfo(np.float64).max / 4  # so that differences of two numbers are finite, too
FAR = 10.0  # times the median distance from the middle, in scaled units

Scale: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # from rows to scaled ones
Score: TypeAlias = Callable[[CheckedRows], NDArray[np.float64]]  # from rows to their heads, (n, 2)


@dataclass(frozen=True, repr=False)
class Report:
    """What `FUSE.report()` returns: numbers, and in `warnings` what they mean and what to do about it.

    >>> import numpy as np
    >>> from centrality import FUSE
    >>> report = FUSE(random_state=0, max_steps=20).fit(np.random.default_rng(0).normal(size=(40, 2))).report()
    >>> report.rows, report.columns
    (40, 2)
    >>> [warning for warning in report.warnings if "few" in warning]
    ['40 rows are few: scores would change with other rows. 50 or more are wanted.']
    """

    rows: int  # trained on
    held_aside: int
    columns: int
    constant_columns: int
    copies: float  # share of (at most 10,000 of) the rows that repeat another one
    losses: dict[str, dict[str, float]]  # head: at "start" and "end", its standard "error", of "nothing" learned
    told_apart: dict[str, float]  # head: how often it prefers a row to one with noise of three deviations
    spread: dict[str, float]  # head: how far apart its quartiles are on the training rows, of [0, 1]
    distinct: dict[str, float]  # head: how many scores there are for each distinct row
    saturated: float  # share of the rows at the ends of the global scale
    influence: dict[str, dict[str, float]]  # head: the columns that move it the most, and their shares
    off_zero: dict[str, float] = field(default_factory=dict)  # columns whose mean is many deviations off, and how many
    wild: dict[str, int] = field(default_factory=dict)  # columns whose variance comes from a few cells, and how many
    far_but_dense: int = 0  # rows far from all others that the local head finds typical
    by_heart: float = 0.0  # how much more typical networks find rows that they have seen, in units of the upper half
    kinds: dict[str, int] = field(default_factory=dict)  # levels of the context measured by "own" and by "shared" rows

    @property
    def learned(self) -> dict[str, bool]:
        """Say whether each head has learned something.

        Its loss must have fallen beyond chance; the global one by a hundredth, as an untrained network may by luck.
        With little noise even a perfect local loss is hardly below that of an untrained head: there, it is enough to
        prefer rows to noisy copies, if the global head has learned too.
        """
        bound = {head: loss["end"] + 3 * loss["error"] for head, loss in self.losses.items()}
        of_global = self.losses["global"]
        global_learned = bound["global"] < min(0.95 * of_global["start"], 0.99 * of_global["nothing"])
        local_learned = bound["local"] < self.losses["local"]["nothing"]
        prefers_rows = self.told_apart["local"] >= TOLD_APART_ENOUGH
        return {"global": global_learned, "local": local_learned or (global_learned and prefers_rows)}

    @property
    def warnings(self) -> list[str]:
        """Return what is wrong with training, with the scores and with the data, and what to do about each."""
        advice = {
            "global": "Train longer (max_steps), or see whether the metric tells rows apart.",
            "local": "Try a larger noise_scale, or train longer (max_steps).",
        }
        warnings = [
            f"The {head} head has learned nothing: its loss is {self.losses[head]['end']:.4g}, the same as "
            f"without learning ({self.losses[head]['nothing']:.4g}). {advice[head]}"
            for head, learned in self.learned.items()
            if not learned
        ]
        warnings += self._about_collapse()
        warnings += [
            f"Different rows tie: there are only {self.distinct[head]:.0%} as many {head} scores as different rows. "
            "Use calibration='soft', and an encoder that keeps rows apart."
            for head in HEADS
            if self.distinct[head] < 0.5
        ]
        warnings += self._about_far_but_dense()
        if self.by_heart > BY_HEART:
            warnings.append(
                "The networks find rows that they were trained on much more typical than other rows (by "
                f"{self.by_heart:.1f} times the distance from the median row to the most central ones). In a row's "
                "score those count more that have not seen it, so that little of this is left. More rows, fewer "
                "columns or fewer steps help further."
            )
        if self.saturated > 0.2:
            warnings.append(
                f"The global head is saturated for {self.saturated:.0%} of the rows: their scores are close to 0 or 1. "
                "Their order still holds; train for fewer steps to see more of it."
            )
        return [*warnings, *self._about_data()]

    @property
    def alarms(self) -> list[str]:
        """Return the warnings after which scores cannot be trusted; `fit` gives them at once."""
        return [*self._about_collapse(), *self._about_far_but_dense(), *self._about_wild_cells()]

    def _about_collapse(self) -> list[str]:
        return [
            f"The {head} head has collapsed: half of the rows lie within {self.spread[head]:.2g}. Compare with raw(): "
            "a few extreme rows may stretch the scale (remove them), or training was too short."
            for head in HEADS
            if self.spread[head] < FLAT
        ]

    def _about_far_but_dense(self) -> list[str]:
        """Say how many extreme rows the heads disagree about, if they do."""
        if not self.far_but_dense:
            return []
        return [
            f"{self.far_but_dense} rows lie far from all others, and the local head finds them typical: they may lie "
            "close together. Use t = 0.5, where the global head has a say, or look at them."
        ]

    def _about_data(self) -> list[str]:
        warnings = []
        varying = self.columns - self.constant_columns
        for head, columns in self.influence.items():
            name, share = next(iter(columns.items()))
            if varying > 3 and len(columns) > 1 and share > 0.5:
                warnings.append(
                    f"Column {name} alone makes {share:.0%} of the {head} score's movement. If its unit is the reason, "
                    "use scaling='standard'; if it is an identifier or a leak, drop it."
                )
        if self.off_zero:
            name, distance = next(iter(self.off_zero.items()))
            warnings.append(
                f"Column {name} reaches the network {distance:.2g} deviations away from zero, where float32 keeps "
                f"little of how it varies: from {OFF_ZERO:.0f} on, scores on other machines may differ by more than is "
                "promised. Use scaling='auto'."
            )
        warnings += self._about_wild_cells()
        if self.copies > 0.2:
            warnings.append(
                f"{self.copies:.0%} of the rows repeat another row. The local head takes copies for density: "
                "drop them if they are an accident of how the data was made."
            )
        if self.rows < FEW_ROWS:
            warnings.append(
                f"{self.rows} rows are few: scores would change with other rows. {FEW_ROWS} or more are wanted."
            )
        if self.rows < ROWS_A_COLUMN * varying:
            warnings.append(
                f"{self.rows} rows are few for {varying} columns: reduce the columns first, for example with "
                "sklearn.decomposition.PCA, or bring more rows."
            )
        return warnings

    def _about_wild_cells(self) -> list[str]:
        """Name the column whose variance comes from a few cells, if there is one."""
        return [about_wild_cells(name, cells) for name, cells in list(self.wild.items())[:1]]

    def of_features(self, names: Sequence[str], owner: NDArray[np.intp]) -> "Report":
        """Return the same report about features instead of the numbers that encode them."""

        def by_feature(shares: dict[str, float], join: Callable[[float, float], float]) -> dict[str, float]:
            joined: dict[str, float] = {}
            for number, share in shares.items():
                name = names[owner[int(number)]]
                joined[name] = join(joined[name], share) if name in joined else share
            return dict(sorted(joined.items(), key=lambda item: -item[1]))

        return replace(
            self,
            influence={head: by_feature(shares, float.__add__) for head, shares in self.influence.items()},
            off_zero=by_feature(self.off_zero, max),
            wild={names[owner[int(number)]]: cells for number, cells in self.wild.items()},
        )

    def facts(self) -> dict[str, str]:
        """Return the numbers in words, for a page or a terminal."""
        failed = [head for head, learned in self.learned.items() if not learned]
        training = "it worked; both heads have learned."
        if failed:
            training = f"it did not work; the {' and the '.join(failed)} head learned nothing."
        constant = f" ({self.constant_columns} of them the same in every row)" if self.constant_columns else ""
        aside = f", and {self.held_aside:,} more held aside" if self.held_aside else ""
        copies = f"; {self.copies:.1%} of the rows repeat another one" if self.copies else ""
        lines = {
            "Training": training,
            "Data": f"{self.rows:,} rows of {self.columns:,} numbers each{constant}{aside}{copies}.",
        }
        for head in HEADS:
            lines[head.capitalize()] = f"it prefers a row to a noisy copy in {self.told_apart[head]:.0%} of pairs."
            if head in self.influence:
                first = list(self.influence[head].items())[:5]
                shares = ", ".join(f"{name} ({share:.0%})" for name, share in first)
                lines[head.capitalize()] += f" Columns that move it most: {shares}."
        if kinds := sum(self.kinds.values()):
            lines["Kinds"] = (
                f"{self.kinds['own']} of {kinds} levels of the context are measured by their own rows, the others by "
                "the rows of all: they have few, or are not unlike the rest."
            )
        return lines

    def __str__(self) -> str:
        """Return the facts and warnings, a paragraph each, in lines of at most 100 characters."""
        paragraphs = [*self.facts().items(), *(("Warning", warning) for warning in self.warnings)]
        return "\n".join(fill(f"{name}: {words}", WIDTH, subsequent_indent="  ") for name, words in paragraphs)

    def __repr__(self) -> str:
        return f"<Report on {self.rows:,} rows, {len(self.warnings)} warnings: print it>"

    def _repr_html_(self) -> str:
        return text.facts_table(self.facts(), self.warnings)


def about_wild_cells(name: str, cells: int) -> str:
    """Say that the variance of a column comes from a few cells, and what to do about it."""
    return (
        f"Nearly all variance of column {name} comes from {cells} of its cells: a wrong unit, or a number that stands "
        "for a missing value? They do not change the scores of other rows; correct them, or leave them out."
    )


def build_report(
    X: CheckedRows,
    score: Score,
    *,
    held_aside: int,
    history: dict[str, list[float]],
    untrained_losses: dict[str, float],
    names: Sequence[str] | None,
    center: NDArray[np.float64] | None = None,
    scaled: Scale | None = None,
    by_heart: float = 0.0,
) -> Report:
    """Report on a model from the rows X that it was trained on, and its function from rows to heads.

    `untrained_losses` are those of heads that have learned nothing, `center` (p,) is what the scaling subtracts from
    rows, `scaled` the function that scales them, and `by_heart` how much more typical networks find rows that they have
    seen.
    """
    rows = X.shape[0]
    X = subsample_evenly(X, SAMPLE)
    heads = score(X)
    labels = [str(name) for name in names] if names is not None else [str(j) for j in range(X.shape[1])]
    mean, deviation = _moments(X)
    copies = 1 - _distinct_rows(X) / X.shape[0]
    lower, upper = np.quantile(heads, [0.25, 0.75], axis=0)
    of_global = heads[:, 0]

    # Columns whose means are off what the scaling subtracts by many deviations, the farthest first.
    off_zero = {}
    if center is not None:
        off = safe_divide(np.abs(mean - center), deviation)
        off_zero = {labels[j]: float(off[j]) for j in np.argsort(-off, kind="stable")[:LISTED] if off[j] > OFF_ZERO}

    # Columns whose variance comes from a few cells, and how many cells those are.
    wild: list[tuple[str, int]] = []
    for at, block in ColumnBlocks(subsample_evenly(X, 5000), VALUES):
        cells = wild_cells(block)
        wild += [(labels[at.start + j], int(cells[j])) for j in np.flatnonzero(cells)]

    # Rows far from all others that the local head finds typical.
    far_but_dense = 0
    if scaled is not None:
        sample = _sample(X, int(np.clip(VALUES // X.shape[1], 200, 5000)))
        local = subsample_evenly(heads, len(sample))[:, 1]
        distance = np.linalg.norm(scaled(sample), axis=1)
        far_but_dense = int(((distance > FAR * np.median(distance)) & (local > np.median(local))).sum())
    return Report(
        rows=rows,
        held_aside=held_aside,
        columns=X.shape[1],
        constant_columns=int((deviation == 0).sum()),
        copies=float(copies),
        losses={head: _ending(history[head], untrained_losses[head]) for head in HEADS},
        told_apart=_separation(X, heads, deviation, score),
        spread={head: float(upper[k] - lower[k]) for k, head in enumerate(HEADS)},
        distinct={head: len(np.unique(heads[:, k])) / ((1 - copies) * len(heads)) for k, head in enumerate(HEADS)},
        saturated=float(((of_global < TAIL) | (of_global > 1 - TAIL)).mean()),
        influence=_influence(X, deviation, score, labels),
        off_zero=off_zero,
        wild=dict(wild[:LISTED]),
        far_but_dense=far_but_dense,
        by_heart=by_heart,
    )


def _ending(losses: list[float], untrained: float) -> dict[str, float]:
    """Return the mean of the last fifth of the losses and its standard error; without losses, of an untrained head."""
    finite = np.array([loss for loss in losses if np.isfinite(loss)] or [untrained])
    last = finite[-max(3, len(finite) // 5) :]
    # The noise is estimated by differences of neighbours, so that a loss which still falls does not count as noise;
    # a single loss says nothing about it, so that a tenth of it is assumed.
    error = np.sqrt(np.square(np.diff(last)).mean() / 2 / len(last)) if len(last) > 1 else 0.1 * last[0]
    return {"start": float(finite[0]), "end": float(last.mean()), "error": float(error), "nothing": untrained}


def _separation(
    X: CheckedRows, heads: NDArray[np.float64], deviation: NDArray[np.float64], score: Score
) -> dict[str, float]:
    """Return how often a row scores higher than another row with noise of three deviations added in every column."""
    count = int(np.clip((1 << 21) // X.shape[1], 50, 1000))
    rows = _sample(X, count)
    noise = np.random.default_rng([3, 141, 59]).normal(size=rows.shape)  # a seed that test data is unlikely to share
    with np.errstate(over="ignore"):
        noisy = _finite(rows + NOISE * deviation * noise)
    scores = subsample_evenly(heads, count)
    noisy_scores = np.sort(score(noisy), axis=0)
    shares = {}
    for k, head in enumerate(HEADS):
        below = np.searchsorted(noisy_scores[:, k], scores[:, k], "left")
        up_to = np.searchsorted(noisy_scores[:, k], scores[:, k], "right")
        shares[head] = float((below + up_to).sum() / 2 / len(rows) ** 2)  # ties count half
    return shares


def _finite(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows with LARGEST in place of what is larger, or too large for a float."""
    return np.clip(rows, -LARGEST, LARGEST)


def _sample(X: Any, count: int) -> NDArray[np.float64]:
    """Return at most `count` rows, evenly spaced, as dense numbers."""
    sample = subsample_evenly(X, count)
    return (sample.toarray() if sparse.issparse(sample) else np.asarray(sample)).astype(np.float64)


def _distinct_rows(X: Any) -> int:
    if sparse.issparse(X):
        X = X.sorted_indices()
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends})
    # Equal rows have equal random weighted sums: where all of these differ, so do the rows, and none need be kept.
    with np.errstate(all="ignore"):
        sums = (X * np.random.default_rng(0).normal(size=X.shape[1])).sum(1)
    return len(X) if len(np.unique(sums)) == len(X) else len({row.tobytes() for row in X})


def _moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # (p,), (p,)
    """Return each column's mean and standard deviation; the latter is exactly 0 where the column is constant."""
    X, unit = divide_by_units(X)
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if sparse.issparse(X):
        X = X.astype(np.float64)
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - np.square(mean)
        constant = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() == 0
        return mean * unit, np.where(constant, 0.0, np.sqrt(np.maximum(variance, 0))) * unit
    return mean * unit, np.where((X[:1] == X).all(axis=0), 0.0, X.std(axis=0, dtype=np.float64)) * unit


def _influence(
    X: CheckedRows,
    deviation: NDArray[np.float64],
    score: Score,
    labels: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Return how much each head changes, on average, when one column moves by a standard deviation, as shares."""
    p = X.shape[1]
    if p > MOST_COLUMNS:
        return {}
    probes = _sample(X, int(np.clip(PROBES // (2 * p), 8, 64)))
    change = np.zeros((p, len(HEADS)))
    at_once = max(1, (1 << 21) // (2 * probes.size))
    for start in range(0, p, at_once):
        block = np.arange(start, min(p, start + at_once))
        shifted = np.tile(probes, (2, len(block), 1, 1))  # (2, columns, rows, p): half a deviation up, and down
        for sign in (0, 1):
            with np.errstate(over="ignore"):
                shifted[sign, np.arange(len(block)), :, block] += (0.5 - sign) * deviation[block, None]
        up, down = score(_finite(shifted.reshape(-1, p))).reshape(2, len(block), len(probes), len(HEADS))
        change[block] = np.abs(up - down).mean(axis=1)
    shares = change / np.where(change.sum(0) > 0, change.sum(0), 1.0)
    return {
        head: {labels[j]: float(shares[j, k]) for j in np.argsort(-shares[:, k], kind="stable")[:LISTED]}
        for k, head in enumerate(HEADS)
    }


def wild_cells(values: NDArray[np.float64]) -> NDArray[np.intp]:  # (n, p) -> (p,)
    """Return the number of cells that make up most of each column's variance; 0 where these are not a few.

    These lie far beyond the range of nearly all others; a column that hardly ever differs has no such range.
    """
    values, _ = divide_by_units(values)
    n = len(values)
    few = max(1, WILD_CELLS * n)
    counts = np.zeros(values.shape[1], dtype=np.intp)
    # So few cells cannot make up that much of a variance unless the range is wide: few columns' quantiles are needed.
    wide = np.flatnonzero(few * np.square(np.ptp(values, axis=0)) > 0.9 * WILD * n * values.var(0))
    values = values[:, wide]
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
    distance = np.abs(values - median)
    wild = distance > BEYOND * (high - low)
    cells = wild.sum(0)
    total = np.square(distance).sum(0)
    of_wild = np.square(np.where(wild, distance, 0.0)).sum(0)
    counts[wide] = np.where((high > low) & (cells <= few) & (of_wild > WILD * total), cells, 0)
    return counts
