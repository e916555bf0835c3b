"""Cells are measured once, kept as they come, and found again as they were."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from benchmarks.cells import Files, Lines, measure_unknown
from tqdm import tqdm


@dataclass(frozen=True)
class Square:
    side: int

    @property
    def file(self) -> str:
        return f"{self.side}.npz"


def area(cell: Square, stop: int = 99) -> dict:
    if cell.side == stop:
        raise KeyboardInterrupt
    return {"side": cell.side, ("square", "area"): cell.side**2, "outline": np.arange(4) * cell.side}


def counting(cell: Square, seen: list[int]) -> dict:
    seen.append(cell.side)
    return area(cell)


@pytest.fixture
def bar():
    with tqdm(disable=True) as bar:
        yield bar


@pytest.fixture
def kept(tmp_path):
    return Files(tmp_path)


CELLS = [Square(side) for side in (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2])
def test_what_is_kept_is_what_was_found_in_whichever_process(kept, bar, processes):
    measure_unknown(CELLS, area, kept, bar, processes=processes)
    for cell in CELLS:
        found = kept.read(cell)
        assert (found["side"], found["square", "area"]) == (cell.side, cell.side**2)
        np.testing.assert_array_equal(found["outline"], np.arange(4) * cell.side)


def test_a_run_that_is_stopped_keeps_what_it_has_and_goes_on(kept, bar):
    with pytest.raises(KeyboardInterrupt):
        measure_unknown(CELLS, partial(area, stop=3), kept, bar)
    assert [kept.knows(cell) for cell in CELLS] == [True, True, False]
    seen: list[int] = []
    measure_unknown(CELLS, partial(counting, seen=seen), kept, bar)
    assert seen == [3]


def test_what_is_forgotten_is_measured_anew(kept, bar):
    measure_unknown(CELLS, area, kept, bar)
    kept.forget(CELLS[1])
    kept.forget(CELLS[1])  # twice is no error
    seen: list[int] = []
    measure_unknown(CELLS, partial(counting, seen=seen), kept, bar)
    assert seen == [2]


def test_lines_are_read_as_they_were_written_and_the_first_names_them(tmp_path):
    lines = Lines(tmp_path / "new" / "cells.csv", ("name", "value"))
    assert lines.read() == []
    lines.append(["a, b", 1], ["c", 2])
    lines.append(["d", 3])
    assert lines.path.read_text() == 'name,value\n"a, b",1\nc,2\nd,3\n'
    assert lines.read() == [{"name": name, "value": value} for name, value in (("a, b", "1"), ("c", "2"), ("d", "3"))]
