"""Dates are read in the order of day and month that the whole column allows; a model of days reads no bare years."""

import datetime
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality.representations import Table
from centrality.representations.dates import TIMES, Dates, learn_format, parsed, read_dates, read_texts
from centrality.tables.columns import NO_DATE, CellIssues, DataNote

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
    assert table.examined(new)[1] == CellIssues(2, {"day": {NO_DATE: 1}})


def test_years_as_text_are_numbers_as_they_are_in_a_csv_file():
    years = [str(2000 + k % 20) for k in range(100)]
    table = Table().fit(pa.table({"year": years, "x": np.arange(100) % 7}))
    assert table.describe()["year"].startswith("number written as")


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("day", ["%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y", "%d %B %Y", "%m/%d/%y"])
def test_dates_in_a_format_are_those_that_pandas_reads(day, time):
    moments = pd.Series(pd.to_datetime(np.random.default_rng(0).integers(0, 2 * 10**9, 50), unit="s", utc=True))
    texts = moments.dt.strftime(day + time)
    wanted = pd.to_datetime(texts, format=day + time, utc=True).dt.tz_localize(None).to_numpy().astype("M8[us]")
    np.testing.assert_array_equal(parsed(pa.array(texts.tolist()), day + time), wanted)


@pytest.mark.parametrize(
    "text",
    ["2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-01-32", "2024-04-31", "9999-12-31", "2024-01-01x",
     "2024-01-01 24:00", "2024-01-01 10:60", "24-01-01", "January 1", ""],
)  # fmt: skip
def test_days_and_times_that_are_none_are_not_read(text):
    moments, wrong = read_texts(pa.array([text, "2024-02-29"]), "%Y-%m-%d")
    assert moments.tolist() == [None, datetime.datetime(2024, 2, 29)]
    assert wrong.tolist() == [text != "", False]  # an empty cell is a gap


def test_a_column_is_read_in_its_format_and_others_that_cannot_be_mistaken():
    texts = pa.array(["03/04/2024", "2024-04-03", "3 April 2024", "Apr 3, 2024", "03/04/2024 00:00", "2024.04.03"])
    moments, wrong = read_texts(texts, "%d/%m/%Y")
    assert moments.tolist() == [datetime.datetime(2024, 4, 3)] * 6
    assert not wrong.any()


def test_the_parts_of_a_date_are_its_places_in_year_month_week_and_day():
    """The 29th of February 2024 was a Thursday, the fourth day of its week."""
    moments = ["2024-02-29 13:45", "2020-01-01 00:00", "1969-12-31 23:59"]
    encoder = Dates.fit("when", pa.chunked_array([moments]), "%Y-%m-%d %H:%M")
    assert isinstance(encoder, Dates)
    names = [name.removeprefix("when ") for name in encoder.names("when")]
    parts = dict(zip(names, encoder._features(np.array(moments[:1], dtype="M8[us]"))[0].tolist(), strict=True))
    assert (parts["year"], parts["minute"], parts["total_seconds"]) == (2024, 45, 1709214300)
    for part, place, length in (("month", 2, 12), ("day", 29, 30), ("weekday", 4, 7), ("hour", 13, 24)):
        angle = 2 * np.pi * place / length
        assert parts[f"{part}_circular_0"] == pytest.approx(np.sin(angle))
        assert parts[f"{part}_circular_1"] == pytest.approx(np.cos(angle))
    before = dict(zip(names, encoder._features(np.array(moments[2:], dtype="M8[us]"))[0].tolist(), strict=True))
    assert (before["year"], before["minute"], before["total_seconds"]) == (1969, 59, -60)


def test_hours_are_those_of_the_column_s_time_zone():
    times = pd.date_range("2024-01-01 08:00", periods=100, freq="D", tz="America/New_York")
    table = Table().fit(pd.DataFrame({"when": times, "x": np.arange(100) % 7}))
    names = list(table.get_feature_names_out())
    hour = [names.index(f"when hour_circular_{k}") for k in (0, 1)]
    Z = table.transform(pd.DataFrame({"when": times, "x": 1}))
    assert (Z[:, hour] == 0).all()  # always eight o'clock, in summer as in winter
    assert table.describe()["when"].endswith("week, day in America/New_York")
    assert table.typical(Z[3])[0] == "2024-01-04 08:00"


@pytest.mark.parametrize("format", ["%d/%m/%Y", "%Y%m%d", "%d %b %Y"])
def test_a_date_is_shown_as_the_column_writes_it(format):
    written = [f"{day:{format}}" for day in DAYS]
    table = Table().fit(pa.table({"when": written, "x": np.arange(200) % 7}))
    Z = table.transform(pa.table({"when": written[:20], "x": [1] * 20}))
    assert [table.typical(row)[0] for row in Z] == written[:20]


OFFICE_HOURS = pd.Series(pd.date_range("2024-01-01 08:00", periods=200, freq="38h", tz="Europe/Berlin"))
SAME_INSTANTS = {
    "in New York": OFFICE_HOURS.dt.tz_convert("America/New_York"),
    "as text of Berlin": OFFICE_HOURS.astype(str),
    "as text of UTC": OFFICE_HOURS.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "local, without a zone": OFFICE_HOURS.dt.tz_localize(None),
    "local text, without a zone": OFFICE_HOURS.dt.strftime("%d %b %Y %H:%M"),
}


