"""Which rows of a file stand apart from all others, where no error rate can be told.

A rate needs ordinary rows to compare with. Among themselves the p-values of a file's rows are 1/n, 2/n, ... whatever is
in it: no rule that looks at ranks alone can call any of them. So what is asked here is whether the tail of the others
explains the lowest scores. A tail is fitted to all rows but the j lowest; where it lets expect the j-th lowest in fewer
than one of twenty files, these j rows stand apart. Larger groups are found by the empty space before them.
"""

import numpy as np
from numpy.typing import NDArray

from centrality.analysis.conformal import count_separated_outliers
from centrality.analysis.severity import Tail

MOST_ALONE = 10  # rows that a tail is fitted without: without more, it would no longer be their tail
EXPECTED = 0.05  # rows as low in a file as large, by the tail of the others


def count_apart(scores: NDArray[np.float64]) -> int:
    """Count the rows that stand apart at the low end of these rising scores: often none.

    >>> ordinary = np.random.default_rng(0).normal(size=1000)
    >>> count_apart(np.sort(ordinary)), count_apart(np.sort(np.append(ordinary, [-40.0, -50.0])))
    (0, 2)
    """
    group = count_separated_outliers(scores)
    for alone in range(MOST_ALONE, group, -1):
        tail = Tail.of(scores[alone:])
        if tail is None:
            continue
        distance = tail.start - scores[alone - 1 : alone]
        if len(scores) * tail.beyond * tail.shares(distance)[0] <= EXPECTED:
            return alone
    return group
