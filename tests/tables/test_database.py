"""Rows in and out of databases: a real PostgreSQL on loopback, SQLite, DuckDB."""

import datetime
import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain, check, rank, tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.commands._arguments import DATABASES
from centrality.bulk import sample
from centrality.representations import Table
from centrality.tables import database, formats
from centrality.tables.database import DatabaseError, DatabasePlace, database_access
from tests.conftest import quick
from tests.postgres import run_sql

HOSTILE = '"; drop table orders; --'

ORDERS = pa.table(
    {
        "id": [1, 2, 3],
        "amount": [1.5, None, -2.25],
        "who": ["Ann", "Bo\"b'; --", None],
        "big": [2**53 + 1, -(2**62), 0],
    }
)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    return f"{request.param}:{tmp_path}/rows.db"


def names_of_tables(place: str) -> list[str]:
    if place.startswith("sqlite:"):
        with sqlite3.connect(place.partition(":")[2]) as connection:
            return sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master"))
    listed = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', 'main') ORDER BY 1"
    if place.startswith("duckdb:"):
        with duckdb.connect(place.partition(":")[2]) as connection:
            return [name for (name,) in connection.execute(listed).fetchall()]
    return [name for (name,) in run_sql(place, listed)]


def test_what_is_written_to_a_table_is_read_again(place):
    tables.write(ORDERS, f"{place}#orders")
    assert tables.read(f"{place}#orders").equals(ORDERS)
    assert tables.read(f"{place}#query=SELECT id, amount FROM orders WHERE id > 1 ORDER BY id DESC; ").to_pydict() == {
        "id": [3, 2],
        "amount": [-2.25, None],
    }


def test_rows_come_a_bounded_number_at_a_time_and_only_the_columns_asked_for(place):
    rows = pa.table({"id": np.arange(100_000), "x": np.arange(100_000) / 4})
    tables.write(rows, f"{place}#rows")
    with tables.open_rows(f"{place}#rows") as source:
        assert source.rows == 100_000
        batches = list(source.batches(["x"]))
    assert max(batch.num_rows for batch in batches) <= 32_768
    assert pa.Table.from_batches(batches).equals(rows.select(["x"]))


@pytest.mark.parametrize("name", [HOSTILE, "a.b", "Größe", "select", "with space", "x'y"])
def test_names_of_tables_and_columns_may_be_anything(place, name):
    rows = pa.table({name: [1.0, 2.0], "other": ["a", "b"]})
    tables.write(ORDERS, f"{place}#orders")
    tables.write(rows, database.with_table(place, table=name))
    assert tables.read(database.with_table(place, table=name)).equals(rows)
    with database_access(if_exists="replace"):
        tables.write(rows.slice(0, 1), database.with_table(place, table=name))
    assert tables.read(database.with_table(place, table=name)).num_rows == 1
    assert names_of_tables(place) == sorted(["orders", name])


def test_a_table_that_exists_is_not_touched_unless_told(place):
    tables.write(ORDERS, f"{place}#orders")
    with pytest.raises(DatabaseError, match=r"has a table 'orders' already: .*--if-exists replace or append"):
        tables.write(ORDERS, f"{place}#orders")
    with database_access(if_exists="append"):
        tables.write(ORDERS, f"{place}#orders")
    assert tables.read(f"{place}#orders").num_rows == 6
    with database_access(if_exists="replace"):
        tables.write(ORDERS.select(["id"]), f"{place}#orders")
    assert tables.read(f"{place}#orders").column_names == ["id"]
    assert names_of_tables(place) == ["orders"]
    with (
        pytest.raises(InputError, match="one of fail, replace, append, got 'merge'"),
        database_access(if_exists="merge"),
    ):
        pass


def fail_in_the_middle(place: str) -> None:
    """Write some rows, and raise before the end."""
    with formats.open_output(place) as sink:
        sink.write(ORDERS)
        raise RuntimeError("in the middle")


@pytest.mark.parametrize("if_exists", ["append", "replace"])
def test_a_job_that_fails_in_the_middle_leaves_what_was_there(place, if_exists):
    tables.write(ORDERS, f"{place}#orders")
    with database_access(if_exists=if_exists), pytest.raises(RuntimeError, match="in the middle"):
        fail_in_the_middle(f"{place}#orders")
    assert tables.read(f"{place}#orders").equals(ORDERS)
    assert names_of_tables(place) == ["orders"]


