"""How much noise the local head is trained with, when the user does not say."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from centrality._rows import Rows

SAMPLE = 2000  # rows looked at
NEIGHBOUR = 10


def neighbour_distance(rows: Rows, rng: np.random.Generator) -> float:
    """The median distance to the 10th neighbour over √p, on a sample: the spacing of typical rows.

    Noise of this size blurs neighbours into each other and leaves larger structure standing.
    """
    index = np.sort(rng.permutation(len(rows))[:SAMPLE])
    z = rows.z[index].cpu().numpy()
    k = min(NEIGHBOUR, len(z) - 1)
    distances = NearestNeighbors(n_neighbors=k).fit(z).kneighbors()[0][:, -1] / np.sqrt(rows.width)
    typical = float(np.median(distances))
    if typical > 0:
        return typical
    # Duplicates: at least half of the rows have k exact copies, so ask those that have not, then all pairs.
    apart = distances[distances > 0]
    if len(apart):
        return float(np.median(apart))
    return float(np.sqrt(z.var(0).mean())) or 1.0
