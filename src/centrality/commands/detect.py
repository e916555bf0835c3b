"""centrality detect: name the rows that are outliers, at an error rate that the user chooses."""

import argparse
from typing import TYPE_CHECKING, Any

from centrality._checks import InputError
from centrality.commands._arguments import data_with_or_without_model, load_model, one_number
from centrality.commands._display import Result, aligned, paint, shows_progress
from centrality.commands._found import in_words, require_rows_output, rows_output, the_rest
from centrality.scores.number_format import number, share

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from centrality.model.interface import CentralityModel
    from centrality.scores.conformal import Rule

HELP = "name the outliers among the rows, at an error rate that you choose"
RULES = ("fdr", "false_positives", "contamination")
SHOWN = 20  # outliers printed; all of them go to -o


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command)
    rule = command.add_mutually_exclusive_group()
    rule.add_argument("--fdr", type=float, metavar="SHARE", help="on average, at most this share of the rows called "
                      "outliers are false alarms (default: 0.05)")  # fmt: skip
    rule.add_argument("--false-positives", type=float, metavar="N", help="on average, at most N false alarms in all")
    rule.add_argument(
        "--contamination", type=float, metavar="SHARE", help="call this share of the rows outliers; promises nothing"
    )
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: the model's own)")
    rows_output(command, "the outliers, the oddest first, with p-values and reasons")


def run(arguments: argparse.Namespace) -> Result:
    """Return the outliers, the oddest first, and the centrality below which rows were called outliers."""
    import numpy as np

    from centrality import tables
    from centrality.scores.conformal import p_values
    from centrality.scoring.adapter import Adapter
    from centrality.scoring.bulk import dial, units_and_rows

    rule = _rule(arguments)
    model = load_model(arguments)
    t, fitted = dial(model, arguments.t), model.fitted_
    inliers = fitted.inlier_scores(t) if rule.needs_inliers else None
    with tables.open_rows(arguments.data) as source:
        if arguments.output is not None:
            adapter = Adapter(model, source.schema.names)
            tables.require_replaceable(_new_names(model, t, rule, explains=adapter.explains), adapter.columns)
        units, _, unreadable = units_and_rows(model, source, progress=shows_progress(arguments), most=0)
    scores, threshold = fitted.mixing.mixed(units, t), fitted.threshold(units, rule, t)
    odd = np.flatnonzero(scores < threshold)
    odd = odd[np.argsort(scores[odd], kind="stable")]
    shown = fitted.mixing.squeeze(scores[odd])
    found: list[dict[str, Any]] = [
        {"row": row, "centrality": score} for row, score in zip(odd.tolist(), shown.tolist(), strict=True)
    ]
    smallest = None
    if inliers is not None:
        smallest = float(p_values(inliers, np.array([np.nanmin(scores)]))[0])
        for each, p_value in zip(found, p_values(inliers, scores[odd]).tolist(), strict=True):
            each["p_value"] = p_value
    result: Result = {
        "rows": len(scores),
        "outliers": len(odd),
        "t": t,
        "rule": f"{rule.name}={rule.value:g}",
        "threshold": float(fitted.mixing.squeeze(np.array(threshold))),
        "calibration_rows": 0 if inliers is None else len(inliers),  # 0: the rule needs none
        "smallest_p_value": smallest,
        "by_themselves": arguments.model is None,  # the model was fitted on the same rows
        "found": found,
    }
    if unreadable:
        result["unreadable"] = unreadable.cells
    if arguments.data != "-" and (found or arguments.output):  # stdin cannot be read again
        _explain_and_write(arguments, result, model, rule)
    return result


def _new_names(model: "CentralityModel", t: float, rule: "Rule", *, explains: bool) -> list[str]:
    """Return the names of the columns that -o writes after those of the data."""
    from centrality.scores.mixing import name_at

    names = ["row", name_at("centrality", t, model.t)]
    return names + ["p_value"] * rule.needs_inliers + ["reasons"] * explains


