"""What `centrality reproduce` does: measure what is not yet known, then tables, figures and pages."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.cells import measure_unknown

from centrality._internal.checks import InputError, whole_number
from paper import ITEMS, lab, page

HERE = Path(__file__).parent


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    quick: bool = False,
    only: str | None = None,
    again: bool = False,
    workers: int = 1,
    progress: bool = False,
    say: Callable[[str], None] = print,
) -> dict[str, object]:
    """Measure these items into `folder`: results/NAME.csv, figures/, and README.md and BEYOND.md from all results.

    Several `workers` measure cells side by side, and get in each other's way: times are longer then. An item that is
    about times (ALONE) is measured one cell after another all the same.
    """
    from tqdm import tqdm

    strange = [name for name in names if name not in ITEMS]
    if only not in (None, "paper", "ours", "default"):
        raise InputError(f"--only must be paper, ours or default, got {only!r}.")
    whole_number("--workers", workers)
    if strange:
        raise InputError(f"There is no {strange[0]!r} in the paper's tables and figures: {', '.join(ITEMS)} or all.")
    modules = {name: import_module(f"paper.{name}") for name in names}
    tasks = [lab.plan(n, m, folder, quick=quick, only=only, again=again) for n, m in modules.items()]
    left = sum(len(task.unknown()) for task in tasks)
    say(_estimate(tasks, left, quick))
    missing: dict[str, str] = {}
    with tqdm(total=left, unit="cell", disable=not progress) as bar:
        for task in tasks:
            try:
                _measure(task, workers, bar)
            except FileNotFoundError as error:  # a data set that is not to be had: the other items need not wait for it
                if len(tasks) == 1:
                    raise
                missing[task.name] = str(error)
                say(f"{task.name} is left out: {error}")
            if task.found():
                finish(task, folder, quick)
    pages = page.write(folder)
    results = [str(folder / "results" / f"{task.name}.csv") for task in tasks if task.found()]
    measured = left - sum(len(task.unknown()) for task in tasks)
    return {"measured": measured, "results": results, "pages": [str(path) for path in pages], "missing": missing}


def _measure(task: lab.Task, workers: int, bar: Any) -> None:
    processes = 0 if workers == 1 or getattr(task.item, "ALONE", False) else workers
    try:
        measure_unknown(task.cells, lab.measured, task.kept, bar, processes=processes, words=partial(_words, task))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what was measured is kept: the same command goes on from here") from None


def _words(task: lab.Task, cell: lab.Cell) -> str:
    return f"{task.name}: {cell.dataset}, {cell.model}, {cell.settings}, seed {cell.seed}"


def finish(task: lab.Task, folder: Path, quick: bool) -> None:
    """The table of what is known of an item, and its figures."""
    lab.save(task, folder)
    (folder / "figures").mkdir(exist_ok=True)
    if hasattr(task.item, "draw"):
        known = lab.plan(task.name, task.item, folder, quick=quick, only=None, again=False)
        task.item.draw(known.found(), folder / "figures", quick)


def _estimate(tasks: list[lab.Task], left: int, quick: bool) -> str:
    cells = sum(len(task.cells) for task in tasks)
    if not left:
        return f"All {cells} cells are known: only tables, figures and pages are made anew (--again measures anew)."
    minutes = f"{sum(task.minutes() for task in tasks):.0f} minutes on one core" if not quick else "a few minutes"
    return f"{left} of {cells} cells to measure, about {minutes}; a run that is stopped goes on where it was."