def test_a_job_that_fails_leaves_no_new_database(tmp_path):
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(RuntimeError, match="in the middle"):
            fail_in_the_middle(f"{kind}:{tmp_path}/new.db#orders")
    assert list(tmp_path.iterdir()) == []


def test_only_some_columns_are_written_where_others_are_not_wanted(place):
    with database_access(only=["id", "amount"]):
        tables.write(ORDERS, f"{place}#orders")
    assert tables.read(f"{place}#orders").equals(ORDERS.select(["id", "amount"]))
    with database_access(only=["idd"]), pytest.raises(tables.TableError, match=r"'idd'. Did you mean 'id'"):
        tables.write(ORDERS, f"{place}#other")
    assert names_of_tables(place) == ["orders"]


def test_columns_that_hold_nothing_are_read_as_gaps(place):
    rows = pa.table({"a": pa.array([None, None], pa.float64()), "b": pa.array([None, None], pa.string()), "c": [1, 2]})
    tables.write(rows, f"{place}#rows")
    assert tables.read(f"{place}#rows").to_pydict() == rows.to_pydict()


def test_a_missing_table_or_none_named_is_said_with_those_that_there_are(place):
    tables.write(ORDERS, f"{place}#orders")
    with pytest.raises(DatabaseError, match=r"no table 'order'. Tables: 'orders'"):
        tables.read(f"{place}#order")
    with pytest.raises(InputError, match=r"say which rows: --table NAME .*Tables: 'orders'"):
        tables.read(place)
    with pytest.raises(InputError, match="say which table to write: --into NAME"):
        tables.write(ORDERS, place)


def test_reading_changes_nothing_whatever_the_query_says(place):
    tables.write(ORDERS, f"{place}#orders")
    for query in ("DELETE FROM orders", "DROP TABLE orders", "SELECT 1) AS x; DROP TABLE orders; --"):
        with pytest.raises(InputError):
            tables.read(f"{place}#query={query}")
    assert tables.read(f"{place}#orders").equals(ORDERS)


def test_a_query_of_postgresql_that_would_write_is_refused_by_the_database(postgres):
    tables.write(ORDERS, f"{postgres}#orders")
    run_sql(
        postgres,
        "CREATE FUNCTION empty() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$",
    )
    with pytest.raises(
        DatabaseError, match=r"cannot execute DELETE in a read-only transaction\. The connection only reads"
    ):
        tables.read(f"{postgres}#query=SELECT empty()")
    assert tables.read(f"{postgres}#orders").num_rows == 3


