"""centrality detect: name the rows that are outliers, at an error rate that the user chooses."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from centrality._internal.text import number, share
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    count,
    data_with_or_without_model,
    import_scikit_learn,
    load_model,
    t_option,
)
from centrality.apps.commands._reading import (
    ROWS_TO_PRINT,
    counting_line,
    footer_lines,
    in_words,
    require_rows_again,
    rows_output,
    severity_in_words,
)
from centrality.apps.commands._terminal import FAIL, Result, aligned, paint, shows_progress

if TYPE_CHECKING:
    from centrality.analysis.conformal import Scores
    from centrality.bulk.adapter import Adapter
    from centrality.model.fitted import FittedModel
    from centrality.model.interface import CentralityModel

HELP = "name the outliers among the rows, at an error rate that you choose"
RULES = ("fdr", "false_positives", "contamination")
MOST_BY_CELLS = 200_000  # rows of a file whose cells are compared: five seconds and 1 GB for 20 columns


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command)
    rule = command.add_mutually_exclusive_group()
    rule.add_argument("--fdr", type=float, metavar="SHARE", help="on average, at most this share of the rows called "
                      "outliers are false alarms (default: 0.05)")  # fmt: skip
    rule.add_argument("--false-positives", type=float, metavar="N", help="on average, at most N false alarms in all")
    rule.add_argument(
        "--contamination", type=float, metavar="SHARE", help="call this share of the rows outliers; promises nothing"
    )
    _series.time_arguments(command)
    t_option(command)
    command.add_argument(
        "--fail-on",
        type=count,
        metavar="N",
        help=f"exit with status {FAIL} if at least N rows, or stretches, are called",
    )
    rows_output(command, "the outliers, the oddest first, with p-values, severities and reasons")


def run(arguments: argparse.Namespace) -> Result:
    """Return the outliers, the oddest first, and the centrality below which rows were called outliers.

    Where the rule calls none, `apart` are the rows that stand out: by their scores, or by a number that is far from all
    that the rest of the row says.
    """
    if _series.is_series(arguments):
        result = _series.detect(arguments)
        _fail_on(arguments, len(result["events"]))
        return result
    import_scikit_learn()
    import numpy as np

    from centrality import tables
    from centrality._internal.text import column_name
    from centrality.analysis.conformal import Rule
    from centrality.bulk.adapter import Adapter
    from centrality.bulk.score import dial, units_of

    require_rows_again(arguments)
    rule = Rule.chosen_or_usual(**{name: getattr(arguments, name) for name in RULES})
    model = load_model(arguments)
    t = dial(model, arguments.t)
    fitted = model.fitted_
    if rule.needs_inliers:
        fitted.calibration_rows()  # if there are none, say so before the work
    with tables.open_rows(arguments.data) as source:
        adapter = Adapter(model, source.schema.names)
        # The columns that -o writes after those of the data, and what each holds.
        new = {"row": "row", column_name("centrality", t, model.t): "centrality"}
        if fitted.inliers is not None:
            new |= {"p_value": "p_value", "severity": "severity"}
        if adapter.explains:
            new["reasons"] = "reasons"
        if arguments.output is not None:
            tables.require_replaceable(new, adapter.columns)
        units, unreadable = units_of(model, source, progress=shows_progress(arguments))
    threshold = fitted.threshold(units, rule, t)
    outliers, smallest = _outliers(fitted, fitted.mixing.mixed(units, t), threshold, t)
    result = {
        "rows": len(units),
        "rows_above": source.rows_above,
        "outliers": len(outliers),
        "t": t,
        "rule": f"{rule.name}={rule.value:g}",
        "threshold": float(fitted.mixing.squeeze(np.array(threshold))),
        "calibration_rows": fitted.calibration_count(t),  # 0: there are none, and the rule needs none
        "smallest_p_value": smallest,
        "by_themselves": arguments.model is None,  # the model was fitted on the same rows
        "found": outliers,
        "apart": [],
    }
    if not outliers:
        cells: dict[int, tuple[str, float]] = {}
        if arguments.data == "-":
            result["cells_not_compared"] = "stdin can be read once only"
        elif len(units) > MOST_BY_CELLS:
            result["cells_not_compared"] = f"there are over {MOST_BY_CELLS:,} rows"
        else:
            cells = _far_cells(arguments.data, model)
        result["apart"] = _rows_that_stand_out(fitted, units, t, cells)
    named = np.array([row["row"] for row in outliers or result["apart"]], dtype=np.intp)
    if len(named) and (certificate := fitted.certificate(named, units, t)) is not None:
        result["certificate"] = asdict(certificate) | {"at_least": certificate.at_least, "text": str(certificate)}
    if unreadable:
        result["unreadable"] = unreadable.cells
    if arguments.data != "-" and (outliers or result["apart"] or arguments.output):  # stdin cannot be read again
        _explain_and_write(arguments, result, adapter, new)
    _fail_on(arguments, len(outliers))
    return result


def _fail_on(arguments: argparse.Namespace, called: int) -> None:
    """Set the exit status that --fail-on asks for."""
    if arguments.fail_on is not None and called >= arguments.fail_on:
        arguments.exit_status = FAIL


def _outliers(
    fitted: "FittedModel", scores: "Scores", threshold: float, t: float
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the rows that score below the threshold, the oddest first, and the smallest p-value of all rows."""
    import numpy as np

    from centrality.bulk.ranking import rarities

    mixing = fitted.mixing
    odd = np.flatnonzero(scores < threshold)
    odd = odd[np.argsort(scores[odd], kind="stable")]
    outliers = [
        {"row": row, "centrality": score} | rarity
        for row, score, rarity in zip(
            odd.tolist(), mixing.squeeze(scores[odd]).tolist(), rarities(fitted, t, scores[odd]), strict=True
        )
    ]
    if fitted.inliers is None:
        return outliers, None
    return outliers, float(fitted.inliers.p_values(mixing, t, np.array([np.nanmin(scores)]))[0])


