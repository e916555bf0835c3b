"""One file a command: HELP, its arguments, what it runs (plain values come back), and how those are shown."""

from types import ModuleType

from centrality.commands import demo, depth, explore, fit, inspect, plot, rank, score

ALL: dict[str, ModuleType] = {
    "fit": fit,
    "score": score,
    "rank": rank,
    "depth": depth,
    "plot": plot,
    "explore": explore,
    "inspect": inspect,
    "demo": demo,
}
