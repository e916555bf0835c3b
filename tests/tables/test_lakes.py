"""Rows of lakes: real tables of Delta and Iceberg, written by their own libraries."""

import contextlib
import datetime
import socket
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from deltalake import DeltaTable, write_deltalake
from pyarrow import fs
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.utils.config import Config

from centrality import check, tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.commands.explore import _data_file
from centrality.apps.mcp.sources import Sources
from centrality.tables import formats
from centrality.tables.database import DatabaseError, DatabasePlace, connect, database_access
from tests.conftest import quick

HOSTILE = '"; drop table orders; --'
DAY = datetime.date(2026, 1, 31)

KINDS = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "amount": [1.5, None, -2.25],
        "price": pa.array([Decimal("1.50"), None, Decimal("-3.25")], pa.decimal128(10, 2)),
        "who": ["Ann", "Bo\"b'; --", None],
        "day": pa.array([DAY, None, DAY], pa.date32()),
        "at": pa.array([0, None, 10**15], pa.timestamp("us", tz="UTC")),
        "is_new": [True, False, None],
        "vector": pa.array([[1.0, 2.0], [3.0, 4.0], None], pa.list_(pa.float64())),
    }
)


def orders(rows: int = 300, *, seed: int = 0) -> pa.Table:
    amount, weight = np.random.default_rng(seed).normal(size=(2, rows))
    kinds = np.array(["ash", "birch"])[np.arange(rows) % 2]
    return pa.table({"id": np.arange(rows), "amount": amount, "weight": amount + weight, "kind": kinds})


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Iterator[Catalog]:
    """An Iceberg catalog called shop, which commands find by the environment, as users name theirs."""
    settings = {"type": "sql", "uri": f"sqlite:///{tmp_path}/shop.db", "warehouse": f"file://{tmp_path}/warehouse"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # else it is read once, at the first import
    catalog = load_catalog("shop")
    catalog.create_namespace("db")
    yield catalog
    catalog.close()


def add_table(shop: Catalog, name: str, *parts: pa.Table) -> str:
    """Make a table of a catalog, with a snapshot for each of these parts; return its folder."""
    table = shop.create_table(f"db.{name}", schema=parts[0].schema)
    for part in parts:
        table.append(part)
    return table.location().removeprefix("file://")


@pytest.fixture(params=["delta", "iceberg"])
def lake(request, tmp_path) -> str:
    """The address of a table in either lake: 300 rows, of which the first 100 were deleted since, and 10 new ones."""
    if request.param == "delta":
        write_deltalake(tmp_path / "orders", orders())
        DeltaTable(tmp_path / "orders").delete("id < 100")
        write_deltalake(tmp_path / "orders", orders(10, seed=1), mode="append")
        return f"delta:{tmp_path}/orders"
    catalog = request.getfixturevalue("shop")
    folder = add_table(catalog, "orders", orders())
    catalog.load_table("db.orders").delete("id < 100")
    catalog.load_table("db.orders").append(orders(10, seed=1))
    return f"iceberg:{folder}"


def ids(address: str) -> list[int]:
    return sorted(tables.read(address)["id"].to_pylist())


NOW = sorted([*range(100, 300), *range(10)])


def test_rows_are_those_of_the_newest_version_and_not_what_lies_in_the_folder(lake):
    folder = Path(lake.partition(":")[2])
    assert sum(tables.read(file).num_rows for file in folder.rglob("*.parquet")) > len(NOW)
    assert ids(lake) == NOW
    assert ids(str(folder)) == NOW  # a folder that is such a table is read as one


def test_rows_come_in_the_same_order_each_time_a_bounded_number_at_a_time_and_only_the_columns_asked_for(lake):
    with tables.open_rows(lake) as source:
        assert source.rows == len(NOW)
        first = pa.Table.from_batches(source.batches(["kind", "id"]))
    assert first.column_names == ["kind", "id"]
    for _ in range(3):
        assert tables.read(lake)["id"].equals(first["id"])


@pytest.mark.slow
def test_many_rows_of_many_files_come_in_the_same_order_each_time(tmp_path):
    for start in range(0, 200_000, 20_000):
        write_deltalake(tmp_path / "rows", pa.table({"id": np.arange(start, start + 20_000)}), mode="append")
    batches = list(tables.open_rows(f"delta:{tmp_path}/rows").batches())
    assert max(batch.num_rows for batch in batches) <= 32_768
    first = pa.Table.from_batches(batches)
    assert all(tables.read(f"delta:{tmp_path}/rows").equals(first) for _ in range(3))


def test_an_older_version_is_read_by_its_number(lake, request):
    if lake.startswith("delta:"):
        first, none, said = 0, 99, "there is no version 99, the newest is 2"
    else:
        first = request.getfixturevalue("shop").load_table("db.orders").snapshots()[0].snapshot_id
        none, said = 5, "there is no snapshot 5. The last are: "
    assert ids(f"{lake}@{first}") == list(range(300))
    with pytest.raises(DatabaseError, match=said):
        tables.read(f"{lake}@{none}")


def test_an_older_version_is_read_by_a_time_and_none_is_made_up_before_the_first(lake):
    assert ids(f"{lake}@2999-01-01") == NOW
    assert ids(f"{lake}@2999-01-01T12:00:00+01:00") == NOW
    with pytest.raises(DatabaseError, match=r"of that time, the first is of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"):
        tables.read(f"{lake}@2020-01-31")
    with pytest.raises(InputError, match=r"a time such as 2026-01-31 or .* was wanted, got '2026-02-31'"):
        tables.read(f"{lake}@2026-02-31")


def test_a_table_that_has_no_rows_yet_or_any_more_is_empty(lake, tmp_path, request):
    if lake.startswith("delta:"):
        DeltaTable.create(tmp_path / "new", orders().schema)
        DeltaTable(tmp_path / "orders").delete()
        new = f"delta:{tmp_path}/new"
    else:
        shop = request.getfixturevalue("shop")
        new = f"iceberg:{add_table(shop, 'new', orders().slice(0, 0))}"
        shop.create_table("db.never", schema=orders().schema)
        shop.load_table("db.orders").delete("id >= 0")
        with pytest.raises(tables.TableError, match="is empty: it has 0 rows and 4 columns"):
            tables.read("iceberg:shop#db.never")
    for address in (new, lake):
        with pytest.raises(tables.TableError, match="is empty: it has 0 rows and 4 columns"):
            tables.read(address)


def test_values_come_over_as_they_are(tmp_path, shop):
    write_deltalake(tmp_path / "kinds", KINDS)
    assert tables.read(f"delta:{tmp_path}/kinds").equals(KINDS)
    add_table(shop, "kinds", KINDS)
    of_iceberg = tables.read("iceberg:shop#db.kinds")
    assert of_iceberg.to_pydict() == KINDS.to_pydict()


def test_columns_by_which_a_table_is_partitioned_are_columns_like_the_others(tmp_path, shop):
    write_deltalake(tmp_path / "parts", orders(), partition_by=["kind"])
    assert tables.read(f"delta:{tmp_path}/parts").sort_by("id").equals(orders())
    table = shop.create_table("db.parts", schema=orders().schema)
    with table.update_spec() as spec:
        spec.add_identity("kind")
    table.append(orders())
    assert tables.read("iceberg:shop#db.parts").sort_by("id").to_pydict() == orders().to_pydict()


def test_a_column_dropped_between_fit_and_score_is_named_and_can_be_read_of_the_version_before(lake, request, tmp_path):
    quick().fit(tables.read(lake).select(["amount", "weight"])).save(tmp_path / "m.safetensors")
    score = ["score", f"{tmp_path}/m.safetensors", lake, "-o", f"{tmp_path}/scores.parquet", "--quiet"]
    if lake.startswith("delta:"):
        write_deltalake(tmp_path / "orders", orders().drop_columns("weight"), mode="overwrite", schema_mode="overwrite")
        before = "2"
    else:
        table = request.getfixturevalue("shop").load_table("db.orders")
        before = str(table.current_snapshot().snapshot_id)
        with table.update_schema() as schema:
            schema.delete_column("weight")
        table.append(orders(10, seed=2).drop_columns("weight"))
    assert "weight" not in tables.read(lake).column_names
    assert main(score) == 2
    assert not (tmp_path / "scores.parquet").exists()
    assert main([*score, "--as-of", before]) == 0
    assert tables.read(tmp_path / "scores.parquet").num_rows == len(NOW)


def test_one_command_reads_one_version_however_often_it_reads_and_whoever_writes_meanwhile(lake, request, tmp_path):
    def add_rows() -> None:
        if lake.startswith("delta:"):
            write_deltalake(tmp_path / "orders", orders(10, seed=2), mode="append")
        else:
            request.getfixturevalue("shop").load_table("db.orders").append(orders(10, seed=2))

    with database_access():
        assert len(ids(lake)) == len(NOW)
        add_rows()
        assert len(ids(lake)) == len(NOW)
    assert len(ids(lake)) == len(NOW) + 10


def test_a_lake_that_is_not_there_is_said(tmp_path, shop):
    with pytest.raises(DatabaseError, match="there is no Delta table, which is a folder with one called _delta_log"):
        tables.read(f"delta:{tmp_path}/nowhere")
    with pytest.raises(DatabaseError, match=r"there is no Iceberg table, which has files metadata/\*.metadata.json"):
        tables.read(f"iceberg:{tmp_path}/nowhere")
    with pytest.raises(DatabaseError, match=r"iceberg:nowhere: .*Is it in ~/.pyiceberg.yaml, or is a folder meant"):
        tables.read("iceberg:nowhere#db.orders")
    add_table(shop, "orders", orders())
    with pytest.raises(DatabaseError, match=r"there is no table 'db.other'. Tables: 'db.orders'"):
        tables.read("iceberg:shop#db.other")
    with pytest.raises(InputError, match=r"say which rows: --table NAME .*Tables: 'db.orders'"):
        tables.read("iceberg:shop")


# Delta alone: queries and writing


def test_a_query_is_asked_of_the_table_by_the_name_of_its_folder(tmp_path):
    write_deltalake(tmp_path / "orders", orders())
    place = f"delta:{tmp_path}/orders"
    asked = tables.read(f"{place}#query=SELECT id * 2 AS twice FROM orders WHERE id < 3")
    assert asked.to_pydict() == {"twice": [0, 2, 4]}
    with pytest.raises(DatabaseError, match="No field named price"):
        tables.read(f"{place}#query=SELECT price FROM orders")
    with pytest.raises(InputError, match="A query that begins with SELECT or WITH was wanted"):
        tables.read(f"{place}#query=DELETE FROM orders")
    for other_file in ("'/etc/passwd'", f"'{tmp_path}/orders/*.parquet'"):
        with pytest.raises(DatabaseError, match="not found"):
            tables.read(f"{place}#query=SELECT * FROM {other_file}")
    assert DeltaTable(tmp_path / "orders").version() == 0


@pytest.mark.parametrize("name", [HOSTILE, "a.b", "Größe", "select", "with space", "x'y"])
def test_names_of_folders_and_columns_may_be_anything(tmp_path, name):
    rows = pa.table({name: [1.0, 2.0], "other": ["a", "b"]})
    tables.write(rows, f"delta:{tmp_path / name}")
    assert tables.read(f"delta:{tmp_path / name}").equals(rows)
    assert tables.read(tmp_path / name).equals(rows)


def test_a_folder_whose_name_ends_like_a_version_is_meant_with_a_slash_behind_it(tmp_path):
    write_deltalake(tmp_path / "orders", orders(5))
    write_deltalake(tmp_path / "orders@0", orders(7))
    assert len(ids(f"delta:{tmp_path}/orders@0")) == 5
    assert len(ids(f"delta:{tmp_path}/orders@0/")) == len(ids(str(tmp_path / "orders@0"))) == 7


def test_what_is_written_is_one_new_version_in_types_that_delta_has(tmp_path):
    rows = pa.table(
        {
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "count": pa.array([1, 2], pa.uint32()),
            "at": pa.array([1, 10**18], pa.timestamp("ns")),
            "half": pa.array([0.5, 1.5], pa.float16()),
            "nothing": pa.nulls(2),
            "time": pa.array([datetime.time(1, 2, 3), None]),
        }
    )
    place = f"delta:{tmp_path}/rows"
    with formats.open_output(place) as sink:
        for part in (rows.slice(0, 1), rows.slice(1)):
            sink.write(part)
    assert DeltaTable(tmp_path / "rows").version() == 0
    assert tables.read(place).sort_by("count").to_pydict() == {  # a Delta table has no order
        "kind": ["a", "b"],
        "count": [1, 2],
        "at": [datetime.datetime(1970, 1, 1), datetime.datetime(2001, 9, 9, 1, 46, 40)],
        "half": [0.5, 1.5],
        "nothing": [None, None],
        "time": ["01:02:03.000000", None],
    }


def test_a_count_that_delta_cannot_hold_is_said_and_not_changed(tmp_path):
    with pytest.raises(DatabaseError, match="18446744073709551615 not in range"):
        tables.write(pa.table({"count": pa.array([2**64 - 1], pa.uint64())}), f"delta:{tmp_path}/rows")
    assert not (tmp_path / "rows").exists()


def test_a_table_that_exists_is_not_touched_unless_told_and_older_versions_stay(tmp_path):
    place = f"delta:{tmp_path}/orders"
    tables.write(orders(), place)
    with pytest.raises(DatabaseError, match=r"has a table 'orders' already: .*--if-exists replace or append"):
        tables.write(orders(), place)
    with database_access(if_exists="append"):
        tables.write(orders(5), place)
    assert len(ids(place)) == 305
    with database_access(if_exists="replace", only=["id"]):
        tables.write(orders(7), place)
    assert tables.read(place).column_names == ["id"]
    assert [len(ids(f"{place}@{version}")) for version in range(3)] == [300, 305, 7]
    with database_access(if_exists="append"), pytest.raises(DatabaseError, match="Cannot cast string 'a text'"):
        tables.write(pa.table({"id": ["a text"]}), place)
    assert DeltaTable(tmp_path / "orders").version() == 2


def fail_in_the_middle(place: str) -> None:
    """Write some rows, and raise before the end."""
    with formats.open_output(place) as sink:
        sink.write(orders(10))
        raise RuntimeError("in the middle")


@pytest.mark.parametrize("if_exists", ["fail", "append", "replace"])
def test_a_job_that_fails_in_the_middle_leaves_what_was_there(tmp_path, if_exists):
    place = f"delta:{tmp_path}/orders"
    if if_exists != "fail":
        tables.write(orders(), place)
    before = sorted(tmp_path.rglob("*"))
    with database_access(if_exists=if_exists), pytest.raises(RuntimeError, match="in the middle"):
        fail_in_the_middle(place)
    assert sorted(tmp_path.rglob("*")) == before


def test_two_who_add_rows_at_once_both_add_them(tmp_path):
    place = f"delta:{tmp_path}/orders"
    tables.write(orders(), place)
    begin = threading.Barrier(2)
    errors: list[BaseException] = []

    def add(rows: pa.Table) -> None:
        try:
            with database_access(if_exists="append"), formats.open_output(place) as sink:
                sink.write(rows)
                begin.wait(timeout=30)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(orders(rows),)) for rows in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(ids(place)) == 330


