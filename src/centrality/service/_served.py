"""Adapt a loaded model to the service: turn the rows of a request into vectors, units and explanations."""

import base64
import binascii
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._estimator import CheckedRows, require_finite
from centrality.model.blocks import over_vectors
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.scoring.adapter import ADVICE
from centrality.service._limits import RequestError
from centrality.service._queue import Scoring
from centrality.service._rows import JsonRows, Rows, count
from centrality.tables import jsonl
from centrality.tables.unreadable import Unreadable

EXPLAINED_TOGETHER = 1024  # rows: each takes many passes through the network
NUMBER_TYPES = {int, float, bool}

JsonRow: TypeAlias = Any  # a list of values, an object of named values, or a text


class ServedModel:
    """Takes rows of the kind that a model's representation reads, and scores them.

    Rows of a table become vectors when their request is read. Texts, images and series wait as they are, so that those
    of several requests go through an encoder together.
    """

    is_quick = False  # a few rows take less than a millisecond

    def __init__(self, model: CentralityModel, version: str, content: bytes = b"") -> None:
        self.model, self.version = model, version  # which tells one version of the model's file from another
        self.content = content  # the file's bytes, from which the other process loads the same version
        self.fitted, self.reader, self.t = model.fitted_, reader_of(model), float(model.t)
        self.reading = self.reader.reading()
        self.width = self.fitted.width
        self.columns = self.reading.columns  # what a row's values are called
        self.units = self._scoring()  # which turns rows into units
        self.reader.warm_up()  # so that libraries and encoders are loaded before the first request

    def _scoring(self) -> Scoring:
        if self.reading.kind in ("numbers", "table"):
            return Scoring(self.fitted.units, ("units", id(self.model)), quick=True)
        whole, most = self.reading.one_series, self.reading.rows_at_once
        return Scoring(self._units_of, ("units", id(self.model)), undivided=whole, batch_rows=most)

    def prepared(self, rows: Rows) -> tuple[Rows, Unreadable]:
        """Return rows as they are queued, and which cells cannot be read; raise if a column fails in too many rows."""
        if self.reading.kind != "table":
            return rows, Unreadable()
        vectors, found = self.reader.examined(rows)
        found.require_few(self.reading.unreadable)
        return vectors, found

    def _vectors(self, rows: Rows) -> CheckedRows:  # (n, p)
        """Return queued rows as the fitted model takes them."""
        return rows if self.reading.kind in ("numbers", "table") else self.reader.examined(rows)[0]

    def _units_of(self, rows: Rows) -> NDArray[np.float64]:
        return self.reader.by_moment(over_vectors(self._vectors(rows), self.fitted.units), count(rows))

    def from_json(self, rows: JsonRows) -> Rows:
        """Return the rows of a JSON request: a matrix, a table, or a list of what the encoder reads."""
        if self.reading.kind == "images":
            return self._pictures(rows)
        if self.columns is None:
            return rows
        named = [self._named(row, i) for i, row in enumerate(rows)]
        tables.require(list({name: None for row in named for name in row}), self.columns)
        lines = b"\n".join(map(orjson.dumps, named))
        return jsonl.parse_rows(lines, self.columns, self.reading.types, "rows")

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

    def _named(self, row: JsonRow, i: int) -> dict[str, object]:
        """Return the row as an object: a list of values, or the value of an only column, gets the columns' names."""
        assert self.columns is not None
        if isinstance(row, dict):
            return row
        values = row if isinstance(row, list) else [row]
        if len(values) != len(self.columns):
            raise RequestError(422, f"Row {i}: {len(self.columns)} values were wanted, got {_short(row)}.")
        return dict(zip(self.columns, values, strict=True))

    def _pictures(self, rows: JsonRows) -> Rows:
        """Decode image files in base64."""
        files = []
        for i, row in enumerate(rows):
            text: Any = row.get((self.columns or ["image"])[0]) if isinstance(row, dict) else row
            try:
                files.append(base64.b64decode(text, validate=True))
            except (binascii.Error, TypeError, ValueError):
                raise RequestError(422, f"Row {i}: an image file in base64 was wanted, got {_short(row)}.") from None
        return files if self.columns is None else pa.table({self.columns[0]: pa.array(files, pa.binary())})

    def explanation(self, t: float) -> Scoring:
        """Return the scoring that turns rows into the contributions of their features at t."""
        if self.reading.one_series:
            raise RequestError(422, "explain: the windows of a series have no columns to explain a score by.")
        return Scoring(partial(self._contributions, t=t), ("explain", id(self.model), t), batch_rows=EXPLAINED_TOGETHER)

    def _contributions(self, rows: Rows, *, t: float) -> NDArray[np.float64]:
        explain = partial(self.fitted.explain, t=t, owner=self.reader.owner())
        return self.reader.by_feature(over_vectors(self._vectors(rows), explain))

    def contribution_names(self, width: int) -> list[str]:
        """Return the names of the features that contribute to a score."""
        features = self.reader.features()
        return [f"x{j}" for j in range(width)] if features is None else features.names

    def describe(self) -> dict[str, object]:
        """Return the answer of GET /model."""
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
            **({"given": given} if (given := self.reader.given()) else {}),
            **self.reader.about(),
        }


class ModelOfNumbers(ServedModel):
    """Takes rows of numbers, in the order of the columns or under their names."""

    is_quick = True

    def prepared(self, rows: Rows) -> tuple[Rows, Unreadable]:
        """Return the rows relative to their kinds, and how many are of a kind that was not seen in fitting."""
        return self.fitted.relative(rows), self.reader.new_kinds(rows)

    def from_json(self, rows: JsonRows) -> Rows:
        if isinstance(rows[0], dict):
            columns = self.columns or self.fitted.features  # x0, x1, ...: the order of names says nothing
            rows = [self._ordered(row, columns, i) for i, row in enumerate(rows)]
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

    @staticmethod
    def _ordered(row: JsonRow, columns: list[str], i: int) -> list[object]:
        """Return the named values of a row in the order of the columns."""
        try:
            return [row[name] for name in columns]
        except (KeyError, TypeError):
            if isinstance(row, dict):
                tables.require(list(row), columns)
            raise RequestError(422, f"Row {i}: an object of named values was wanted, got {_short(row)}.") from None

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
    """Return the adapter of this model for the service."""
    kind = ModelOfNumbers if reader_of(model).reading().kind == "numbers" else ServedModel
    return kind(model, version, content)


def _short(value: object) -> str:
    """Return a value as JSON, cut if it is long, for a message."""
    shown = orjson.dumps(value).decode(errors="replace")
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
