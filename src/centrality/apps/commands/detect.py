"""centrality detect: name the rows that are outliers, at an error rate that the user chooses."""

import argparse
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
)
from centrality.apps.commands._terminal import FOUND, Result, aligned, paint, shows_progress

if TYPE_CHECKING:
    from centrality.analysis.conformal import Rule, Scores
    from centrality.bulk.adapter import Adapter
    from centrality.network.calibration import Mixing

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
    _series.time_arguments(command)
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: the model's own)")
    command.add_argument(
        "--fail-on",
        type=count,
        metavar="N",
        help=f"exit with status {FOUND} if at least N rows, or stretches, are called",
    )
    rows_output(command, "the outliers, the oddest first, with p-values and reasons")


def run(arguments: argparse.Namespace) -> Result:
    """Return the outliers, the oddest first, and the centrality below which rows were called outliers."""
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
    inliers = fitted.inlier_scores(t) if rule.needs_inliers or fitted.inliers is not None else None
    with tables.open_rows(arguments.data) as source:
        adapter = Adapter(model, source.schema.names)
        new = _new_columns(adapter, t, has_p_values=inliers is not None)
        if arguments.output is not None:
            tables.require_replaceable(new, adapter.columns)
        units, unreadable = units_of(model, source, progress=shows_progress(arguments))
    threshold = fitted.threshold(units, rule, t)
    outliers, smallest = _outliers(fitted.mixing, fitted.mixing.mixed(units, t), threshold, inliers)
    result = {
        "rows": len(units),
        "rows_above": source.rows_above,
        "outliers": len(outliers),
        "t": t,
        "rule": f"{rule.name}={rule.value:g}",
        "threshold": float(fitted.mixing.squeeze(np.array(threshold))),
        "calibration_rows": 0 if inliers is None else len(inliers),  # 0: there are none, and the rule needs none
        "smallest_p_value": smallest,
        "by_themselves": arguments.model is None,  # the model was fitted on the same rows
        "found": outliers,
    }
    if unreadable:
        result["unreadable"] = unreadable.cells
    if arguments.data != "-" and (outliers or arguments.output):  # stdin cannot be read again
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
        new["p_value"] = "p_value"
    return new | {"reasons": "reasons"} if adapter.explains else new


def _outliers(
    mixing: "Mixing", scores: "Scores", threshold: float, inliers: "Scores | None"
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the rows that score below the threshold, the oddest first, and the smallest p-value of all rows."""
    import numpy as np

    from centrality.analysis.conformal import p_values

    odd = np.flatnonzero(scores < threshold)
    odd = odd[np.argsort(scores[odd], kind="stable")]
    centralities = mixing.squeeze(scores[odd])
    outliers = [
        {"row": row, "centrality": score} for row, score in zip(odd.tolist(), centralities.tolist(), strict=True)
    ]
    if inliers is None:
        return outliers, None
    for each, p_value in zip(outliers, p_values(inliers, scores[odd]).tolist(), strict=True):
        each["p_value"] = p_value
    return outliers, float(p_values(inliers, np.array([np.nanmin(scores)]))[0])


def _explain_and_write(arguments: argparse.Namespace, result: Result, adapter: "Adapter", new: dict[str, str]) -> None:
    """Read the outliers again: add the reasons to those that are shown or written, and write them if asked to."""
    import numpy as np

    from centrality import tables

    outliers = result["found"]
    table = tables.read(arguments.data).take(np.array([each["row"] for each in outliers], dtype=np.int64))
    explained = outliers[: None if arguments.output else SHOWN]
    if explained and adapter.explains:
        with adapter.reader.suppress_issues():
            reasons = adapter.model.reasons(table.slice(0, len(explained)), result["t"])
        for outlier, why in zip(explained, reasons.as_plain(), strict=True):
            outlier["reasons"] = why
    if arguments.output is not None:
        kinds = {"row": np.int64, "reasons": object}  # no outliers have columns of the same types
        rows = [each | {"reasons": in_words(each)} for each in outliers]
        values = {
            name: np.array([each[what] for each in rows], kinds.get(what, np.float64)) for name, what in new.items()
        }
        tables.write(tables.with_columns(table, values), arguments.output, like=arguments.data)
        result["file"] = str(arguments.output)


def _reference(result: Result) -> str:
    """Say which rows the data was compared with, and what it means if these are the same rows."""
    if not result["by_themselves"]:
        return f"{result['calibration_rows']:,} calibration rows"
    return (
        "these rows themselves: outliers among them hide one another. If you have rows that are fine, compare with "
        "those: centrality fit FINE -o MODEL --novelty, then centrality detect MODEL DATA"
    )


def show(result: Result) -> str:
    if "series" in result:
        return _series.show(result)
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
            f"The oddest row has the p-value {smallest}, compared with {_reference(result)}. With more false alarms "
            "allowed (--false-positives N), more rows are called."
        )
    lines += counting_line(result, [found["row"] for found in few])
    return "\n".join([*lines, *footer_lines(result, result["outliers"], len(few), "Outliers")])
