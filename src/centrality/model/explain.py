"""Explain scores: contributions, typical points, the smallest corrections.

A column is to blame for what the score gains when this column alone moves toward the value of a typical point. For a
Gaussian, the first step of that is the column's residual given the others, so that of two columns that follow each
other both take the blame for a broken pair. (Slopes along a straight line share the score out, too, but then one of two
such columns gets +150 and the other -145, where both together cost 5.) What no column gains alone is shared in
proportion to squared distances. The typical point is the deepest one of the region next to the row: compared with
another one, features that distinguish the regions would be blamed, not those that are odd. Two points belong to one
region if the local head has no valley on the straight line between them.

Shares are never negative and sum to 1, so that no feature contributes more to a head score than what that score changes
by. `Mixing.contributions` makes contributions to the centrality at t of those to the two head scores.

A correction changes a column to the value of the nearest typical point or, if the column is a number, to another
frequent value where that one fits the rest of the row better: the typical number of school years would be wrong beside
a doctorate. The search is greedy: each step changes the column that raises the score most. Then columns that are not
needed get their values back, and numbers move only as far as they must.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import in_units, safe_divide, subsample_evenly
from centrality._internal.input import CheckedRows, ModelRows
from centrality._internal.text import number
from centrality.network.calibration import Calibration
from centrality.network.context import ContextCalibration
from centrality.network.engine_backend import NetworkScorer
from centrality.network.refinement import Refinement
from centrality.network.scaling import Scaling, dense, rows_per_block

if TYPE_CHECKING:
    from centrality.model.fitted import FittedModel
    from centrality.model.reader import RowReader


FRACTIONS = np.array([1.0, 0.5, 0.25, 0.125], dtype=np.float32)  # of the way to the point; the best counts
MIDDLE = 0.5  # the t whose slope chooses the features to try
MOST = 16  # features of a row that are tried one by one; 32, or all, name the right one no better (Ames, 80 columns)
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_WALKED = 680  # rows in a block of walks
VALUES_TRIED = 1 << 20  # numbers in a block of rows explained, each tried once for each feature
NEIGHBOURS = 10  # rows whose mean is a typical point, so that no row is kept
SAMPLE, VALUES = 4000, 1 << 22  # most rows searched for further regions, and most values of them; at least 200 rows
PERIPHERAL = 0.2  # the share of the rows, the least dense and the least central, that no region is made from
VALLEY = 0.5  # how deep a valley is, in head scores
STOPS = np.linspace(0, 1, 11, dtype=np.float32)  # along the line between two points
BISECTIONS = 10  # steps of the bisection that finds how far numbers must move
LEVELS = np.linspace(0.05, 0.95, 19)  # quantiles of a column: values that are frequent, and checked for whole numbers
CLOSE = 1e-5  # a number this close to a whole one counts as whole

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


@dataclass(frozen=True)
class ScoreField:
    """The head scores as functions of scaled rows, and their slopes."""

    scorer: NetworkScorer
    calibration: Calibration
    reach: float  # the distance, in scaled units, within which scores change most
    refinement: Refinement | None = None  # learned from marks, added to both head scores
    context_calibration: ContextCalibration | None = None  # makes scores comparable between contexts

    def shares(self, points: Matrix, rows: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, p), (n, p) -> (n, 2, p)
        """Return each number's share in the difference between a row's head scores and those of its point, all scaled.

        `owner` says which feature a number belongs to. Shares are at least 0 and sum to 1, or are all 0 where row and
        point are equal. In each head, the one of row and point that scores lower moves toward the other.
        """
        change = self._head_scores(points) - self._head_scores(rows)
        gains = self._gains(rows, points, owner)
        above = np.flatnonzero((change < 0).any(1))
        if len(above):
            gains_of_points = self._gains(points[above], rows[above], owner)
            gains[above] = np.where(change[above, :, None] < 0, gains_of_points, gains[above])
        rest = np.maximum(np.abs(change) - gains.sum(2), 0.0)  # what is left when each feature has had its gain
        step = np.abs(points - rows)
        square = safe_divide(step, step.max(1, keepdims=True)) ** 2
        square_of_feature = sum_by_feature(square, owner, int(owner.max()) + 1)
        blame = gains + rest[:, :, None] * _normalized(square_of_feature)[:, None]
        # Change that is 0 in both directions leaves no blame: distance alone shares out what rounding makes of it.
        blame = np.where(blame.any(2, keepdims=True), blame, square_of_feature[:, None])
        within_feature = safe_divide(square, square_of_feature[:, owner])
        return np.asarray(_normalized(blame)[:, :, owner] * within_feature[:, None])

    def _gains(self, rows: Matrix, points: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, 2, features)
        """Return what each head score of a row gains, at most, when one feature alone moves toward the point."""
        n, p = rows.shape
        features = int(owner.max()) + 1
        start = rows.astype(np.float32)
        step = (points - rows).astype(np.float32)
        candidates = np.tile(np.arange(features), (n, 1))
        if features > MOST:
            promise = sum_by_feature(self.slope(rows, MIDDLE) * step, owner, features)
            candidates = np.argsort(-promise, axis=1, kind="stable")[:, :MOST]
        steps = (step[:, None] * (owner == candidates[:, :, None])).reshape(-1, p)
        starts = np.repeat(start, candidates.shape[1], axis=0)
        raw = self.raw_on_lines(starts, steps, np.tile(FRACTIONS, (len(steps), 1)))
        scores = self.calibration.units(raw.reshape(-1, 2))
        if self.refinement is not None:
            moved = starts[:, None].astype(np.float64) + steps[:, None] * FRACTIONS[:, None]
            scores = scores + self.refinement.shift(moved.reshape(-1, p))[:, None]
        best = scores.reshape(*candidates.shape, len(FRACTIONS), 2).max(2)
        gains = np.zeros((n, features, 2))
        gains_of_candidates = np.maximum(best - self._head_scores(rows)[:, None], 0.0)
        np.put_along_axis(gains, candidates[:, :, None], gains_of_candidates, axis=1)
        return np.moveaxis(gains, 2, 1)

    def _head_scores(self, rows: Matrix) -> Matrix:  # (n, 2)
        """Return the head scores of scaled rows, before they are compared within contexts."""
        scores = self.calibration.units(self.calibration.raw(self.scorer(rows.astype(np.float32))))
        return scores if self.refinement is None else scores + self.refinement.shift(rows)[:, None]

    def ascend(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_], t: float) -> Matrix:
        """Return scaled points, each at least as central at t as the one before; only `free` columns move.

        Each step goes along the slope or straight toward the centre (far outside, slopes mislead), whichever raises f
        more. It goes as far as is best, but no farther than the pace of a walk that ends at the centre, and never far
        beyond what lies between the row and the centre in any column: all points stay finite in the user's units.
        The result is (n, steps + 1, p).
        """
        low = np.minimum(rows, centre) - self.reach
        high = np.maximum(rows, centre) + self.reach
        points = [rows]
        for left in range(steps, 0, -1):
            here = points[-1]
            to_centre = (centre - here) * free
            pace = np.linalg.norm(to_centre, axis=1, keepdims=True) / left
            along = _of_length(self.slope(here, t) * free, 1.5 * pace)  # a winding path is longer than a straight one
            along = (np.clip(here + along, low, high) - here) * free
            gain_of_slope, by_slope = self._best(here, along, t)
            gain_of_line, by_line = self._best(here, to_centre / left, t)
            points.append(np.where((gain_of_slope >= gain_of_line)[:, None], by_slope, by_line))
        return np.stack(points, axis=1)

    def _best(self, here: Matrix, ahead: Matrix, t: float) -> tuple[Matrix, Matrix]:
        """Return the largest rise of f along these straight lines, and its point: the start if f never rises."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        raw = self.raw_on_lines(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self._mixed(self.calibration, raw, here, t)
        gain = self._mixed(self.calibration.as_soft(), raw, here, t)  # what "clip" cuts off has no slope to follow
        if self.refinement is not None:
            points = here[:, None] + ahead[:, None] * lengths[:, None]
            shift = self.refinement.shift(points.reshape(-1, here.shape[1])).reshape(f.shape)
            f = f + shift
            gain = gain + shift
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # NaN is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _mixed(self, calibration: Calibration, raw: Matrix, rows: Matrix, t: float) -> Matrix:  # (n, s, 2) -> (n, s)
        """Return the raw scores mixed at t, each point scored in the context of its row."""
        n, s, _ = raw.shape
        scores = calibration.units(raw.reshape(n * s, 2))
        if self.context_calibration is not None:
            scores = self.context_calibration(scores, np.repeat(rows, s, axis=0))
        return calibration.mixing.mixed(scores, t).reshape(n, s)

    def slope(self, rows: Matrix, t: float) -> Matrix:  # (n, p)
        """Return the derivative of the mixture at t, with soft calibration, by the scaled rows."""
        z = rows.astype(np.float32)
        on_lines, back = self.scorer.along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        outputs = on_lines[:, :, 0]
        soft = self.calibration.as_soft()
        raw = soft.raw(outputs)
        by_outputs = soft.raw_back(outputs, soft.mixing.weights(soft.units(raw), t) * soft.unit_slopes(raw))
        # A far row's slope may be too small for float32: only its direction is needed.
        largest = np.abs(by_outputs).max((0, 2), keepdims=True)
        by_outputs = safe_divide(by_outputs, largest)
        slope = back(by_outputs[:, :, None].astype(np.float32)).astype(np.float64) * largest[0]
        return np.asarray(slope if self.refinement is None else slope + self.refinement.slope(rows))

    def raw_on_lines(self, start: Floats, step: Floats, at: Floats) -> Matrix:  # (n, s, 2)
        """Return the raw scores at the scaled points start + at * step."""
        outputs, _ = self.scorer.along(start, step, at)
        members, n, s, k = outputs.shape
        return self.calibration.raw(outputs.reshape(members, n * s, k)).reshape(n, s, 2)


