"""What images and texts share: somebody else's vectors, brought to unit length, one centre and one scale."""

from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._estimator import unchanged_on_failure
from centrality.representations._base import Arrays, Representation, State, chosen_column
from centrality.representations._weights import require_same


class Embedding(Representation):
    """One vector an item. A subclass loads its encoder and runs it.

    With `normalize`, vectors get unit length first: what these encoders mean lies in the direction. Then all are
    moved and scaled together, by what the training items have: distances and angles keep their meaning.
    """

    scaled = True
    batch_size: int  # items encoded together
    column: str | None
    normalize: bool
    columns_: list[str] | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Load the encoder, and learn centre and scale of its vectors."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float32]:
        """Fit, and give the vectors: every item is encoded once."""
        with unchanged_on_failure(self):
            name, items = chosen_column(X, self.column)
            self.columns_ = None if name is None else [name]
            self._encoder = self._loaded()
            self.fingerprint_ = self._encoder.fingerprint
            vectors = self._of_unit_length(self._vectors(items))
            there = vectors[~np.isnan(vectors).all(1)].astype(np.float64)
            self._center = there.mean(0)
            self._scale = float(np.sqrt(np.square(there - self._center).mean())) or 1.0
        return self._scaled(vectors)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """(n, d) one vector an item."""
        check_is_fitted(self)
        _, items = chosen_column(X, self.columns_[0] if self.columns_ else self.column)
        if not hasattr(self, "_encoder"):
            self._encoder = self._loaded()
            require_same(self.fingerprint_, self._encoder.fingerprint, self._name())
        return self._scaled(self._of_unit_length(self._vectors(items)))

    def _loaded(self) -> Any:
        raise NotImplementedError

    def _vectors(self, items: Any) -> NDArray[np.float32]:
        """(n, d) as the encoder gives them; NaN for an item that could not be read."""
        raise NotImplementedError

    def _name(self) -> str:
        raise NotImplementedError

    def _of_unit_length(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if not self.normalize:
            return vectors
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)

    def _scaled(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray((vectors - self._center) / self._scale, dtype=np.float32)

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """As many as are encoded together."""
        return self.batch_size

    def shown(self, X: Any) -> Any:
        """Return the items themselves."""
        return chosen_column(X, self.columns_[0] if self.columns_ else self.column)[1]

    def types(self) -> dict[str, pa.DataType]:
        return {name: pa.string() for name in self.columns_ or []}

    def state(self) -> tuple[State, Arrays]:
        check_is_fitted(self)
        plain = {"columns": self.columns_, "fingerprint": self.fingerprint_, "scale": self._scale}
        return plain, {"center": self._center}

    def restore(self, state: State, arrays: Arrays) -> Self:
        self.columns_, self.fingerprint_ = state["columns"], state["fingerprint"]
        self._scale, self._center = float(state["scale"]), arrays["center"]
        return self
