"""Ask a model why rows score as they do: contributions to both units, against the typical point next to each row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows
from centrality.model.blocks import over_vectors
from centrality.model.interface import CentralityModel
from centrality.scores.mixing import Mixing

RANKED_AT = (
    0.0,
    0.25,
    0.5,
    0.75,
    1.0,
)  # where along t the strongest features and the first and last rows are looked for


@dataclass(frozen=True)
class Explained:
    """Holds what each feature contributes to the global and the local units of k rows."""

    parts: NDArray[np.float64]  # (k, 2, features)
    typical: NDArray[np.float64]  # (k, 2) the units of the typical point next to each row

    def strongest(self, mixing: Mixing, top: int) -> NDArray[np.intp]:  # (k, top)
        """Return the features that weigh most at some t in each row, compared with the others at that t."""
        weights = np.zeros((len(self.parts), self.parts.shape[2]))
        for t in RANKED_AT:
            here = np.abs((1 - mixing.share(t)) * self.parts[:, 0] + mixing.share(t) * self.parts[:, 1])
            most = here.max(1, keepdims=True)
            weights = np.maximum(weights, here / np.where(most > 0, most, 1.0))
        return np.argsort(-weights, axis=1, kind="stable")[:, :top]


def explained(model: CentralityModel, vectors: CheckedRows) -> Explained:
    """Return the contributions of these vectors, by feature."""
    fitted = model.fitted_
    parts = over_vectors(vectors, fitted.contributions)  # (k, 2, p)
    by_feature = np.stack([model.by_feature(parts[:, head]) for head in (0, 1)], axis=1)
    return Explained(by_feature, fitted.typical_units()[fitted.nearest_typical(vectors)])