def _rule(arguments: argparse.Namespace) -> "Rule":
    """Return the rule that the arguments choose; raise if the output file could not be written."""
    from centrality.scores.conformal import Rule

    require_rows_output(arguments, arguments.model, arguments.data)
    if arguments.output is not None and arguments.data == "-":
        raise InputError("-o wants rows that can be read again: give a file instead of stdin.")
    return Rule.chosen_or_usual(**{name: getattr(arguments, name) for name in RULES})


def _explain_and_write(arguments: argparse.Namespace, result: Result, model: "CentralityModel", rule: "Rule") -> None:
    """Read the outliers again: add the reasons to those that are shown or written, and write them if asked to."""
    import numpy as np

    from centrality import tables
    from centrality.scoring.adapter import Adapter

    found = result["found"]
    table = tables.read(arguments.data).take(np.array([each["row"] for each in found], dtype=np.int64))
    _add_reasons(found[: None if arguments.output else SHOWN], table, model, result["t"])
    if arguments.output is not None:
        explains = Adapter(model, table.column_names).explains
        _write(found, table, _new_names(model, result["t"], rule, explains=explains), arguments.output)
        result["file"] = str(arguments.output)


def _add_reasons(found: list[dict[str, Any]], table: "pa.Table", model: "CentralityModel", t: float) -> None:
    """Add to these outliers, which are the first rows of the table, the reasons for them, if features have names."""
    from centrality.scoring.adapter import Adapter

    adapter = Adapter(model, table.column_names)
    if found and adapter.explains:
        table = table.slice(0, len(found))
        vectors = adapter.vectors(table)
        reasons = adapter.reasons(table, vectors, adapter.units(vectors, table.num_rows), [t])[0]
        for outlier, why in zip(found, reasons.as_plain(), strict=True):
            outlier["reasons"] = why


def _write(found: list[dict[str, Any]], table: "pa.Table", names: list[str], output: "Path") -> None:
    """Write the outliers' rows with number and score, p-value and reasons; no outliers have the same columns."""
    import numpy as np

    from centrality import tables

    row, score = names[:2]
    new = {row: np.array([each["row"] for each in found], dtype=np.int64)}
    new[score] = np.array([each["centrality"] for each in found], dtype=np.float64)
    if "p_value" in names:
        new["p_value"] = np.array([each["p_value"] for each in found], dtype=np.float64)
    if "reasons" in names:
        new["reasons"] = np.array([in_words(each) for each in found], dtype=object)
    tables.write(tables.with_columns(table, new), output)


def _reference(result: Result) -> str:
    """Say which rows the data was compared with, and what it means if these are the same rows."""
    if not result["by_themselves"]:
        return f"{result['calibration_rows']:,} calibration rows"
    return (
        "these rows themselves: outliers among them hide one another. If you have rows that are fine, compare with "
        "those: centrality fit FINE -o MODEL --novelty, then centrality detect MODEL DATA"
    )


def show(result: Result) -> str:
    few = result["found"][:SHOWN]
    heading = f"{result['outliers']:,} of {result['rows']:,} rows are outliers at t = {number(result['t'])}"
    below = f"; centrality below {share(result['threshold'])}" if few else ""
    lines = [paint(heading, "heading") + f" ({result['rule']}{below})"]
    if few:
        body = [
            [f"{found['row']:,}", share(found["centrality"]), share(found["p_value"]) if "p_value" in found else "",
             in_words(found)]
            for found in few
        ]  # fmt: skip
        lines += aligned(["row", "centrality", "p-value", "why"], body, left=(3,))
    elif result["calibration_rows"]:
        smallest = share(result["smallest_p_value"] or 0.0)
        lines.append(
            f"The oddest row has the p-value {smallest}, compared with {_reference(result)}. --false-positives N calls "
            "the oddest rows in any case."
        )
    return "\n".join([*lines, *the_rest(result, result["outliers"], len(few), "Outliers")])