def low_heads(heads: Matrix, bounds: Matrix) -> NDArray[np.str_]:  # (n, 2) -> (n,)
    """Say which of a row's heads lies below its bound; an empty string for a row without heads."""
    low = heads < bounds
    named = np.array(["typical", "global", "local", "both"])[low[:, 0] + 2 * low[:, 1]]
    return np.where(np.isnan(heads).any(1), "", named)


def sum_by_feature(parts: Matrix, owner: NDArray[np.intp], groups: int) -> Matrix:  # (..., q) -> (..., groups)
    """Add up the contributions of the numbers that belong to the same feature."""
    sums = np.zeros((*parts.shape[:-1], groups))
    np.add.at(np.moveaxis(sums, -1, 0), owner, np.moveaxis(parts, -1, 0))
    return sums


def _normalized(sizes: Matrix) -> Matrix:  # (..., features)
    """Return sizes divided by their sum; sizes that are all 0 stay so."""
    return safe_divide(sizes, sizes.sum(-1, keepdims=True))


def _of_length(vectors: Matrix, length: Matrix) -> Matrix:  # (n, p), (n, 1)
    """Rescale vectors to these lengths; a vector of zeros stays zero."""
    return safe_divide(vectors, np.linalg.norm(vectors, axis=1, keepdims=True)) * length


