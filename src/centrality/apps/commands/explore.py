"""centrality explore: show a page with a map of the rows and a dial for t, or write it to a file."""

import argparse
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    DATABASES,
    column_names,
    data_with_or_without_model,
    load_model,
    port,
    require_output,
)
from centrality.apps.commands._terminal import Result, harmless, shows_progress, working

if TYPE_CHECKING:
    from centrality.apps.explorer.view import View
    from centrality.model.interface import CentralityModel

HELP = "open the explorer page in a browser, or write it to one file"


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command, columns=False)
    _series.time_arguments(command)
    command.add_argument("--port", type=port, default=8000, help="0 takes any that is free (default: 8000)")
    command.add_argument("--host", default="127.0.0.1", help="who may reach the page (default: this machine only)")
    command.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    command.add_argument("--export", type=Path, metavar="page.html", help="write the page to one file instead")
    command.add_argument(
        "--marks",
        type=Path,
        metavar="FILE.csv",
        help="where to keep what you mark (default: beside the data)",
    )
    command.add_argument(
        "--key", metavar="COLUMN", help="the column that tells rows apart, for marks (default: all cells together)"
    )
    command.add_argument(
        "--against",
        type=Path,
        metavar="OLD",
        help="earlier rows of the same kind, to compare with; or another model of the same rows, shown beside this one",
    )
    command.add_argument("--map", default="auto", metavar="HOW", help="umap, pca, two columns as a,b, or auto")
    command.add_argument("--items", metavar="COLUMN", help="the column that says what a row is: text or image paths")
    command.add_argument("--columns", metavar="a,b", help="the columns to show (default: the first 40)")
    command.add_argument("--title", default="", help="the title of the page (default: the name of the data)")


def run(arguments: argparse.Namespace) -> Result:
    """Return how many rows were shown on which map, and the page's file or address."""
    marks: Path = arguments.marks or _data_file(arguments).with_suffix(".marks.csv")  # whatever model scores the data
    if arguments.export is not None:
        require_output(arguments.export, arguments)
        view = _view(arguments, None, marks)

        from centrality.apps.explorer import server
        from centrality.apps.explorer.marks import MarksFile

        size = server.export(view, arguments.export, MarksFile(marks).marks())
        return {"rows": len(view), "map": " and ".join(view.axes), "page": str(arguments.export), "bytes": size}
    # A fit takes minutes, and the error of a file that is not there a moment: no browser is opened before them.
    waits = arguments.model is not None and arguments.model.is_file()
    model = None if waits or arguments.against is not None or _series.is_series(arguments) else load_model(arguments)

    from centrality.apps.explorer import server

    # The page is served until Ctrl-C. The browser gets its frame at once, and the rows when they are scored.
    with server.Explorer(None, arguments.host, arguments.port, title=_title(arguments)) as page:
        _say(arguments, f"Explorer: {page.url}\nWhat you mark is kept in {marks}. Ctrl-C ends it.")
        if not arguments.no_browser and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(page.url)
        serving = threading.Thread(target=page.serve_forever, name="explorer", daemon=True)
        serving.start()
        try:
            view = _view(arguments, model, marks)
            page.show(view, marks)
        except BaseException as error:
            page.fail(error)
            raise
        else:
            with suppress(KeyboardInterrupt):  # which is how a user ends it
                while serving.is_alive():  # without end, it could miss a signal that comes just before it waits
                    serving.join(0.5)
        finally:
            page.shutdown()
        return {"rows": len(view), "map": " and ".join(view.axes), "url": page.url}


def _view(arguments: argparse.Namespace, model: "CentralityModel | None", marks: Path) -> "View":
    """Return what the page shows: the rows read, scored and laid out."""
    from centrality.apps.explorer.marks import MarksFile

    MarksFile(marks)  # its errors come before the work
    if _series.is_series(arguments):
        return _view_of_moments(arguments)
    against: Path | None = arguments.against
    old = None if against is None or against.suffix == ".safetensors" else against
    if model is None:  # of the earlier rows, if there are such
        model = load_model(arguments if old is None else argparse.Namespace(**{**vars(arguments), "data": str(old)}))

    from centrality import tables
    from centrality.apps.explorer.view import ViewOptions, compared, explored

    table = tables.read(arguments.data)
    _say(arguments, f"Scoring and mapping {table.num_rows:,} rows ...")
    kept_map = None
    if arguments.model is not None:
        name = f"{arguments.model.stem}.{_data_file(arguments).stem or 'rows'}.map.npz"
        kept_map = arguments.model.with_name(name)
    options: ViewOptions = {
        "items": arguments.items,
        "columns": None if arguments.columns is None else column_names(arguments.columns),
        "on": arguments.map,
        "random_state": arguments.random_state,
        "title": _title(arguments),
        "key": arguments.key,
        "defer_umap": arguments.export is None,
        "kept_map": kept_map,
    }
    with working("Scoring and mapping", arguments):
        if old is not None:
            return compared(model, table, tables.read(old), (Path(arguments.data).name, old.name), **options)
        if against is not None:
            other_model = load_model(argparse.Namespace(**{**vars(arguments), "model": against}))
            options |= {"against": other_model, "against_name": against.stem}
        return explored(model, table, progress=shows_progress(arguments), **options)


def _view_of_moments(arguments: argparse.Namespace) -> "View":
    """Return what the page shows of series: their moments, on a map and on a timeline."""
    for option in ("against", "given", "items"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option} is for rows that are no moments of series: leave out --time, or --{option}.")
    from centrality import tables
    from centrality.apps.explorer.moments import view_of_moments

    fitted_here = arguments.model is None
    model, table = _series.fit_or_load(arguments)
    table = tables.read(arguments.data) if table is None else table
    _say(arguments, f"Mapping {table.num_rows:,} moments ...")
    with working("Mapping", arguments):
        return view_of_moments(
            model,
            table,
            fitted_here=fitted_here,
            columns=None if arguments.columns is None else column_names(arguments.columns),
            on=arguments.map,
            random_state=arguments.random_state,
            title=_title(arguments),
            key=arguments.key,
            progress=shows_progress(arguments),
            defer_umap=arguments.export is None,
        )


def _title(arguments: argparse.Namespace) -> str:
    return str(arguments.title or _data_file(arguments).name)


def _data_file(arguments: argparse.Namespace) -> Path:
    """Return the path of the data; of a database, one in this folder that is named by the table."""
    if not arguments.data.startswith(DATABASES):
        return Path(arguments.data)
    from centrality.tables.database import DatabasePlace

    place = DatabasePlace.of(arguments.data)
    table = place.table or ("query" if place.query else Path(place.address.partition(":")[2]).name)
    return Path("".join(letter if letter.isalnum() else "_" for letter in table))


def _say(arguments: argparse.Namespace, text: str) -> None:
    print(harmless(text), file=sys.stderr if arguments.json else sys.stdout, flush=True)


def show(result: Result) -> str:
    if "page" in result:
        return f"Wrote {result['page']}: {result['rows']:,} rows, {result['bytes'] / 1e6:.1f} MB. Open it in a browser."
    return "Closed."
