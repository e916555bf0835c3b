"""Run the command line as `python -m centrality`."""

import sys

from centrality.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
