"""Export a model as an ONNX graph, and score it by ONNX Runtime, without torch (`Scorer`)."""

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality.network.calibration import checked_t
from centrality.onnx.inputs import Column, TableLike, inputs_of, require_columns

if TYPE_CHECKING:
    from centrality._internal.input import RowsLike


KEY = "centrality"  # under which the file's metadata hold our own entry
# One more entry of the metadata, as protobuf writes it: its 64 digits follow, and are the last bytes of the file.
SEAL = b"\x72\x55\x0a\x11centrality.sha256\x12\x40"
DIGITS = 64
BLOCK_ROWS = 4096  # rows scored together: memory stays small whatever their number


def sealed(content: bytes) -> bytes:
    """Return an ONNX file with a checksum of all that comes before it: the last entry of its metadata.

    >>> from centrality.onnx import DIGITS, SEAL, sealed
    >>> len(sealed(b"")) == len(SEAL) + DIGITS
    True
    """
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


def _damaged(path: object) -> InputError:
    return InputError(
        f"{path} is damaged, or was changed after centrality wrote it: its checksum does not match. Export it again."
    )


class Scorer:
    """Scores rows by a model from an ONNX file: the same heads and centrality, within float32's rounding.

    Of a `Chain` on a table, the rows are a frame (pandas, polars, Arrow) or a dict of columns, as the model takes them.
    Of a FUSE, they are rows of numbers.

    Parameters
    ----------
    path : what `model.to_onnx(path)` or `centrality export` wrote.
    threads : how many threads score; None means one for each core.

    Attributes
    ----------
    t : the model's own dial.
    width : how many columns a row has.
    feature_names : their names, or None if the model was fitted on bare arrays.
    columns : of a table, what the file takes for each column: its name, the name and type of the input, how it is read.
    calibration_rows : with how many rows p-values compare; 0: the file has none.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality.onnx import Scorer
    >>> from tempfile import TemporaryDirectory
    >>> from centrality import FUSE
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = FUSE(random_state=0, max_steps=20).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     model.to_onnx(f"{folder}/model.onnx")
    ...     scorer = Scorer(f"{folder}/model.onnx")
    >>> scorer.width
    2
    >>> bool(abs(scorer.centrality(X, t=[0, 1]) - model.centrality(X, t=[0, 1])).max() < 1e-5)
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        runtime = optional("onnxruntime", "onnx")
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no ONNX file at {path}.")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # our threads take a block each instead: none waits for another
        content = Path(path).read_bytes()
        body = content[: -len(SEAL) - DIGITS]
        has_checksum = content[-len(SEAL) - DIGITS : -DIGITS] == SEAL
        if has_checksum and hashlib.sha256(body).hexdigest().encode() != content[-DIGITS:]:
            raise _damaged(path)
        try:
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            metadata = self._session.get_modelmeta().custom_metadata_map
        except Exception as error:  # the runtime's own kinds of error have no common base
            raise InputError(f"{path} cannot be read as ONNX: {error}") from error
        if KEY not in metadata:
            raise InputError(f"{path} is an ONNX file, but not one written by centrality's to_onnx().")
        if not has_checksum:
            raise _damaged(path)
        try:
            facts = json.loads(metadata[KEY])
            self.t: float = facts["t"]
            self.width: int = facts["features"]
            self.feature_names: list[str] | None = facts["feature_names"]
            self.columns: list[Column] | None = facts.get("columns")
            self.calibration_rows: int = facts.get("calibration_rows", 0)
        except (ValueError, KeyError, TypeError):
            raise _damaged(path) from None
        self._threads = threads or os.cpu_count() or 1
        # What the file takes; rows of numbers of either type are converted.
        self._dtype = np.float32 if self._session.get_inputs()[0].type == "tensor(float)" else np.float64

    def heads(self, Q: "RowsLike | TableLike") -> NDArray[np.float64]:  # (n, 2)
        """Return the global and the local centrality of each row, each in [0, 1]."""
        return self._run("heads", Q, self.t)

    def centrality(self, Q: "RowsLike | TableLike", t: float | Sequence[float] | None = None) -> NDArray[np.float64]:
        """Return how central each row is, in [0, 1], at the model's own t or at this one; for a list, a column each.

        A row with a cell that the file cannot read as Python does has none (NaN).
        """
        dial = checked_t(self.t if t is None else t)
        scores = self._run("centrality", Q, dial)
        return scores if dial.ndim else scores[:, 0]

    def p_values(self, Q: "RowsLike | TableLike") -> NDArray[np.float64]:
        """Say how surprising each row is among the calibration rows, at the model's own t."""
        self._require_calibration_rows()
        return self._run("p_value", Q, self.t)

    def severity(self, Q: "RowsLike | TableLike") -> NDArray[np.float64]:
        """Say one in how many ordinary rows is as odd as each row, at the model's own t.

        Above `calibration_rows` + 1 it is extrapolated, and it ends at ten times that.
        """
        self._require_calibration_rows()
        return self._run("severity", Q, self.t)

    def _require_calibration_rows(self) -> None:
        if not self.calibration_rows:
            raise InputError(
                "p-values and severities need calibration rows, and the file has none: call calibrate(C) on the model, "
                "or fit with holdout=0.2, and export it again."
            )

    def _run(self, output: str, Q: "RowsLike | TableLike", t: object) -> NDArray[np.float64]:
        """Return this output of the network for all rows, which are run block by block."""
        dial = np.atleast_1d(np.asarray(t, dtype=np.float64))
        inputs = {"rows": self._checked(Q)} if self.columns is None else inputs_of(Q, self.columns)
        length = len(next(iter(inputs.values())))

        def score(start: int) -> NDArray[np.float64]:
            block = {
                name: np.ascontiguousarray(
                    rows[start : start + BLOCK_ROWS], dtype=self._dtype if self.columns is None else None
                )
                for name, rows in inputs.items()
            }
            return np.asarray(self._session.run([output], {**block, "t": dial})[0])

        starts = range(0, length, BLOCK_ROWS)
        if len(starts) == 1:
            return score(0)
        with ThreadPoolExecutor(self._threads) as pool:
            return np.concatenate(list(pool.map(score, starts)))

    def _checked(self, Q: "RowsLike | TableLike") -> NDArray[np.generic]:  # (n, width)
        """Return Q as a matrix of finite numbers, as wide as the training rows; a frame's columns are found by name."""
        frame: Any = Q
        names = getattr(Q, "column_names", getattr(Q, "columns", None))  # Arrow's; pandas' and polars'
        if self.feature_names is not None and names is not None:
            require_columns(list(names), self.feature_names)
            frame = frame.select(self.feature_names) if hasattr(frame, "select") else frame[self.feature_names]
        if isinstance(frame, np.ma.MaskedArray) and np.ma.is_masked(frame):
            raise InputError("Q is masked in places: finite numbers were wanted.")
        rows = np.asarray(frame)
        if rows.ndim != 2 or rows.shape[1] != self.width or rows.dtype.kind not in "biuf":
            raise InputError(f"Numbers of shape (n, {self.width}) were wanted, got {rows.dtype} of shape {rows.shape}.")
        if not len(rows):
            raise InputError("Rows were wanted, got none.")
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(rows.sum(dtype=np.float64)) and not np.isfinite(rows).all():
                raise InputError("Q contains NaN or infinity: finite numbers were wanted.")
        return rows


__all__ = ["Scorer"]
