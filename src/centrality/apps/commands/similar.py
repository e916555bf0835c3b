"""centrality similar: find the rows most like a row, a phrase or a picture."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import (
    DATA,
    column_names,
    count,
    how_to_read,
    import_scikit_learn,
    load_model,
)
from centrality.apps.commands._reading import excerpt, require_rows_output, rows_output
from centrality.apps.commands._terminal import Result, aligned, paint, working

if TYPE_CHECKING:
    import pyarrow as pa

    from centrality.chain import Chain

HELP = "find the rows most like a row, a phrase or a picture; it needs no model"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="left out: DATA says how it is read")
    command.add_argument("data", metavar="DATA", help=DATA)
    command.set_defaults(model_may_be_left_out=True)
    wanted = command.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--row", type=int, metavar="N", help="like the row of this number, from 0 on")
    wanted.add_argument("--phrase", metavar="WORDS", help="rows whose long text is about this")
    wanted.add_argument("--picture", metavar="FILE", help="rows whose picture looks like this one")
    command.add_argument("--block", metavar="COLUMN", help="by this picture, text or vector alone (default: all parts)")
    command.add_argument("--columns", metavar="a,b", help="without a MODEL: the columns to compare (default: all)")
    command.add_argument("--top", type=count, default=10, metavar="N", help="rows to show (default: 10)")
    how_to_read(command)
    rows_output(command, "the rows found, the most similar first,")


def run(arguments: argparse.Namespace) -> Result:
    """Return the rows that are most alike, the most similar first."""
    import_scikit_learn()
    from centrality import tables
    from centrality.chain import most_similar

    require_rows_output(arguments)
    if arguments.data == "-":
        raise InputError("Rows that can be read again were wanted: save stdin to a file.")
    table = tables.read(arguments.data)
    with working("Comparing rows", arguments):
        representation = _chain(arguments, table).representation_
        to: Any = arguments.phrase
        if arguments.picture is not None:
            if not (to := Path(arguments.picture)).is_file():
                raise InputError(f"--picture wants a file with a picture, there is none at {to}.")
        elif arguments.row is not None:
            if not 0 <= arguments.row < table.num_rows:
                raise InputError(f"--row counts from 0 to {table.num_rows - 1} here, got {arguments.row}.")
            to = table.slice(arguments.row, 1)
        rows = most_similar(representation, to, table, arguments.top, arguments.block)[0]
    alike = table.take(rows)
    result: Result = {
        "rows": table.num_rows,
        "like": arguments.phrase or arguments.picture or arguments.row,
        "shows": arguments.block,
        "similar": [{"row": row, "holds": holds} for row, holds in zip(rows.tolist(), alike.to_pylist(), strict=True)],
    }
    if arguments.output is not None:
        tables.write(tables.with_columns(alike, {"row": rows}), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def _chain(arguments: argparse.Namespace, table: "pa.Table") -> "Chain":
    """Return the model of the arguments; without one, a chain whose representation alone is fitted."""
    from centrality import tables
    from centrality.chain import Chain
    from centrality.fuse import FUSE
    from centrality.representations import Table
    from centrality.selection.rank import choose_model
    from centrality.tables.files import folder_of

    if arguments.model is not None:
        if arguments.columns is not None:
            raise InputError("--columns is for DATA without a model: this one knows its columns. Name a --block.")
        model = load_model(arguments)
        if not isinstance(model, Chain):
            raise InputError(f"{arguments.model} reads rows of numbers as they are: leave it out to compare rows.")
        return model
    folder = folder_of(arguments.data)
    if arguments.vectors is not None:
        chain = Chain(Table(vectors=arguments.vectors))
    else:
        if arguments.columns is not None:
            table = tables.select(table, column_names(arguments.columns))
        chosen = choose_model(table, FUSE(), folder)
        chain = chosen if isinstance(chosen, Chain) else Chain(Table(folder=folder))
    chain.representation_ = chain.representation.fit(table)
    return chain


def show(result: Result) -> str:
    like = f"row {result['like']:,}" if isinstance(result["like"], int) else repr(result["like"])
    lines = [paint(f"Most like {like}, of {result['rows']:,} rows", "heading")]
    body = []
    for similar in result["similar"]:
        holds = similar["holds"]
        first = {result["shows"]: holds[result["shows"]]} if result["shows"] in holds else {}
        body.append([f"{similar['row']:,}", excerpt(first | holds, [result["shows"]] if first else None)])
    lines += aligned(["row", "holds"], body, left=(1,))
    return "\n".join([*lines, *([f"Rows: {result['file']}"] if "file" in result else [])])
