"""Where data is found and results go; nothing here knows what is measured."""

import csv
import os
from pathlib import Path

from benchmarks import provenance

RESULTS = Path(__file__).parent / "results"


def data(*parts: str) -> Path:
    """A file of the development data, which lives outside the repository."""
    folder = os.environ.get("CENTRALITY_DATA")
    if not folder:
        raise SystemExit("Set CENTRALITY_DATA to the folder of data sets (make does where ../shared/data exists).")
    return Path(folder, *parts)


def save(name: str, rows: list[dict[str, object]]) -> None:
    """Write results/NAME.csv, note where it was measured, and print it as a table."""
    RESULTS.mkdir(exist_ok=True)
    shown = [{key: f"{value:.4f}" if isinstance(value, float) else value for key, value in row.items()} for row in rows]
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(shown[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(shown)
    provenance.note(RESULTS / f"{name}.csv")
    widths = {key: max(len(str(row[key])) for row in [*shown, {key: key}]) for key in shown[0]}
    for row in [dict(zip(widths, widths, strict=True)), *shown]:
        print("  ".join(f"{row[key]!s:>{width}}" for key, width in widths.items()))
