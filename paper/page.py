"""README.md and BEYOND.md, made from the results: nothing in them is written by hand but what the scripts say."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks import provenance

from centrality._internal.files import write_atomically
from paper import ITEMS
from paper.lab import COUNT, TIME, Row, read
from paper.models import SETTINGS

FOLDED = 30  # rows beyond which a table is folded away
HEADS = {"paper": "paper's settings, here", "ours": "our schedule, its η", "default": "our defaults"}
LOWER_IS_BETTER = ("graph smoothness", "train s", "inference ms per sample")
QUALITY = ("Spearman", "Kendall", "AUC-ROC", "AUC-PRC", "graph smoothness")
Key = tuple[str, str, str]  # dataset, method, metric

README = """# The paper, reproduced

Every table and figure of *A Trainable Centrality Framework for Modern Data*: what it prints or claims, and what we
measured. This page is made by `centrality reproduce`; the numbers are in [results](results), one CSV a table.
[BEYOND.md](BEYOND.md) has the same tables with our schedule and defaults: what changed.

{settings}

Values are means ± standard deviations over seeds. A claim that the text makes in words stands as a number with a sign
in the column "paper": it holds or fails. The numbers that stand for words, and their limits, are our reading. Times
are wall-clock, with whatever else the machine was doing; those in the repository are of one run of `centrality
reproduce all`, one thread on two virtual cores, the other of which was busy now and then. A value without ± is of one
seed.

| item | command | measured | minutes | how |
| --- | --- | --- | --- | --- |
{contents}
"""

BEYOND = """# Beyond the paper

The same tables with our training schedule at the paper's noise scale, and with our defaults, which need no labels and
no choices. [README.md](README.md) has the paper's own settings beside what it prints; this page is made by the same
command.

{settings}

**What changed.** The paper trains in epochs: a pass over n/3 pairs, then eight noise passes over all rows, which
overwrite what the global head needs from the shared encoder. Ours takes a batch for each head in every step, under a
budget of 500 steps whatever the number of rows, and lets the learning rate fall to zero. The defaults also scale the
columns, take the spacing of the rows for noise and begin from a background: Local then sees finer structure
than the paper's η = 1 does, and follows a density more closely than the distance to a mean.

{summary}
"""


def write(folder: Path) -> list[Path]:
    """Put both pages into the folder."""
    pages = made(folder)
    for path, text in pages.items():
        with write_atomically(path) as beside:
            beside.write_text(text)
    return list(pages)


def made(folder: Path) -> dict[Path, str]:
    """Both pages, of whatever items have results."""
    known = {
        name: (import_module(f"paper.{name}"), read(folder / "results" / f"{name}.csv"))
        for name in ITEMS
        if (folder / "results" / f"{name}.csv").exists()
    }
    listed = "\n".join(f"- **{HEADS[name]}**: {words}." for name, words in SETTINGS.items())
    contents = "\n".join(_line(name, rows, folder) for name, (_, rows) in known.items())
    parts = [README.format(settings=listed, contents=contents)]
    parts += [_section(name, item, rows, folder) for name, (item, rows) in known.items()]
    beyond = [BEYOND.format(settings=listed, summary=_summary(known))]
    beyond += [_comparison(item, rows) for item, rows in known.values() if _settings(rows) & {"ours", "default"}]
    return {folder / "README.md": "\n".join(parts), folder / "BEYOND.md": "\n".join(beyond)}


def _line(name: str, rows: list[Row], folder: Path) -> str:
    seconds = sum(float(row["value"]) for row in rows if row["metric"] == TIME)
    done = sum(int(float(row["value"])) for row in rows if row["metric"] == COUNT)
    total = sum(int(row["paper"]) for row in rows if row["metric"] == COUNT)
    measured = f"all {total} cells" if done == total else f"**{done} of {total} cells so far**"
    how = provenance.measured(folder / "results" / f"{name}.csv") or provenance.UNKNOWN
    link, command = f"[{name}](results/{name}.csv)", f"`centrality reproduce {name}`"
    return f"| {link} | {command} | {measured} | {seconds / 60:.1f} | {how} |"


def _section(name: str, item: ModuleType, rows: list[Row], folder: Path) -> str:
    text = [f"## {item.TITLE}", "", (item.__doc__ or "").partition("\n\n")[2].strip(), ""]
    bars = [bar for bar in item.bars(rows) if bar] if hasattr(item, "bars") else []
    if bars:
        body = [[wanted, "yes" if reached else "**no**", found] for wanted, reached, found in bars]
        text += [*_markdown(["wanted", "reached", "found"], body), ""]
    if hasattr(item, "WHY"):
        text += [item.WHY.strip(), ""]
    if getattr(item, "TABLE", True):
        text += _folded(_table(rows))
    figures = sorted((folder / "figures").glob(f"{name}*.png"))
    for figure in figures:
        text += ["", f"![{item.TITLE}: {figure.stem.replace('_', ', ')}](figures/{figure.name})"]
    return "\n".join(text) + "\n"


def _table(rows: list[Row]) -> list[str]:
    cells = _cells(rows)
    shown = [settings for settings in HEADS if settings in _settings(rows)]
    body = [
        [*key, printed, *(_shown(by.get(settings), printed) for settings in shown)]
        for key, (printed, by) in cells.items()
    ]
    return _markdown(["data", "method", "metric", "paper", *(HEADS[settings] for settings in shown)], body)


def _comparison(item: ModuleType, rows: list[Row]) -> str:
    """Where there is something of ours: the paper's settings here, and what ours change."""
    body = []
    for key, (printed, by) in _cells(rows).items():
        if not by.keys() & {"ours", "default"}:
            continue
        line = [*key, _shown(by.get("paper"), printed)]
        for settings in ("ours", "default"):
            line += [_shown(by.get(settings), printed), _change(by.get("paper"), by.get(settings), key[2])]
        body.append(line)
    head = ["data", "method", "metric", HEADS["paper"], HEADS["ours"], "change", HEADS["default"], "change"]
    return "\n".join([f"## {item.TITLE}", "", *_folded(_markdown(head, body))]) + "\n"


