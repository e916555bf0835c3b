"""Fit, score, check and compare rows on a Ray cluster, by tasks over chunks of work.

Ray starts those again whose process or node is lost.

The cluster is the caller's: the one that `ray.init` has joined, or the one at `address`; without either, one is started
on this machine and stopped in the end. All nodes must see the data and the folder of scores under the same names, and
have centrality installed.

Tasks, not Ray Data: rows are read, scored and written where they are, and never pass through Ray's object store.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from centrality import tables
from centrality._internal.checks import InputError, optional
from centrality._internal.input import random_numbers
from centrality._internal.processes import Outcome, outcome, result_of
from centrality.analysis.drift import FEWEST, DriftReport, adjusted_windows
from centrality.bulk import chunks
from centrality.bulk import sample as sampling
from centrality.bulk.drift import compare_chunk, compare_rows
from centrality.bulk.score import ScoringJob, score_chunk
from centrality.chain import fuse_of
from centrality.findings import DrawnRows, Findings
from centrality.findings import check as check_rows
from centrality.fuse import FUSE
from centrality.model.interface import CentralityModel, with_fitted
from centrality.network.calibration import checked_t
from centrality.tables.binary import Footer
from centrality.tables.columns import CellIssues

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 5  # how often a task starts again whose process or node is lost
WINDOW = 1_000_000  # rows of a window of drift, at most, where row groups are small: they are in memory at once
IN_FLIGHT = 1000  # tasks that Ray knows of at once
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def score(
    model: CentralityModel,
    data: str | Path,
    output: str | Path,
    *,
    t: float | Sequence[float] | None = None,
    p_values: bool = False,
    explain: bool = False,
    resume: bool = False,
    split: int | None = None,
    address: str | None = None,
    progress: bool = False,
) -> int:
    """Score a folder of Parquet files into another one, a file for each, and return the number of rows.

    Folders may be addresses, such as s3://bucket/rows. Scores are columns beside those of the input: centrality
    at the model's own t, centrality_t25 at t = .25. `p_values` adds p_value, `explain` reasons, likewise. `resume`
    leaves files that hold these scores already; `split` cuts files of more rows into several chunks of work.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from centrality import FUSE, distributed, tables
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "rows").mkdir()
    >>> rows = pa.table({"a": np.random.default_rng(0).normal(size=100)})
    >>> tables.write(rows, folder / "rows" / "first.parquet")
    >>> model = FUSE(random_state=0, max_steps=20).fit(rows)
    >>> distributed.score(model, folder / "rows", f"{folder}/scores/", t=[0, 1])
    100
    >>> tables.read(folder / "scores" / "first.parquet").column_names
    ['a', 'centrality_t0', 'centrality_t100']
    """
    ts = [float(at) for at in np.atleast_1d(checked_t(model.t if t is None else t))]
    if p_values:
        model.fitted_.calibration_rows()  # raises before the work if there are none
    job = ScoringJob(model, ts, p_values=p_values, explain=explain, resume=resume)
    scored = do_job(job, chunks.plan(data, output, split), address, progress=progress)
    scored.unreadable.warn()
    return scored.rows


def do_job(job: ScoringJob, plan: Sequence[chunks.Chunk], address: str | None, *, progress: bool) -> chunks.Scored:
    """Do these chunks of a job; return the number of rows, and which cells could not be read."""
    job = replace(job, model=_on_cpu(job.model))
    with _connected(address):
        return chunks.Scored.all_of(chunks.run_chunks(partial(score_chunk, job), plan, tasks, progress=progress))


def fit(
    data: str | Path,
    model: CentralityModel | None = None,
    *,
    columns: Sequence[str] | None = None,
    sample: int | None = None,
    address: str | None = None,
) -> CentralityModel:
    """Fit a FUSE or a Chain to a uniform sample of a folder of Parquet files, and return the model itself, fitted.

    The sample (its size is chosen by the number of columns, unless you do) is drawn on the cluster, and the fit runs on
    one node, with a GPU if the cluster has one.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from centrality import FUSE, distributed, tables
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = pa.table({"a": np.random.default_rng(0).normal(size=100)})
    >>> tables.write(rows, folder / "first.parquet")
    >>> distributed.fit(folder, FUSE(random_state=0, max_steps=20)).centrality(rows).shape
    (100,)
    """
    model = FUSE() if model is None else model
    with tables.open_rows(data) as source:
        width = len(source.schema if columns is None else columns)
    rng = np.random.default_rng(random_numbers(fuse_of(model).random_state).randint(2**31))
    with _connected(address) as ray:
        rows = sampling.sample(data, sample or sampling.enough(width), rng, columns, tasks)
        gpus = min(1, int(ray.cluster_resources().get("GPU", 0)))
        [(_, fitted)] = tasks(partial(_fit, model), [rows], gpus)
    model.__dict__.update(vars(fitted))
    return model


def drift(
    model: CentralityModel,
    data: str | Path,
    *,
    split: int = WINDOW,
    sample: int | None = None,
    random_state: int = 0,
    address: str | None = None,
) -> DriftReport:
    """Say whether the rows of a folder of Parquet files have changed since the model was fitted.

    Each file is a window, of which all rows are compared; one of more rows than `split` is several windows, each of
    some row groups. All rows together are judged by a uniform sample (its size is chosen by the number of columns,
    unless you do), and the report says so. The windows' row numbers count over all files, in the order of their names.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from centrality import FUSE, distributed, tables
    >>> folder = Path(tempfile.mkdtemp())
    >>> a = np.random.default_rng(0).normal(size=600)
    >>> tables.write(pa.table({"a": a[:300]}), folder / "monday.parquet")
    >>> tables.write(pa.table({"a": a[300:] + 9}), folder / "tuesday.parquet")
    >>> model = FUSE(random_state=0, max_steps=20).fit(pa.table({"a": a}))
    >>> [window.changed for window in distributed.drift(model, folder).windows]
    [False, True]
    """
    files = _parquet_files(data)
    size = sample or sampling.enough(len(files[0].schema))
    shares = sampling.draw_shares(files, size, np.random.default_rng(random_state))
    plan = chunks.of_files(files, split=split)
    total = sum(chunk.rows or 0 for chunk in plan)
    model = _on_cpu(model)
    with _connected(address):
        rows = sampling.read_shares(shares, files[0].schema, tasks)
        [(_, whole)] = tasks(partial(compare_rows, model), [rows])
        compared = dict(tasks(partial(compare_chunk, model), plan))
    if whole.drift is None:
        raise InputError(f"Drift needs at least {FEWEST} rows with a score, got fewer of {rows.num_rows:,}.")
    windows = []
    issues = CellIssues()
    first = 0
    for chunk in plan:
        end = first + (chunk.rows or 0)
        issues += compared[chunk].unreadable
        if (changes := compared[chunk].drift) is not None:
            windows.append((first, end, changes))
        first = end
    issues.warn()
    training_rows = model.fitted_.training_scores.rows
    drawn_from = total if rows.num_rows < total else None
    return DriftReport(
        whole.drift, adjusted_windows(windows), training_rows, threshold=whole.threshold, drawn_from=drawn_from
    )


def check(
    data: str | Path,
    *,
    sample: int | None = None,
    random_state: int = 0,
    address: str | None = None,
    **settings: Any,
) -> Findings:
    """Say what is wrong in a folder of Parquet files, by a uniform sample of its rows that is drawn on the cluster.

    The findings are those of the sample (its size is chosen by the number of columns, unless you do), checked on one
    node. They say how many of all rows are likely such rows; `marked_rows` names the file of each row, and its number
    there. `settings` are those of `centrality.check`: label, given, model, time, by.

    >>> from pathlib import Path
    >>> import tempfile
    >>> from centrality import distributed, tables
    >>> from centrality.datasets import houses
    >>> folder = Path(tempfile.mkdtemp())
    >>> tables.write(houses(), folder / "houses.parquet")
    >>> findings = distributed.check(folder, sample=1000)
    >>> findings.drawn.total, findings.data.num_rows
    (1200, 1000)
    """
    files = _parquet_files(data)
    size = sample or sampling.enough(len(files[0].schema))
    shares = sampling.draw_shares(files, size, np.random.default_rng(random_state))
    total = sum(file.rows for file in files)
    with _connected(address):
        rows = sampling.read_shares(shares, files[0].schema, tasks)
        [(_, findings)] = tasks(partial(check_rows, random_state=random_state, **settings), [rows])
    if rows.num_rows == total:
        return findings
    places = pa.table(
        {
            "file": np.repeat([share.chunk.source for share in shares], [len(share.rows) for share in shares]),
            "row_of_file": np.concatenate([share.rows for share in shares]),
        }
    )
    return replace(findings, drawn=DrawnRows(total, places))


def _parquet_files(data: str | Path) -> Sequence[Footer]:
    """Return the footers of a folder of Parquet files; raise if it holds no rows."""
    with tables.open_rows(data) as source:
        if not source.files:
            raise tables.TableError(
                f"{data}: a folder of .parquet files was wanted: their rows are counted beforehand."
            )
        files = [file for file in source.files if file.rows]
    if not files:
        raise tables.TableError(f"{data} is empty: its files have no rows.")
    return files


def tasks(work: Callable[[Item], Result], items: Sequence[Item], num_gpus: int = 0) -> Generator[tuple[Item, Result]]:
    """Yield each item with the result of `work` when Ray has done it, on a core and so many GPUs: a runner."""
    ray = optional("ray", "cluster")
    task = ray.remote(max_retries=RETRIES, num_cpus=1, num_gpus=num_gpus)(outcome)
    shared_work = ray.put(work)
    to_come = iter(items)
    waiting: dict[object, Item] = {}  # by Ray's reference to the result
    already_warned: set[str] = set()
    try:
        while True:
            for item in islice(to_come, IN_FLIGHT - len(waiting)):
                waiting[task.remote(shared_work, item)] = item
            if not waiting:
                return
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            item = waiting.pop(done)
            try:
                answer: Outcome[Result] = ray.get(done)
            except ray.exceptions.RayError as error:
                raise ChildProcessError(
                    f"The cluster could not do {item}: a process or node was lost {RETRIES + 1} times, or never began. "
                    f"{error}"
                ) from None
            yield item, result_of(answer, already_warned)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
        if waiting:  # they may still be writing: wait until none is
            ray.wait(list(waiting), num_returns=len(waiting), timeout=60)


def _fit(model: CentralityModel, rows: pa.Table) -> CentralityModel:
    """Fit the model on the node where this runs, and return it for any other."""
    return _on_cpu(model.fit(rows))


def _on_cpu(model: CentralityModel) -> CentralityModel:
    """Return the same model on the CPU, since another node may lack this node's GPU."""
    return with_fitted(model, model.fitted_.on("cpu"))


@contextmanager
def _connected(address: str | None) -> Iterator[ModuleType]:
    """Yield Ray connected to a cluster: the caller's, or one that is started for the block."""
    ray = optional("ray", "cluster")
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray shall not send usage statistics
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # nor warn of what a later version will change
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    try:
        ray.init(address, **QUIET, **({"include_dashboard": False} if address == "local" else {}))
    except (ConnectionError, ValueError, RuntimeError) as error:  # Ray names options of its own that we do not have
        raise ConnectionError(
            f"There is no Ray cluster at {address!r} that this machine can join: start one with `ray start --head`, or "
            f"use the address `local` (--cluster local) to have one on this machine for as long as the work takes."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()
