"""Predict columns from a context by a random forest, held as plain arrays: a file can hold them, and no code with them.

scikit-learn grows the trees. A leaf's value is the median of the rows that grew it, so that one outlier among them does
not draw its own prediction to itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._values import Value

MOST_ROWS = 2000  # rows that each tree is grown from
DEEPEST = 12  # levels of a tree
STEPS_AT_ONCE = 1 << 20  # places in trees, rows times trees

Matrix = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest(Value):
    """Hold trees of nodes: a row goes left where its feature is at most the threshold; a leaf leads to itself."""

    feature: Whole  # (trees, nodes)
    threshold: Matrix  # (trees, nodes)
    children: Whole  # (trees, nodes, 2)
    value: Matrix  # (trees, nodes, columns)
    depth: int

    @classmethod
    def fit(cls, c: Matrix, wanted: Matrix, *, trees: int, leaf: int, seed: int) -> "tuple[Forest, Matrix]":
        """Return a forest that predicts `wanted` (n, columns) from c (n, q), and what it says of rows it has not seen.

        A leaf has so many rows at least. The second is (n, columns): for each row the mean of the trees grown
        without it.
        """
        from sklearn.ensemble import RandomForestRegressor  # slow to import, and scoring does without

        n = len(c)
        grown = RandomForestRegressor(
            trees,
            min_samples_leaf=min(leaf, max(1, n // 4)),
            max_depth=DEEPEST,
            max_features=0.5,
            max_samples=min(n, MOST_ROWS),
            random_state=seed,
        ).fit(c.astype(np.float32), wanted if wanted.shape[1] > 1 else wanted[:, 0])
        nodes = max(each.tree_.node_count for each in grown.estimators_)
        found = cls._empty(trees, nodes, wanted.shape[1], max(each.tree_.max_depth for each in grown.estimators_))
        total, count = np.zeros_like(wanted), np.zeros((n, 1))
        at = grown.apply(c.astype(np.float32))  # (n, trees)
        for number, (each, drawn) in enumerate(zip(grown.estimators_, grown.estimators_samples_, strict=True)):
            tree = each.tree_
            inner, own = tree.children_left >= 0, slice(tree.node_count)
            found.feature[number, own] = np.where(inner, tree.feature, 0)
            found.threshold[number, own] = tree.threshold
            kept = np.arange(tree.node_count)
            sides = (tree.children_left, tree.children_right)
            found.children[number, own] = np.stack([np.where(inner, side, kept) for side in sides], axis=1)
            found.value[number, own] = _medians(wanted[drawn], at[drawn, number], tree.node_count)
            unseen = np.setdiff1d(np.arange(n), drawn)
            total[unseen] += found.value[number, at[unseen, number]]
            count[unseen] += 1
        forest = cls(found.feature, found.threshold, found.children, found.value, found.depth)
        known = total / np.maximum(count, 1)
        return forest, np.where(count > 0, known, forest(c))

    @classmethod
    def _empty(cls, trees: int, nodes: int, columns: int, depth: int) -> "Forest":
        shape = (trees, nodes)
        empty = object.__new__(cls)
        parts = {
            "feature": np.zeros(shape, dtype=np.int64),
            "threshold": np.zeros(shape),
            "children": np.zeros((*shape, 2), dtype=np.int64),
            "value": np.zeros((*shape, columns)),
            "depth": int(depth),
        }
        for name, part in parts.items():
            object.__setattr__(empty, name, part)
        return empty

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, columns)
        """Return the mean of what the trees say."""
        step = max(1, STEPS_AT_ONCE // len(self.feature))
        grown = c.astype(np.float32)  # as the trees were
        return np.concatenate([self._of(grown[start : start + step]) for start in range(0, max(len(c), 1), step)])

    def _of(self, c: NDArray[np.float32]) -> Matrix:
        tree, row = np.arange(len(self.feature))[:, None], np.arange(len(c))
        node = np.zeros((len(self.feature), len(c)), dtype=np.int64)
        for _ in range(self.depth):
            right = c[row, self.feature[tree, node]] > self.threshold[tree, node]
            node = self.children[tree, node, right.astype(np.int64)]
        return np.asarray(self.value[tree, node].mean(0))


def _medians(values: Matrix, leaf: Whole, nodes: int) -> Matrix:  # (n, columns), (n,) -> (nodes, columns)
    """Return the median of the values in each leaf, 0 in nodes that are none."""
    found = np.zeros((nodes, values.shape[1]))
    present, first, counts = np.unique(np.sort(leaf), return_index=True, return_counts=True)
    for column in range(values.shape[1]):
        ordered = values[np.lexsort((values[:, column], leaf)), column]
        low, high = ordered[first + (counts - 1) // 2], ordered[first + counts // 2]
        found[present, column] = 0.5 * (low + high)
    return found
