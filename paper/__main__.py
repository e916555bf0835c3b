"""Run `python -m paper NAME`, in the repository's folder: the same as `centrality reproduce NAME`."""

import sys

from centrality.apps.cli import main

sys.exit(main(["reproduce", *sys.argv[1:]]))
