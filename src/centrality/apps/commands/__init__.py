"""Define the commands, one in each file: its HELP, its `arguments`, how it runs, and how it shows the result.

`run` returns a `Result`: plain values, which `--json` prints as they are and `show` puts into words.
"""

from types import ModuleType

from centrality.apps.commands import (
    check,
    completion,
    copies,
    datasets,
    demo,
    depth,
    detect,
    drift,
    explain,
    explore,
    export,
    fit,
    inspect,
    labels,
    mcp,
    pick,
    plot,
    rank,
    refine,
    reproduce,
    score,
    serve,
    version,
    watch,
)

ALL: dict[str, ModuleType] = {
    "check": check,
    "fit": fit,
    "score": score,
    "rank": rank,
    "detect": detect,
    "explain": explain,
    "pick": pick,
    "copies": copies,
    "refine": refine,
    "labels": labels,
    "drift": drift,
    "watch": watch,
    "depth": depth,
    "plot": plot,
    "explore": explore,
    "inspect": inspect,
    "export": export,
    "serve": serve,
    "mcp": mcp,
    "datasets": datasets,
    "demo": demo,
    "reproduce": reproduce,
    "completion": completion,
    "version": version,
}
