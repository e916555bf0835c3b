"""Explain scores: contributions, typical points, the smallest corrections.

A column is to blame for what the score gains when this column alone goes toward the value of a typical point. For a
Gaussian the first step of it is the column's residual given the others, so that of two columns that follow each other
both take the blame for a broken pair. (Slopes along a straight way share the score out too, but of two such columns one
gets +150 and the other -145, where both together cost 5.) What no column gains alone is shared by squared distance. The
typical point is the deepest of the region next to the row: against another one, features that tell the regions apart
would be blamed, not those that are odd (`model/explain.py`). Shares are all positive and sum to 1, so that no feature
contributes more to a unit than what the unit changes by. What it contributes to the centrality at t follows from the
two units (`Mixing.contributions`).

Two points belong to one region if the local head has no valley on the straight way between them. An explanation starts
from the typical point next to the row.

A changed column takes the value of the nearest typical point, or, if it is a number, another frequent value where that
one fits the rest of the row better: the typical number of school years would be wrong beside a doctorate. The search is
greedy: a step adds the column that raises the score most. Then columns that are not needed get their values back, and
numbers move only as far as they must.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

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


WAY = np.array([1.0, 0.5, 0.25, 0.125], dtype=np.float32)  # how far a column goes; its best counts
MIDDLE = 0.5  # the t whose slope chooses the features to try
MOST = 16  # features of a row that are tried one by one; 32, or all, name the guilty one no better (Ames, 80 columns)
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_WALKED = 680  # rows in a block of walks
VALUES_TRIED = 1 << 20  # numbers in a block of rows explained, each tried once for each feature

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ScoreField:
    """Evaluate the units over scaled rows, and their slopes."""

    scorer: NetworkScorer
    calibration: Calibration
    reach: float  # the distance, in scaled units, within which units change most
    refinement: Refinement | None = None  # learned from marks, added to both units; walks uphill follow it
    kinds: ContextCalibration | None = None  # makes units comparable between kinds; walks uphill follow it too

    def shares(self, points: Matrix, rows: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, p), (n, p) -> (n, 2, p)
        """Return each number's share in what tells a row's units from those of its point, all scaled.

        `owner` says which feature a number belongs to. Shares are at least 0 and sum to 1, or are all 0 where row and
        point are equal. In each unit, the lower of row and point goes toward the other one.
        """
        change = self._units(points) - self._units(rows)
        gains = self._gains(rows, points, owner)
        above = np.flatnonzero((change < 0).any(1))
        if len(above):
            other = self._gains(points[above], rows[above], owner)
            gains[above] = np.where(change[above, :, None] < 0, other, gains[above])
        alone = np.maximum(np.abs(change) - gains.sum(2), 0.0)  # what is left when each feature has had its gain
        step = np.abs(points - rows)
        farthest = step.max(1, keepdims=True)
        square = np.divide(step, farthest, out=np.zeros_like(step), where=farthest > 0) ** 2
        by_feature = sum_by_feature(square, owner, int(owner.max()) + 1)
        blame = gains + alone[:, :, None] * _normalized(by_feature)[:, None]
        # Change that is 0 in both ways leaves no blame: distance alone shares out what rounding makes of it.
        blame = np.where(blame.any(2, keepdims=True), blame, by_feature[:, None])
        within = np.divide(square, by_feature[:, owner], out=np.zeros_like(square), where=by_feature[:, owner] > 0)
        return np.asarray(_normalized(blame)[:, :, owner] * within[:, None])

    def _gains(self, rows: Matrix, points: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, 2, features)
        """Return what each unit of a row gains, at most, when one feature alone goes toward the point."""
        n, p = rows.shape
        features = int(owner.max()) + 1
        start, step = rows.astype(np.float32), (points - rows).astype(np.float32)
        tried = np.tile(np.arange(features), (n, 1))
        if features > MOST:
            promise = sum_by_feature(self.slope(rows, MIDDLE) * step, owner, features)
            tried = np.argsort(-promise, axis=1, kind="stable")[:, :MOST]
        steps = (step[:, None] * (owner == tried[:, :, None])).reshape(-1, p)
        starts = np.repeat(start, tried.shape[1], axis=0)
        units = self.calibration.units(self.raw_on_lines(starts, steps, np.tile(WAY, (len(steps), 1))).reshape(-1, 2))
        if self.refinement is not None:
            moved = starts[:, None].astype(np.float64) + steps[:, None] * WAY[:, None]
            units = units + self.refinement.shift(moved.reshape(-1, p))[:, None]
        best = units.reshape(*tried.shape, len(WAY), 2).max(2)
        gains = np.zeros((n, features, 2))
        gained = np.maximum(best - self._units(rows)[:, None], 0.0)
        np.put_along_axis(gains, tried[:, :, None], gained, axis=1)
        return np.moveaxis(gains, 2, 1)

    def _units(self, rows: Matrix) -> Matrix:  # (n, 2)
        """Return the units of scaled rows, before they are compared within kinds."""
        units = self.calibration.units(self.calibration.raw(self.scorer(rows.astype(np.float32))))
        return units if self.refinement is None else units + self.refinement.shift(rows)[:, None]

    def ascend(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_], t: float) -> Matrix:
        """Return scaled points, each at least as central at t as the one before; only `free` columns move.

        Each step goes along the slope or straight for the centre (far outside, slopes lead astray), whichever raises f
        more; as far as is best, but no farther than keeps the pace of a walk that ends at the centre, and never far
        beyond what lies between the row and the centre in any column: all points stay finite in the user's units.
        The result is (n, steps + 1, p).
        """
        low, high = np.minimum(rows, centre) - self.reach, np.maximum(rows, centre) + self.reach
        points = [rows]
        for left in range(steps, 0, -1):
            here = points[-1]
            home = (centre - here) * free
            pace = np.linalg.norm(home, axis=1, keepdims=True) / left
            along = _of_length(self.slope(here, t) * free, 1.5 * pace)  # a winding way is longer than a straight one
            along = (np.clip(here + along, low, high) - here) * free
            tried = [self._best(here, ahead, t) for ahead in (along, home / left)]
            gains, found = (np.stack(both) for both in zip(*tried, strict=True))
            points.append(found[gains.argmax(0), np.arange(len(here))])
        return np.stack(points, axis=1)

    def _best(self, here: Matrix, ahead: Matrix, t: float) -> tuple[Matrix, Matrix]:
        """Return the largest rise of f along these straight ways, and the point of it: the start if f never rises."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        raw = self.raw_on_lines(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self._mixed(self.calibration, raw, here, t)
        gain = self._mixed(self.calibration.as_soft(), raw, here, t)  # what "clip" cuts off has no slope to follow
        if self.refinement is not None:
            points = here[:, None] + ahead[:, None] * lengths[:, None]
            shift = self.refinement.shift(points.reshape(-1, here.shape[1])).reshape(f.shape)
            f, gain = f + shift, gain + shift
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # NaN is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _mixed(self, calibration: Calibration, raw: Matrix, rows: Matrix, t: float) -> Matrix:  # (n, s, 2) -> (n, s)
        """Return the raw scores mixed at t, each point scored as one of the same kind as its row."""
        n, s, _ = raw.shape
        units = calibration.units(raw.reshape(n * s, 2))
        if self.kinds is not None:
            units = self.kinds(units, np.repeat(rows, s, axis=0))
        return calibration.mixing.mixed(units, t).reshape(n, s)

    def slope(self, rows: Matrix, t: float) -> Matrix:  # (n, p)
        """Return the derivative of the mixture at t, with soft calibration, by the scaled rows."""
        z = rows.astype(np.float32)
        outputs, back = self.scorer.along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        soft, here = self.calibration.as_soft(), outputs[:, :, 0]
        raw = soft.raw(here)
        by = soft.raw_back(here, soft.mixing.weights(soft.units(raw), t) * soft.unit_slopes(raw))
        # A far row's slope may be too small for float32: only its direction is needed.
        largest = np.abs(by).max((0, 2), keepdims=True)
        by = np.divide(by, largest, out=np.zeros_like(by), where=largest > 0)
        slope = back(by[:, :, None].astype(np.float32)).astype(np.float64) * largest[0]
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
    total = sizes.sum(-1, keepdims=True)
    return np.asarray(np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0))


