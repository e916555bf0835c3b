"""How columns are read as people write them: by us, by pandas and by skrub; and where planted cells then rank.

`column_writings.csv` has the share of columns (`_column_corpus.py`) that each reads as a careful person would: the
right kind, and the right value in every cell. `column_writings_missed.csv` names those we do not. For identifiers,
words will do unless they are numbers: those must be left out or doubted. `planted_cells.csv` has the rank of odd cells
in three made-up files. `column_writings_speed.csv` has processor seconds for a million cells.

    python -m benchmarks.column_writings
"""

import csv
import io
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import skrub

from benchmarks._column_corpus import DATE, DOUBTED, IDENTIFIER, NUMBER, ORDER, WORDS, Column, corpus
from benchmarks._messy_files import PLANTED, messy_files
from benchmarks._results import save
from centrality import FUSE, Chain, tables
from centrality.representations import Table
from centrality.representations.columns import Numbers
from centrality.representations.dates import read_dates

SPEED_ROWS = 200_000
# By the reading of version 0.2.0 (commit 08a65e3), with this file's functions: by cell, and by column.
BEFORE_RANKS = {"$99,999.00": 3837, "95%": 3755, "900.0 kg": 2009, "987.654,32 €": 2124, "250.000 Stk": 1627,
                "−365": 3578, "-80,0 °C": 3833, "5000ms": 3635, "(99,999)": 1889}  # fmt: skip
BEFORE_SECONDS = {"numbers": (0.09, 0.005), "$1,234.50": (32.9, 8.4), "1.234,50 €": (31.2, 7.9),
                  "12.5% or n/a": (18.9, 4.1), "31/01/2024": (4.6, 1.5), "categories": (0.23, 0.04)}  # fmt: skip

Reading = tuple[str, np.ndarray | None]  # the kind, and the values as numbers


def csv_text(column: Column) -> str:
    """The column as a CSV file, beside one of row numbers, so that empty cells are no empty lines."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([("row", "column"), *((k % 7, cell) for k, cell in enumerate(column.cells))])
    return file.getvalue()


def ours(column: Column) -> Reading:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path(folder, "c.csv").write_text(csv_text(column), encoding="utf-8")
        rows = tables.read(Path(folder, "c.csv"))
        table = Table().fit(rows)
    encoder = table._encoders["column"]
    if "identifier" in encoder.describe() or "identifier" in table.doubts().get("column", ""):
        return IDENTIFIER, None
    if isinstance(encoder, Numbers):
        return NUMBER, encoder.numbers("column", rows["column"])
    if encoder.kind == "dates":
        moments, _ = read_dates(rows["column"], encoder.format, encoder.zone)
        return DATE, np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)
    if getattr(encoder, "in_order", False):
        return ORDER, None
    return (DOUBTED if "column" in table.doubts() else WORDS), None


def seconds(dates: pd.Series) -> np.ndarray:
    aware = dates.dt.tz_localize("UTC") if dates.dt.tz is None else dates.dt.tz_convert("UTC")
    counts = aware.dt.as_unit("us").to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(counts), np.nan, counts.astype(np.int64) / 1e6)


def by_dtype(series: pd.Series) -> Reading:
    if pd.api.types.is_numeric_dtype(series):
        return NUMBER, series.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(series):
        return DATE, seconds(series)
    return WORDS, None


def by_pandas(column: Column) -> Reading:
    """What read_csv, convert_dtypes, to_numeric and to_datetime make of it, the first that does anything."""
    series = pd.read_csv(io.StringIO(csv_text(column)))["column"].convert_dtypes()
    if pd.api.types.is_numeric_dtype(series):
        return by_dtype(series)
    for read in (pd.to_numeric, pd.to_datetime):
        try:
            return by_dtype(read(series))
        except (ValueError, TypeError):
            continue
    return WORDS, None


def by_skrub(column: Column) -> Reading:
    """What skrub's Cleaner makes of it, with numbers in text parsed."""
    frame = pd.read_csv(io.StringIO(csv_text(column)))
    return by_dtype(skrub.Cleaner(parse_numbers=True).fit_transform(frame)["column"])


READERS: dict[str, Callable[[Column], Reading]] = {"centrality": ours, "pandas": by_pandas, "skrub": by_skrub}


