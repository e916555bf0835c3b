"""Find labels that are likely wrong: rows that classifiers trained on other rows assign to another class.

Two classifiers that were not trained on a row give the probability of each class: a logistic regression, which sees
what all columns say together, and a forest, which sees groups and limits. The mean of the two finds more wrong labels
than either of them alone (benchmarks/labels.py). It also finds more than models of what is typical of each class: where
classes overlap, a row may be typical of both.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import ModelRows
from centrality.representations import Table
from centrality.representations.base import as_arrow
from centrality.selection.pick import Labels, codes_of, values_of
from centrality.selection.rank import are_finite_numbers, as_frame
from centrality.tables.columns import numbers

FEWEST = 10  # fewest rows of a class to learn it from
FOLDS = 5
TREES = 100  # of the forest
LEAF = 3  # fewest rows of a leaf of the forest: one of fewer would follow a wrong label
PENALTY = 0.1  # of the regression, scikit-learn's C

Chances = NDArray[np.float64]  # (n, classes)


def wrong_labels(rows: ModelRows, labels: Labels, *, top: int | None = None, random_state: int | None = 0) -> Any:
    """Return the rows whose labels are likely wrong, the least probable label first.

    The frame is of the kind that came in: pandas (with its index), polars or Arrow; an array gives an Arrow table. Its
    last columns are row, the row's number; suggested, the most probable other class; p_label and p_suggested, how
    probable the label and the other class are, by classifiers that have not seen the row.

    Parameters
    ----------
    rows : a frame or an array. Finite numbers are read as vectors, anything else as a table with text, dates,
        categories and gaps.
    labels : the column with the classes, which are not learned from; or one label for each row. Rows without a label,
        and those of classes of fewer than ten rows, are not judged.
    top : so many rows, whatever they are; None returns those for which another class is more probable.
    random_state : the seed of the folds and of the forest.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import wrong_labels
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 9])
    >>> labels = ["left"] * 50 + ["right"] * 50
    >>> labels[7] = "right"
    >>> doubtful = wrong_labels(X, labels)
    >>> doubtful["row"].to_pylist(), doubtful["suggested"].to_pylist()
    ([7], ['left'])
    """
    frame = as_frame(rows)
    native = nw.from_native(frame, eager_only=True)
    codes = codes_of(frame, labels, len(native))
    classes = values_of(frame, labels)
    table = as_arrow(native.drop(labels).to_native() if isinstance(labels, str) else frame)
    Z = numbers(table) if are_finite_numbers(table) else np.asarray(Table().fit_transform(table))
    chances = _chances(Z, codes, classes, random_state)
    order, suggested = _doubtful(chances, codes, None if top is None else whole_number("top", top))
    names = np.array([None if name is None else str(name) for name in classes], dtype=object)
    return tables.with_columns(
        native[order].to_native(),
        {
            "row": order,
            "suggested": names[suggested[order]],
            "p_label": chances[order, codes[order]],
            "p_suggested": chances[order, suggested[order]],
        },
    )


def _chances(Z: NDArray[Any], codes: NDArray[np.intp], classes: list[object], seed: int | None) -> Chances:
    """Return each row's probability of each class, by classifiers trained on other rows; NaN for small classes."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sizes = np.bincount(codes, minlength=len(classes))
    large = [c for c in range(len(classes)) if sizes[c] >= FEWEST and classes[c] is not None]
    if len(large) < 2:
        raise InputError(f"At least two classes of {FEWEST} rows each were wanted, got {len(large)} of them.")
    rows = np.flatnonzero(np.isin(codes, large))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    regression = make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=1000))
    forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=seed)
    by_classifier = [
        cross_val_predict(classifier, Z[rows], codes[rows], cv=folds, method="predict_proba")
        for classifier in (regression, forest)
    ]
    chances = np.full((len(Z), len(classes)), np.nan)
    chances[np.ix_(rows, np.array(large))] = np.mean(by_classifier, axis=0)
    return chances


def _doubtful(chances: Chances, codes: NDArray[np.intp], top: int | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows with the least probable labels, and the most probable other class of each row.

    >>> chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9], [np.nan, np.nan]])
    >>> order, suggested = _doubtful(chances, np.array([0, 0, 0, 0]), top=None)
    >>> order.tolist(), suggested[order].tolist()
    ([2, 1], [1, 1])
    """
    every = np.arange(len(chances))
    others = np.where(np.isnan(chances), -np.inf, chances)
    others[every, codes] = -np.inf
    of_label = chances[every, codes]
    suggested = others.argmax(1)
    order = np.argsort(of_label, kind="stable")  # rows that are not judged come last
    order = order[~np.isnan(of_label[order])]
    return (order[others.max(1)[order] > of_label[order]] if top is None else order[:top]), suggested
