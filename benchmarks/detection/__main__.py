"""python -m benchmarks.detection [FOLDER]: every .npz (X, y) of a folder, 5 seeds, both protocols, all methods.

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of .npz files (default: $CENTRALITY_DATA/adbench_dev)")
    parser.add_argument("--methods", type=names, default=list(METHODS), help=",".join(METHODS))
    parser.add_argument("--protocols", type=names, default=list(PROTOCOLS), help=",".join(PROTOCOLS))
    parser.add_argument("--sets", type=names, help="names of files, without .npz (default: all)")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of one thread each (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS / "detection", help="a folder")
    parser.add_argument("--published", type=Path, help="adbench_26_methods.csv (default: the one beside the data)")
    arguments = parser.parse_args()
    folder = arguments.folder or data("adbench_dev")
    files = sorted(folder.glob("*.npz"), key=lambda path: -path.stat().st_size)  # the longest first: jobs end together
    sets = [path.stem for path in files if arguments.sets is None or path.stem in arguments.sets]
    known = ("methods", METHODS), ("protocols", PROTOCOLS), ("sets", [path.stem for path in files])
    for option, names_known in known:
        if strange := set(getattr(arguments, option) or []) - set(names_known):
            parser.error(f"--{option}: {', '.join(sorted(strange))} is none of {', '.join(names_known)}")
    for method in arguments.methods:
        try:
            METHODS[method](0, False)  # now, not after an hour
        except ModuleNotFoundError as missing:
            parser.error(f"{method} needs {missing.name}: install it, or leave it out with --methods")
    if not sets:
        parser.error(f"there is no .npz file in {folder}")
    cells = [
        Cell(protocol, name, method, seed)
        for name in sets
        for method in arguments.methods
        for protocol in arguments.protocols
        for seed in range(arguments.seeds)
    ]
    known_results = complete(cells, folder, arguments.out / "cells.csv", arguments.jobs)
    beside = folder.resolve().parent / "published" / "adbench_26_methods.csv"
    summary.write([known_results[cell] for cell in cells], arguments.out, arguments.published or beside)


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


if __name__ == "__main__":
    main()
