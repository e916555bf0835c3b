"""Cells of texts mean in an ONNX graph what they mean in Python, or are said to be unread."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.onnx.graph import Graph
from centrality.representations.columns import Numbers
from centrality.representations.dates import DAYS, TIMES, Dates, read_dates
from centrality.representations.onnx.cells import GraphCells
from centrality.representations.onnx.dates import NO_MOMENT, clock_changes, date_cells
from centrality.representations.onnx.numbers import number_cells
from centrality.tables.columns import NO_DATE
from centrality.tables.written_numbers import NumberFormat
from tests.onnx.tables import run, written_cells

FORMATS = [
    NumberFormat(),
    NumberFormat(",", ".", decimals=2),
    NumberFormat(",", " ", decimals=1),
    NumberFormat(".", "'"),
    NumberFormat(",", ".", before="€ ", decimals=2),
    NumberFormat(".", ",", before="$", magnitudes=True),
    NumberFormat(magnitudes=True),
    NumberFormat(after=" kg"),
    NumberFormat(after="%"),
    NumberFormat(".", ",", after=" EUR"),
    NumberFormat(after=" days"),
    NumberFormat(before="$", after="/h"),
]


def outputs(graph: Graph, cells: GraphCells, texts: list[str]) -> list[np.ndarray]:
    """Block, gaps, cells that are far off, and cells that are unread."""
    assert cells.far_off is not None
    assert cells.unread is not None
    graph.output("block", cells.block, "float64", ("n", "q"))
    for name, values in (("gaps", cells.gaps), ("far_off", cells.far_off), ("unread", cells.unread)):
        graph.output(name, values, "bool", ("n",))
    return run(graph, {"cells": np.array(texts, dtype=object)})


@pytest.mark.parametrize("writing", FORMATS, ids=lambda writing: writing.example())
def test_a_number_is_read_as_in_python_or_not_at_all(writing):
    """A column of weight 1 about 0 that had gaps is encoded by the number itself, within ±1e15."""
    texts = written_cells(0, "0123456789" * 3 + ".,' -+()$€%kKmMeE gk/~±\u00a0−", 3000)
    column = Numbers(0.5, writing, center=0.0, weight=1.0)
    graph = Graph(1)
    block, gaps, far_off, unread = outputs(graph, number_cells(graph, column, "cells", "float64"), texts)
    x, wrong = writing.read(pa.array(texts))
    read = ~unread
    np.testing.assert_array_equal(gaps, np.isnan(x) & ~wrong)
    np.testing.assert_array_equal(far_off[read], wrong[read])
    np.testing.assert_allclose(block[read, 0], np.clip(np.nan_to_num(x), -1e15, 1e15)[read], rtol=1e-14)
    np.testing.assert_array_equal(block[:, 1], gaps - 0.5)
    usual = [writing.write(number) for number in (0.0, 12.0, -1234.0, 1234567.0)]
    graph = Graph(1)
    assert not outputs(graph, number_cells(graph, column, "cells", "float64"), usual)[3].any()


@pytest.mark.slow
@pytest.mark.parametrize("format", [day + time for day, time in zip(DAYS, (TIMES * 2)[3:], strict=False)])
def test_a_date_is_read_as_in_python_or_not_at_all(format):
    """Of a column whose mean is 0 and deviation 1 in every part, the seconds since 1970 are one of the numbers."""
    rng = np.random.default_rng(0)
    moments = np.datetime64("1970-01-01", "s") + rng.integers(-6 * 10**9, 8 * 10**9, 200)
    zones = ["Z", "z", "+0100", "-05:30", " UTC", "utc"]
    texts = []
    for moment in moments.tolist():
        one = format if rng.random() < 0.5 else DAYS[rng.integers(len(DAYS))] + TIMES[rng.integers(len(TIMES))]
        quarter = str((moment.month + 2) // 3)
        text = moment.strftime(one.replace("%q", quarter).replace("%z", "%%z")).replace("%z", zones[rng.integers(6)])
        texts.append((text, text.lower(), text.upper())[rng.integers(3)])
    texts += written_cells(1, "0123456789" * 2 + "-/.: TtZ+", 1000)
    column = Dates(format, "UTC" if "%z" in format else None, True, [0.0] * 11, [1.0] * 11, 0.5)
    graph = Graph(1)
    block, gaps, far_off, unread = outputs(graph, date_cells(graph, column, "cells"), texts)
    read_in_python, faults = read_dates(pa.chunked_array([texts]), format, column.zone)
    read = ~unread
    np.testing.assert_array_equal(gaps, np.isnat(read_in_python) & ~faults[NO_DATE])
    np.testing.assert_array_equal(far_off[read], faults[NO_DATE][read])
    np.testing.assert_allclose(block[read], column.encode("cells", pa.chunked_array([texts])).block[read], atol=1e-9)
    assert (~np.isnat(read_in_python) & unread).mean() < 0.05  # months in mixed case, T behind a month's name


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo", "America/St_Johns", "Australia/Lord_Howe"])
def test_moments_are_placed_in_year_month_week_and_day_as_in_python(zone):
    rng = np.random.default_rng(0)
    moments = rng.integers(-9 * 10**15, 9 * 10**15, 2000)
    if zone:  # and those about each change of the clock
        changes = clock_changes(zone)[0]
        moments = np.concatenate([moments, changes, changes - 1, changes + 1])
    moments[::50] = NO_MOMENT
    column = Dates(None, zone, True, [0.0] * 11, [1.0] * 11, 0.0)
    graph = Graph(1)
    cells = date_cells(graph, column, "cells")
    graph.output("block", cells.block, "float64", ("n", "q"))
    [block] = run(graph, {"cells": moments})
    values = pa.array(moments.astype("M8[us]"), pa.timestamp("us", "UTC" if zone else None))
    values = values.cast(pa.timestamp("us", zone)) if zone else values
    np.testing.assert_allclose(block, column.encode("cells", pa.chunked_array([values])).block, atol=1e-12, rtol=1e-12)
