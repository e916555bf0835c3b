"""Score Spark's rows where they lie: columns of scores beside a frame's own, and functions for its SQL."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from centrality._internal.checks import optional
from centrality.bulk.functions import TYPES, RowFunctions
from centrality.bulk.score import ScoringJob, score_batches
from centrality.model.interface import CentralityModel
from centrality.network.calibration import checked_t

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SQL_TYPES = {pa.float64(): "double", pa.string(): "string"}


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


def register(session: "SparkSession", model: CentralityModel, *, t: float | None = None, prefix: str = "") -> list[str]:
    """Make `centrality(...)`, `p_value(...)`, `severity(...)` and `reason(...)` functions of Spark's SQL.

    They take the columns of the model in its order, or the whole row by its names, `struct(*)`, and are called with
    batches of Arrow (`spark.sql.execution.arrow.maxRecordsPerBatch` rows). A row that cannot be scored has NULL.
    Executors need centrality installed. The names of the functions are returned: a model without calibration rows has
    no p-values and no severity.

    Parameters
    ----------
    session : a session of Spark 4.1 or later.
    model : a fitted model of rows.
    t : from 0, global, to 1, local; None is the model's own.
    prefix : what the functions' names begin with, for several models in one session.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pyspark.sql import SparkSession
    >>> from centrality import FUSE, spark
    >>> rows = pd.DataFrame({"a": np.random.default_rng(0).normal(size=100)})
    >>> model = FUSE(random_state=0, max_steps=20).fit(rows)
    >>> session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    >>> session.createDataFrame(rows).createOrReplaceTempView("rows")
    >>> spark.register(session, model)
    ['centrality', 'p_value', 'severity', 'reason']
    >>> session.sql("SELECT count(*) FROM rows WHERE centrality(a) > 0 AND severity(struct(*)) >= 1").first()[0]
    100
    >>> session.stop()
    """
    of_spark = optional("pyspark.sql.functions", "spark")
    functions = RowFunctions(model, t)
    names = []
    for name in functions.names:
        vectorized = of_spark.arrow_udf(functions.of_arguments(name), SQL_TYPES[TYPES[name]])
        session.udf.register(f"{prefix}{name}", vectorized)
        names.append(f"{prefix}{name}")
    return names
