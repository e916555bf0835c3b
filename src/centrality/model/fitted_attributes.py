"""Define the attributes of a fitted model that scikit-learn's users look for, such as `offset_`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality.model.fitted import Fitted, History
from centrality.scores.mixing import one_t

ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "history_": lambda model: model.fitted_.history,
    "noise_scale_": lambda model: model.fitted_.noise_scale,
    "center_": lambda model: np.asarray(model.fitted_.absolute(model.fitted_.typical[:1])[0]),
    "offset_": lambda model: model.fitted_.offset_for(one_t(model.t)),
}


class FittedAttributes:
    """Show parts of the fitted value as attributes of the model, which exist once it is fitted.

    `history_` are the losses of training, `noise_scale_` the noise scales used, `center_` the deepest vector at the
    model's own t (given a context, in one that is typical of it), and `offset_` the score below which
    `predict` says outlier at that t.
    """

    t: float
    fitted_: Fitted
    history_: History
    noise_scale_: tuple[float, ...]
    center_: NDArray[np.float64]
    offset_: float

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name in ATTRIBUTES and hasattr(self, "fitted_"):
                return ATTRIBUTES[name](self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(ATTRIBUTES if hasattr(self, "fitted_") else ())]