def _far_cells(data: str, model: "CentralityModel") -> dict[int, tuple[str, float]]:
    """Return, by row, the severest number that is far from all that the rest of the row says, and its severity."""
    from centrality.findings.search import far_numbers

    cells: dict[int, tuple[str, float]] = {}
    for finding in far_numbers(data, model):
        for row in finding.rows.tolist():
            if finding.severity > cells.get(row, ("", 0.0))[1]:
                cells[row] = (finding.sentence, finding.severity)
    return cells


def _rows_that_stand_out(
    fitted: "FittedModel", units: "Scores", t: float, cells: dict[int, tuple[str, float]]
) -> list[dict[str, Any]]:
    """Return the rows that stand out among the others of the file, the oddest first: by their scores, then by a cell.

    The severity of those that are named for a cell alone is the cell's.
    """
    import numpy as np

    from centrality.analysis.conformal import p_values
    from centrality.analysis.severity import Tail, severity

    by_score = fitted.stands_apart(units, t)
    scores = fitted.mixing.mixed(fitted.held_out_units(units), t)
    others = np.sort(scores[~by_score & ~np.isnan(scores)])
    stands_out = by_score.copy()
    stands_out[list(cells)] = True
    rows = np.flatnonzero(stands_out)
    rows = rows[np.lexsort([scores[rows], ~by_score[rows]])]
    columns: dict[str, Any] = {
        "row": rows,
        "centrality": fitted.mixing.centrality(units[rows], t),
        "p_value": p_values(others, scores[rows]),
        "severity": severity(others, scores[rows], Tail.of(others)),
    }
    rows_as_columns = zip(*(values.tolist() for values in columns.values()), strict=True)
    named = [dict(zip(columns, values, strict=True)) for values in rows_as_columns]
    for row in named:
        if not by_score[row["row"]]:
            row["cell"], row["severity"] = cells[row["row"]]
    return named


