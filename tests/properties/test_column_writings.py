"""Columns as people write them: nearly all are read as a careful person would, whatever numbers they hold."""

import csv

import pytest
from benchmarks._column_corpus import NUMBER, corpus
from benchmarks._messy_files import PLANTED, messy_files
from benchmarks._results import RESULTS
from benchmarks.column_writings import by_pandas, is_right, ours

from centrality.representations import Table

pytestmark = pytest.mark.slow  # 228 fits


def wrong_of(columns: list) -> list[str]:
    return [column.name for column in columns if not is_right(column, ours(column))]


def test_of_other_numbers_in_a_third_of_the_columns_at_least_95_in_100_are_read_as_a_careful_person_would():
    columns = corpus(seed=1)[::3]
    wrong = wrong_of(columns)
    assert len(wrong) <= len(columns) / 20, wrong


def test_at_least_985_in_1000_columns_are_read_as_a_careful_person_would_and_as_many_as_is_written_down():
    columns = corpus()
    assert len(columns) == 228
    wrong = wrong_of(columns)
    assert len(wrong) <= 0.015 * len(columns), wrong
    with (RESULTS / "column_writings.csv").open() as file:
        [said] = [row for row in csv.DictReader(file) if row["family"] == "all"]
    assert float(said["centrality"]) == pytest.approx(1 - len(wrong) / len(columns), abs=1e-4)


def test_the_corpus_is_fair_to_readers_of_plain_numbers():
    plain = [column for column in corpus() if column.family == "plain"]
    assert len(plain) == 6
    assert all(column.kind == NUMBER and is_right(column, by_pandas(column)) for column in plain)


def test_a_messy_file_is_read_as_the_cleaned_one():
    for file in messy_files():
        written, cleaned = (Table().fit(table) for table in (file.written, file.cleaned))
        rows = (file.written, file.cleaned)
        found, expected = (table.transform(of) for table, of in zip((written, cleaned), rows, strict=True))
        assert (found == expected).all()
        assert {written.describe()[name].partition(" written as")[0] for name in file.planted} == {"number"}
        assert len(PLANTED) == 3