def test_a_query_of_duckdb_reads_no_other_files(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    tables.write(ORDERS, f"duckdb:{tmp_path}/rows.db#orders")
    with pytest.raises(DatabaseError, match=r"(?i)disabled"):
        tables.read(f"duckdb:{tmp_path}/rows.db#query=SELECT * FROM '{tmp_path}/secret.csv'")


def test_types_of_postgresql_are_kept(postgres):
    run_sql(
        postgres,
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN euros AS numeric(10, 2)",
        "CREATE TABLE kinds (a numeric(10, 2), b numeric, c timestamptz, d date, e jsonb, f float8[], g mood, h uuid, "
        "i interval, j money, k euros, l numeric[], m timestamp, n text[])",
        "INSERT INTO kinds VALUES (1.25, 2.5, '2026-01-02 03:04:05+01', 'infinity', '{\"a\": 1}', '{1, 2.5}', 'ok', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day', '12.5', 7.5, '{1.5}', '2026-01-02', '{x}')",
        "INSERT INTO kinds (a) VALUES ('NaN')",
    )
    table = tables.read(f"{postgres}#kinds")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["a"] == "decimal128(10, 2)"
    assert kinds["c"] == "timestamp[us, tz=UTC]"
    assert kinds["g"] == "dictionary<values=string, indices=int32, ordered=0>"
    assert kinds["f"].startswith("list<")
    assert kinds["l"].startswith("list<")
    first = table.slice(0, 1).to_pylist()[0]
    assert [first[name] for name in "bdefghijlmn"] == [
        2.5, None, '{"a": 1}', [1.0, 2.5], "ok", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 86400.0, 12.5, [1.5],
        datetime.datetime(2026, 1, 2), "{x}",
    ]  # fmt: skip
    assert first["c"] == datetime.datetime(2026, 1, 2, 2, 4, 5, tzinfo=datetime.UTC)
    assert float(first["a"]) == 1.25
    assert float(first["k"]) == 7.5
    assert set(table.slice(1).to_pylist()[0].values()) == {None}  # NaN of a decimal is a gap, too


def test_a_column_of_sqlite_with_values_of_several_types_is_read_in_one_that_fits_all(tmp_path):
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        connection.execute("CREATE TABLE rows (a, b, c, d)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", [(None, 1, 1, b"\1")] * 2000)
        connection.execute("INSERT INTO rows VALUES (1.5, 'x', 2.5, 'y')")
    table = tables.read(f"sqlite:{tmp_path}/rows.db#rows")
    assert [str(field.type) for field in table.schema] == ["double", "string", "double", "string"]
    assert table.slice(1999).to_pylist() == [
        {"a": None, "b": "1", "c": 1.0, "d": "01"},
        {"a": 1.5, "b": "x", "c": 2.5, "d": "79"},
    ]


def test_postgresql_draws_a_sample_itself_and_the_same_one_again(postgres):
    tables.write(pa.table({"id": np.arange(50_000), "x": np.arange(50_000) / 2}), f"{postgres}#rows")

    def drawn(seed: int) -> list[int]:
        return sample.sample(f"{postgres}#rows", 1000, np.random.default_rng(seed), ["id"])["id"].to_pylist()

    first = drawn(0)
    assert len(first) == 1000 == len(set(first))
    assert first == sorted(first) == drawn(0) != drawn(1)
    # The mean of 1,000 uniform numbers below 50,000 is 25,000 with a standard deviation of 50,000 / sqrt(12,000).
    assert abs(np.mean(first) - 25_000) < 5 * 50_000 / np.sqrt(12_000)
    with tables.open_rows(f"{postgres}#rows") as source:
        several = source.draw(1000, np.random.default_rng(0), ["id"])
        assert several is not None
        assert 1000 <= sum(batch.num_rows for batch in several) < 1500  # the others stay where they are


def test_what_a_command_reads_is_of_one_moment(postgres):
    tables.write(pa.table({"x": np.arange(5000)}), f"{postgres}#rows")
    with database_access():
        before = tables.read(f"{postgres}#rows")
        run_sql(postgres, "UPDATE rows SET x = x + 1", "DELETE FROM rows WHERE x < 100")
        assert tables.read(f"{postgres}#rows").equals(before)
    assert tables.read(f"{postgres}#rows").num_rows == 5000 - 99


def test_rows_that_change_while_they_are_read_are_read_as_they_were(place):
    if place.startswith("duckdb:"):
        pytest.skip("DuckDB lets no other process write while a file is open.")
    tables.write(pa.table({"x": np.arange(200_000)}), f"{place}#rows")
    with tables.open_rows(f"{place}#rows") as source:
        batches = source.batches()
        total = next(batches)["x"].to_numpy().sum()
        if place.startswith("sqlite:"):
            with (
                pytest.raises(sqlite3.OperationalError, match="locked"),
                sqlite3.connect(place.partition(":")[2], timeout=0.1) as other,
            ):
                other.execute("UPDATE rows SET x = 0")
        else:
            run_sql(place, "UPDATE rows SET x = 0")
        total += sum(batch["x"].to_numpy().sum() for batch in batches)
    assert total == 199_999 * 100_000


def test_a_connection_that_is_lost_in_the_middle_ends_the_job_in_words_and_writes_nothing(postgres):
    run_sql(postgres, "CREATE TABLE rows AS SELECT i AS x, repeat('x', 200) AS t FROM generate_series(1, 300000) i")
    ours = "FROM pg_stat_activity WHERE application_name = 'centrality' AND datname = current_database()"

    def copy() -> None:
        with tables.open_rows(f"{postgres}#rows") as source, formats.open_output(f"{postgres}#copy") as sink:
            for number, batch in enumerate(source.batches()):
                sink.write(pa.Table.from_batches([batch]))
                if number == 0:
                    run_sql(postgres, f"SELECT pg_terminate_backend(pid) {ours}")

    with pytest.raises(DatabaseError, match=r"terminating connection|closed the connection|server"):
        copy()
    assert names_of_tables(postgres) == ["rows"]


def test_of_two_writers_of_one_new_table_one_wins_whole(postgres):
    outcomes: list[object] = []

    def write(value: int) -> None:
        try:
            tables.write(pa.table({"x": np.full(50_000, value)}), f"{postgres}#rows")
            outcomes.append(value)
        except DatabaseError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=write, args=(value,)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [one for one in outcomes if isinstance(one, int)]
    assert len(winners) == 1
    assert set(tables.read(f"{postgres}#rows")["x"].to_pylist()) == set(winners)
    assert tables.read(f"{postgres}#rows").num_rows == 50_000


def test_1600_columns_are_read_and_one_more_is_the_databases_own_error(postgres):
    columns = ", ".join(f"1::int4 AS c{j}" for j in range(1600))
    run_sql(postgres, f"CREATE TABLE wide AS SELECT {columns}")
    table = tables.read(f"{postgres}#wide")
    assert table.num_columns == 1600
    more = table.append_column("centrality", pa.array([0.5]))
    with pytest.raises(DatabaseError, match=r"tables can have at most 1600 columns. Write fewer columns: --only"):
        tables.write(more, f"{postgres}#wider")
    assert names_of_tables(postgres) == ["wide"]


def test_a_name_that_postgresql_would_cut_is_refused(postgres):
    with pytest.raises(DatabaseError, match="at most 63 bytes were wanted, got 'äää"):
        tables.write(pa.table({"ä" * 32: [1]}), f"{postgres}#rows")
    assert names_of_tables(postgres) == []


def test_a_statement_that_takes_too_long_is_stopped(postgres):
    with (
        database_access(timeout=0.2),
        pytest.raises(DatabaseError, match=r"statement timeout. Allow more time with --timeout"),
    ):
        tables.read(f"{postgres}#query=SELECT pg_sleep(5)::text AS x")
    with pytest.raises(InputError, match="above 0 to 2,000,000 was wanted, got -1"), database_access(timeout=-1):
        pass


def test_who_may_not_read_is_told_so_in_the_databases_words(postgres):
    tables.write(ORDERS, f"{postgres}#orders")
    run_sql(postgres, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    with pytest.raises(DatabaseError, match=r"permission denied for table orders. Ask who owns it"):
        tables.read(f"{postgres.replace('tester@', 'guest@')}#orders")


def test_a_server_that_is_not_there_is_said_at_once():
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(DatabaseError, match=r"(?i)connection.*refused.*Look whether the server runs"):
        tables.read("postgresql://nobody@127.0.0.1:1/nothing#orders")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cret@host/db",
        "postgres://host/db?user=me&password=s3cret",
        "postgresql://me:x#s3cret@host/db",
        "postgresql://:s3cret@h/d",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address, capfd):
    with pytest.raises(InputError, match="set PGPASSWORD") as refused:
        tables.read(f"{address}#orders")
    assert "s3cret" not in str(refused.value)
    for command in (["check", address, "--table", "x"], ["--verbose", "rank", "m.safetensors", "--top", "5", address],
                    ["drift", address, "new.csv"], ["check", "houses", "-o", address]):  # fmt: skip
        with pytest.raises(SystemExit):
            main(command)
    out, err = capfd.readouterr()
    assert "set PGPASSWORD" in err
    assert "s3cret" not in out + err


def test_a_whole_address_may_be_in_a_variable_and_its_password_is_never_shown(postgres, monkeypatch):
    tables.write(ORDERS, f"{postgres}#orders")
    monkeypatch.setenv("SHOP", postgres.replace("tester@", "tester:s3cret@"))  # the server asks for none
    assert tables.read("env:SHOP#orders").equals(ORDERS)
    with pytest.raises(DatabaseError, match=r"env:SHOP: column .*nope") as wrong:
        tables.read("env:SHOP#query=SELECT nope FROM orders")
    assert "s3cret" not in str(wrong.value)
    monkeypatch.setenv("SHOP", "s3cret")
    with pytest.raises(InputError, match="the variable SHOP must hold an address") as wrong_address:
        tables.read("env:SHOP#orders")
    assert "s3cret" not in str(wrong_address.value)


def test_a_model_keeps_no_address(postgres, tmp_path):
    rows = pa.table({"a": np.random.default_rng(0).normal(size=300), "b": np.arange(300.0)})
    tables.write(rows, f"{postgres}#rows")
    assert main(["fit", f"{postgres}#rows", "-o", f"{tmp_path}/m.safetensors", "--max-steps", "20", "--quiet"]) == 0
    assert b"127.0.0.1" not in (tmp_path / "m.safetensors").read_bytes()


def test_no_password_is_printed_where_the_server_asks_for_one(postgres, monkeypatch, tmp_path):
    pg_pass = tmp_path / "pgpass"
    pg_pass.write_text("*:*:*:*:s3cret\n")
    pg_pass.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(pg_pass))
    tables.write(ORDERS, f"{postgres}#orders")
    service = tmp_path / "service.conf"
    host, _, port = postgres.partition("@")[2].partition("/")[0].partition(":")
    service.write_text(f"[shop]\nhost={host}\nport={port}\nuser=tester\ndbname={postgres.rpartition('/')[2]}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    assert tables.read("postgresql:///?service=shop#orders").equals(ORDERS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    X = np.random.default_rng(0).normal(size=(400, 3))
    quick().fit(pa.table(dict(zip("abc", X.T, strict=True)))).save(path)
    return path


def rows_for(_: Path) -> pa.Table:
    X = np.random.default_rng(1).normal(size=(500, 3))
    return pa.table({"id": np.arange(500), **dict(zip("abc", X.T, strict=True))})


def test_scores_go_from_a_table_into_a_table_of_the_same_database(place, model, tmp_path, capsys):
    rows = rows_for(model)
    tables.write(rows, f"{place}#rows")
    tables.write(rows, tmp_path / "rows.parquet")
    score = ["score", str(model)]
    into = [place, "--table", "rows", "-o", place, "--into", "scores", "--only", "id,centrality"]
    assert main([*score, *into]) == 0
    assert main([*score, f"{tmp_path}/rows.parquet", "-o", f"{tmp_path}/scores.parquet"]) == 0
    by_file = tables.read(tmp_path / "scores.parquet").select(["id", "centrality"])
    assert tables.read(f"{place}#scores").sort_by("id").equals(by_file)
    assert main([*score, *into]) == 2
    assert "has a table 'scores' already" in capsys.readouterr().err
    assert main([*score, *into, "--if-exists", "replace"]) == 0
    assert tables.read(f"{place}#scores").num_rows == 500


def test_a_column_dropped_between_fit_and_score_is_named_and_nothing_is_written(place, model, capsys):
    rows = rows_for(model)
    tables.write(rows.drop_columns(["c"]), f"{place}#rows")
    assert main(["score", str(model), place, "--table", "rows", "-o", place, "--into", "scores"]) == 2
    assert "Missing column: 'c'" in capsys.readouterr().err
    assert names_of_tables(place) == ["rows"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["check", "rows.csv", "--table", "x"],
        ["rank", "rows.csv", "--into", "x", "-o", "out.csv"],
        ["rank", "rows.csv", "--only", "x"],
        ["score", "m.safetensors", "rows.csv", "--timeout", "5"],
    ],
)
def test_options_of_databases_want_a_database(wrong, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(wrong)
    assert "is for databases: an address such as postgresql://host/name" in capsys.readouterr().err


def test_a_table_cannot_be_read_and_written_at_once(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["score", "m.safetensors", "sqlite:a.db#x", "-o", "sqlite:a.db#x"])
    assert "would be overwritten, but it is read" in capsys.readouterr().err


def test_the_command_line_knows_the_addresses_that_tables_know():
    assert DATABASES == database.BEGINNINGS or set(DATABASES) == set(database.BEGINNINGS)


def test_a_place_names_either_a_table_or_a_query():
    assert DatabasePlace.of("sqlite:a.db#table=query=x").table == "query=x"
    assert DatabasePlace.of("sqlite:a.db#query=SELECT 1 # 2").query == "SELECT 1 # 2"
    with pytest.raises(InputError, match="got both"):
        database.with_table("sqlite:a.db", table="a", query="SELECT 1")
    with pytest.raises(InputError, match="already names a table"):
        database.with_table("sqlite:a.db#a", table="a")


def test_a_job_that_is_killed_leaves_no_table(postgres, model):
    run_sql(
        postgres,
        "CREATE TABLE rows AS SELECT i AS id, random() a, random() b, random() c FROM generate_series(1, 400000) i",
    )
    job = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "centrality",
            "score",
            str(model),
            postgres,
            "--table",
            "rows",
            "-o",
            postgres,
            "--into",
            "scores",
        ],
        env=os.environ,
    )
    copying = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%FROM STDIN%'"
    )
    while job.poll() is None and run_sql(postgres, copying)[0][0] == 0:
        pass
    was_running = job.poll() is None
    job.kill()
    job.wait()
    assert not was_running or names_of_tables(postgres) == ["rows"]