def test_nothing_is_written_where_no_table_can_be(tmp_path, shop):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(DatabaseError, match=r"what is there is no Delta table. Name a folder that is empty or new"):
        tables.write(orders(), f"delta:{tmp_path}/full")
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        tables.write(orders(), f"delta:{tmp_path}/nowhere/orders")
    write_deltalake(tmp_path / "orders", orders())
    with pytest.raises(InputError, match="an older version cannot be written to: leave out what follows @"):
        tables.write(orders(), f"delta:{tmp_path}/orders@0")
    with pytest.raises(InputError, match=r"Iceberg tables are only read here. Write a Delta table \(-o delta:FOLDER\)"):
        tables.write(orders(), "iceberg:shop#db.orders")


def test_a_version_whose_files_were_removed_is_said(tmp_path):
    write_deltalake(tmp_path / "orders", orders())
    write_deltalake(tmp_path / "orders", orders(5), mode="overwrite")
    old = DeltaTable(tmp_path / "orders")
    old.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(DatabaseError, match=r"A vacuum removes files of older versions: read a newer one"):
        tables.read(f"delta:{tmp_path}/orders@0")


# Iceberg alone: catalogs and metadata files


def test_a_table_is_read_by_its_catalog_its_folder_or_a_metadata_file(shop):
    folder = add_table(shop, "orders", orders(20), orders(5))
    metadata = shop.load_table("db.orders").metadata_location.removeprefix("file://")
    for address in ("iceberg:shop#db.orders", f"iceberg:{folder}", f"iceberg:{metadata}", folder):
        assert len(ids(address)) == 25
    first = sorted((Path(folder) / "metadata").glob("00001-*"))[0]
    assert len(ids(f"iceberg:{first}")) == 20


