"""One file a command: HELP, its arguments, what it runs (plain values come back), and how those are shown."""

from types import ModuleType

from centrality.commands import demo, depth, explore, export, fit, inspect, plot, rank, reproduce, score, serve

ALL: dict[str, ModuleType] = {
    "fit": fit,
    "score": score,
    "rank": rank,
    "depth": depth,
    "plot": plot,
    "explore": explore,
    "inspect": inspect,
    "export": export,
    "serve": serve,
    "demo": demo,
    "reproduce": reproduce,
}
