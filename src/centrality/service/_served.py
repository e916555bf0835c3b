"""A loaded model as the service sees it: which rows it takes from a request, and what it makes of them."""

import base64
import binascii
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._estimator import require_finite
from centrality.model.interface import CentralityModel, over_vectors
from centrality.scoring.adapter import Adapter
from centrality.service._limits import RequestError
from centrality.service._queue import Scoring
from centrality.service._rows import Rows, count
from centrality.tables import jsonl

EXPLAINED = 1024  # rows explained together: that takes many passes through the network
NUMBERS = {int, float, bool}


class Served:
    """What all models have in common: requests bring rows, rows become vectors, and vectors are scored."""

    def __init__(self, model: CentralityModel, name: str) -> None:
        self.model, self.name = model, name  # the name tells one version of the model's file from another
        self.fitted, self.reading, self.t = model.fitted_, model.reading(), float(model.t)
        self.columns = self.reading.columns  # what a row's values are called
        model.warm_up()  # libraries and encoders set themselves up now, not at the first request

    def from_json(self, rows: list[Any]) -> Rows:
        raise NotImplementedError

    def from_arrow(self, table: pa.Table) -> Rows:
        raise NotImplementedError

    def vectors(self, rows: Rows) -> Any:
        """Return the rows as the fitted model takes them."""  # (n, p)
        raise NotImplementedError

    def heads(self) -> Scoring:
        raise NotImplementedError

    def explanation(self, t: float) -> Scoring:
        if self.reading.one_series:
            raise RequestError(422, "explain: the windows of a series have no columns to explain a score by.")
        return Scoring(partial(self._contributions, t=t), ("explain", id(self.model), t), turn=EXPLAINED)

    def _contributions(self, rows: Rows, *, t: float) -> NDArray[np.float64]:
        return self.model.by_feature(over_vectors(self.vectors(rows), partial(self.fitted.explain, t=t)))

    def part_names(self, width: int) -> list[str]:
        """What the contributions to a score are called."""
        features = self.model.features()
        return [f"x{j}" for j in range(width)] if features is None else features.names

    def describe(self) -> dict[str, Any]:
        """What GET /model says."""
        return {
            "model": type(self.model).__name__,
            "version": self.name,
            "columns": self.columns,
            "features": self.fitted.width,
            "t": self.t,
            "noise_scale": list(self.fitted.noise_scale),
            "calibration": self.fitted.calibration.kind,
            "p_values": self.fitted.inliers is not None,
            "explain": self.fitted.center is not None and not self.reading.one_series,
            **self.model.about(),
        }


class Numbers(Served):
    """Rows are numbers, in the order of the columns or under their names."""

    def __init__(self, model: CentralityModel, name: str) -> None:
        super().__init__(model, name)
        self.width = self.fitted.width
        self._heads = Scoring(self.fitted.heads, ("heads", id(self.model)), quick=True)

    def heads(self) -> Scoring:
        return self._heads

    def vectors(self, rows: Rows) -> Any:
        return rows

    def from_json(self, rows: list[Any]) -> Rows:
        if isinstance(rows[0], dict):
            columns = self.columns or list(rows[0])
            rows = [self._ordered(row, columns, i) for i, row in enumerate(rows)]
        try:
            kinds = set(map(type, chain.from_iterable(rows)))
            matrix = np.array(rows, dtype=np.float64) if kinds <= NUMBERS else None
        except (TypeError, ValueError):  # not lists, or of different lengths
            matrix = None
        if matrix is None or matrix.shape[1:] != (self.width,):
            raise RequestError(422, self._complaint(rows))
        return matrix  # finite: JSON has no other numbers

    def from_arrow(self, table: pa.Table) -> Rows:
        if self.columns is not None:
            table = tables.select(table, self.columns)
        elif table.num_columns != self.width:
            raise RequestError(422, f"{self.width} columns were wanted, got {table.num_columns}.")
        matrix = tables.numbers(table)
        require_finite(matrix, self.columns)  # now: in a batch it would be everybody's error
        return matrix

    @staticmethod
    def _ordered(row: Any, columns: list[str], i: int) -> list[Any]:
        try:
            return [row[name] for name in columns]
        except (KeyError, TypeError):
            if isinstance(row, dict):
                tables.require(list(row), columns)
            raise RequestError(422, f"Row {i}: an object of named values was wanted, got {_short(row)}.") from None

    def _complaint(self, rows: list[Any]) -> str:
        """Which row is the first that is no list of so many numbers."""
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


class Represented(Served):
    """Rows are what the model's representation reads."""

    def __init__(self, model: CentralityModel, name: str) -> None:
        super().__init__(model, name)
        whole, turn = self.reading.one_series, self.reading.rows_at_once
        self._heads = Scoring(self._heads_of, ("heads", id(self.model)), whole=whole, turn=turn)

    def heads(self) -> Scoring:
        return self._heads

    def vectors(self, rows: Rows) -> Any:
        if isinstance(rows, pa.Table):
            return Adapter(self.model, rows.column_names).vectors(rows)
        return self.model.vectors(rows)

    def _heads_of(self, rows: Rows) -> NDArray[np.float64]:
        return self.model.by_moment(over_vectors(self.vectors(rows), self.fitted.heads), count(rows))

    def from_json(self, rows: list[Any]) -> Rows:
        if self.reading.kind == "images":
            return self._pictures(rows)
        if self.columns is None:
            return rows
        named = [self._named(row, i) for i, row in enumerate(rows)]
        tables.require(list({name: None for row in named for name in row}), self.columns)
        lines = b"\n".join(map(orjson.dumps, named))
        return jsonl.parse_rows(lines, self.columns, self.reading.types, "rows")

    def from_arrow(self, table: pa.Table) -> Rows:
        if self.columns is None:
            if table.num_columns != 1:
                raise RequestError(422, f"One column was wanted, got {table.num_columns}.")
            self._require_no_paths(table)
            return table[0].to_pylist()
        table = tables.select(table, self.columns)
        self._require_no_paths(table)
        return table

    def _require_no_paths(self, table: pa.Table) -> None:
        """A path would be one on this machine, and not the caller's to read."""
        if self.reading.kind == "images" and not (
            pa.types.is_binary(kind := table.schema[0].type) or pa.types.is_large_binary(kind)
        ):
            raise RequestError(422, f"The bytes of image files were wanted, got a column of {kind}.")

    def _named(self, row: Any, i: int) -> dict[str, Any]:
        """The row as an object: values in the order of the columns, or the only column's value, get their names."""
        assert self.columns is not None
        if isinstance(row, dict):
            return row
        values = row if isinstance(row, list) else [row]
        if len(values) != len(self.columns):
            raise RequestError(422, f"Row {i}: {len(self.columns)} values were wanted, got {_short(row)}.")
        return dict(zip(self.columns, values, strict=True))

    def _pictures(self, rows: list[Any]) -> Rows:
        found = []
        for i, row in enumerate(rows):
            text: Any = row.get((self.columns or ["image"])[0]) if isinstance(row, dict) else row
            try:
                found.append(base64.b64decode(text, validate=True))
            except (binascii.Error, TypeError, ValueError):
                raise RequestError(422, f"Row {i}: an image file in base64 was wanted, got {_short(row)}.") from None
        return found if self.columns is None else pa.table({self.columns[0]: pa.array(found, pa.binary())})


def served(model: CentralityModel, name: str) -> Served:
    """Return the model as the service sees it."""
    return Numbers(model, name) if model.reading().kind == "numbers" else Represented(model, name)


def _short(value: Any) -> str:
    shown = orjson.dumps(value).decode(errors="replace")
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
