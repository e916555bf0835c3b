"""The model in use: its file, how it scores rows or judges moments of series, and the counters of the service."""

import asyncio
import base64
import binascii
import gc
import hashlib
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from centrality import tables
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, require_finite
from centrality.apps.service.queue import JsonRows, RequestError, Rows, Scoring, count
from centrality.bulk.adapter import ADVICE
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.series import Stream, Timeline
from centrality.tables import json
from centrality.tables.columns import CellIssues, FileState

SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
REQUESTS_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one service; none is global, so that two services in one process count separately."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter("centrality_requests", "Requests answered", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "centrality_score_seconds",
            "From a request's head to its answer",
            buckets=SECONDS_BUCKETS,
            registry=registry,
        )
        self.running = Gauge(
            "centrality_score_running", "Requests to /score begun and not yet answered", registry=registry
        )
        self.rows = Counter("centrality_rows", "Rows scored", registry=registry)
        self.together = Histogram(
            "centrality_requests_together", "Requests scored in one batch", buckets=REQUESTS_BUCKETS, registry=registry
        )
        self.waiting = Gauge("centrality_rows_waiting", "Rows accepted and not yet answered", registry=registry)
        self.loaded = Gauge(
            "centrality_model_loaded_seconds", "When the model was loaded, in Unix time", registry=registry
        )
        self.reloads = Counter(
            "centrality_model_reloads", "New versions of the model's file", ["result"], registry=registry
        )
        self._answered: dict[tuple[str, int], Counter] = {}  # looked up more quickly here than by labels
        for result in ("loaded", "refused"):
            self.reloads.labels(result)  # a counter at zero is reported, too

    def answered(self, path: str, status: int) -> None:
        """Count an answered request."""
        counter = self._answered.get((path, status))
        if counter is None:
            counter = self._answered[path, status] = self.requests.labels(path, status)
        counter.inc()

    def scored_together(self, requests: int, rows: int) -> None:
        """Count a batch, in which so many requests with so many rows were scored."""
        self.together.observe(requests)
        self.rows.inc(rows)

    def total(self, name: str) -> int:
        """Return the sum of a counter over its labels."""
        samples = (sample for family in self._registry.collect() for sample in family.samples)
        return int(sum(sample.value for sample in samples if sample.name == name))

    def page(self) -> bytes:
        """Return all counters in the format of Prometheus."""
        return bytes(generate_latest(self._registry))


EXPLAINED_TOGETHER = 1024  # rows: each takes many passes through the network
NUMBER_TYPES = {int, float, bool}


