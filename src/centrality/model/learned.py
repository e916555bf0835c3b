"""Give what a model has learned the names that scikit-learn's users look for."""

import numpy as np
from numpy.typing import NDArray

from centrality.model.fitted import Fitted, History
from centrality.scores.mixing import Mixing


class Learned:
    """Shows parts of the fitted value as attributes of the model."""

    fitted_: Fitted

    @property
    def history_(self) -> History:
        """The losses of training: lists "step", "global" and "local"."""
        return self.fitted_.history

    @property
    def noise_scale_(self) -> tuple[float, ...]:
        """The noise scales used."""
        return self.fitted_.noise_scale

    @property
    def mixing_(self) -> Mixing:
        """How heads are mixed: `mixing_(heads, t)` is the centrality of rows with these heads."""
        return self.fitted_.calibration.mixing

    @property
    def center_(self) -> NDArray[np.float64]:
        """The deepest point, at the model's own t, among the vectors; given a context, in one that is typical of it."""
        return np.asarray(self.fitted_.absolute(self.fitted_.typical[:1])[0])
