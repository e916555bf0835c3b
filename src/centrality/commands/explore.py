"""centrality explore: the page that turns the dial over your own map, served here or written to a file."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from centrality.commands._arguments import loaded, model_and_data, names, port, require_folder, seed

HELP = "open the explorer page in a browser, or write it to one file"


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command)
    command.add_argument("--port", type=port, default=8000, help="default: 8000; 0 takes any that is free")
    command.add_argument("--host", default="127.0.0.1", help="who may reach the page (default: this machine only)")
    command.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    command.add_argument("--export", type=Path, metavar="page.html", help="write the page to one file instead")
    command.add_argument("--map", default="auto", metavar="HOW", help="umap, pca, two columns as a,b, or auto")
    command.add_argument("--items", metavar="COLUMN", help="the column that says what a row is: text or image paths")
    command.add_argument("--columns", metavar="a,b", help="the columns to show (default: the first 40)")
    command.add_argument("--title", default="", help="default: the name of the data")
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="of the map (default: 0)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from centrality import tables

    if arguments.export is not None:
        require_folder(arguments.export)
    model, table = loaded(arguments), tables.read(arguments.data)

    from centrality.explorer import page
    from centrality.explorer.view import view_of

    _say(arguments, f"Scoring and mapping {table.num_rows:,} rows ...")
    view = view_of(
        model,
        table,
        items=arguments.items,
        columns=None if arguments.columns is None else names(arguments.columns),
        on=arguments.map,
        random_state=arguments.random_state,
        title=arguments.title or Path(arguments.data).name,
    )
    found = {"rows": len(view), "map": " and ".join(view.axes)}
    if arguments.export is not None:
        return found | {"page": str(arguments.export), "bytes": page.export(view, arguments.export)}
    return found | {"url": _serve(arguments, view)}


def _serve(arguments: argparse.Namespace, view: Any) -> str:
    import webbrowser

    from centrality.explorer.server import Explorer

    with Explorer(view, arguments.host, arguments.port) as server:
        _say(arguments, f"Explorer: {server.url}\nCtrl-C ends it.")
        if not arguments.no_browser and sys.stdout.isatty():
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):  # that is how it ends
            server.serve_forever()
        return server.url


def _say(arguments: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if arguments.json else sys.stdout, flush=True)


def show(result: dict[str, Any]) -> str:
    if "page" in result:
        return f"Wrote {result['page']}: {result['rows']:,} rows, {result['bytes'] / 1e6:.1f} MB. Open it in a browser."
    return "Closed."
