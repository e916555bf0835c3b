"""Score, check and compare Spark's rows: columns beside a frame's own, functions of its SQL, and samples."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from centrality._internal.checks import InputError, optional
from centrality.analysis.drift import FEWEST, DriftReport
from centrality.bulk.drift import compare_rows
from centrality.bulk.functions import TYPES, RowFunctions
from centrality.bulk.sample import enough
from centrality.bulk.score import ScoringJob, score_batches
from centrality.findings import DrawnRows, Findings
from centrality.findings import check as check_rows
from centrality.model.interface import CentralityModel
from centrality.network.calibration import checked_t

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MARGIN = 5.0  # standard deviations by which more rows are drawn than wanted
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


def drift(
    model: CentralityModel, frame: "DataFrame", *, sample: int | None = None, random_state: int = 0
) -> DriftReport:
    """Say whether the rows of a Spark DataFrame have changed since the model was fitted, by a uniform sample of them.

    The report says of how many rows the sample is. It has no windows: Spark's rows have no order.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from pyspark.sql import SparkSession
    >>> from centrality import FUSE, spark
    >>> rows = pd.DataFrame({"a": np.random.default_rng(0).normal(size=200)})
    >>> model = FUSE(random_state=0, max_steps=20).fit(rows)
    >>> session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    >>> spark.drift(model, session.createDataFrame(rows)).changed
    False
    >>> session.stop()
    """
    rows, total = _sampled(frame, sample, random_state)
    compared = compare_rows(model, rows)
    if compared.drift is None:
        raise InputError(f"Drift needs at least {FEWEST} rows with a score, got fewer of {rows.num_rows:,}.")
    compared.unreadable.warn()
    return DriftReport(
        compared.drift,
        [],
        model.fitted_.training_scores.rows,
        threshold=compared.threshold,
        drawn_from=total if rows.num_rows < total else None,
    )


def check(frame: "DataFrame", *, sample: int | None = None, random_state: int = 0, **settings: Any) -> Findings:
    """Say what is wrong in a Spark DataFrame, by a uniform sample of its rows, which the driver looks at.

    The findings say how many of all rows are likely such rows. `settings` are those of `centrality.check`: label,
    given, model, time, by.

    >>> from pyspark.sql import SparkSession
    >>> from centrality import spark
    >>> from centrality.datasets import houses
    >>> session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    >>> findings = spark.check(session.createDataFrame(houses().to_pandas()))
    >>> findings[0].columns, findings.drawn is None
    (('area',), True)
    >>> session.stop()
    """
    rows, total = _sampled(frame, sample, random_state)
    findings = check_rows(rows, random_state=random_state, **settings)
    return findings if rows.num_rows == total else replace(findings, drawn=DrawnRows(total))


def _sampled(frame: "DataFrame", size: int | None, random_state: int) -> tuple[pa.Table, int]:
    """Return random rows of a frame, each as likely as any other, and the number of all rows."""
    size = size or enough(len(frame.columns))
    total = frame.count()
    if total == 0:
        raise InputError("Rows were wanted, got a Spark DataFrame of none.")
    # Spark draws each row by itself: somewhat more than wanted are drawn, so that there are enough, and then fewer.
    share = (size + MARGIN * np.sqrt(size)) / total
    drawn = (frame if share >= 1 else frame.sample(fraction=float(share), seed=random_state)).toArrow()
    if drawn.num_rows <= size:
        return drawn, total
    chosen = np.random.default_rng(random_state).choice(drawn.num_rows, size, replace=False)
    return drawn.take(np.sort(chosen)), total
