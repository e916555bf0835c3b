"""Score a Spark DataFrame: the same comes back with centrality columns, each partition scored where it lies."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from centrality._internal.checks import optional
from centrality.bulk.score import ScoringJob, score_batches
from centrality.model.interface import CentralityModel
from centrality.network.calibration import checked_t

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def score(model: CentralityModel, frame: "DataFrame", t: float | Sequence[float] | None = None) -> "DataFrame":
    """Return the Spark DataFrame with a column centrality, or one for each t, centrality_t25 at t = .25.

    Executors need centrality installed.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from pyspark.sql import SparkSession
    >>> from centrality import FUSE, spark
    >>> rows = pd.DataFrame({"a": np.random.default_rng(0).normal(size=100)})
    >>> model = FUSE(random_state=0, max_steps=20).fit(rows)
    >>> session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    >>> scored = spark.score(model, session.createDataFrame(rows), t=[0, 1])
    >>> scored.columns, scored.count()
    (['a', 'centrality_t0', 'centrality_t100'], 100)
    >>> session.stop()
    """
    types = optional("pyspark.sql.types", "spark")
    ts = [float(at) for at in np.atleast_1d(checked_t(model.t if t is None else t))]
    job = ScoringJob(model, ts)
    input_fields = [field for field in frame.schema.fields if field.name not in job.names]
    schema = types.StructType([*input_fields, *(types.StructField(name, types.DoubleType()) for name in job.names)])

    return frame.mapInArrow(partial(score_batches, job), schema)