def _of_length(ways: Matrix, length: Matrix) -> Matrix:  # (n, p), (n, 1)
    """Rescale directions to these lengths; a direction of zeros stays zero."""
    norm = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(np.divide(ways, norm, out=np.zeros_like(ways), where=norm > 0) * length)


NEIGHBOURS = 10  # rows whose mean is a typical point, so that no row is kept
SAMPLE, VALUES = 4000, 1 << 22  # most rows searched for further regions, and most values of them; at least 200 rows
PERIPHERAL = 0.2  # the share of the rows, the least dense and the least central, that no region is made from
VALLEY = 0.5  # how deep a valley is, in units of the upper half of the training rows
STOPS = np.linspace(0, 1, 11, dtype=np.float32)  # on the way between two points


def typical_points(seen: CheckedRows, scores: Matrix, local: Matrix, field: ScoreField, scaling: Scaling) -> Matrix:
    """Return (k, p) typical points in the user's units; the first is the deepest by `scores`, others by `local`."""
    centre = centre_of(seen, scores, scaling)
    count = min(seen.shape[0], SAMPLE, max(VALUES // seen.shape[1], 200))
    few = np.linspace(0, seen.shape[0] - 1, count).astype(np.intp)
    # A far group, however dense, is odd: its rows are explained by what sets them apart from typical ones.
    few = few[_upper(local[few]) & _upper(scores[few])]
    some, height = seen[few], local[few]
    z = scaling.scaled(some)
    group = _far_apart(z, int(height.argmax()))
    deepest = (np.flatnonzero(group == k) for k in range(group.max() + 1))
    found = [centre_of(some[rows], height[rows], scaling) for rows in deepest if len(rows) >= NEIGHBOURS]
    points = [centre]
    for point in sorted(found, key=lambda point: -float(_heights(field, scaling, point, point)[0])):
        if all(_valley(field, scaling, point, known) for known in points):
            points.append(point)
    return np.stack(points)


def centre_of(seen: CheckedRows, scores: Matrix, scaling: Scaling) -> Matrix:  # (p,)
    """Return the deepest point: the mean of the deepest row and its nearest neighbours, so that no row is kept."""
    n = seen.shape[0]
    deepest = scaling.scaled(seen[[int(scores.argmax())]])
    size = rows_per_block(seen.shape[1])
    blocks = (scaling.scaled(seen[i : i + size]) - deepest for i in range(0, n, size))
    distance = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    nearest = np.argsort(distance, kind="stable")[: min(NEIGHBOURS, (n + 1) // 2)]
    return np.asarray(dense(seen[np.sort(nearest)]).astype(np.float64).mean(0))


def _upper(scores: Matrix) -> NDArray[np.bool_]:
    return np.asarray(scores >= np.quantile(scores, PERIPHERAL))


def nearest(points: Matrix, rows: Matrix) -> NDArray[np.intp]:  # (k, p), (n, p) -> (n,)
    """Return which of the points is nearest to each row; all are scaled."""
    distances = [np.einsum("ij,ij->i", rows - point, rows - point) for point in points]
    return np.asarray(np.stack(distances).argmin(0))


def _far_apart(z: Matrix, first: int) -> NDArray[np.intp]:
    """Group rows around at most MOST of them; each of these is the row farthest from those chosen before."""
    chosen, distance = [first], np.full(len(z), np.inf)
    group = np.zeros(len(z), dtype=np.intp)
    while True:
        off = z - z[chosen[-1]]
        nearer = np.einsum("ij,ij->i", off, off)
        group[nearer < distance] = len(chosen) - 1
        distance = np.minimum(distance, nearer)
        if len(chosen) == MOST or not distance.any():
            return group
        chosen.append(int(distance.argmax()))


def _valley(field: ScoreField, scaling: Scaling, a: Matrix, b: Matrix) -> bool:
    heights = _heights(field, scaling, a, b)
    return bool(heights.min() < min(heights[0], heights[-1]) - VALLEY)


def _heights(field: ScoreField, scaling: Scaling, a: Matrix, b: Matrix) -> Matrix:
    """Return the local score on the way from a to b, in units."""
    ends = scaling.apply(np.stack([a, b]))
    raw = field.raw_on_lines(ends[:1], ends[1:] - ends[:1], STOPS[None])[0]
    return np.asarray(field.calibration.units(raw)[:, 1])


@dataclass(frozen=True)
class Correction:
    """Hold the smallest correction found for one row: its columns, their values, and the values that would be enough.

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
    """Hold the corrections of several rows, one for each: print them, or take them one by one.

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


BISECTIONS = 10  # steps of the bisection that finds how far numbers must move
LEVELS = np.linspace(0.05, 0.95, 19)  # quantiles of a column: values that are frequent, and checked for whole numbers
CLOSE = 1e-5  # a number this close to a whole one counts as whole
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


def corrections(reader: "RowReader", X: ModelRows, t: float) -> Corrections:
    """Return the smallest correction of each row of X; it is empty for a row without a vector."""
    features, fitted, vectors = reader.features_with_names(), reader.fitted, reader.vectors(X)
    given = np.asarray(dense(vectors), dtype=np.float64)
    owner, frequent = reader.owner(), _frequent_values(fitted)
    goals, bound, values = fitted.typical_for(vectors), fitted.offset_for(t), reader.values(X, vectors)
    found = []
    for k, row in enumerate(given):
        if np.isnan(row).any():
            found.append(Correction(k, (), (), (), np.nan, np.nan, enough=False))
            continue
        change = smallest_change(
            lambda rows: fitted.scores(rows, t), row, np.vstack([goals[k], frequent]), owner, bound
        )
        groups, corrected = change.groups, _with_whole_counts(reader, row, change, owner, frequent)
        before, after = fitted.centrality(np.stack([row, corrected]), t)
        new, enough = reader.values_of(corrected), change.enough and fitted.scores(corrected[None], t)[0] >= bound
        names, old = tuple(features.names[g] for g in groups), tuple(values[g][k] for g in groups)
        made = tuple(new[g] for g in groups)
        found.append(Correction(k, names, old, made, float(before), float(after), enough=bool(enough)))
    return Corrections(tuple(found))


@dataclass(frozen=True)
class Change:
    """Hold a corrected row, the groups of its numbers that were changed, and whether its score reaches the bound."""

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
    left = [
        (int(group), goal)
        for group in np.unique(owner[(row != goals).any(0)])
        for goal in (goals if numbers[group] == 1 else goals[:1])
    ]
    chosen: list[int] = []
    moved, enough = row, False
    while left and not enough and len(chosen) < MOST:
        tried = np.stack([np.where(owner == group, goal, moved) for group, goal in left])
        scores = score(tried)
        best = int(scores.argmax())
        moved, enough = tried[best], bool(scores[best] >= bound)
        chosen.append(left[best][0])
        left = [(group, goal) for group, goal in left if group != chosen[-1]]
    if not enough and len(goals) > 1:  # values that fit an odd row can lead nowhere; those of one typical row cannot
        return smallest_change(score, row, goals[:1], owner, bound)
    if not enough:
        return Change(row, (), enough=False)
    for group in chosen[:-1]:
        fewer = np.where(owner == group, row, moved)
        if score(fewer[None])[0] >= bound:
            chosen, moved = [other for other in chosen if other != group], fewer
    short = np.isin(owner, [group for group in chosen if numbers[group] == 1])
    return Change(_no_farther(score, row, moved, short, bound), tuple(chosen), enough=True)


def _frequent_values(fitted: "FittedModel") -> Matrix:  # (levels, p)
    """Return values of each column that are frequent in the training rows; none where rows are relative to a kind."""
    columns = fitted.training_scores.columns
    if columns is None or fitted.context is not None:
        return np.empty((0, fitted.width))
    places = [np.searchsorted(upto, LEVELS) for upto in columns.upto.T]
    return np.column_stack([values[place] for values, place in zip(columns.values.T, places, strict=True)])


def _no_farther(score: Score, row: Matrix, moved: Matrix, short: NDArray[np.bool_], bound: float) -> Matrix:
    """Find by bisection how far features of one number must move; codes of several numbers move all the way."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        tried = np.where(short, row + share * (moved - row), moved)
        low, high = (low, share) if score(tried[None])[0] >= bound else (share, high)
    return np.where(short, row + high * (moved - row), moved) if high < 1 else moved


def _with_whole_counts(
    reader: "RowReader", row: Matrix, change: Change, owner: NDArray[np.intp], frequent: Matrix
) -> Matrix:
    """Return the corrected row with changed values of integer columns rounded away from the row's original value."""
    made = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # its value; a second number, if any, marks a missing one

        def value(z: float, place: int = place, group: int = group) -> object:
            point = made.copy()
            point[place] = z
            return reader.values_of(point)[group]

        here, beside = value(made[place]), value(made[place] - np.copysign(1.0, made[place]))
        if not (_is_number(here) and _is_number(beside)) or here == beside or not _holds_counts(frequent, place, value):
            continue
        whole = np.floor(here + CLOSE) if made[place] < row[place] else np.ceil(here - CLOSE)
        made[place] += (whole - here) / (here - beside) * np.copysign(1.0, made[place])
    return made


def _holds_counts(frequent: Matrix, place: int, value: Callable[[float], object]) -> bool:
    """Say whether a column of the training rows held whole numbers, its extreme values apart, which may be wrong."""
    values = [value(z) for z in frequent[:, place]]
    return bool(values) and all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in values)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
