"""Dates are read in the order of day and month that the whole column allows; a model of days reads no bare years."""

import datetime
import warnings

import numpy as np
import pyarrow as pa
import pytest

from centrality.representations import Table
from centrality.representations._date_texts import learn_format
from centrality.tables.unreadable import NO_DATE, Unreadable

DAYS = [datetime.date(2023, 1, 1) + datetime.timedelta(days=int(d)) for d in np.arange(200) * 7 % 365]
EARLY = [day for day in DAYS if day.day <= 12]  # day and month could be exchanged


@pytest.mark.slow
@pytest.mark.parametrize(
    "format",
    ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d/%m/%Y %H:%M", "%Y-%m-%d",
     "%Y/%m/%d", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%Y-%m"],
)  # fmt: skip
def test_the_format_is_the_one_that_the_whole_column_allows(format):
    written = [f"{day:{format}}" for day in DAYS]
    assert learn_format(pa.chunked_array([written])) == (format, "")
    assert learn_format(pa.chunked_array([[*written, "-", "n/a", None, "hello"]])) == (format, "")


def test_one_late_day_decides_for_all():
    assert learn_format(pa.chunked_array([["03/04/2024"] * 5000 + ["13/04/2024"]]))[0] == "%d/%m/%Y"
    assert learn_format(pa.chunked_array([["03/04/2024"] * 5000 + ["04/13/2024"]]))[0] == "%m/%d/%Y"


@pytest.mark.parametrize(("mark", "format"), [("/", "%m/%d/%Y"), (".", "%d.%m.%Y")])
def test_where_both_orders_fit_a_warning_names_the_column_and_what_was_taken(mark, format):
    written = [f"{day:{format}}" for day in EARLY]
    rows = pa.table({"when": written, "x": np.arange(len(written)) % 7})
    with pytest.warns(UserWarning, match="Column 'when': .* is taken for .*, but day and month could be exchanged"):
        table = Table().fit(rows)
    assert table.describe()["when"].startswith(f"date (written as {format})")
    assert "day and month could be exchanged" in table.doubts()["when"]


def test_where_day_and_month_are_equal_there_is_no_doubt():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table().fit(pa.table({"when": ["01/01/2024", "02/02/2024", "03/03/2024"] * 10, "x": np.arange(30) % 7}))


def test_days_and_months_in_both_orders_are_no_column_of_dates():
    assert learn_format(pa.chunked_array([["13/01/2024", "14/02/2024", "01/15/2024", "02/16/2024"]])) == (None, "")


@pytest.mark.parametrize("written", ["2024", "2024-05", "20245", "202405"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_model_of_days_reads_no_bare_years_or_months(written, stored):
    days = pa.array(DAYS) if stored else pa.array([f"{day:%Y-%m-%d}" for day in DAYS])
    table = Table().fit(pa.table({"day": days, "x": np.arange(200) % 7}))
    new = pa.table({"day": [written, "2024-05-03"], "x": [1, 2]})
    assert table.examined(new)[1] == Unreadable(2, {"day": {NO_DATE: 1}})


def test_years_as_text_are_numbers_as_they_are_in_a_csv_file():
    years = [str(2000 + k % 20) for k in range(100)]
    table = Table().fit(pa.table({"year": years, "x": np.arange(100) % 7}))
    assert table.describe()["year"].startswith("number written as")
