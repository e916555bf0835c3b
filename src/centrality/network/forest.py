"""Predict columns from a context by a random forest, held as plain arrays: a file can hold them, and no code with them.

scikit-learn grows the trees. A leaf's value is the median of the rows in it, so that an outlier among them hardly draws
its own prediction to itself.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._values import Value

MOST_ROWS = 2000  # rows that each tree is grown from
MOST_MEASURED = 20_000  # rows whose medians the leaves hold
DEEPEST = 12  # levels of a tree
STEPS_AT_ONCE = 1 << 20  # places in trees, rows times trees

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest(Value):
    """Hold trees of nodes: a row goes left where its feature is at most the threshold; a leaf leads to itself."""

    feature: NDArray[np.int32]  # (trees, nodes)
    threshold: Matrix  # (trees, nodes)
    children: NDArray[np.int32]  # (trees, nodes, 2)
    value: NDArray[np.float32]  # (trees, nodes, columns)

    @classmethod
    def fit(
        cls, c: Matrix, wanted: Matrix, *, trees: int, leaf: int, seed: int, means: bool = False
    ) -> "tuple[Forest, Matrix]":
        """Return a forest that predicts `wanted` (n, columns) from c (n, q), and what it says of rows it has not seen.

        A leaf has so many rows at least, and holds their median, or their mean. The second, (n, columns), is the mean
        over the trees that were grown without the row, of what their leaves would hold without it.
        """
        from sklearn.ensemble import RandomForestRegressor  # slow to import, and scoring does without

        some = np.linspace(0, len(c) - 1, min(len(c), MOST_MEASURED)).astype(np.intp)
        x, y = c[some].astype(np.float32), wanted[some]
        grown = RandomForestRegressor(
            trees,
            min_samples_leaf=min(leaf, max(1, len(x) // 4)),
            max_depth=DEEPEST,
            max_features=0.5,
            max_samples=min(len(x), MOST_ROWS),
            random_state=seed,
        ).fit(x, y if y.shape[1] > 1 else y[:, 0])
        nodes = max(each.tree_.node_count for each in grown.estimators_)
        feature, threshold = np.zeros((trees, nodes), dtype=np.int32), np.zeros((trees, nodes))
        children = np.zeros((trees, nodes, 2), dtype=np.int32)
        value = np.zeros((trees, nodes, y.shape[1]), dtype=np.float32)
        total, count = np.zeros_like(y), np.zeros((len(y), 1))
        at = grown.apply(x)  # (n, trees)
        for number, (each, drawn) in enumerate(zip(grown.estimators_, grown.estimators_samples_, strict=True)):
            tree = each.tree_
            inner, own, kept = tree.children_left >= 0, slice(tree.node_count), np.arange(tree.node_count)
            feature[number, own], threshold[number, own] = np.where(inner, tree.feature, 0), tree.threshold
            sides = (tree.children_left, tree.children_right)
            children[number, own] = np.stack([np.where(inner, side, kept) for side in sides], axis=1)
            leaf_of, unseen = at[:, number], np.setdiff1d(np.arange(len(y)), drawn)
            value[number, own] = (_means if means else medians)(y, leaf_of, tree.node_count)
            total[unseen] += (_means_of_others if means else medians_of_others)(y, leaf_of)[unseen]
            count[unseen] += 1
        forest = cls(feature, threshold, children, value)
        said = forest(c)
        said[some] = np.where(count > 0, total / np.maximum(count, 1), said[some])
        return forest, said

    def times(self, factor: Matrix) -> "Forest":
        """Return the forest whose columns say so many times as much."""
        return replace(self, value=(self.value * factor).astype(np.float32))

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, columns)
        """Return the mean of what the trees say."""
        step = max(1, STEPS_AT_ONCE // len(self.feature))
        grown = c.astype(np.float32)  # as the trees were
        return np.concatenate([self._of(grown[start : start + step]) for start in range(0, max(len(c), 1), step)])

    def _of(self, c: NDArray[np.float32]) -> Matrix:
        tree, row = np.arange(len(self.feature))[:, None], np.arange(len(c))
        node, before = np.zeros((len(self.feature), len(c)), dtype=np.int32), None
        for _ in range(self.feature.shape[1]):
            before, right = node, c[row, self.feature[tree, node]] > self.threshold[tree, node]
            node = self.children[tree, before, right.astype(np.int32)]
            if np.array_equal(node, before):  # every row has come to its leaf
                break
        return np.asarray(self.value[tree, node].mean(0, dtype=np.float64))


def medians(values: Matrix, leaf: NDArray[np.int64], nodes: int) -> Matrix:  # (n, columns), (n,) -> (nodes, columns)
    """Return the median of the values in each leaf, 0 in nodes that are none."""
    found = np.zeros((nodes, values.shape[1]))
    present, first, counts = np.unique(np.sort(leaf), return_index=True, return_counts=True)
    for column in range(values.shape[1]):
        ordered = values[np.lexsort((values[:, column], leaf)), column]
        low, high = ordered[first + (counts - 1) // 2], ordered[first + counts // 2]
        found[present, column] = 0.5 * (low + high)
    return found


def medians_of_others(values: Matrix, leaf: NDArray[np.int64]) -> Matrix:  # (n, columns), (n,) -> (n, columns)
    """Return for each row the median of the other values in its leaf; its own, if it is alone there."""
    found = np.empty_like(values)
    _, first, own, counts = np.unique(np.sort(leaf), return_index=True, return_inverse=True, return_counts=True)
    first, counts = first[own], counts[own]  # (n,) of each place in the order of leaves
    rank = np.arange(len(leaf)) - first
    for column in range(values.shape[1]):
        order = np.lexsort((values[:, column], leaf))
        ordered = values[order, column]
        # The middle of the others, which are one fewer: from its own rank on, each has the rank after that.
        middles = (np.maximum(counts - 2, 0) // 2, (counts - 1) // 2)
        low, high = (ordered[first + np.minimum(k + (rank <= k), counts - 1)] for k in middles)
        found[order, column] = 0.5 * (low + high)
    return found


def _means_of_others(values: Matrix, leaf: NDArray[np.int64]) -> Matrix:
    """Return for each row the mean of the other values in its leaf; 0, if it is alone there."""
    counts = np.bincount(leaf)[leaf][:, None]
    sums = np.stack([np.bincount(leaf, column)[leaf] for column in values.T], axis=1)
    return np.asarray((sums - values) / np.maximum(counts - 1, 1))


def _means(values: Matrix, leaf: NDArray[np.int64], nodes: int) -> Matrix:
    """Return the mean of the values in each leaf, 0 in nodes that are none."""
    sums = np.stack([np.bincount(leaf, column, minlength=nodes) for column in values.T], axis=1)
    return np.asarray(sums / np.maximum(np.bincount(leaf, minlength=nodes), 1)[:, None])
