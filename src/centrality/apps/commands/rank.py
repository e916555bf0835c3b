"""centrality rank: show the most central and the most peripheral rows in the terminal."""

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from textwrap import wrap

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    count,
    data_with_or_without_model,
    import_scikit_learn,
    load_model,
    t_option,
)
from centrality.apps.commands._reading import (
    columns_to_print,
    counting_line,
    excerpt,
    footer_lines,
    in_words,
    require_rows_again,
    rows_output,
    severity_in_words,
)
from centrality.apps.commands._terminal import Result, paint, shows_progress

HELP = "show the most central and most peripheral rows, and why; it needs no model"
BARS = "▁▂▃▄▅▆▇█"
LINE = 100  # characters of a line of reasons


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command)
    command.add_argument("--top", type=count, default=20, metavar="N", help="rows of each kind (default: 20)")
    command.add_argument(
        "--by",
        metavar="COLUMN",
        help="both ends of each group, by the values of this column; with --time, one series for each",
    )
    command.add_argument(
        "--ties",
        action="store_true",
        help="say which places the oddest rows may have: trains eight more networks on parts of the rows",
    )
    _series.time_arguments(command, by=False)
    t_option(command)
    rows_output(command, "all rows, the oddest first, with centrality, p-value, severity and reasons,")


def run(arguments: argparse.Namespace) -> Result:
    """Return the most central and most peripheral rows at t; `shows` names the columns to print, None for all."""
    if _series.is_series(arguments):
        return _series.rank(arguments)
    import_scikit_learn()
    import numpy as np

    from centrality import tables
    from centrality.bulk import ranking
    from centrality.bulk.score import dial

    require_rows_again(arguments)
    model = load_model(arguments)
    t = dial(model, arguments.t)
    ranked = ranking.rank(model, arguments.data, t, arguments.top, by=arguments.by, progress=shows_progress(arguments))
    result: Result = {
        "rows": ranked.rows,
        "rows_above": ranked.rows_above,
        "t": t,
        "calibration_rows": model.fitted_.calibration_count(t),
        "shows": columns_to_print(model),
        "central": ranked.best,
        "peripheral": ranked.worst,
    }
    if arguments.ties:
        # The first and the last place that each of these rows may have, the oddest of all having place 1.
        if arguments.data == "-" or arguments.model is not None:
            raise InputError("--ties trains on the rows again: leave out MODEL, and give a file instead of stdin.")
        stability = model.stability(tables.read(arguments.data), t=t)
        rows = np.array([row["row"] for row in ranked.worst], dtype=np.intp)
        errors = stability.standard_error[rows].tolist()
        for row, (first, last), error in zip(ranked.worst, stability.places(rows).tolist(), errors, strict=True):
            row["places"] = [first, last]
            row["standard_error"] = error
    fitted = model.fitted_
    are_new = arguments.model is not None and ranked.rows != fitted.remembered.seen
    if are_new and fitted.inliers is not None:  # the rows of a fit tell nothing of themselves
        from centrality.analysis.certificate import certificate_of_p_values

        p_values = np.array([row["p_value"] for row in ranked.worst])
        certificate = certificate_of_p_values(p_values, ranked.rows, result["calibration_rows"])
        result["certificate"] = asdict(certificate) | {"at_least": certificate.at_least, "text": str(certificate)}
    if arguments.by is not None:
        result["groups"] = [
            {"group": name, "rows": group.rows, "central": group.best, "peripheral": group.worst}
            for name, group in ranked.groups.items()
        ]
    if ranked.unreadable:
        result["unreadable"] = ranked.unreadable.cells
    if arguments.output is not None:
        from centrality.selection.rank import rank

        in_order = rank(tables.read(arguments.data), model=model, by=arguments.by, t=t)
        tables.write(in_order, arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)
    return result


def show(result: Result) -> str:
    if "series" in result:
        return _series.show(result)
    lines = _ends(result, f"{result['rows']:,} rows", result) if "groups" not in result else []
    for group in result.get("groups", []):
        lines += _ends(group, f"{group['rows']:,} rows of {group['group']}", result)
    if result.get("certificate", {}).get("at_least") and "groups" not in result:
        lines[-1:] = [f"The most peripheral: {result['certificate']['text']}", ""]
    rows_in_order = [row["row"] for end in (result["peripheral"], result["central"]) for row in end]
    return "\n".join([*lines[:-1], *counting_line(result, rows_in_order), *footer_lines(result, 0, 0, "All rows")])


def _ends(ends: Result, of: str, result: Result) -> list[str]:
    """Return the lines for both ends of the ranking, of all rows or of one group.

    A line shows a row's number, its score, a sparkline from global to local, and what it holds. For odd rows, what
    lowers their centrality comes first, and the next line says how rare they are, and why.
    """
    lines = []
    for heading, rows in (("The most central", ends["central"]), ("The most peripheral", ends["peripheral"])):
        lines.append(paint(f"{heading} of {of} at t = {result['t']:g}", "heading"))
        lines.append(paint("      row  score   t 0-1  holds", "faint"))
        odd = rows is ends["peripheral"]
        for row in rows:
            names = [reason["feature"] for reason in row.get("reasons", [])] if odd else []
            values = {name: row["holds"][name] for name in names if name in row["holds"]} | row["holds"]
            scores = f"{row['row']:>9,}  {row['centrality']:.4f}  {sparkline(row['profile'])}"
            lines.append(f"{scores}  {excerpt(values, result['shows'])}".rstrip())
            if not odd:
                continue
            rare = severity_in_words(row, result["calibration_rows"])
            if "places" in row:
                first, last = row["places"]
                rare += f", place {first:,}" if first == last else f", place {first:,} to {last:,}"
                rare += f", centrality ± {row['standard_error']:.2g}"
            why = ": ".join(filter(None, [rare, in_words(row)]))
            lines += wrap(why, LINE, initial_indent=f"{'':26}↳ ", subsequent_indent=f"{'':28}")
        lines.append("")
    return lines


def sparkline(values: Iterable[float]) -> str:
    """Draw numbers in [0, 1] as bars."""
    return "".join(BARS[int(min(max(value, 0.0), 1.0) * (len(BARS) - 1) + 0.5)] for value in values)
