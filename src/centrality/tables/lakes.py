"""Addresses of tables in lakes, of now or of another time, and which of them a folder is.

An address may end in @VERSION or @TIME: `delta:orders@3`, `iceberg:shop@2026-01-31`. A folder whose own name ends so
is meant with a / behind it.
"""

import re
from datetime import UTC, datetime
from typing import TypeAlias

from centrality._internal.checks import InputError
from centrality.tables import files

METADATA = ".metadata.json"  # how the files end that describe a table of Iceberg
AsOf: TypeAlias = int | datetime | None  # a version, a time, or None: now
AT = re.compile(r"(?P<place>.+)@(?P<as_of>\d+|\d{4}-\d\d-\d\d[^/]*)")


def place_and_time(address: str) -> tuple[str, AsOf]:
    """Return the place without its beginning, and of which version or time it is meant.

    >>> from centrality.tables.lakes import place_and_time
    >>> place_and_time("delta:s3://bucket/orders@3")
    ('s3://bucket/orders', 3)
    """
    place = address.partition(":")[2]
    version = AT.fullmatch(place)
    return (place, None) if version is None else (version["place"], as_of(version["as_of"]))


def as_of(text: str) -> int | datetime:
    """Read a version, or a time, which is UTC unless it says otherwise.

    >>> from centrality.tables.lakes import as_of
    >>> as_of("3"), as_of("2026-01-31").isoformat()
    (3, '2026-01-31T00:00:00+00:00')
    """
    if text.isdecimal():
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"A version such as 3, or a time such as 2026-01-31 or 2026-01-31T18:00+01:00 was wanted, got {text!r}."
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def with_time(place: str, when: str) -> str:
    """Return a place for this version or this time of the lake at `place`.

    >>> from centrality.tables.lakes import with_time
    >>> with_time("iceberg:shop#orders", "2026-01-31")
    'iceberg:shop@2026-01-31#orders'
    """
    address, mark, rest = place.partition("#")
    if not address.startswith(("delta:", "iceberg:", "env:")):
        raise InputError(
            f"--as-of is for lakes, which keep older versions (delta:FOLDER, iceberg:CATALOG), got {address}."
        )
    if AT.fullmatch(address):
        raise InputError(f"{address} already names a time after @: leave that out, or --as-of.")
    as_of(when)
    return f"{address}@{when}{mark}{rest}"


def lake_of_folder(folder: files.Place) -> str | None:
    """Return the address of a folder that is a table of a lake; None for any other folder.

    Its files are not its rows: some hold rows that were deleted or written anew since.

    >>> from centrality.tables.lakes import lake_of_folder
    >>> lake_of_folder("/") is None
    True
    """
    place = str(folder).partition("?")[0] if files.is_remote(folder) else str(folder)  # options are those of Arrow
    place = place.rstrip("/")
    if files.is_folder(files.join(folder, "_delta_log")):
        return f"delta:{place}/"
    inside = files.join(folder, "metadata")
    if files.is_folder(inside) and any(name.endswith(METADATA) for name in files.files_below(inside, (".json",))):
        return f"iceberg:{place}/"
    return None
