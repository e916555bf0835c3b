"""Explain scores: contributions, typical points, the smallest corrections.

A row is compared with a typical point. The gain of a column is how much the row's score rises when this column alone
moves toward the point: the larger the gain, the more the column is to blame. Where two columns follow each other and a
row breaks that, moving either of them helps, so both are blamed. (The other common way, to add up slopes along the
straight line to the point, gives one of two such columns +150 and the other -145, when together they cost 5.) The part
of the score's change that no column gains by itself is shared in proportion to squared distances from the point.

The point is the deepest one of the region nearest to the row. With a point of another region, the features in which the
regions differ would be blamed rather than those that are odd. Two points belong to one region if the local head has no
valley on the straight line between them.

Shares are never negative and sum to 1, so that no feature contributes more to a head score than the whole change of
that score. `Mixing.contributions` turns contributions to the two head scores into contributions to the centrality.

A correction gives a column its value at the nearest typical point or, if the column is a number, another frequent value
that fits the rest of the row better: the typical number of school years would be wrong beside a doctorate. The search
is greedy: each step changes the column that raises the score most. At the end, columns that need not change get their
values back, and numbers move only as far as they must.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import divide_by_units, safe_divide, subsample_evenly
from centrality._internal.input import CheckedRows, ModelRows
from centrality._internal.text import number
from centrality.network.calibration import Calibration
from centrality.network.context import ContextCalibration
from centrality.network.engine_backend import NetworkScorer
from centrality.network.refinement import Refinement
from centrality.network.scaling import Scaling, dense, rows_per_block

if TYPE_CHECKING:
    from centrality.model.reader import RowReader


FRACTIONS = np.array([1.0, 0.5, 0.25, 0.125], dtype=np.float32)  # of the way to the point that a feature is moved
MIDDLE = 0.5  # the t whose slope chooses the features to try
MOST_FEATURES_TRIED = 16  # features tried per row; 32, or all, name the right one no better (Ames, 80 columns)
MOST_ROWS = 16  # from which further regions are searched for, each far from those before
MOST_CHANGED = 16  # features that a correction changes
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_WALKED = 680  # rows whose paths toward the centre are computed together
VALUES_TRIED = 1 << 20  # limit on rows × columns × features tried in a block of explained rows
NEIGHBOURS = 10  # a typical point is the mean of so many rows: a model stores no row itself
REGION_ROWS = 4000  # rows searched for further regions, at most
REGION_VALUES = 1 << 22  # numbers in these rows, at most; but 200 rows are always searched
PERIPHERAL = 0.2  # share of the rows, the least dense and the least central, that no region is searched in
VALLEY = 0.5  # depth of the dip on the line between two points, in head scores, that separates two regions
STOPS = np.linspace(0, 1, 11, dtype=np.float32)  # where on that line the head score is looked at
BISECTIONS = 10  # steps of the bisection that finds how far numbers must move
LEVELS = np.linspace(0.05, 0.95, 19)  # the quantiles of a column that stand for its frequent values
CLOSE = 1e-5  # a number this close to a whole one counts as whole

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


@dataclass(frozen=True)
class ScoreField:
    """The head scores as functions of scaled rows, and their slopes."""

    scorer: NetworkScorer
    calibration: Calibration
    reach: float  # scaled units that a path may leave the box between row and centre
    refinement: Refinement | None = None  # learned from marks, added to both head scores
    context_calibration: ContextCalibration | None = None  # makes scores comparable between contexts

    def shares(self, points: Matrix, rows: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, p), (n, p) -> (n, 2, p)
        """Return each column's share in the difference between a row's head scores and those of its point, both scaled.

        `owner` says which feature a column belongs to. Shares are at least 0 and sum to 1, or are all 0 if row and
        point are equal.
        """
        change = self._head_scores(points) - self._head_scores(rows)
        gains = self._gains(rows, points, owner)
        # Where the point scores lower than the row, gains are those of the point when it moves toward the row.
        better = np.flatnonzero((change < 0).any(1))
        if len(better):
            gains_of_points = self._gains(points[better], rows[better], owner)
            gains[better] = np.where(change[better, :, None] < 0, gains_of_points, gains[better])
        rest = np.maximum(np.abs(change) - gains.sum(2), 0.0)  # the change that no feature gains by itself
        step = np.abs(points - rows)
        square = safe_divide(step, step.max(1, keepdims=True)) ** 2
        square_of_feature = sum_by_feature(square, owner, int(owner.max()) + 1)
        shares_of_squares = safe_divide(square_of_feature, square_of_feature.sum(1, keepdims=True))
        blame = gains + rest[:, :, None] * shares_of_squares[:, None]
        # If the change is only rounding, share it by distance.
        blame = np.where(blame.any(2, keepdims=True), blame, square_of_feature[:, None])
        share_within_feature = safe_divide(square, square_of_feature[:, owner])
        shares = safe_divide(blame, blame.sum(2, keepdims=True))
        return np.asarray(shares[:, :, owner] * share_within_feature[:, None])

    def _gains(self, rows: Matrix, points: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, 2, features)
        """Return by how much each head score rises when one feature alone moves toward the point, at the best fraction.

        Of many features, only those whose slope promises most are tried; the others gain 0.
        """
        n, p = rows.shape
        features = int(owner.max()) + 1
        start = rows.astype(np.float32)
        step = (points - rows).astype(np.float32)
        candidates = np.tile(np.arange(features), (n, 1))  # (n, candidates) features
        if features > MOST_FEATURES_TRIED:
            promise = sum_by_feature(self.slope(rows, MIDDLE) * step, owner, features)
            candidates = np.argsort(-promise, axis=1, kind="stable")[:, :MOST_FEATURES_TRIED]
        steps = (step[:, None] * (owner == candidates[:, :, None])).reshape(-1, p)
        starts = np.repeat(start, candidates.shape[1], axis=0)
        raw = self.raw_on_lines(starts, steps, np.tile(FRACTIONS, (len(steps), 1)))
        scores = self.calibration.units(raw.reshape(-1, 2))
        if self.refinement is not None:
            points_on_lines = starts[:, None].astype(np.float64) + steps[:, None] * FRACTIONS[:, None]
            scores = scores + self.refinement.shift(points_on_lines.reshape(-1, p))[:, None]
        best = scores.reshape(*candidates.shape, len(FRACTIONS), 2).max(2)
        gains = np.zeros((n, features, 2))
        gains_of_candidates = np.maximum(best - self._head_scores(rows)[:, None], 0.0)
        np.put_along_axis(gains, candidates[:, :, None], gains_of_candidates, axis=1)
        return np.moveaxis(gains, 2, 1)

    def _head_scores(self, rows: Matrix) -> Matrix:  # (n, 2)
        """Return the head scores of scaled rows, before context calibration."""
        scores = self.calibration.units(self.calibration.raw(self.scorer(rows.astype(np.float32))))
        return scores if self.refinement is None else scores + self.refinement.shift(rows)[:, None]

    def ascend(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_], t: float) -> Matrix:
        """Return paths of scaled points, (n, steps + 1, p), on which f(x, t) never falls; only `free` columns move.

        Each step goes either along the slope or straight toward the centre (far outside, slopes mislead), whichever
        raises f more. Several lengths are tried, and the best is taken. The longest is 1 / steps_left of the way to the
        centre, and along the slope 1.5 times that. In no column does a point lie farther than `reach` outside of the
        interval from the row to the centre, so that all points stay finite in the user's units.
        """
        low = np.minimum(rows, centre) - self.reach
        high = np.maximum(rows, centre) + self.reach
        points = [rows]
        for steps_left in range(steps, 0, -1):
            here = points[-1]
            to_centre = (centre - here) * free
            pace = np.linalg.norm(to_centre, axis=1, keepdims=True) / steps_left
            uphill = self.slope(here, t) * free
            length = np.linalg.norm(uphill, axis=1, keepdims=True)
            uphill = safe_divide(uphill, length) * (1.5 * pace)  # a winding path is longer than a straight one
            uphill = (np.clip(here + uphill, low, high) - here) * free
            gain_uphill, point_uphill = self._best_on_line(here, uphill, t)
            gain_to_centre, point_to_centre = self._best_on_line(here, to_centre / steps_left, t)
            points.append(np.where((gain_uphill >= gain_to_centre)[:, None], point_uphill, point_to_centre))
        return np.stack(points, axis=1)

    def _best_on_line(self, here: Matrix, ahead: Matrix, t: float) -> tuple[Matrix, Matrix]:  # (n,), (n, p)
        """Return the largest rise of f between `here` and `here + ahead`, and where it is: here, if f never rises."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        raw = self.raw_on_lines(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self._mixed(self.calibration, raw, here, t)
        gain = self._mixed(self.calibration.as_soft(), raw, here, t)  # it rises even where "clip" is flat
        if self.refinement is not None:
            points = here[:, None] + ahead[:, None] * lengths[:, None]
            shift = self.refinement.shift(points.reshape(-1, here.shape[1])).reshape(f.shape)
            f = f + shift
            gain = gain + shift
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # where f falls, or is NaN, there is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _mixed(self, calibration: Calibration, raw: Matrix, rows: Matrix, t: float) -> Matrix:  # (n, s, 2) -> (n, s)
        """Return the raw scores of s points for each row, calibrated in the context of the row and mixed at t."""
        n, s, _ = raw.shape
        scores = calibration.units(raw.reshape(n * s, 2))
        if self.context_calibration is not None:
            scores = self.context_calibration(scores, np.repeat(rows, s, axis=0))
        return calibration.mixing.mixed(scores, t).reshape(n, s)

    def slope(self, rows: Matrix, t: float) -> Matrix:  # (n, p)
        """Return the derivative of the score at t by the scaled rows, as if calibration were "soft"."""
        z = rows.astype(np.float32)
        on_lines, pull_back = self.scorer.along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        outputs = on_lines[:, :, 0]
        soft = self.calibration.as_soft()
        raw = soft.raw(outputs)
        by_outputs = soft.raw_back(outputs, soft.mixing.weights(soft.units(raw), t) * soft.unit_slopes(raw))
        # Far away, slopes may be too small for float32: divide by the largest one, and multiply again after summing.
        largest = np.abs(by_outputs).max((0, 2), keepdims=True)
        by_outputs = safe_divide(by_outputs, largest)
        slope = pull_back(by_outputs[:, :, None].astype(np.float32)).astype(np.float64) * largest[0]
        return np.asarray(slope if self.refinement is None else slope + self.refinement.slope(rows))

    def raw_on_lines(self, start: Floats, step: Floats, at: Floats) -> Matrix:  # (n, s, 2)
        """Return the raw scores at the scaled points start + at * step."""
        outputs, _ = self.scorer.along(start, step, at)
        members, n, s, k = outputs.shape
        return self.calibration.raw(outputs.reshape(members, n * s, k)).reshape(n, s, 2)


