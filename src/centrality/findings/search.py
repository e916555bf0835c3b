"""Check rows: look for every kind of fault, leave out what follows from another, and put the rest in order."""

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from centrality import tables
from centrality._internal.checks import InputError
from centrality._internal.input import ModelRows
from centrality.analysis.certificate import OddShare
from centrality.analysis.drift import Change
from centrality.chain import Chain
from centrality.findings.columns import GapWords, is_gap_word, structures_in
from centrality.findings.finding import Finding, Findings, as_kind_of, verdict_of
from centrality.findings.kinds import KINDS
from centrality.findings.kinds.numbers import find_far_numbers
from centrality.findings.sheet import Sheet
from centrality.fuse import FUSE
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.representations import Images
from centrality.representations.base import as_arrow, is_frame
from centrality.selection.rank import as_frame, fit_default_model
from centrality.tables.binary import IMAGE_SUFFIXES
from centrality.tables.files import folder_of

COVERED = 0.8  # the share of a finding's rows in others, of the same columns, from which on it follows from them
DOUBTFUL = 2.0  # what every other cell has is no doubt
OF_CELLS = frozenset({"placeholder", "scale", "format", "unreadable", "slipped", "markup", "spelling", "label"})
WITH_GAP_WORDS = (".csv", ".tsv", ".xlsx")  # kinds of files whose reader takes N/A for a gap
VECTORS = 32  # columns of an array from which on they are a vector, not columns with a meaning of their own

Path_ = str | os.PathLike[str]


