from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

ROWS = 30_000


@pytest.fixture(scope="package")
def drifting(tmp_path_factory) -> Path:
    """Three files of unequal length whose rows drift from one to the next, numbered."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    table = pa.table(
        {"id": np.arange(ROWS), "a": rng.normal(size=ROWS) + np.arange(ROWS) / ROWS, "b": rng.normal(size=ROWS)}
    )
    for name, start, end in (("1", 0, 4000), ("2", 4000, 24_000), ("3", 24_000, ROWS)):
        parquet.write_table(table.slice(start, end - start), folder / f"{name}.parquet", row_group_size=1500)
    return folder