def low_heads(heads: Matrix, bounds: Matrix) -> NDArray[np.str_]:  # (n, 2) -> (n,)
    """Say which of a row's heads lie below their bounds; an empty string for a row without heads."""
    low = heads < bounds
    named = np.array(["typical", "global", "local", "both"])[low[:, 0] + 2 * low[:, 1]]
    return np.where(np.isnan(heads).any(1), "", named)


def sum_by_feature(parts: Matrix, owner: NDArray[np.intp], groups: int) -> Matrix:  # (..., q) -> (..., groups)
    """Add up the contributions of the columns that belong to the same feature."""
    sums = np.zeros((*parts.shape[:-1], groups))
    np.add.at(np.moveaxis(sums, -1, 0), owner, np.moveaxis(parts, -1, 0))
    return sums


def typical_points(rows: CheckedRows, scores: Matrix, local: Matrix, field: ScoreField, scaling: Scaling) -> Matrix:
    """Return a typical point of each region, (k, p), in the user's units.

    The first is the deepest one by `scores`. The others are deepest in their regions by the `local` head scores.
    """
    points = [centre_of(rows, scores, scaling)]
    count = min(rows.shape[0], REGION_ROWS, max(REGION_VALUES // rows.shape[1], 200))
    sample = subsample_evenly(np.arange(rows.shape[0]), count)
    # A group far away is odd, however dense it is: so it gets no typical point.
    is_dense = local[sample] >= np.quantile(local[sample], PERIPHERAL)
    sample = sample[is_dense & (scores[sample] >= np.quantile(scores[sample], PERIPHERAL))]
    central = rows[sample]
    height = local[sample]
    group = _farthest_first_groups(scaling.scaled(central), int(height.argmax()))
    members = [np.flatnonzero(group == k) for k in range(group.max() + 1)]
    deepest = [centre_of(central[at], height[at], scaling) for at in members if len(at) >= NEIGHBOURS]
    for point in sorted(deepest, key=lambda point: -float(_heights(field, scaling, point, point)[0])):
        lines = (_heights(field, scaling, point, other) for other in points)
        if all(line.min() < min(line[0], line[-1]) - VALLEY for line in lines):
            points.append(point)
    return np.stack(points)


def centre_of(rows: CheckedRows, scores: Matrix, scaling: Scaling) -> Matrix:  # (p,)
    """Return the mean of the deepest row and its nearest neighbours: a mean, so that no row is stored."""
    n = rows.shape[0]
    deepest = scaling.scaled(rows[[int(scores.argmax())]])
    size = rows_per_block(rows.shape[1])
    blocks = (scaling.scaled(rows[i : i + size]) - deepest for i in range(0, n, size))
    distance = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    nearest = np.argsort(distance, kind="stable")[: min(NEIGHBOURS, (n + 1) // 2)]
    neighbours, unit = divide_by_units(dense(rows[np.sort(nearest)]).astype(np.float64))
    return np.asarray(neighbours.mean(0) * unit)


def nearest(points: Matrix, rows: Matrix) -> NDArray[np.intp]:  # (k, p), (n, p) -> (n,)
    """Return the number of the point nearest to each row; points and rows are scaled."""
    distances = [np.einsum("ij,ij->i", rows - point, rows - point) for point in points]
    return np.asarray(np.stack(distances).argmin(0))


def _farthest_first_groups(z: Matrix, first: int) -> NDArray[np.intp]:
    """Choose at most MOST_ROWS rows, each the farthest from those before; return which is nearest to each row."""
    chosen = [first]
    distance = np.full(len(z), np.inf)
    group = np.zeros(len(z), dtype=np.intp)
    while True:
        difference = z - z[chosen[-1]]
        distance_to_last = np.einsum("ij,ij->i", difference, difference)
        group[distance_to_last < distance] = len(chosen) - 1
        distance = np.minimum(distance, distance_to_last)
        if len(chosen) == MOST_ROWS or not distance.any():
            return group
        chosen.append(int(distance.argmax()))


def _heights(field: ScoreField, scaling: Scaling, a: Matrix, b: Matrix) -> Matrix:
    """Return the local head score at STOPS on the straight line from a to b."""
    ends = scaling.apply(np.stack([a, b]))
    raw = field.raw_on_lines(ends[:1], ends[1:] - ends[:1], STOPS[None])[0]
    return np.asarray(field.calibration.units(raw)[:, 1])


@dataclass(frozen=True)
class Correction:
    """The smallest correction found for one row: the columns to change, their values before and after.

    >>> from centrality.model.explain import Correction
    >>> str(Correction(3, ("price",), (-5.0,), (12.0,), 0.02, 0.31, enough=True))
    'row 3: price 12 instead of -5 (centrality 0.02, then 0.31)'
    """

    row: int
    columns: tuple[str, ...]  # empty if the row is not odd
    before: tuple[object, ...]
    after: tuple[object, ...]
    centrality: float
    corrected: float  # the centrality after the correction
    enough: bool  # whether the row would then not be odd; False if too many columns are odd
    look_at: tuple[str, ...] = ()  # those of the columns that are pictures, long texts, vectors, or two that do not fit

    def __str__(self) -> str:
        if not self.columns:
            return f"row {self.row:,}: not odd" if self.enough else f"row {self.row:,}: no correction found"
        changes = [
            f"look at {name}"
            if name in self.look_at
            # For a text, no new value is known.
            else f"{name} other than {number(old)}"
            if new is None
            else f"{name} {number(new)} instead of {number(old)}"
            for name, old, new in zip(self.columns, self.before, self.after, strict=True)
        ]
        ending = "" if self.enough else "; still odd"
        centrality = f"centrality {self.centrality:.2f}, then {self.corrected:.2f}"
        return f"row {self.row:,}: {', '.join(changes)} ({centrality}{ending})"


@dataclass(frozen=True)
class Corrections(Sequence[Correction]):
    """The corrections of several rows, one each: print them, or take them one by one.

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
    """Return the smallest correction of each row of X; a row without a vector gets an empty correction."""
    names = reader.features_with_names().names
    fitted = reader.fitted
    vectors = reader.vectors(X)
    owner = reader.owner()
    frequent = np.empty((0, fitted.width))  # (levels, p) values of each column that are frequent in the training rows
    columns = fitted.training_scores.columns
    if columns is not None and fitted.context is None:
        pairs = zip(columns.values.T, columns.upto.T, strict=True)
        frequent = np.column_stack([values[np.searchsorted(upto, LEVELS)] for values, upto in pairs])
    typical = fitted.typical_for(vectors)
    bound = fitted.offset_for(t)
    values = reader.values(X, vectors)

    def score(points: Matrix) -> Matrix:
        return fitted.scores(points, t)

    to_blame = reader.blocks_to_blame(vectors)
    parts = {*reader.blocks(), *to_blame}
    rows = []
    for k, row in enumerate(np.asarray(dense(vectors), dtype=np.float64)):
        if np.isnan(row).any():
            rows.append(Correction(k, (), (), (), np.nan, np.nan, enough=False))
            continue
        change = smallest_change(score, row, np.vstack([typical[k], frequent]), owner, bound)
        corrected = _with_whole_counts(reader, row, change, owner, frequent)
        before, after = fitted.centrality(np.stack([row, corrected]), t)
        new_values = reader.values_of(corrected)
        # Of two parts that do not go together, the one that is odd by itself, and any part once.
        changed: dict[str, int] = {}
        for group in change.groups:
            name = to_blame[names[group]][k] if names[group] in to_blame else None
            changed.setdefault(names[group] if name is None else name, group if name is None else names.index(name))
        rows.append(
            Correction(
                row=k,
                columns=tuple(changed),
                before=tuple(values[group][k] for group in changed.values()),
                after=tuple(new_values[group] for group in changed.values()),
                centrality=float(before),
                corrected=float(after),
                enough=bool(change.enough and score(corrected[None])[0] >= bound),
                look_at=tuple(name for name in changed if name in parts),
            )
        )
    return Corrections(tuple(rows))


@dataclass(frozen=True)
class Change:
    """A corrected row, the features that were changed, and whether its score reaches the bound."""

    row: Matrix  # (p,)
    groups: tuple[int, ...]
    enough: bool


def smallest_change(score: Score, row: Matrix, goals: Matrix, owner: NDArray[np.intp], bound: float) -> Change:
    """Change as few features of a row as possible until its score reaches `bound`.

    `owner` says which feature each number of the row belongs to. A feature of several numbers is set to its values in
    the first of the `goals`, (k, p); a feature of one number, to its value in whichever goal gives the best score.
    """
    if score(row[None])[0] >= bound:
        return Change(row, (), enough=True)
    width_of_feature = np.bincount(owner)
    options = [
        (int(group), goal)
        for group in np.unique(owner[(row != goals).any(0)])
        for goal in (goals if width_of_feature[group] == 1 else goals[:1])
    ]
    chosen: list[int] = []
    changed = row
    is_enough = False
    while options and not is_enough and len(chosen) < MOST_CHANGED:
        candidates = np.stack([np.where(owner == group, goal, changed) for group, goal in options])
        scores = score(candidates)
        best = int(scores.argmax())
        changed = candidates[best]
        is_enough = bool(scores[best] >= bound)
        chosen.append(options[best][0])
        options = [(group, goal) for group, goal in options if group != chosen[-1]]
    # Frequent values that seem to fit an odd row may lead to a dead end; the typical point alone does not.
    if not is_enough and len(goals) > 1:
        return smallest_change(score, row, goals[:1], owner, bound)
    if not is_enough:
        return Change(row, (), enough=False)
    for group in chosen[:-1]:
        without = np.where(owner == group, row, changed)
        if score(without[None])[0] >= bound:
            chosen = [other for other in chosen if other != group]
            changed = without
    # Move single numbers back toward the row, by bisection, as far as the score still reaches the bound.
    movable = np.isin(owner, [group for group in chosen if width_of_feature[group] == 1])
    low = 0.0
    high = 1.0
    shorter = changed
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        candidate = np.where(movable, row + share * (changed - row), changed)
        if score(candidate[None])[0] >= bound:
            high = share
            shorter = candidate
        else:
            low = share
    return Change(shorter, tuple(chosen), enough=True)


def _with_whole_counts(
    reader: "RowReader", row: Matrix, change: Change, owner: NDArray[np.intp], frequent: Matrix
) -> Matrix:
    """Return the corrected row, with changed counts rounded to a whole number, away from the old value.

    A column holds whole numbers if its frequent values in the training rows are whole: extreme ones may be wrong.
    """
    corrected = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # of the value; a second number, if any, says if it is missing

        def value(z: float, place: int = place, group: int = group) -> object:
            point = corrected.copy()
            point[place] = z
            return reader.values_of(point)[group]

        here = value(corrected[place])
        one_step_back = value(corrected[place] - np.copysign(1.0, corrected[place]))
        if not (_is_number(here) and _is_number(one_step_back)) or here == one_step_back:
            continue
        examples = [value(z) for z in frequent[:, place]]
        if not examples or not all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in examples):
            continue
        # Extend the line through the two values to where it is whole.
        whole = np.floor(here + CLOSE) if corrected[place] < row[place] else np.ceil(here - CLOSE)
        corrected[place] += (whole - here) / (here - one_step_back) * np.copysign(1.0, corrected[place])
    return corrected


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
