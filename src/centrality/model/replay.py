"""A uniform sample of all rows a model has ever seen, for learning on without forgetting. It never goes into a file."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

REMEMBERED_VALUES = 1 << 18  # 2 MiB in float64
FEWEST = 256


@dataclass(frozen=True)
class Memory:
    rows: Any  # an array or CSR matrix in the user's units; None after loading, for a file holds no rows
    seen: int  # how many rows it stands for

    @classmethod
    def of(cls, X: Any, rng: np.random.Generator) -> "Memory":
        n, room = X.shape[0], max(FEWEST, REMEMBERED_VALUES // X.shape[1])
        kept = X if n <= room else X[np.sort(rng.choice(n, room, replace=False))]
        return cls(kept.copy(), n)

    def with_new(self, X: Any, rng: np.random.Generator) -> "Memory":
        """Of the rows seen before and these, each as likely to be remembered as any other."""
        n, room = X.shape[0], max(FEWEST, REMEMBERED_VALUES // X.shape[1])
        seen = self.seen + n
        if self.rows is None:
            return Memory(Memory.of(X, rng).rows, seen)
        size = min(room, self.rows.shape[0] + n)
        new = min(n, max(size - self.rows.shape[0], int(rng.binomial(size, n / seen)) if seen > size else n))
        old = size - new
        parts = [
            rows[np.sort(rng.choice(rows.shape[0], count, replace=False))]
            for rows, count in ((self.rows, old), (X, new))
        ]
        together = sparse.vstack(parts, format="csr") if sparse.issparse(X) else np.concatenate(parts)
        return Memory(together, seen)