class Stream:
    """Rows that can be read once, as a cursor of ADBC gives them."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def test_rows_may_be_anything_that_is_an_arrow_stream():
    X = np.random.default_rng(0).normal(size=(200, 3))
    table = pa.table(dict(zip("abc", X.T, strict=True)))
    model = quick().fit(table)
    np.testing.assert_array_equal(quick().fit(Stream(table)).centrality(Stream(table)), model.centrality(table))
    chain = Chain(Table(), quick()).fit(Stream(table))
    assert list(chain.reasons(Stream(table)).short()) == list(chain.reasons(table).short())
    assert rank(Stream(table), model=model)["row"].to_pylist() == rank(table, model=model)["row"].to_pylist()
    assert str(check(Stream(table))) == str(check(table))


# A small process starts the command: one that comes from a large one would count its memory as its own.
PEAK = """
import json, resource, subprocess, sys
subprocess.run(json.loads(sys.argv[1]), stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
def test_five_million_rows_go_through_the_memory_of_a_hundred_thousand(postgres, model):
    peaks = {}
    for count in (100_000, 5_000_000):
        rows = f"CREATE TABLE rows_{count} AS SELECT i AS id, i % 7 + i / 1e9::float8 AS a, sin(i) AS b, cos(i) AS c"
        run_sql(postgres, f"{rows} FROM generate_series(1, {count}) i")
        score = [sys.executable, "-m", "centrality", "score", str(model), f"{postgres}#rows_{count}", "--quiet"]
        command = [*score, "-o", f"{postgres}#scores_{count}", "--only", "id,centrality"]
        starter = [sys.executable, "-S", "-c", PEAK, json.dumps(command)]
        peaks[count] = int(subprocess.run(starter, capture_output=True, text=True, check=True).stdout) / 1024
    scored = run_sql(postgres, "SELECT count(*), count(DISTINCT id), count(centrality) FROM scores_5000000")
    assert tuple(scored[0]) == (5_000_000, 5_000_000, 5_000_000)
    # Five numbers of each row, the scores among them, would take 191 MiB: a tenth of that is not there.
    assert peaks[5_000_000] < peaks[100_000] + 19


def test_a_page_of_a_table_is_named_by_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables.write(rows_for(tmp_path), "sqlite:shop.db#old orders")
    explore = ["explore", "sqlite:shop.db", "--table", "old orders", "--export", "page.html", "--quiet"]
    assert main([*explore, "--random-state", "0"]) == 0
    assert "<title>old_orders</title>" in (tmp_path / "page.html").read_text()


def test_a_stream_goes_into_a_table_when_it_ends(model, tmp_path):
    tables.write(rows_for(model), tmp_path / "rows.csv")
    score = [sys.executable, "-m", "centrality", "score", str(model), "-", "-o", f"sqlite:{tmp_path}/s.db#scores"]
    with (tmp_path / "rows.csv").open("rb") as rows:
        subprocess.run([*score, "--quiet"], stdin=rows, check=True)
    assert tables.read(f"sqlite:{tmp_path}/s.db#scores").num_rows == 500