def is_right(column: Column, reading: Reading, *, strict: bool = True) -> bool:
    """Say whether a reading is right; for readers that know no order and no doubt, words will do where one was due."""
    kind, values = reading
    if not strict and kind == WORDS and column.kind in (ORDER, DOUBTED):
        return True
    if column.kind == IDENTIFIER:
        return kind in (IDENTIFIER, WORDS, DOUBTED)
    if kind != column.kind and (kind, column.kind) not in ((DOUBTED, WORDS), (ORDER, WORDS)):
        return False
    return column.values is None or np.allclose(values, column.values, rtol=1e-12, atol=0, equal_nan=True)


def measure_corpus() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the share read right by family, and the columns that we do not read right."""
    columns = corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = {
            name: [is_right(c, read(c), strict=name == "centrality") for c in columns] for name, read in READERS.items()
        }
    families = list(dict.fromkeys(column.family for column in columns))
    rows: list[dict[str, object]] = []
    for family in [*families, "all"]:
        chosen = [k for k, column in enumerate(columns) if family in (column.family, "all")]
        shares = {name: float(np.mean([found[k] for k in chosen])) for name, found in right.items()}
        rows.append({"family": family, "columns": len(chosen), **shares})
    missed = [
        {"family": c.family, "writing": c.name, "example": c.cells[0], "wanted": c.kind, "read as": ours(c)[0]}
        for c, good in zip(columns, right["centrality"], strict=True)
        if not good
    ]
    return rows, missed


def measure_ranks() -> list[dict[str, object]]:
    """Return where each planted cell's row ranks among all, the oddest first, as written and as cleaned by hand."""
    rows: list[dict[str, object]] = []
    for file in messy_files():
        ranks = {}
        for how, table in (("written", file.written), ("cleaned", file.cleaned)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = Chain(Table(), FUSE(random_state=0)).fit(table).centrality(table)
            ranks[how] = [int((scores < scores[row]).sum()) + 1 for row in PLANTED]
        for k, column in enumerate(file.planted):
            cell = file.written[column][PLANTED[k]].as_py()
            before = BEFORE_RANKS.get(cell, "")
            row = {"file": file.name, "cell": cell, "0.2.0": before}
            rows.append(row | {how: found[k] for how, found in ranks.items()})
    return rows


def measure_speed() -> list[dict[str, object]]:
    """Return the processor seconds that fitting and transforming a million cells take, for each of some writings."""
    rng = np.random.default_rng(0)
    x = rng.lognormal(7, 1, SPEED_ROWS).round(2)
    days = np.datetime64("2000-01-01") + rng.integers(0, 9000, SPEED_ROWS)
    cells = {
        "numbers": pa.array(x),
        "$1,234.50": pa.array([f"${v:,.2f}" for v in x]),
        "1.234,50 €": pa.array([f"{v:,.2f} €".translate({ord(","): ".", ord("."): ","}) for v in x]),
        "12.5% or n/a": pa.array([f"{v / 1000:.1f}%" if k % 20 else "n/a" for k, v in enumerate(x)]),
        "31/01/2024": pa.array([f"{day:%d/%m/%Y}" for day in days.astype(object)]),
        "categories": pa.array(rng.choice(["red", "green", "blue"], SPEED_ROWS)),
    }
    rows: list[dict[str, object]] = []
    for name, column in cells.items():
        table, fitted = pa.table({"x": column}), Table()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            fitted.fit(table)
            middle = time.process_time()
            fitted.transform(table)
            end = time.process_time()
        now = {"fit": (middle - start) * 1e6 / SPEED_ROWS, "transform": (end - middle) * 1e6 / SPEED_ROWS}
        before = dict(zip(("fit, 0.2.0", "transform, 0.2.0"), BEFORE_SECONDS.get(name, ("", "")), strict=True))
        rows.append({"column": name, "read as": fitted.describe()["x"][:30]} | before | now)
    return rows


def main() -> None:
    shares, missed = measure_corpus()
    save("column_writings", shares)
    save("column_writings_missed", missed)
    save("planted_cells", measure_ranks())
    save("column_writings_speed", measure_speed())


if __name__ == "__main__":
    main()
