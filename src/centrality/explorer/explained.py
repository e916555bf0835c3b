"""Explain rows by a model: contributions to both units, compared with the typical point nearest to each row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows
from centrality.model.blocks import over_vectors
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.scores.mixing import Mixing
from centrality.scores.reasons import plain

RANKED_AT = (0.0, 0.25, 0.5, 0.75, 1.0)  # where along t strong features and the first and last rows are looked for
TOLD = 6  # features of a row that the page names at one t


@dataclass(frozen=True)
class Explained:
    """Hold what each feature contributes to the global and the local units of k rows."""

    parts: NDArray[np.float64]  # (k, 2, features)
    units: NDArray[np.float64]  # (k, 2) of the rows
    typical: NDArray[np.float64]  # (k, 2) of the typical point next to each row
    usual: list[list[str]] | None = None  # (k, features) what is usual in the kind of each row, if rows have kinds

    def at(self, mixing: Mixing, t: float) -> NDArray[np.float64]:  # (k, features)
        """Return what each feature contributes to the centrality at t."""
        return mixing.contributions(self.parts, self.units, self.typical, t)

    def strongest(self, mixing: Mixing) -> NDArray[np.intp]:  # (k, top)
        """Return the features of each row, ordered by their best rank over all t.

        They are enough to include, for every row, the first TOLD at each t.
        """
        places = [_places(-np.abs(self.at(mixing, t))) for t in RANKED_AT]
        best = np.min(places, axis=0)  # (k, features)
        top = int((best < TOLD).sum(1).max(initial=0))
        return np.argsort(best, axis=1, kind="stable")[:, :top]


def _places(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the rank of each value in its row, 0 for the lowest."""
    return np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1)


def explained(model: CentralityModel, vectors: CheckedRows) -> Explained:
    """Return the contributions of these vectors, by feature."""
    fitted, reader = model.fitted_, reader_of(model)
    parts = over_vectors(vectors, lambda rows: fitted.contributions(rows, owner=reader.owner()))  # (k, 2, p)
    by_feature = np.stack([reader.by_feature(parts[:, head]) for head in (0, 1)], axis=1)
    units = over_vectors(vectors, fitted.units)
    usual = None
    if fitted.context is not None:
        usual = [list(map(plain, kind)) for kind in reader.usual(vectors)]
    return Explained(by_feature, units, over_vectors(vectors, fitted.origins), usual)