class ServedModel:
    """Takes rows of the kind that a model's representation reads, and scores them.

    Rows of a table become vectors when their request is read. Texts, images and series wait as they are, so that those
    of several requests go through an encoder together.
    """

    is_quick = False  # a few rows take less than a millisecond

    def __init__(self, model: CentralityModel, version: str, content: bytes = b"") -> None:
        self.model = model
        self.version = version  # which tells one version of the model's file from another
        self.content = content  # the file's bytes, from which the other process loads the same version
        self.fitted = model.fitted_
        self.reader = reader_of(model)
        self.t = float(model.t)
        self.reading = self.reader.input_spec()
        self.width = self.fitted.width
        self.columns = self.reading.columns  # what a row's values are called
        if self.reading.kind in ("numbers", "table"):
            self.units = Scoring(self.fitted.units, ("units", id(model)), quick=True)
        else:
            self.units = Scoring(
                lambda rows: self.reader.windows_to_time(
                    map_valid_rows(self._vectors(rows), self.fitted.units), count(rows)
                ),
                ("units", id(model)),
                undivided=self.reading.one_series,
                batch_rows=self.reading.rows_at_once,
            )
        self.reader.warm_up()  # so that libraries and encoders are loaded before the first request

    def prepared(self, rows: Rows) -> tuple[Rows, CellIssues]:
        """Return rows as they are queued, and which cells cannot be read; raise if a column fails in too many rows."""
        if self.reading.kind != "table":
            return rows, CellIssues()
        vectors, issues = self.reader.vectors_and_issues(rows)
        issues.require_few(self.reading.unreadable)
        return vectors, issues

    def _vectors(self, rows: Rows) -> CheckedRows:  # (n, p)
        """Return queued rows as the fitted model takes them."""
        return rows if self.reading.kind in ("numbers", "table") else self.reader.vectors_and_issues(rows)[0]

    def from_json(self, rows: JsonRows) -> Rows:
        """Return the rows of a JSON request: a matrix, a table, or a list of what the encoder reads."""
        if self.reading.kind == "images":
            column = (self.columns or ["image"])[0]
            files = []
            for i, row in enumerate(rows):
                text: Any = row.get(column) if isinstance(row, dict) else row
                try:
                    files.append(base64.b64decode(text, validate=True))
                except (binascii.Error, TypeError, ValueError):
                    message = f"Row {i}: an image file in base64 was wanted, got {_short(row)}."
                    raise RequestError(422, message) from None
            return files if self.columns is None else pa.table({column: pa.array(files, pa.binary())})
        if self.columns is None:
            return rows
        # A list of values, or the value of an only column, gets the columns' names.
        objects: list[dict[str, object]] = []
        for i, row in enumerate(rows):
            values = row if isinstance(row, list | dict) else [row]
            if not isinstance(values, dict) and len(values) != len(self.columns):
                raise RequestError(422, f"Row {i}: {len(self.columns)} values were wanted, got {_short(row)}.")
            objects.append(values if isinstance(values, dict) else dict(zip(self.columns, values, strict=True)))
        tables.require(list({name: None for row in objects for name in row}), self.columns)
        lines = b"\n".join(map(orjson.dumps, objects))
        return json.parse_rows(lines, self.columns, self.reading.types, "rows")

    def from_arrow(self, table: pa.Table) -> Rows:
        """Return the rows of an Arrow request, as `from_json` does."""
        if self.columns is None:
            if table.num_columns != 1:
                raise RequestError(422, f"One column was wanted, got {table.num_columns}.")
            self._require_no_paths(table)
            return table[0].to_pylist()
        table = tables.select(table, self.columns)
        self._require_no_paths(table)
        return table

    def _require_no_paths(self, table: pa.Table) -> None:
        """Raise if images are given by path: clients must not read files of this machine."""
        if self.reading.kind == "images" and not (
            pa.types.is_binary(kind := table.schema[0].type) or pa.types.is_large_binary(kind)
        ):
            raise RequestError(422, f"The bytes of image files were wanted, got a column of {kind}.")

    def explanation(self, t: float) -> Scoring:
        """Return the scoring that turns rows into the contributions of their features at t."""
        if self.reading.one_series:
            raise RequestError(422, "explain: the windows of a series have no columns to explain a score by.")
        explain = partial(self.fitted.explain, t=t, owner=self.reader.owner())
        return Scoring(
            lambda rows: self.reader.by_feature(map_valid_rows(self._vectors(rows), explain)),
            ("explain", id(self.model), t),
            batch_rows=EXPLAINED_TOGETHER,
        )

    def contribution_names(self, width: int) -> list[str]:
        """Return the names of the features that contribute to a score."""
        features = self.reader.features()
        return [f"x{j}" for j in range(width)] if features is None else features.names

    def describe(self) -> dict[str, object]:
        """Return the answer of GET /model."""
        context = self.reader.given()
        return {
            "model": type(self.model).__name__,
            "version": self.version,
            "columns": self.columns,
            "features": self.fitted.width,
            "t": self.t,
            "noise_scale": list(self.fitted.noise_scale),
            "calibration": self.fitted.calibration.kind,
            "p_values": self.fitted.inliers is not None,
            "explain": self.fitted.typical is not None and not self.reading.one_series,
            **({"given": context} if context else {}),
            **self.reader.about(),
        }


class ModelOfNumbers(ServedModel):
    """Takes rows of numbers, in the order of the columns or under their names."""

    is_quick = True

    def prepared(self, rows: Rows) -> tuple[Rows, CellIssues]:
        """Return the rows relative to their kinds, and how many are of a kind that was not seen in fitting."""
        return self.fitted.relative(rows), self.reader.new_kinds(rows)

    def from_json(self, rows: JsonRows) -> Rows:
        if isinstance(rows[0], dict):
            columns = self.columns or self.fitted.features  # x0, x1, ...: the order of names says nothing
            objects = rows
            rows = []
            for i, row in enumerate(objects):
                try:
                    rows.append([row[name] for name in columns])
                except (KeyError, TypeError):
                    if isinstance(row, dict):
                        tables.require(list(row), columns)
                    message = f"Row {i}: an object of named values was wanted, got {_short(row)}."
                    raise RequestError(422, message) from None
        try:
            kinds = set(map(type, chain.from_iterable(rows)))
            matrix = np.array(rows, dtype=np.float64) if kinds <= NUMBER_TYPES else None
        except (TypeError, ValueError):  # not lists, or of different lengths
            matrix = None
        if matrix is None or matrix.shape[1:] != (self.width,):
            raise RequestError(422, self._first_wrong_row(rows))
        return matrix  # finite: JSON has no other numbers

    def from_arrow(self, table: pa.Table) -> Rows:
        if self.columns is not None:
            table = tables.select(table, self.columns)
        elif table.num_columns != self.width:
            raise RequestError(422, f"{self.width} columns were wanted, got {table.num_columns}.")
        matrix = tables.numbers(table, ADVICE)
        require_finite(matrix, self.columns, ADVICE)  # now, not when they are scored together with those of others
        return matrix

    def _first_wrong_row(self, rows: JsonRows) -> str:
        """Return a message about the first row that is not a list of so many numbers."""
        wanted = f"a list of {self.width} numbers"
        if self.columns:
            wanted += f" ({', '.join(self.columns[:8])}{', ...' if self.width > 8 else ''})"
        for i, row in enumerate(rows):
            if not isinstance(row, list):
                return f"Row {i}: {wanted} was wanted, got {_short(row)}."
            if len(row) != self.width:
                return f"Row {i}: {wanted} was wanted, got {len(row)} values."
            for value in row:
                if not isinstance(value, int | float):
                    return f"Row {i}: {wanted} was wanted, but one of them is {_short(value)}."
        return f"Rows of {self.width} numbers were wanted."