def _summary(known: dict[str, tuple[ModuleType, list[Row]]]) -> str:
    lines = []
    for settings in ("ours", "default"):
        gains, speed = [], []
        for _, rows in known.values():
            for (_, _, metric), (_, by) in _cells(rows).items():
                if "paper" in by and settings in by:
                    before, after = (float(by[s]["value"]) for s in ("paper", settings))
                    if metric in QUALITY:
                        gains.append((before - after) if metric in LOWER_IS_BETTER else (after - before))
                    elif metric == "train s":
                        speed.append(before / after)
        if gains:
            better = sum(gain >= 0 for gain in gains)
            lines.append(
                f"- **{HEADS[settings]}**: at least as good as the paper's schedule in {better} of {len(gains)} rows "
                f"of quality (tables 1, 2, 3, S1 to S5), {min(speed):.1f} to {max(speed):.1f} times its speed."
            )
    return "\n".join(lines)


def _cells(rows: Iterable[Row]) -> dict[Key, tuple[str, dict[str, Row]]]:
    """{(dataset, method, metric): (what the paper says, {settings: row})}, without the rows about the run itself."""
    found: dict[Key, tuple[str, dict[str, Row]]] = {}
    for row in rows:
        if row["metric"] not in (TIME, COUNT):
            key = (row["dataset"], row["method"], row["metric"])
            found.setdefault(key, (row["paper"], {}))[1][row["settings"]] = row
    return found


def _settings(rows: list[Row]) -> set[str]:
    return {row["settings"] for row in rows}


def _shown(row: Row | None, printed: str) -> str:
    if row is None:
        return ""
    value = float(row["value"])
    text = f"{value:.4g}" if abs(value) >= 10 else f"{value:.3f}"
    if row["std"]:
        text += f" ± {float(row['std']):.2g}" if float(row["std"]) < 0.0005 else f" ± {float(row['std']):.3f}"
    if printed[:1] in ("<", ">"):
        text += ", holds" if holds(value, printed) else ", **fails**"
    return text


def holds(value: float, claim: str) -> bool:
    """Whether a value is what a claim such as "> 0.5" says."""
    sign, _, limit = claim.partition(" ")
    return value > float(limit) if sign == ">" else value < float(limit)


def _change(before: Row | None, after: Row | None, metric: str) -> str:
    if before is None or after is None:
        return ""
    a, b = float(before["value"]), float(after["value"])
    if metric == "train s":
        return f"{a / b:.1f} times faster" if a >= b else f"{b / a:.1f} times slower"
    return f"{b - a:+.3f}"


def _markdown(head: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body]]


def _folded(table: list[str]) -> list[str]:
    if len(table) <= FOLDED:
        return table
    return ["<details><summary>the whole table</summary>", "", *table, "", "</details>"]
