"""python -m benchmarks.detection [FOLDER ...]: every .npz (X, y) of a folder, 5 seeds, both protocols, all methods.

Without a folder: the three development collections, tables of two kinds and embeddings.

Each cell's result is appended to OUT/cells.csv as it comes; started again, the run goes on where it stopped. Then
the tables OUT/summary.csv, sets.csv, published.csv, the page OUT/summary.md and the picture
OUT/critical_difference.png are made from that file.
"""

import argparse
from pathlib import Path

from benchmarks._results import RESULTS, data
from benchmarks.detection import summary
from benchmarks.detection.methods import METHODS
from benchmarks.detection.protocols import PROTOCOLS, Cell, complete

COLLECTIONS = {  # of the development data: where its results go
    "adbench_dev": "detection",
    "embeddings_dev": "detection/embeddings",
    "macrodata_dev": "detection/small_tables",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help=f"of .npz files (default: {', '.join(COLLECTIONS)})")
    parser.add_argument("--methods", type=names, default=list(METHODS), help=",".join(METHODS))
    parser.add_argument("--protocols", type=names, default=list(PROTOCOLS), help=",".join(PROTOCOLS))
    parser.add_argument("--sets", type=names, help="names of files, without .npz (default: all)")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of one thread each (default: 1)")
    parser.add_argument("--out", type=Path, help="a folder (default: benchmarks/results/detection, or below it)")
    parser.add_argument("--published", type=Path, help="adbench_26_methods.csv (default: the one beside the data)")
    arguments = parser.parse_args()
    for method in arguments.methods:
        if method in METHODS:
            try:
                METHODS[method](0, False)  # now, not after an hour
            except ModuleNotFoundError as missing:
                parser.error(f"{method} needs {missing.name}: install it, or leave it out with --methods")
    for folder in arguments.folders or [data(name) for name in COLLECTIONS]:
        measure(parser, arguments, folder, arguments.out or RESULTS / COLLECTIONS.get(folder.name, "detection"))


def measure(parser: argparse.ArgumentParser, arguments: argparse.Namespace, folder: Path, out: Path) -> None:
    """Complete the cells of one collection, and write its tables."""
    files = sorted(folder.glob("*.npz"), key=lambda path: -path.stat().st_size)  # the longest first: jobs end together
    sets = [path.stem for path in files if arguments.sets is None or path.stem in arguments.sets]
    known = ("methods", METHODS), ("protocols", PROTOCOLS), ("sets", [path.stem for path in files])
    for option, names_known in known:
        if strange := set(getattr(arguments, option) or []) - set(names_known):
            parser.error(f"--{option}: {', '.join(sorted(strange))} is none of {', '.join(names_known)}")
    if not sets:
        parser.error(f"there is no .npz file in {folder}")
    cells = [
        Cell(protocol, name, method, seed)
        for name in sets
        for method in arguments.methods
        for protocol in arguments.protocols
        for seed in range(arguments.seeds)
    ]
    known_results = complete(cells, folder, out / "cells.csv", arguments.jobs)
    beside = folder.resolve().parent / "published" / "adbench_26_methods.csv"
    summary.write([known_results[cell] for cell in cells], out, arguments.published or beside)


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


if __name__ == "__main__":
    main()
