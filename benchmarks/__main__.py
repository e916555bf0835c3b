"""python -m benchmarks: run every routine benchmark, or with --old those alone whose figures are old.

With --check nothing is run: the figures that are older than the files they rest on are listed, and there must be none.
"""

import argparse
import subprocess
import sys

from benchmarks import provenance, same_scores
from benchmarks.figures import ROUTINE


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--check", action="store_true", help="list the figures that are old; exit 1 if there are any")
    parser.add_argument("--old", action="store_true", help="run the benchmarks of old figures only")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    old = {figure for _, figure, _ in provenance.old()}
    commands = [figure.command for figure in ROUTINE if figure in old or not arguments.old]
    for command in dict.fromkeys(commands):  # one may make several figures
        subprocess.run([sys.executable, *command.split()[1:]], check=True)
    return 0


def check() -> int:
    """List the old figures by the command that measures them anew, and return 1 if there are any."""
    old = list(provenance.old())
    together: dict[tuple[str, str], list[str]] = {}
    for name, figure, why in old:
        together.setdefault((figure.command, why), []).append(name)
    for (command, why), names in together.items():
        print(f"{command}: {why}\n    {', '.join(names)}")
    moved = same_scores.moved()
    for case in moved:
        print(f"Scores are no longer those of benchmarks/{same_scores.KNOWN.name}. {case}.")
    print(f"{len(old)} of {len(provenance.results())} results are older than what they rest on.")
    return int(bool(old or moved))


if __name__ == "__main__":
    sys.exit(main())
