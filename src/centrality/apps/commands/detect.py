"""centrality detect: name the rows that are outliers, at an error rate that the user chooses."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from centrality._internal.checks import InputError
from centrality._internal.text import number, share
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    count,
    data_with_or_without_model,
    import_scikit_learn,
    load_model,
    one_number,
)
from centrality.apps.commands._reading import (
    counting_line,
    footer_lines,
    in_words,
    require_rows_output,
    rows_output,
    severity_in_words,
)
from centrality.apps.commands._terminal import FOUND, Result, aligned, paint, shows_progress

if TYPE_CHECKING:
    from centrality.analysis.conformal import Rule, Scores
    from centrality.bulk.adapter import Adapter
    from centrality.model.fitted import FittedModel
    from centrality.model.interface import CentralityModel

HELP = "name the outliers among the rows, at an error rate that you choose"
RULES = ("fdr", "false_positives", "contamination")
SHOWN = 20  # outliers printed; all of them go to -o
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
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: the model's own)")
    command.add_argument(
        "--fail-on",
        type=count,
        metavar="N",
        help=f"exit with status {FOUND} if at least N rows, or stretches, are called",
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
    from centrality.bulk.adapter import Adapter
    from centrality.bulk.score import dial, units_of

    rule = _rule(arguments)
    model = load_model(arguments)
    t, fitted = dial(model, arguments.t), model.fitted_
    if rule.needs_inliers:
        fitted.calibration_rows()  # if there are none, say so before the work
    with tables.open_rows(arguments.data) as source:
        adapter = Adapter(model, source.schema.names)
        new = _new_columns(adapter, t, has_p_values=fitted.inliers is not None)
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
        "apart": [] if outliers else _standing_out(arguments, model, units, t),
    }
    if not outliers and (why := _why_no_cells(arguments.data, len(units))):
        result["cells_not_compared"] = why
    named = np.array([each["row"] for each in outliers or result["apart"]], dtype=np.intp)
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
        arguments.exit_status = FOUND


def _rule(arguments: argparse.Namespace) -> "Rule":
    """Return the rule that the arguments choose; raise if the output file could not be written."""
    from centrality.analysis.conformal import Rule

    require_rows_output(arguments, arguments.model, arguments.data)
    if arguments.output is not None and arguments.data == "-":
        raise InputError("-o wants rows that can be read again: give a file instead of stdin.")
    return Rule.chosen_or_usual(**{name: getattr(arguments, name) for name in RULES})


def _new_columns(adapter: "Adapter", t: float, *, has_p_values: bool) -> dict[str, str]:
    """Return the names of the columns that -o writes after those of the data, and what each holds."""
    from centrality._internal.text import column_name

    new = {"row": "row", column_name("centrality", t, adapter.model.t): "centrality"}
    if has_p_values:
        new |= {"p_value": "p_value", "severity": "severity"}
    return new | {"reasons": "reasons"} if adapter.explains else new


def _outliers(
    fitted: "FittedModel", scores: "Scores", threshold: float, t: float
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the rows that score below the threshold, the oddest first, and the smallest p-value of all rows."""
    import numpy as np

    mixing = fitted.mixing
    odd = np.flatnonzero(scores < threshold)
    odd = odd[np.argsort(scores[odd], kind="stable")]
    centralities = mixing.squeeze(scores[odd])
    outliers = [
        {"row": row, "centrality": score} for row, score in zip(odd.tolist(), centralities.tolist(), strict=True)
    ]
    calibration = fitted.inliers
    if calibration is None:
        return outliers, None
    p_values = calibration.p_values(mixing, t, scores[odd]).tolist()
    severities = calibration.severity(mixing, t, scores[odd]).tolist()
    for each, p_value, severity in zip(outliers, p_values, severities, strict=True):
        each |= {"p_value": p_value, "severity": severity}
    return outliers, float(calibration.p_values(mixing, t, np.array([np.nanmin(scores)]))[0])


def _why_no_cells(data: str, rows: int) -> str:
    """Say why the cells of these rows are not compared; an empty text if they are."""
    if data == "-":
        return "stdin can be read once only"
    return f"there are over {MOST_BY_CELLS:,} rows" if rows > MOST_BY_CELLS else ""