def typical_points(rows: CheckedRows, scores: Matrix, local: Matrix, field: ScoreField, scaling: Scaling) -> Matrix:
    """Return (k, p) typical points in the user's units; the first is the deepest by `scores`, others by `local`."""
    points = [centre_of(rows, scores, scaling)]
    count = min(rows.shape[0], SAMPLE, max(VALUES // rows.shape[1], 200))
    sample = subsample_evenly(np.arange(rows.shape[0]), count)
    # A far group, however dense, is odd: its rows are explained by what sets them apart from typical ones.
    sample = sample[_upper(local[sample]) & _upper(scores[sample])]
    central = rows[sample]
    height = local[sample]
    group = _farthest_first_groups(scaling.scaled(central), int(height.argmax()))
    members = [np.flatnonzero(group == k) for k in range(group.max() + 1)]
    deepest = [centre_of(central[at], height[at], scaling) for at in members if len(at) >= NEIGHBOURS]
    for point in sorted(deepest, key=lambda point: -float(_heights(field, scaling, point, point)[0])):
        if all(_valley(field, scaling, point, other) for other in points):
            points.append(point)
    return np.stack(points)


def centre_of(rows: CheckedRows, scores: Matrix, scaling: Scaling) -> Matrix:  # (p,)
    """Return the deepest point: the mean of the deepest row and its nearest neighbours, so that no row is kept."""
    n = rows.shape[0]
    deepest = scaling.scaled(rows[[int(scores.argmax())]])
    size = rows_per_block(rows.shape[1])
    blocks = (scaling.scaled(rows[i : i + size]) - deepest for i in range(0, n, size))
    distance = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    nearest = np.argsort(distance, kind="stable")[: min(NEIGHBOURS, (n + 1) // 2)]
    neighbours, unit = in_units(dense(rows[np.sort(nearest)]).astype(np.float64))
    return np.asarray(neighbours.mean(0) * unit)


def _upper(scores: Matrix) -> NDArray[np.bool_]:
    return np.asarray(scores >= np.quantile(scores, PERIPHERAL))


def nearest(points: Matrix, rows: Matrix) -> NDArray[np.intp]:  # (k, p), (n, p) -> (n,)
    """Return which of the points is nearest to each row; all are scaled."""
    distances = [np.einsum("ij,ij->i", rows - point, rows - point) for point in points]
    return np.asarray(np.stack(distances).argmin(0))


def _farthest_first_groups(z: Matrix, first: int) -> NDArray[np.intp]:
    """Group rows around at most MOST of them; each of these is the row farthest from those chosen before."""
    chosen = [first]
    distance = np.full(len(z), np.inf)
    group = np.zeros(len(z), dtype=np.intp)
    while True:
        difference = z - z[chosen[-1]]
        distance_to_last = np.einsum("ij,ij->i", difference, difference)
        group[distance_to_last < distance] = len(chosen) - 1
        distance = np.minimum(distance, distance_to_last)
        if len(chosen) == MOST or not distance.any():
            return group
        chosen.append(int(distance.argmax()))


def _valley(field: ScoreField, scaling: Scaling, a: Matrix, b: Matrix) -> bool:
    heights = _heights(field, scaling, a, b)
    return bool(heights.min() < min(heights[0], heights[-1]) - VALLEY)


def _heights(field: ScoreField, scaling: Scaling, a: Matrix, b: Matrix) -> Matrix:
    """Return the local head score along the straight line from a to b."""
    ends = scaling.apply(np.stack([a, b]))
    raw = field.raw_on_lines(ends[:1], ends[1:] - ends[:1], STOPS[None])[0]
    return np.asarray(field.calibration.units(raw)[:, 1])


@dataclass(frozen=True)
class Correction:
    """The smallest correction found for one row: its columns, their values, and the values that would be enough.

    >>> from centrality.model.explain import Correction
    >>> str(Correction(3, ("price",), (-5.0,), (12.0,), 0.02, 0.31, enough=True))
    'row 3: price 12 instead of -5 (centrality 0.02, then 0.31)'
    """

    row: int
    columns: tuple[str, ...]  # none: the row is not odd
    before: tuple[object, ...]
    after: tuple[object, ...]
    centrality: float
    corrected: float  # the centrality it would then have
    enough: bool  # False: so many columns are odd that changing a few does not help

    def __str__(self) -> str:
        if not self.columns:
            return f"row {self.row:,}: not odd" if self.enough else f"row {self.row:,}: no correction found"
        changes = zip(self.columns, self.before, self.after, strict=True)
        text = ", ".join(_change(*change) for change in changes)
        rest = "" if self.enough else "; still odd"
        return f"row {self.row:,}: {text} (centrality {self.centrality:.2f}, then {self.corrected:.2f}{rest})"


def _change(name: str, old: object, new: object) -> str:
    """Write one change of a cell; for a text no new value is known.

    >>> _change("note", "asdf", None)
    'note other than asdf'
    """
    return f"{name} other than {number(old)}" if new is None else f"{name} {number(new)} instead of {number(old)}"


@dataclass(frozen=True)
class Corrections(Sequence[Correction]):
    """The corrections of several rows, one for each: print them, or take them one by one.

    >>> from centrality.model.explain import Correction, Corrections
    >>> one = Correction(3, ("price",), (-5.0,), (12.0,), 0.02, 0.31, enough=True)
    >>> print(Corrections((one, Correction(4, (), (), (), 0.6, 0.6, enough=True))))
    row 3: price 12 instead of -5 (centrality 0.02, then 0.31)
    row 4: not odd
    """

    rows: tuple[Correction, ...]

    @overload
    def __getitem__(self, index: int) -> Correction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Correction]: ...
    def __getitem__(self, index: int | slice) -> Correction | Sequence[Correction]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))


def corrections(reader: "RowReader", X: ModelRows, t: float) -> Corrections:
    """Return the smallest correction of each row of X; it is empty for a row without a vector."""
    names = reader.features_with_names().names
    fitted = reader.fitted
    vectors = reader.vectors(X)
    owner = reader.owner()
    frequent = _frequent_values(fitted)
    typical = fitted.typical_for(vectors)
    bound = fitted.offset_for(t)
    values = reader.values(X, vectors)

    def score(rows: Matrix) -> Matrix:
        return fitted.scores(rows, t)

    rows = []
    for k, row in enumerate(np.asarray(dense(vectors), dtype=np.float64)):
        if np.isnan(row).any():
            rows.append(Correction(k, (), (), (), np.nan, np.nan, enough=False))
            continue
        change = smallest_change(score, row, np.vstack([typical[k], frequent]), owner, bound)
        corrected = _with_whole_counts(reader, row, change, owner, frequent)
        before, after = fitted.centrality(np.stack([row, corrected]), t)
        new_values = reader.values_of(corrected)
        rows.append(
            Correction(
                row=k,
                columns=tuple(names[group] for group in change.groups),
                before=tuple(values[group][k] for group in change.groups),
                after=tuple(new_values[group] for group in change.groups),
                centrality=float(before),
                corrected=float(after),
                enough=bool(change.enough and score(corrected[None])[0] >= bound),
            )
        )
    return Corrections(tuple(rows))


@dataclass(frozen=True)
class Change:
    """A corrected row, the groups of its numbers that were changed, and whether its score reaches the bound."""

    row: Matrix  # (p,)
    groups: tuple[int, ...]
    enough: bool


def smallest_change(score: Score, row: Matrix, goals: Matrix, owner: NDArray[np.intp], bound: float) -> Change:
    """Change as few features of a row as possible, until the row's score reaches `bound`.

    `owner` says which feature each number of the row belongs to. A feature takes its value of the first of the `goals`,
    (k, p); a feature of one number takes that of whichever goal gives the best score.
    """
    if score(row[None])[0] >= bound:
        return Change(row, (), enough=True)
    numbers = np.bincount(owner)
    options = [
        (int(group), goal)
        for group in np.unique(owner[(row != goals).any(0)])
        for goal in (goals if numbers[group] == 1 else goals[:1])
    ]
    chosen: list[int] = []
    changed = row
    enough = False
    while options and not enough and len(chosen) < MOST:
        candidates = np.stack([np.where(owner == group, goal, changed) for group, goal in options])
        scores = score(candidates)
        best = int(scores.argmax())
        changed = candidates[best]
        enough = bool(scores[best] >= bound)
        chosen.append(options[best][0])
        options = [(group, goal) for group, goal in options if group != chosen[-1]]
    if not enough and len(goals) > 1:  # values that fit an odd row can lead nowhere; those of one typical row cannot
        return smallest_change(score, row, goals[:1], owner, bound)
    if not enough:
        return Change(row, (), enough=False)
    for group in chosen[:-1]:
        without = np.where(owner == group, row, changed)
        if score(without[None])[0] >= bound:
            chosen = [other for other in chosen if other != group]
            changed = without
    single = np.isin(owner, [group for group in chosen if numbers[group] == 1])
    return Change(_no_farther(score, row, changed, single, bound), tuple(chosen), enough=True)


def _frequent_values(fitted: "FittedModel") -> Matrix:  # (levels, p)
    """Return values of each column that are frequent in the training rows; none where there is a context."""
    columns = fitted.training_scores.columns
    if columns is None or fitted.context is not None:
        return np.empty((0, fitted.width))
    places = [np.searchsorted(upto, LEVELS) for upto in columns.upto.T]
    return np.column_stack([values[place] for values, place in zip(columns.values.T, places, strict=True)])


def _no_farther(score: Score, row: Matrix, changed: Matrix, single: NDArray[np.bool_], bound: float) -> Matrix:
    """Find by bisection how far `single` numbers must move; features of several numbers move all the way."""
    low = 0.0
    high = 1.0
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        candidate = np.where(single, row + share * (changed - row), changed)
        if score(candidate[None])[0] >= bound:
            high = share
        else:
            low = share
    return np.where(single, row + high * (changed - row), changed) if high < 1 else changed


def _with_whole_counts(
    reader: "RowReader", row: Matrix, change: Change, owner: NDArray[np.intp], frequent: Matrix
) -> Matrix:
    """Return the corrected row with changed values of integer columns rounded away from the row's original value."""
    corrected = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # its value; a second number, if any, marks a missing one

        def value(z: float, place: int = place, group: int = group) -> object:
            point = corrected.copy()
            point[place] = z
            return reader.values_of(point)[group]

        here = value(corrected[place])
        beside = value(corrected[place] - np.copysign(1.0, corrected[place]))
        if not (_is_number(here) and _is_number(beside)) or here == beside or not _holds_counts(frequent, place, value):
            continue
        whole = np.floor(here + CLOSE) if corrected[place] < row[place] else np.ceil(here - CLOSE)
        corrected[place] += (whole - here) / (here - beside) * np.copysign(1.0, corrected[place])
    return corrected


def _holds_counts(frequent: Matrix, place: int, value: Callable[[float], object]) -> bool:
    """Say whether a column of the training rows held whole numbers, but for its extreme values, which may be wrong."""
    values = [value(z) for z in frequent[:, place]]
    return bool(values) and all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in values)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