def check(
    rows: ModelRows | Path_,
    *,
    label: str | None = None,
    against: ModelRows | Path_ | None = None,
    given: Sequence[str] | str | None = None,
    model: CentralityModel | None = None,
    time: str | None = None,
    by: str | None = None,
    random_state: int | None = 0,
) -> Findings:
    """Say what is wrong with these rows: `Findings`, the worst first.

    Print the result, or take `to_frame()`, `to_html("report.html")`, and `cells`: how doubtful each cell is.

    Parameters
    ----------
    rows : a frame, an array, a list of texts or of images; or the path of a file or of a folder of images.
    label : a column of labels: it is not learned from, and labels that do not fit their rows are found.
    against : earlier rows of the same kind, or their file: what has changed since is found.
    given : the columns that are the context: rows are then odd for their kind.
    model : a fitted model; None fits one on these rows.
    time : the column by which rows are moments of series: odd stretches are found, too.
    by : with `time`, the column that tells several series apart.
    random_state : the seed of the fit.

    Examples
    --------
    >>> import centrality
    >>> from centrality.datasets import houses
    >>> findings = centrality.check(houses())  # the data set's last rows are odd on purpose
    >>> sorted({int(row) for finding in findings for row in finding.rows} & set(range(1194, 1200)))
    [1194, 1195, 1196, 1197, 1198, 1199]
    """
    frame, items, is_table = _laid_out(rows)
    data = as_arrow(frame)
    tables.require(data.column_names, [name for name in (label, time, by, *_names(given)) if name is not None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is doubtful becomes a finding
        learned = items.drop([label]) if label is not None and isinstance(items, pa.Table) else items
        if isinstance(learned, pa.Table):
            learned = learned.drop(structures_in(learned))
        changes: Sequence[Change] = ()
        old = None
        of_other_rows = model
        seen_by_other = learned
        if against is not None:
            old, seen_by_old, seen_by_other = _in_common(against, learned)
            of_other_rows = _fit(seen_by_old, None, random_state, folder_of(against)) if model is None else model
            if hasattr(of_other_rows, "representation_") and hasattr(of_other_rows.representation_, "unreadable"):
                of_other_rows.representation_.unreadable = 1.0
            changes = of_other_rows.drift(seen_by_other).changes()
        odd_share = None if of_other_rows is None else _odd_share(of_other_rows, seen_by_other)
        fitted_here = model is None
        if model is None:
            model = _fit(learned, given, random_state, folder_of(rows))
        else:
            reader_of(model).configure(folder=folder_of(rows))
        sheet = Sheet(
            data,
            learned,
            model,
            label,
            random_state,
            is_table=is_table,
            fitted_here=fitted_here,
            against=old,
            changes=changes,
            time=time,
            by=by,
            gap_words=_gap_words(rows, data) if isinstance(rows, str | os.PathLike) else {},
        )
        findings = independent(finding for find in KINDS for finding in find(sheet))
        if of_other_rows is not None:
            findings = _with_certificates(findings, of_other_rows, seen_by_other)
    findings.sort(key=lambda finding: -finding.weight)  # what is about no rows comes last
    verdict = verdict_of(findings, data.num_rows)
    if odd_share is not None and odd_share.at_least:
        others = "the earlier rows" if against is not None else "those of the model"
        verdict += f" Compared with {others}, {str(odd_share).replace('At least', 'at least')}"
    return Findings(verdict, tuple(findings), _cell_frame(sheet, findings, frame), data, sheet.causes)


def far_numbers(rows: ModelRows | Path_, model: CentralityModel) -> list[Finding]:
    """Find numbers that are far from all that the rest of their rows says, in columns that a model reads.

    Of so many cells as odd, at most a tenth would be there by chance if the tails of ordinary cells are Pareto tails.
    """
    _, items, is_table = _laid_out(rows)
    if not is_table:
        return []
    read = set(reader_of(model).input_spec().columns or items.column_names)
    data = items.select([name for name in items.column_names if name in read])
    return list(find_far_numbers(Sheet(data, data, model, None, 0)))


def _names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _laid_out(rows: ModelRows | Path_) -> tuple[Any, Any, bool]:
    """Return rows as a frame, as a model takes them, and whether their columns mean something by themselves."""
    if isinstance(rows, str | os.PathLike):
        with tables.open_rows(rows) as source:
            kind = source.kind
            table = source.table()
        if kind == "images":
            return table, table["path"].to_pylist(), False
        are_numbered = table.column_names == [f"x{j}" for j in range(table.num_columns)]
        return table, table, table.num_columns < VECTORS or not are_numbered
    if isinstance(rows, Sequence) and not is_frame(rows) and len(rows) and isinstance(rows[0], str | Path):
        names = [str(item) for item in rows]
        if all(name.lower().endswith(IMAGE_SUFFIXES) for name in names):
            return pa.table({"path": names}), names, False
        table = pa.table({"text": pa.array(names)})
        return table, table, True
    frame = as_frame(rows)
    if nw.from_native(frame, eager_only=True).shape[0] == 0:
        raise InputError("Rows were wanted, got none.")
    table = as_arrow(frame)
    return frame, table, is_frame(rows) or table.num_columns < VECTORS


def _gap_words(path: Path_, data: pa.Table) -> dict[str, GapWords]:
    """Return the words for nothing, such as N/A, that a file's reader has taken for gaps: by column, and their rows."""
    names = [name for name in data.column_names if data[name].null_count]
    words: dict[str, GapWords] = {}
    with tables.gap_words_kept(), tables.open_rows(path) as source:
        if not names or source.kind not in WITH_GAP_WORDS:
            return words
        texts = pa.Table.from_batches(source.batches(names, dict.fromkeys(names, pa.string())))
    for name in names:
        column = texts[name].combine_chunks().dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        gaps = data[name].is_null().to_numpy()
        for code, word in enumerate(column.dictionary.to_pylist()):
            if is_gap_word(word) and len(rows := np.flatnonzero((codes == code) & gaps)):
                words.setdefault(name, {})[word] = rows
    return words


def _fit(
    items: Any, given: Sequence[str] | str | None, random_state: int | None, folder: str | None
) -> CentralityModel:
    """Return a model fitted on the rows; images are compared by their edges and colours, which needs no download."""
    if isinstance(items, list):
        return Chain(Images(corrupt="skip"), FUSE(random_state=random_state)).fit(items)
    return fit_default_model(items, random_state, folder=folder, given=_names(given) or None)


def _in_common(against: ModelRows | Path_, new: Any) -> tuple[pa.Table, Any, Any]:
    """Return earlier rows as a table, and earlier and new ones as a model takes them, in the columns of both."""
    frame, items, _ = _laid_out(against)
    if isinstance(items, pa.Table) and isinstance(new, pa.Table):
        shared = [name for name in items.column_names if name in new.column_names]
        if not shared:
            raise InputError(f"The two files have no column in common: {', '.join(items.column_names[:5])}.")
        items = items.select(shared)
        new = new.select(shared)
    return as_arrow(frame), items, new


def _with_certificates(findings: Sequence[Finding], model: CentralityModel, rows: Any) -> list[Finding]:
    """Add to each finding how many of its rows are odd at least, by a model of other rows."""
    units = map_valid_rows(reader_of(model).vectors(rows), model.fitted_.units)
    certified = []
    for finding in findings:
        can_be = finding.count and finding.rows.max() < len(units)  # windows of a series are fewer
        certificate = model.fitted_.certificate(finding.rows, units, float(model.t)) if can_be else None
        text = "" if certificate is None or not certificate.at_least else str(certificate)
        certified.append(replace(finding, certificate=text))
    return certified


def _odd_share(model: CentralityModel, rows: Any) -> OddShare | None:
    """Return what share of the rows is odd by a model of other rows; None if it has none to compare with."""
    return None if model.fitted_.inliers is None else model.odd_share(rows)


def independent(items: Iterable[Finding]) -> list[Finding]:
    """Leave out findings whose rows are nearly all in earlier ones of the same columns: they follow from those."""
    left: list[Finding] = []
    for finding in items:
        others = [other.rows for other in left if not finding.columns or set(finding.columns) & set(other.columns)]
        covered = np.isin(finding.rows, np.concatenate(others)).mean() if others and finding.count else 0.0
        if covered < COVERED:
            left.append(finding)
    return left


def _cell_frame(sheet: Sheet, items: Sequence[Finding], frame: Any) -> Any:
    """Return how doubtful each cell is, as a frame like the data; those of findings are at least as doubtful as these.

    Of a broken tie the first column is named, and judged by the rest of the row already; gaps and odd groups are of
    whole rows.
    """
    doubts = np.zeros((sheet.data.num_rows, sheet.data.num_columns))
    places = {name: place for place, name in enumerate(sheet.data.column_names)}
    for column, severity in zip(sheet.columns, sheet.doubts.T, strict=True):
        doubts[:, places[column.name]] = np.where(severity >= DOUBTFUL, np.minimum(severity, sheet.cap), 0.0)
    for finding in items:
        for name in finding.columns:
            if name in places and finding.kind in OF_CELLS:
                doubts[finding.rows, places[name]] = np.maximum(doubts[finding.rows, places[name]], finding.severity)
    table = pa.table({name: doubts[:, place] for name, place in places.items()})
    return as_kind_of(table, frame)