@pytest.mark.parametrize("writing", SAME_INSTANTS)
def test_the_same_instant_is_the_same_date_in_whatever_zone_it_is_written(writing):
    x = np.arange(200) % 7
    table = Table().fit(pd.DataFrame({"when": OFFICE_HOURS, "x": x}))
    Z, issues = table.examined(pd.DataFrame({"when": SAME_INSTANTS[writing], "x": x}))
    np.testing.assert_array_equal(Z, table.transform(pd.DataFrame({"when": OFFICE_HOURS, "x": x})))
    issues.require_few(0.05)
    [note] = [*issues.notes(), ""][:1]
    if "without a zone" in writing:
        how = "has no time zone, unlike in fitting; it is read as local time in the zone of fitting."
        assert note == f"Column 'when': in 200 of 200 rows the value {how}"
    elif "text" not in writing:
        assert note.endswith("is of another time zone than in fitting; it is converted to that of fitting.")


@pytest.mark.parametrize("writing", ["in Berlin", "as text of Berlin"])
def test_a_zone_that_fitting_had_not_is_left_off_and_said(writing):
    naive = pd.DataFrame({"when": OFFICE_HOURS.dt.tz_localize(None), "x": np.arange(200) % 7})
    table = Table().fit(naive)
    aware = naive.assign(when={"in Berlin": OFFICE_HOURS, **SAME_INSTANTS}[writing])
    with pytest.warns(DataNote, match="has a time zone, unlike in fitting; it is read as local time, without its zone"):
        np.testing.assert_array_equal(table.transform(aware), table.transform(naive))


def test_a_date_of_text_with_an_offset_is_shown_with_one():
    rows = pa.table({"when": SAME_INSTANTS["as text of UTC"].tolist(), "x": np.arange(200) % 7})
    table = Table().fit(rows)
    assert table.typical(table.transform(rows)[0])[0] == "2024-01-01T07:00:00+0000"


@pytest.mark.parametrize("stored", [True, False])
def test_a_placeholder_of_9999_does_not_blind_its_column(stored):
    days = pd.Series(pd.date_range("2024-01-01", periods=1000, freq="8h")).astype("datetime64[s]")
    with_one = days.copy()
    with_one[500] = pd.Timestamp("9999-12-31") if stored else pd.Timestamp("2200-12-31")
    x = np.arange(1000) % 7
    odd = pd.DataFrame({"when": pd.to_datetime(["1900-01-01", "2034-06-01"]).astype("datetime64[s]"), "x": [1, 1]})
    write = (lambda dates: dates) if stored else (lambda dates: dates.dt.strftime("%Y-%m-%d %H:%M"))
    found = [
        Table().fit(pd.DataFrame({"when": write(dates), "x": x})).transform(odd.assign(when=write(odd["when"])))
        for dates in (days, with_one)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=0.01, atol=0.01)
    assert (np.abs(found[1]).max(1) > 6).all()


def test_dates_of_two_periods_are_all_within_reach():
    days = pd.Series(pd.date_range("2024-01-01", periods=500).append(pd.date_range("2200-01-01", periods=500)))
    encoder: Any = Table().fit(pd.DataFrame({"when": days, "x": np.arange(1000) % 7}))._encoders["when"]
    assert encoder.deviations[0] == pytest.approx(days.dt.year.std(ddof=0))


@pytest.mark.parametrize("format", ["{y}Q{q}", "{y}-Q{q}", "Q{q} {y}"])
def test_a_quarter_is_its_first_day_and_shown_as_a_quarter(format):
    written = [format.format(y=2015 + k // 4 % 8, q=1 + k % 4) for k in range(200)]
    rows = pa.table({"quarter": written, "x": np.arange(200) % 7})
    table = Table().fit(rows)
    encoder: Any = table._encoders["quarter"]
    moments, _ = read_dates(rows["quarter"], encoder.format, encoder.zone)
    assert moments[1].astype("M8[D]") == np.datetime64("2015-04-01")
    assert [table.typical(row)[0] for row in table.transform(rows)[:4]] == written[:4]


@pytest.mark.parametrize("format", ["%d. %B %Y", "%a, %d %b %Y"])
def test_days_with_a_point_or_their_name_are_dates(format):
    assert learn_format(pa.chunked_array([[f"{day:{format}}" for day in DAYS]])) == (format, "")


def test_milliseconds_stored_as_seconds_are_a_doubt():
    moments = pa.array([1_704_067_200_000 + 86_400_000 * k for k in range(60)], pa.timestamp("s"))
    table = Table().fit(pa.table({"when": moments, "x": np.arange(60) % 7}))
    said = "its dates are about the year ([0-9]+): were milliseconds stored as seconds[?]"
    found = re.fullmatch(said, table.doubts()["when"])
    assert found is not None
    mean = 1970 + (1_704_067_200_000 + 86_400_000 * 29.5) / 31_556_952  # seconds of a mean Gregorian year
    assert mean - 1 <= int(found[1]) <= mean  # of whole years