def _explain_and_write(arguments: argparse.Namespace, result: Result, adapter: "Adapter", new: dict[str, str]) -> None:
    """Read the outliers again: add the reasons to those that are shown or written, and write them if asked to."""
    import numpy as np

    from centrality import tables

    outliers = result["found"] or result["apart"]
    table = tables.read(arguments.data).take(np.array([outlier["row"] for outlier in outliers], dtype=np.int64))
    explained = outliers[: None if arguments.output else ROWS_TO_PRINT]
    if explained and adapter.explains:
        with adapter.reader.suppress_issues():
            reasons = adapter.model.reasons(table.slice(0, len(explained)), result["t"])
        for outlier, why in zip(explained, reasons.as_plain(), strict=True):
            outlier["reasons"] = why
    if arguments.output is not None:
        kinds = {"row": np.int64, "reasons": object}  # no outliers have columns of the same types
        rows = [outlier | {"reasons": _why(outlier)} for outlier in outliers]
        values = {
            name: np.array([row[what] for row in rows], kinds.get(what, np.float64)) for name, what in new.items()
        }
        tables.write(tables.with_columns(table, values), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)


def _why(row: Mapping[str, Any]) -> str:
    """Return the reasons for a row in one line, first the cell that it is named for."""
    return ": ".join(filter(None, [row.get("cell", ""), in_words(row)]))


def show(result: Result) -> str:
    if "series" in result:
        return _series.show(result)
    rows_apart = result["apart"]
    rows = (result["found"] or rows_apart)[:ROWS_TO_PRINT]
    compared_with = result["calibration_rows"]
    at = f"at t = {number(result['t'])}"
    if rows_apart:
        count_apart = len(rows_apart)
        compared_with = result["rows"] - count_apart
        heading = f"{count_apart:,} of {result['rows']:,} rows {'stands' if count_apart == 1 else 'stand'} out {at}"
        if by_cell := sum("cell" in row for row in rows_apart):
            heading += f", {by_cell:,} by a cell alone" if by_cell < count_apart else " by a cell"
        why = (
            "by themselves, rows tell no error rate"
            if result["by_themselves"]
            else f"{result['calibration_rows']:,} calibration rows tell no more"
        )
        rule = f"{result['rule']} calls none: {why}"
    else:
        heading = f"{result['outliers']:,} of {result['rows']:,} rows are outliers {at}"
        below = f"; centrality below {share(result['threshold'])}" if result["found"] else ""
        rule = f"{result['rule']}{below}"
    lines = [paint(heading, "heading") + f" ({rule})"]
    if rows:
        body = [
            [f"{row['row']:,}", share(row["centrality"]), share(row["p_value"]) if "p_value" in row else "",
             severity_in_words(row, compared_with), _why(row)]
            for row in rows
        ]  # fmt: skip
        lines += aligned(["row", "centrality", "p-value", "ordinary rows as odd", "why"], body, left=(3, 4))
    elif result["calibration_rows"]:
        smallest = share(result["smallest_p_value"] or 0.0)
        reference = (
            "these rows themselves: outliers among them hide one another. If you have rows that are fine, compare with "
            "those: centrality fit FINE.csv -o MODEL --novelty, then centrality detect MODEL DATA. "
            "What is wrong in a file by itself says centrality check DATA"
            if result["by_themselves"]
            else f"{result['calibration_rows']:,} calibration rows"
        )
        lines.append(
            f"The oddest row has the p-value {smallest}, compared with {reference}. With more false alarms "
            "allowed (--false-positives N), more rows are called."
        )
    if "cells_not_compared" in result:
        lines.append(f"Cells were not compared: {result['cells_not_compared']}. centrality check FILE compares them.")
    if result.get("certificate", {}).get("at_least"):
        lines.append(result["certificate"]["text"])
    lines += counting_line(result, [row["row"] for row in rows])
    name = "Rows that stand out" if rows_apart else "Outliers"
    return "\n".join([*lines, *footer_lines(result, result["outliers"] or len(rows_apart), len(rows), name)])
