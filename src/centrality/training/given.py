"""Find the context columns that `given` names, and raise for settings that do not work with a context."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._checks import InputError
from centrality.tables.columns import require

METRICS = ("euclidean", "manhattan")  # that compare rows relative to their kinds


def require_possible(settings: Mapping[str, object], dissimilarity: object, X: object) -> None:
    """Raise if a setting of FUSE, or the kind of rows, does not go with `given`."""
    for wrong, what in (
        (settings["epochs"] is not None, "epochs, which follow the paper: leave them out"),
        (settings["metric"] not in METRICS, f"metric={settings['metric']!r}: take euclidean or manhattan"),
        (dissimilarity is not None, "a dissimilarity, which does not know the context"),
        (sparse.issparse(X), "sparse rows: give a dense array"),
    ):
        if wrong:
            raise InputError(f"given={settings['given']!r} does not go with {what}.")


def places_of(
    given: object, names: Sequence[str] | None, owner: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the context columns, and the feature of each, from the names or positions in `given`.

    `owner` says which feature each column belongs to.
    """
    count = int(owner.max()) + 1
    chosen = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    features = sorted({_place(each, names, count) for each in chosen})
    if not 0 < len(features) < count:
        raise InputError(
            f"given must name at least one column and leave one to be judged, got {given!r} of {count} columns."
        )
    places = np.flatnonzero(np.isin(owner, features))
    return places.astype(np.int64), owner[places].astype(np.int64)


def _place(each: object, names: Sequence[str] | None, count: int) -> int:
    if isinstance(each, str):
        if names is None:
            raise InputError(f"given names the column {each!r}, but the rows came without names: give its position.")
        require(list(names), [each])
        return list(names).index(each)
    if isinstance(each, bool) or not isinstance(each, Integral) or not -count <= int(each) < count:
        raise InputError(f"given must hold names, or positions from 0 to {count - 1}, got {each!r}.")
    return int(each) % count
