"""Choose the rows that a reader is most likely to ask about, for a file that cannot hold all."""

import numpy as np
from numpy.typing import NDArray

from centrality.explorer.explained import RANKED_AT
from centrality.explorer.view import View


def noteworthy_rows(view: View, most: int) -> NDArray[np.intp]:
    """Choose at most so many rows to look at: the first and the last at every t, those that move most, then others.

    The others are evenly spaced.
    """
    n = len(view)
    if n <= most:
        return np.arange(n)
    each = max(1, most // (4 * (len(RANKED_AT) + 1)))
    ranked = [np.argsort(view.mixing.mixed(view.units, t)) for t in RANKED_AT]
    ranks_moved = np.argsort(ranked[-1]) - np.argsort(ranked[0])  # from t = 0 to t = 1
    ends = [part for order in [*ranked, np.argsort(ranks_moved)] for part in (order[:each], order[::-1][:each])]
    chosen = np.unique(np.concatenate(ends))
    spaced = np.setdiff1d(np.linspace(0, n - 1, most).astype(np.intp), chosen)
    every = max(1, -(-len(spaced) // max(1, most - len(chosen))))  # so that no more are taken than there is room for
    return np.sort(np.concatenate([chosen, spaced[::every]])[:most])
