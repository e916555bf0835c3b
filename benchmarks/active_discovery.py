"""Active anomaly discovery with an isolation forest, written by its paper, as a peer of marks.

Das, Wong, Fern, Dietterich and Siddiqui, "Incorporating feedback into tree-based anomaly detection" (2017): a row is
the leaves that it falls into, one of each tree, and its anomaly score is w·z, where z has at each of those leaves minus
the length of the path there. With equal weights w this is the isolation forest. After every few marks w is the least of

    C mean of the outliers' losses + mean of the fine rows' losses    against q, the score at the tau-quantile so far
    + c (the same against w·z of the row that stands at that quantile) + |w - equal weights|²,

where an outlier's loss is what its score lacks to that mark, and a fine row's what it has beyond it (a hinge).
"""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.ensemble import IsolationForest

TREES, ROWS = 100, 256  # of the forest, as in the paper
TAU = 0.03  # share of the rows that are taken for outliers
OUTLIERS, SELF = 100.0, 0.001  # C and c, as in the paper


class ActiveDiscovery:
    """An isolation forest of some rows, whose leaves have weights that marks change."""

    def __init__(self, X: np.ndarray, seed: int) -> None:
        forest = IsolationForest(n_estimators=TREES, max_samples=min(ROWS, len(X)), random_state=seed).fit(X)
        self.z = _unit_rows(sparse.hstack([_paths(tree, X) for tree in forest.estimators_], format="csr"))
        self.equal = np.full(self.z.shape[1], 1 / np.sqrt(self.z.shape[1]))
        self.scores = self.z @ self.equal  # larger: more of an outlier

    def learn(self, marked: np.ndarray, outlier: np.ndarray) -> None:
        """Set the weights by these marks, and score all rows by them.

        The best weights are the equal ones plus a sum over marked rows (and the one at the quantile) of multiples of
        their z, so that these few multiples are all there is to be found.
        """
        at = np.argsort(-self.scores, kind="stable")[int(TAU * len(self.scores))]
        level, rows = self.scores[at], self.z[np.append(marked, at)]
        alike, start = (rows @ rows.T).toarray(), rows @ self.equal
        sign = np.where(outlier, 1.0, -1.0)
        share = np.where(outlier, OUTLIERS / max(outlier.sum(), 1), 1 / max((~outlier).sum(), 1))

        def loss(multiples: np.ndarray) -> tuple[float, np.ndarray]:
            moved = alike @ multiples
            now = start + moved
            lacks, behind = sign * (level - now[:-1]), sign * (now[-1] - now[:-1])
            value = (share * (lacks.clip(0) + SELF * behind.clip(0))).sum() + multiples @ moved
            slope = np.append(-share * sign * ((lacks > 0) + SELF * (behind > 0)), 0.0)
            slope[-1] = SELF * (share * sign * (behind > 0)).sum()
            return float(value), alike @ slope + 2 * moved

        found = minimize(loss, np.zeros(len(start)), jac=True, method="L-BFGS-B").x
        self.scores = self.z @ (self.equal + rows.T @ found)


def _paths(tree: object, X: np.ndarray) -> sparse.csr_matrix:  # (n, leaves)
    """Return minus the length of each row's path, at the leaf where it ends; a leaf of many rows counts as a tree."""
    grown = tree.tree_
    depth = np.zeros(grown.node_count)
    for node in range(grown.node_count):  # children come after their parents
        for child in (grown.children_left[node], grown.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    leaf = tree.apply(X)
    size = grown.n_node_samples.astype(float)
    length = depth + np.where(size > 1, 2 * (np.log(np.maximum(size - 1, 1)) + 0.5772) - 2 * (size - 1) / size, 0.0)
    leaves, column = np.unique(leaf, return_inverse=True)
    return sparse.csr_matrix((-length[leaf], (np.arange(len(X)), column)), shape=(len(X), len(leaves)))


def _unit_rows(z: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the rows divided by the largest length of one, which changes no ranking."""
    return z / np.sqrt(z.multiply(z).sum(1).max())