def test_a_renamed_column_is_called_as_it_is_now_and_in_older_snapshots_as_it_was(shop):
    add_table(shop, "orders", orders(20))
    table = shop.load_table("db.orders")
    with table.update_schema() as schema:
        schema.rename_column("amount", "price")
    table.append(orders(5).rename_columns(["id", "price", "weight", "kind"]))
    now = tables.read("iceberg:shop#db.orders")
    assert now.column_names == ["id", "price", "weight", "kind"]
    assert now["price"].null_count == 0
    then = tables.read(f"iceberg:shop@{table.snapshots()[0].snapshot_id}#db.orders")
    assert then.to_pydict() == orders(20).to_pydict()


def test_a_folder_of_files_beside_some_json_is_no_lake(tmp_path):
    tables.write(orders(), tmp_path / "orders.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "labels.json").write_text("{}")
    with pytest.warns(UserWarning, match=r"only its .parquet files are read, not 'metadata/labels.json'"):
        assert tables.read(tmp_path).equals(orders())


def test_of_two_newest_metadata_files_none_is_guessed(shop):
    folder = add_table(shop, "orders", orders(20))
    newest = max((Path(folder) / "metadata").glob("*.metadata.json"))
    newest.with_name(newest.name.replace("-", "-f", 1)).write_bytes(newest.read_bytes())
    with pytest.raises(DatabaseError, match="has 2 metadata files of version 1, and only its catalog knows"):
        tables.read(f"iceberg:{folder}")


def test_iceberg_is_asked_no_sql(shop):
    add_table(shop, "orders", orders())
    with pytest.raises(InputError, match="Iceberg has no SQL of its own: say --table"):
        tables.read("iceberg:shop#query=SELECT * FROM db.orders")
    scan = shop.load_table("db.orders").scan(row_filter="id < 100", selected_fields=("amount", "weight"))
    model = quick().fit(scan.to_arrow_batch_reader())  # what the message says to do
    np.testing.assert_array_equal(
        model.centrality(scan.to_arrow_batch_reader()),
        quick().fit(orders(300).slice(0, 100).select(["amount", "weight"])).centrality(scan.to_arrow()),
    )


# The command line


@pytest.mark.slow
def test_commands_read_lakes_and_write_into_one(tmp_path, shop, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = orders(seed=3).to_pydict()
    wrong["amount"][7] = 99999.0
    write_deltalake("orders", orders())
    write_deltalake("orders", pa.table(wrong), mode="overwrite")
    add_table(shop, "orders", pa.table(wrong))
    assert main(["fit", "orders", "--as-of", "0", "--columns", "amount,weight", "-o", "m.safetensors"]) == 0
    write = ["-o", "delta:scores", "--only", "id,centrality", "--quiet"]
    assert main(["score", "m.safetensors", "orders", *write]) == 0
    of_delta = tables.read("delta:scores")
    again = ["iceberg:shop", "--table", "db.orders", *write, "--if-exists", "replace"]
    assert main(["score", "m.safetensors", *again]) == 0
    assert tables.read("delta:scores").equals(of_delta)
    capsys.readouterr()
    assert main(["check", "delta:orders", "--against", "delta:orders@0"]) == 0
    assert "99,999" in capsys.readouterr().out.replace("99999", "99,999")
    assert main(["rank", "m.safetensors", "orders", "--top", "1", "--json"]) == 0
    assert '"row": 7' in capsys.readouterr().out
    monkeypatch.setenv("ORDERS", "delta:orders")
    assert main(["drift", "m.safetensors", "env:ORDERS", "--as-of", "0", "--fail-on", "0.5", "--quiet"]) == 0


def test_a_page_of_a_lake_is_named_by_its_folder_or_its_table():
    for address, name in {"delta:lake/orders/": "orders", "iceberg:shop#db.orders": "db_orders"}.items():
        assert _data_file(Namespace(data=address)) == Path(name)


def test_a_folder_of_scores_is_not_made_of_a_lake(lake, tmp_path, capsys):
    quick().fit(orders().select(["amount", "weight"])).save(tmp_path / "m.safetensors")
    folder = lake.partition(":")[2]
    assert main(["score", f"{tmp_path}/m.safetensors", folder, "-o", f"{tmp_path}/out/"]) == 2
    assert "a file or a table for the rows of a database" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["rank", "rows.csv", "--as-of", "3"], "is for lakes, which keep older versions: an address such as delta:"),
        (["rank", "sqlite:a.db", "--as-of", "3"], "is for lakes, which keep older versions (delta:FOLDER"),
        (["rank", "delta:a@2", "--as-of", "3"], "delta:a@2 already names a time after @"),
        (["rank", "delta:a", "--as-of", "yesterday"], "or 2026-01-31T18:00+01:00 was wanted, got 'yesterday'"),
    ],
)
def test_a_time_is_asked_of_lakes_alone_and_once(wrong, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(wrong)
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_findings_of_a_lake_are_those_of_its_rows(lake):
    assert str(check(lake)) == str(check(tables.read(lake)))


def test_agents_may_be_given_a_lake(lake):
    sources = Sources([], [lake], 1000)
    assert sources.names() == ([f"{lake}#orders"], 1)
    assert sources.read(f"{lake}#orders").table.num_rows == len(NOW)
    assert connect(DatabasePlace.of(lake)).tables() == ["orders"]


# On a store


@pytest.fixture
def store(monkeypatch) -> Iterator[str]:
    """The address of a table in a bucket, as Arrow takes it.

    The server has a process of its own: while `deltalake` waits for an answer, no other thread can run.
    """
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)])
    settings = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    settings |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    try:
        while server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
        options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        fs.FileSystem.from_uri(f"s3://lake?{options}&allow_bucket_creation=true")[0].create_dir("lake")
        monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__S3__ENDPOINT", settings["AWS_ENDPOINT_URL"])
        yield f"s3://lake/TABLE?{options}"
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_lakes_on_a_store_are_read_and_written_by_their_addresses_and_the_environment(store, shop):
    tables.write(orders(), "delta:s3://lake/orders")
    with database_access(if_exists="append"):
        tables.write(orders(5), "delta:s3://lake/orders")
    assert len(ids("delta:s3://lake/orders")) == len(ids(store.replace("TABLE", "orders"))) == 305
    assert len(ids("delta:s3://lake/orders@0")) == 300
    shop.create_table("db.far", schema=orders().schema, location="s3://lake/far").append(orders())
    assert len(ids("iceberg:shop#db.far")) == 300
