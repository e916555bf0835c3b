"""Encode columns of lists of numbers, such as embeddings, number by number."""

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.representations.columns import FAR, Cells, ColumnEncoder, LeftOut, mask_of
from centrality.tables.columns import NEW_GAP, TableError, is_text


@dataclass
class Vectors(ColumnEncoder):
    """Encodes lists of equally many numbers, such as embeddings; all are moved and scaled together."""

    center: NDArray[np.float64]
    factor: float
    missing: float  # the share of the training rows without a list
    kind = "vectors"

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Vectors | LeftOut":
        lists = as_lists(values)
        present = mask_of(lists.is_valid())
        if not present.any():
            return LeftOut.empty()
        width = int(pc.list_value_length(lists.drop_null())[0].as_py())
        vectors = _vectors(name, values, width)[present]
        center = vectors.mean(0)
        return cls(center, float(np.sqrt(np.square(vectors - center).sum(1).mean())) or 1.0, 1 - float(present.mean()))

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        vectors = _vectors(name, values, len(self.center))
        gaps = np.isnan(vectors[:, 0])
        block = (np.where(gaps[:, None], self.center, vectors) - self.center) / self.factor
        if self.missing:
            return Cells(np.column_stack([block, gaps - self.missing]), gaps, {})
        return Cells(block, gaps, {NEW_GAP: gaps})

    def outlying_code(self) -> NDArray[np.float64]:
        return np.asarray(FAR * np.eye(len(self.names("")))[0])

    def names(self, name: str) -> list[str]:
        return [f"{name} {k}" for k in range(len(self.center))] + ([f"{name} missing"] if self.missing else [])

    def describe(self) -> str:
        return f"vector of {len(self.center)} numbers, scaled together"

    def to_show(self, values: pa.ChunkedArray) -> list[object]:
        return [f"of {len(self.center)} numbers" if cell else None for cell in values.is_valid().to_pylist()]

    def type(self) -> pa.DataType:
        return pa.list_(pa.float64())


def as_lists(values: pa.ChunkedArray) -> pa.Array:
    """Return lists of numbers, also such as are written as text: [0.1, 0.2]."""
    if is_text(values.type):
        lists: list[list[float] | None] = []
        for text in values.to_pylist():
            if text is None or not text.strip():
                lists.append(None)
                continue
            try:
                value = json.loads(text)
            except ValueError:
                value = None
            is_vector = isinstance(value, list) and all(isinstance(x, int | float) for x in value)
            lists.append(value if is_vector else [])  # which has no vector's length
        return pa.array(lists, pa.list_(pa.float64()))
    return values.cast(pa.list_(pa.float64())).combine_chunks()


def _vectors(name: str, values: pa.ChunkedArray, width: int) -> NDArray[np.float64]:  # (n, width)
    """Return lists of so many finite numbers as rows, NaN where there is none; raise if one has more or fewer."""
    lists = as_lists(values)
    present = mask_of(lists.is_valid())
    lengths = pc.list_value_length(lists).drop_null().to_numpy()
    if width == 0 or (lengths != width).any():
        length = int(lengths[lengths != width][0]) if (lengths != width).any() else 0
        raise TableError(f"Column {name!r}: lists of {width or 'some'} numbers were wanted, got one of {length}.")
    vectors = np.full((len(lists), width), np.nan)
    vectors[present] = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    if not np.isfinite(vectors[present]).all():
        raise TableError(f"Column {name!r}: lists of finite numbers were wanted, got a gap or infinity in one.")
    return vectors
