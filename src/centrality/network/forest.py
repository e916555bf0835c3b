"""Predict columns from a context by a random forest held as plain arrays, which a file can hold without any code.

scikit-learn grows the trees. A leaf's value is the median of the rows in it, so that an outlier among them hardly draws
its own prediction to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays, evenly_spaced

ROWS_OF_TREE = 2000  # that a tree is grown from, at most
ROWS_OF_LEAVES = 20_000  # that the values of leaves are computed from, at most
DEPTH = 12  # of a tree, at most
PLACES = 1 << 20  # rows times trees that predictions are computed for together, at most

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest(FrozenArrays):
    """Trees of nodes: a row goes left where its feature is at most the threshold; a leaf leads to itself."""

    feature: NDArray[np.int32]  # (trees, nodes)
    threshold: Matrix  # (trees, nodes)
    children: NDArray[np.int32]  # (trees, nodes, 2)
    value: NDArray[np.float32]  # (trees, nodes, columns)

    @classmethod
    def fit(
        cls, c: Matrix, targets: Matrix, *, trees: int, leaf: int, seed: int, means: bool = False
    ) -> "tuple[Forest, Matrix]":
        """Return a forest that predicts `targets` (n, columns) from c (n, q), and its out-of-bag predictions.

        A leaf has at least `leaf` rows, and holds their median, or with `means` their mean. A row's out-of-bag
        prediction is the mean of the trees that were grown without the row, whose leaves are computed without it too.
        """
        from sklearn.ensemble import RandomForestRegressor  # slow to import, and scoring does without

        sample = evenly_spaced(len(c), ROWS_OF_LEAVES)
        x = c[sample].astype(np.float32)
        y = targets[sample]
        regressor = RandomForestRegressor(
            trees,
            min_samples_leaf=min(leaf, max(1, len(x) // 4)),
            max_depth=DEPTH,
            max_features=0.5,
            max_samples=min(len(x), ROWS_OF_TREE),
            random_state=seed,
        ).fit(x, y if y.shape[1] > 1 else y[:, 0])
        feature, threshold, children = _nodes_of([estimator.tree_ for estimator in regressor.estimators_])
        value = np.zeros((*feature.shape, y.shape[1]), dtype=np.float32)
        total = np.zeros_like(y)
        count = np.zeros((len(y), 1))
        leaf_of_row = regressor.apply(x)  # (n, trees)
        values_of = _means if means else medians
        for number, rows_of_tree in enumerate(regressor.estimators_samples_):
            unseen = np.ones(len(y), dtype=bool)
            unseen[rows_of_tree] = False
            of_leaves, of_others = values_of(y, leaf_of_row[:, number], feature.shape[1])
            value[number] = of_leaves
            total[unseen] += of_others[unseen]
            count[unseen] += 1
        forest = cls(feature, threshold, children, value)
        predictions = np.empty_like(targets)
        predictions[sample] = total / np.maximum(count, 1)
        out_of_bag = np.zeros(len(c), dtype=bool)
        out_of_bag[sample] = count[:, 0] > 0
        predictions[~out_of_bag] = forest(c[~out_of_bag])  # rows that are not in the sample, or are in every tree
        return forest, predictions

    def times(self, factor: Matrix) -> "Forest":
        """Return the forest with its predictions multiplied by a factor for each column."""
        return replace(self, value=(self.value * factor).astype(np.float32))

    def depth(self) -> int:
        """Return the largest number of steps from a root to a leaf."""
        depth = np.zeros(self.feature.shape, dtype=np.int64)
        tree = np.arange(len(self.feature))
        for node in range(self.feature.shape[1]):  # a child has a larger number than its parent
            for child in self.children[:, node].T:
                inner = child > node
                depth[tree[inner], child[inner]] = depth[inner, node] + 1
        return int(depth.max())

    def __call__(self, c: Matrix) -> Matrix:  # (n, q) -> (n, columns)
        """Return the mean of the trees' predictions."""
        trees, nodes = self.feature.shape
        root = nodes * np.arange(trees)[:, None]  # the nodes of all trees have numbers in one row: that is fast
        feature = self.feature.ravel()
        threshold = self.threshold.ravel()
        children = (self.children + root[:, :, None]).ravel()
        values = self.value.reshape(trees * nodes, -1)
        step = max(1, PLACES // trees)
        predictions = []
        for start in range(0, max(len(c), 1), step):
            block = c[start : start + step].astype(np.float32)  # thresholds were found for float32
            start_of_row = c.shape[1] * np.arange(len(block))
            node = np.broadcast_to(root, (trees, len(block)))
            for _ in range(nodes):
                goes_right = block.take(start_of_row + feature.take(node)) > threshold.take(node)
                below = children.take(2 * node + goes_right)
                if np.array_equal(below, node):  # every row has come to its leaf
                    break
                node = below
            predictions.append(values[node].mean(0, dtype=np.float64))
        return np.concatenate(predictions)


def _nodes_of(trees: Sequence[Any]) -> tuple[NDArray[np.int32], Matrix, NDArray[np.int32]]:
    """Return feature, threshold and children of the nodes of scikit-learn's trees; smaller trees have empty nodes."""
    shape = (len(trees), max(tree.node_count for tree in trees))
    feature = np.zeros(shape, dtype=np.int32)
    threshold = np.zeros(shape)
    children = np.zeros((*shape, 2), dtype=np.int32)
    for number, tree in enumerate(trees):
        inner = tree.children_left >= 0
        itself = np.arange(tree.node_count)  # where a leaf leads
        feature[number, : tree.node_count] = np.where(inner, tree.feature, 0)
        threshold[number, : tree.node_count] = tree.threshold
        sides = [np.where(inner, side, itself) for side in (tree.children_left, tree.children_right)]
        children[number, : tree.node_count] = np.stack(sides, axis=1)
    return feature, threshold, children


def medians(values: Matrix, leaf: NDArray[np.int64], nodes: int) -> tuple[Matrix, Matrix]:
    """Return the median of the values in each leaf, and for each row that of the other rows in its leaf.

    (n, columns), (n,) -> (nodes, columns), (n, columns). Inner nodes have 0. A row alone in its leaf has its own value.
    """
    of_leaves = np.zeros((nodes, values.shape[1]))
    of_others = np.empty_like(values)
    counts = np.bincount(leaf, minlength=nodes)
    present = np.flatnonzero(counts)
    # Rows are sorted by leaf, and by value within it. These are the places of each leaf's two middle values:
    first = np.cumsum(counts) - counts
    low = first[present] + (counts[present] - 1) // 2
    high = first[present] + counts[present] // 2
    # For each row, the places of the two middle values of the others, among which it is not counted itself:
    sorted_leaf = np.repeat(np.arange(nodes), counts)
    start = first[sorted_leaf]
    count = counts[sorted_leaf]
    rank = np.arange(len(leaf)) - start
    low_rank = np.maximum(count - 2, 0) // 2
    high_rank = (count - 1) // 2
    low_of_others = start + np.minimum(low_rank + (rank <= low_rank), count - 1)
    high_of_others = start + np.minimum(high_rank + (rank <= high_rank), count - 1)
    for column in range(values.shape[1]):
        order = np.lexsort((values[:, column], leaf))
        ordered = values[order, column]
        of_leaves[present, column] = 0.5 * (ordered[low] + ordered[high])
        of_others[order, column] = 0.5 * (ordered[low_of_others] + ordered[high_of_others])
    return of_leaves, of_others


def _means(values: Matrix, leaf: NDArray[np.int64], nodes: int) -> tuple[Matrix, Matrix]:
    """Return means as `medians` does medians, but 0 for a row alone in its leaf."""
    counts = np.bincount(leaf, minlength=nodes)[:, None]
    sums = np.stack([np.bincount(leaf, column, minlength=nodes) for column in values.T], axis=1)
    return sums / np.maximum(counts, 1), (sums[leaf] - values) / np.maximum(counts[leaf] - 1, 1)
