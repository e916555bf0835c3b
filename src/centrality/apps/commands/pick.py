"""centrality pick: choose rows to keep, to look at, or to label."""

import argparse

from centrality._internal.text import share
from centrality.apps.commands._arguments import count, data_with_or_without_model, load_model, t_option
from centrality.apps.commands._reading import (
    ROWS_TO_PRINT,
    columns_to_print,
    excerpt,
    footer_lines,
    require_rows_output,
    rows_output,
)
from centrality.apps.commands._terminal import Result, aligned, paint, shows_progress

HELP = "pick rows: the most typical, the oddest, a diverse few, or those to label; it needs no model"
# What each option picks, as an argument of `centrality.select`.
KINDS = {
    "typical": ("typical", "the most typical rows"),
    "diverse": ("diverse", "rows that cover all others, odd ones too"),
    "representative": ("representative", "rows that cover all others but outliers"),
    "odd": ("odd", "the oddest rows"),
    "to_label": ("to label", "the rows that teach a classifier the most"),
}


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command)
    which = command.add_mutually_exclusive_group(required=True)
    for name, (_, text) in KINDS.items():
        which.add_argument(f"--{name.replace('_', '-')}", type=count, metavar="N", help=f"N of {text}")
    command.add_argument("--by", metavar="COLUMN", help="share N evenly among the groups by the values of this column")
    t_option(command)
    rows_output(command, "all picked rows, best first,")


def run(arguments: argparse.Namespace) -> Result:
    """Return the picked rows, the best first."""
    import numpy as np

    from centrality import tables
    from centrality.bulk.score import dial
    from centrality.model.reader import reader_of
    from centrality.selection.pick import select

    require_rows_output(arguments)
    model = load_model(arguments)
    t = dial(model, arguments.t)
    table = tables.read(arguments.data)
    what, k = next((what, k) for name, (what, _) in KINDS.items() if (k := getattr(arguments, name)) is not None)
    picked = select(
        model, table, k, what, by=arguments.by, t=t, random_state=arguments.random_state,
        progress=shows_progress(arguments),
    )  # fmt: skip
    chosen = table.take(picked)
    with reader_of(model).suppress_issues():
        scores = model.centrality(chosen, t=t)
    result: Result = {
        "rows": table.num_rows,
        "what": what,
        "t": t,
        "shows": columns_to_print(model),
        "picked": [
            {"row": row, "centrality": score, "holds": holds}
            for row, score, holds in zip(picked.tolist(), scores.tolist(), chosen.to_pylist(), strict=True)
        ],
    }
    if arguments.by is not None:
        result["by"] = arguments.by
    if arguments.output is not None:
        new = {"row": picked, "centrality": scores}
        if reader_of(model).features() is not None:
            with reader_of(model).suppress_issues():
                new["reasons"] = np.array(model.reasons(chosen, t).short(), dtype=object)
        tables.write(tables.with_columns(chosen, new), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def show(result: Result) -> str:
    rows = result["picked"][:ROWS_TO_PRINT]
    by = [result["by"]] if "by" in result else []
    of = f" from each {by[0]} in turn" if by else ""
    lines = [paint(f"{len(result['picked']):,} of {result['rows']:,} rows: {result['what']}{of}", "heading")]
    body = []
    for row in rows:
        group_first = {name: row["holds"][name] for name in by} | row["holds"]
        body.append([f"{row['row']:,}", share(row["centrality"]), excerpt(group_first, result["shows"])])
    lines += aligned(["row", "centrality", "holds"], body, left=(2,))
    return "\n".join([*lines, *footer_lines(result, len(result["picked"]), len(rows), "Picked rows")])
