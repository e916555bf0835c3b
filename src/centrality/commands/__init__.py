"""One file a command: HELP, its arguments, what it runs (plain values come back), and how those are shown."""

from types import ModuleType

from centrality.commands import demo, depth, fit, inspect, plot, rank, reproduce, score

ALL: dict[str, ModuleType] = {
    "fit": fit,
    "score": score,
    "rank": rank,
    "depth": depth,
    "plot": plot,
    "inspect": inspect,
    "demo": demo,
    "reproduce": reproduce,
}