def _standing_out(
    arguments: argparse.Namespace, model: "CentralityModel", units: "Scores", t: float
) -> list[dict[str, Any]]:
    """Return the rows that stand out, the oddest first: by their scores among the others, or by a cell.

    Those that are named for a cell alone say for which; their severity is the cell's.
    """
    import numpy as np

    from centrality.analysis.conformal import p_values
    from centrality.analysis.severity import Tail, severity
    from centrality.findings.search import far_numbers

    fitted = model.fitted_
    apart = fitted.stands_apart(units, t)
    scores = fitted.mixing.mixed(fitted.held_out_units(units), t)
    others = np.sort(scores[~apart & ~np.isnan(scores)])
    severities = severity(others, scores, Tail.of(others))
    cells: dict[int, tuple[str, float]] = {}
    if not _why_no_cells(arguments.data, len(units)):
        for finding in far_numbers(arguments.data, model):
            for row in finding.rows.tolist():
                if not apart[row] and finding.severity > cells.get(row, ("", 0.0))[1]:
                    cells[row] = (finding.sentence, finding.severity)
    by_score = np.flatnonzero(apart)
    rows = [
        *by_score[np.argsort(scores[by_score], kind="stable")].tolist(),
        *sorted(cells, key=lambda row: scores[row]),
    ]
    columns = {
        "row": rows,
        "centrality": fitted.mixing.centrality(units[rows], t).tolist(),
        "p_value": p_values(others, scores[rows]).tolist(),
        "severity": [cells[row][1] if row in cells else float(severities[row]) for row in rows],
    }
    named = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for each in named:
        if each["row"] in cells:
            each["cell"] = cells[each["row"]][0]
    return named


def _explain_and_write(arguments: argparse.Namespace, result: Result, adapter: "Adapter", new: dict[str, str]) -> None:
    """Read the outliers again: add the reasons to those that are shown or written, and write them if asked to."""
    import numpy as np

    from centrality import tables

    outliers = result["found"] or result["apart"]
    table = tables.read(arguments.data).take(np.array([each["row"] for each in outliers], dtype=np.int64))
    explained = outliers[: None if arguments.output else SHOWN]
    if explained and adapter.explains:
        with adapter.reader.suppress_issues():
            reasons = adapter.model.reasons(table.slice(0, len(explained)), result["t"])
        for outlier, why in zip(explained, reasons.as_plain(), strict=True):
            outlier["reasons"] = why
    if arguments.output is not None:
        kinds = {"row": np.int64, "reasons": object}  # no outliers have columns of the same types
        rows = [each | {"reasons": _why(each)} for each in outliers]
        values = {
            name: np.array([each[what] for each in rows], kinds.get(what, np.float64)) for name, what in new.items()
        }
        tables.write(tables.with_columns(table, values), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)


def _why(found: Mapping[str, Any]) -> str:
    """Return the reasons for a row in one line, first the cell that it is named for."""
    return ": ".join(filter(None, [found.get("cell", ""), in_words(found)]))


def _reference(result: Result) -> str:
    """Say which rows the data was compared with, and what it means if these are the same rows."""
    if not result["by_themselves"]:
        return f"{result['calibration_rows']:,} calibration rows"
    return (
        "these rows themselves: outliers among them hide one another. If you have rows that are fine, compare with "
        "those: centrality fit FINE.csv -o MODEL --novelty, then centrality detect MODEL DATA. "
        "What is wrong in a file by itself says centrality check DATA"
    )


def _heading(result: Result) -> list[str]:
    """Say how many rows are outliers; where no rule can say so of rows that stand apart, say that."""
    at = f"at t = {number(result['t'])}"
    standing_out = result["apart"]
    if standing_out:
        by_cell = sum("cell" in row for row in standing_out)
        count = len(standing_out)
        stand = f"{count:,} of {result['rows']:,} rows {'stands' if count == 1 else 'stand'} out {at}"
        if by_cell:
            stand += f", {by_cell:,} by a cell alone" if by_cell < count else " by a cell"
        why = (
            "by themselves, rows tell no error rate"
            if result["by_themselves"]
            else f"{result['calibration_rows']:,} calibration rows tell no more"
        )
        return [paint(stand, "heading") + f" ({result['rule']} calls none: {why})"]
    heading = f"{result['outliers']:,} of {result['rows']:,} rows are outliers {at}"
    below = f"; centrality below {share(result['threshold'])}" if result["found"] else ""
    return [paint(heading, "heading") + f" ({result['rule']}{below})"]


def show(result: Result) -> str:
    if "series" in result:
        return _series.show(result)
    apart = result["apart"]
    few = (result["found"] or apart)[:SHOWN]
    compared_with = result["rows"] - len(apart) if apart else result["calibration_rows"]
    lines = _heading(result)
    if few:
        body = [
            [f"{found['row']:,}", share(found["centrality"]), share(found["p_value"]) if "p_value" in found else "",
             severity_in_words(found, compared_with), _why(found)]
            for found in few
        ]  # fmt: skip
        lines += aligned(["row", "centrality", "p-value", "ordinary rows as odd", "why"], body, left=(3, 4))
    elif result["calibration_rows"]:
        smallest = share(result["smallest_p_value"] or 0.0)
        lines.append(
            f"The oddest row has the p-value {smallest}, compared with {_reference(result)}. With more false alarms "
            "allowed (--false-positives N), more rows are called."
        )
    if "cells_not_compared" in result:
        lines.append(f"Cells were not compared: {result['cells_not_compared']}. centrality check FILE compares them.")
    if result.get("certificate", {}).get("at_least"):
        lines.append(result["certificate"]["text"])
    lines += counting_line(result, [found["row"] for found in few])
    name = "Rows that stand out" if apart else "Outliers"
    return "\n".join([*lines, *footer_lines(result, result["outliers"] or len(apart), len(few), name)])
