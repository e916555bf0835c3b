"""Read Iceberg tables by `pyiceberg`: of a catalog, or a folder with their metadata."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from centrality._internal.checks import InputError, optional
from centrality.tables import files
from centrality.tables.columns import TableError
from centrality.tables.database import Access, DatabaseError, Session, TableName, quoted
from centrality.tables.lakes import METADATA, place_and_time


def connect(name: str, address: str, access: Access, *, writes: bool, shared: dict[str, Session] | None) -> Session:
    """Open a table or a catalog; shared sessions see one snapshot of each table."""
    if writes:
        raise InputError(
            f"{name}: Iceberg tables are only read here. Write a Delta table (-o delta:FOLDER) or .parquet; in Python, "
            "give what was scored to the table's own append."
        )
    if shared is None:
        return Iceberg(name, address)
    if address not in shared:
        shared[address] = Iceberg(name, address)
    return shared[address]


class Iceberg(Session):
    """Snapshots of the tables of a catalog, or of the table in a folder."""

    def __init__(self, name: str, address: str) -> None:
        optional("pyiceberg", "iceberg")
        from pyiceberg.catalog import load_catalog

        self._name = name
        place, self._as_of = place_and_time(address)
        self._scans: dict[str, Any] = {}  # by the SQL of the table's name
        self._catalog: Any = None
        if "/" in place or place.endswith(METADATA) or files.is_folder(place):
            self._metadata = place if place.endswith(METADATA) else newest_metadata(place)
            self.only_table = PurePosixPath(self._metadata).parent.parent.name
            return
        with self._in_words("Is it in ~/.pyiceberg.yaml, or is a folder meant, as in iceberg:./orders?"):
            self._catalog = load_catalog(place)

    @contextmanager
    def _in_words(self, advice: str = "") -> Iterator[None]:
        try:
            yield
        except TableError:
            raise
        except Exception as error:  # noqa: BLE001  (its errors, and those of its catalogs, have no class in common)
            text = str(error).strip().split("\n", maxsplit=1)[0].rstrip(".")
            raise DatabaseError(f"{self._name}: {text}. {advice}".rstrip()) from None

    def tables(self) -> list[str]:
        if self._catalog is None:
            return [self.only_table or ""]
        with self._in_words():
            spaces = self._catalog.list_namespaces()
            return sorted(".".join(table) for space in spaces for table in self._catalog.list_tables(space))

    def find_table(self, name: str) -> TableName | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
        from pyiceberg.table import StaticTable

        table_name = TableName(name)
        if table_name.sql in self._scans:
            return table_name
        with self._in_words():
            try:
                if self._catalog is not None:
                    table = self._catalog.load_table(name)
                elif name == self.only_table:
                    table = StaticTable.from_metadata(self._metadata)
                else:
                    return None
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
            self._scans[table_name.sql] = self._scan_of(table)
        return table_name

    def _scan_of(self, table: Any) -> Any:
        """Return a scan of the snapshot of the wanted time."""
        if self._as_of is None:
            current = table.current_snapshot()
            return table.scan(snapshot_id=None if current is None else current.snapshot_id)
        snapshots = {one.snapshot_id: datetime.fromtimestamp(one.timestamp_ms / 1000, UTC) for one in table.snapshots()}
        if isinstance(self._as_of, int):
            if self._as_of not in snapshots:
                listed = ", ".join(f"{number} of {time:%F %T} UTC" for number, time in [*snapshots.items()][-3:])
                raise DatabaseError(f"{self._name}: there is no snapshot {self._as_of}. The last are: {listed}.")
            return table.scan(snapshot_id=self._as_of)
        snapshot = table.snapshot_as_of_timestamp(int(self._as_of.timestamp() * 1000))
        if snapshot is None:
            first = f"{min(snapshots.values()):%F %T} UTC" if snapshots else "none"
            raise DatabaseError(f"{self._name}: there is no snapshot of that time, the first is of {first}.")
        return table.scan(snapshot_id=snapshot.snapshot_id)

    def _scan(self, rows: str) -> Any:
        if rows not in self._scans:
            raise InputError(
                f"{self._name}: Iceberg has no SQL of its own: say --table. In Python, rows may be any Arrow reader: "
                "table.scan(row_filter=...).to_arrow_batch_reader()."
            )
        return self._scans[rows]

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        with self._in_words():
            schema = schema_to_pyarrow(self._scan(rows).projection(), include_field_ids=False)
        return schema, self.by_name(schema.names)

    def count(self, rows: str) -> int:
        with self._in_words():
            return int(self._scan(rows).count())

    def read(
        self, rows: str, select: Mapping[str, str], schema: pa.Schema, condition: str = ""
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows a data file at a time: the table's own reader would begin all files at once, and keep them."""
        from pyiceberg.io.pyarrow import ArrowScan

        with self._in_words():
            scan = self._scan(rows).select(*schema.names)
            reader = ArrowScan(
                scan.table_metadata, scan.io, scan.projection(), scan.row_filter, case_sensitive=scan.case_sensitive
            )
            for task in scan.plan_files():
                for batch in reader.to_record_batches([task]):
                    yield batch.select(schema.names).cast(schema)

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""


def newest_metadata(folder: str) -> str:
    """Return the newest metadata file of a table's folder; raise if there is none."""
    inside = files.join(folder, "metadata")
    names = files.files_below(inside, (".json",)) if files.is_folder(inside) else []
    numbers = {name: re.match(r"v?(\d+)", name) for name in names if name.endswith(METADATA)}
    versions = {name: int(number[1]) for name, number in numbers.items() if number}
    if not versions:
        raise DatabaseError(f"iceberg:{folder}: there is no Iceberg table, which has files metadata/*{METADATA}.")
    newest = max(versions.values())
    same = [name for name, version in versions.items() if version == newest]
    if len(same) > 1:
        raise DatabaseError(
            f"iceberg:{folder} has {len(same)} metadata files of version {newest}, and only its catalog knows which "
            f"one counts: name the catalog, or one of the files, such as {quoted(files.join(inside, same[0]))}."
        )
    return files.join(inside, same[0])
