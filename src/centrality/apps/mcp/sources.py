"""Know which data agents may read: files below the folders and tables of the databases that were named at the start."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from centrality import tables
from centrality._internal.checks import InputError
from centrality.bulk.sample import sample
from centrality.tables.columns import first_few
from centrality.tables.database import DatabasePlace, connect, with_table
from centrality.tables.files import PACKINGS

LISTED = 60  # files and tables that are listed
ENDINGS = (*tables.SUFFIXES, *PACKINGS)


@dataclass(frozen=True)
class Rows:
    """The rows of a source as they were read, and in words which these are."""

    name: str
    table: pa.Table
    total: int  # of the source
    notes: tuple[str, ...]  # about what was read otherwise than it stands there

    @property
    def description(self) -> str:
        """Say which of the source's rows these are."""
        columns = f"{self.table.num_columns:,} columns"
        if self.table.num_rows == self.total:
            return f"{self.name}: all {self.total:,} rows, {columns}"
        return f"{self.name}: a random sample of {self.table.num_rows:,} of {self.total:,} rows, {columns}"


class Sources:
    """The folders and databases that may be read, and nothing else."""

    def __init__(self, folders: Sequence[Path], databases: Sequence[str], max_rows: int) -> None:
        if not folders and not databases:
            raise InputError("Name what may be read: --folder FOLDER, or --database ADDRESS.")
        self.max_rows = max_rows
        self._folders: dict[str, Path] = {}
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"{folder}: a folder that exists was wanted.")
            real = folder.resolve()
            name = real.name or "root"
            if name in self._folders:
                raise InputError(f"Two folders are called {name}: name one of them, or a folder above both.")
            self._folders[name] = real
        self._databases = {place.address: place for place in map(DatabasePlace.of, databases)}
        for place in self._databases.values():
            connect(place).close()  # what is wrong with an address is said at the start

    def names(self) -> tuple[list[str], int]:
        """Return the names of the first sources, and how many there are."""
        names = []
        for name, folder in self._folders.items():
            files = (path for path in folder.rglob("*") if path.name.lower().endswith(ENDINGS))
            names += [f"{name}/{path.relative_to(folder)}" for path in sorted(files) if self._is_inside(path, folder)]
        for address, place in self._databases.items():
            if place.table is not None:
                names.append(f"{address}#{place.table}")
                continue
            session = connect(place)
            try:
                names += [f"{address}#{table}" for table in session.tables()]
            finally:
                session.close()
        return names[:LISTED], len(names)

    @staticmethod
    def _is_inside(path: Path, folder: Path) -> bool:
        """Say whether a path is a file below the folder, wherever its links lead."""
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # a link to nowhere, links in a circle, a zero byte
            return False
        return real.is_file() and real.is_relative_to(folder)

    def place_of(self, name: str) -> str:
        """Return the path or the address of a source; raise if it is none of those that may be read."""
        address, _, table = name.partition("#")
        if place := self._databases.get(address):
            if table.startswith("query=") or not table:
                raise InputError(f"A table was wanted, {address}#NAME, got {name[:80]!r}.")
            if place.table is not None and table != place.table:
                raise InputError(f"Of {address}, only the table {place.table} may be read.")
            return with_table(address, table=table)
        first_part, _, rest = name.partition("/")
        folder = self._folders.get(first_part)
        if folder is not None and rest and self._is_inside(folder / rest, folder):
            return str((folder / rest).resolve())
        first, count = self.names()
        raise InputError(
            f"{name[:80]!r} is none of the {count:,} sources that may be read: {first_few(first, 5)}. "
            "The tool `sources` lists them."
        )

    def version(self, name: str) -> object:
        """Return what changes when the rows of a source do; None where only reading them again would tell."""
        place = self.place_of(name)
        if name.partition("#")[0] in self._databases:
            return None
        state = Path(place).stat()
        return state.st_ino, state.st_size, state.st_mtime_ns

    def read(self, name: str) -> Rows:
        """Read a source: all of it, or a sample if it has very many rows."""
        place = self.place_of(name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with tables.open_rows(place) as source:
                if source.rows is not None and source.rows > self.max_rows:
                    total = source.rows
                    table = sample(source, self.max_rows, np.random.default_rng(0))
                else:
                    table = source.table()
                    total = table.num_rows
            if table.num_rows > self.max_rows:  # of text, the number of rows is an estimate
                chosen = np.sort(np.random.default_rng(0).choice(total, self.max_rows, replace=False))
                table = table.take(pa.array(chosen))
        notes = tuple(self.without_paths(str(warning.message)) for warning in caught)
        return Rows(name, table, total, notes)

    def without_paths(self, text: str) -> str:
        """Return a text in which folders are called by their names alone."""
        for name, folder in self._folders.items():
            text = text.replace(str(folder), name)
        return text