def served_model(model: CentralityModel, version: str, content: bytes = b"") -> ServedModel:
    """Return the adapter of this model of rows for the service."""
    kind = ModelOfNumbers if reader_of(model).input_spec().kind == "numbers" else ServedModel
    return kind(model, version, content)


def _short(value: object) -> str:
    """Return a value as JSON, cut if it is long, for a message."""
    text = orjson.dumps(value).decode(errors="replace")
    return text if len(text) <= 60 else f"{text[:57]}..."


MOST_MOMENTS = 10_000  # of a request: each takes about half a millisecond
MOST_VALUES = 20_000_000  # remembered of all series together; then the one that was silent longest is forgotten


class ServedSeries:
    """Judges moments as they come, of many series, with a model that was fitted to series."""

    def __init__(self, model: Timeline, version: str) -> None:
        self.model = model
        self.version = version
        self.stream = Stream(model, max(1, MOST_VALUES // ((model.window_ + 1) * len(model.channels_))))
        self._lock = threading.Lock()

    def continue_from(self, other: object) -> None:
        """Take over what an earlier version of the model's file remembers of its series."""
        if isinstance(other, ServedSeries):
            self.stream.continue_from(other.stream)

    def judge(self, rows: JsonRows, series: object) -> dict[str, Any]:
        """Return what is said of each moment; if one of them is wrong, none is remembered."""
        if not isinstance(series, str):
            raise RequestError(422, f"series, the name of one, must be a text, got {series!r:.60}.")
        if not 0 < len(rows) <= MOST_MOMENTS:
            raise RequestError(422, f"From 1 to {MOST_MOMENTS:,} moments were wanted, got {len(rows):,}.")
        for place, row in enumerate(rows):
            try:
                self.stream.numbers(row)
            except InputError as error:
                raise RequestError(422, f"Row {place}: {error}") from None
        names = [str(row.get(self.model.by, series)) if isinstance(row, dict) else series for row in rows]
        with self._lock:
            moments = [self.stream.push(row, name) for row, name in zip(rows, names, strict=True)]
        return {
            "centrality": [moment and moment.centrality for moment in moments],
            "p_value": [moment and moment.p_value for moment in moments],
            "channels": [dict(moment.channels) if moment else {} for moment in moments],
        }

    def describe(self) -> dict[str, object]:
        """Return the answer of GET /model."""
        return {
            "model": "Timeline",
            "version": self.version,
            "columns": list(self.model.channels_),
            "by": self.model.by,
            "window": self.model.window_,
            "t": self.model.t,
        }


LOG = logging.getLogger(__name__)
LOOK_EVERY = 1.0  # seconds


class ModelFile:
    """Keeps the model to score with, `current`, up to date; a request uses one model from start to end."""

    def __init__(
        self,
        path: Path,
        load: Callable[[Path], CentralityModel | Timeline],
        metrics: Metrics,
        say: Callable[[str], None] = LOG.info,
    ) -> None:
        self.path = path
        self._load = load
        self._metrics = metrics
        self._say = say
        self.current: ServedModel | ServedSeries
        self._state, self.current = self._load_version()
        self.trouble: str | None = None  # why the newest file is not the one in use

    def _load_version(self) -> tuple[FileState | None, ServedModel | ServedSeries]:
        """Load the model, again if its file is replaced meanwhile; return it with the state of its file."""
        while True:
            state = FileState.of(self.path)
            model = self._load(self.path)
            content = self.path.read_bytes()
            if FileState.of(self.path) == state:
                break
        version = hashlib.sha256(content).hexdigest()[:16]
        served = ServedSeries(model, version) if isinstance(model, Timeline) else served_model(model, version, content)
        self._metrics.loaded.set_to_current_time()
        gc.collect()
        gc.freeze()  # libraries and weights stay: looking through them for garbage would stop requests for 100 ms
        return state, served

    async def watch(self, prepare: Callable[[], Awaitable[None]]) -> None:
        """Load each new version of the file, and call the callback that prepares for it, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            before = self.current
            await self.look()
            if self.current is not before:
                await prepare()

    async def look(self) -> None:
        """Load the file if it is new; keep the old model if the new file cannot be used."""
        state = FileState.of(self.path)
        if state is None or state == self._state:
            return  # a file that is gone for a moment is being replaced
        self._state = state
        try:
            self._state, served = await asyncio.to_thread(self._load_version)
            if isinstance(served, ServedSeries):
                served.continue_from(self.current)
            self.current = served
        except Exception as error:  # any error that a wrong file can cause: the service goes on
            if not isinstance(error, InputError | OSError):  # no fault of the file's: a bug of ours
                LOG.exception("An error of the service while it loaded %s", self.path)
            self.trouble = f"the new file cannot be used: {error}"
            self._metrics.reloads.labels("refused").inc()
            self._say(f"{self.path}: {self.trouble}")
            return
        self.trouble = None
        self._metrics.reloads.labels("loaded").inc()
        self._say(f"loaded {self.path} anew, version {self.current.version}")
