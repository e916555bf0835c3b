"""centrality check: say what is wrong in a file, the worst first."""

import argparse
from pathlib import Path

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import (
    DATA,
    GIVEN_HELP,
    cluster_options,
    column_names,
    reading_options,
    require_cluster,
    require_output,
    rows_option,
    seed,
)
from centrality.apps.commands._reading import require_rows_output, rows_output
from centrality.apps.commands._terminal import FAIL, Result, paint, working

HELP = "say what is wrong in a file, the worst first; it needs no model"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument("--label", metavar="COLUMN", help="a column of labels: say which do not fit their rows")
    command.add_argument("--against", metavar="OLD", help="earlier rows: say what has changed since")
    command.add_argument("--given", metavar="a,b", help=GIVEN_HELP)
    _series.time_arguments(command)
    command.add_argument("--model", type=Path, metavar="MODEL", help="a fitted model (default: one is fitted on DATA)")
    command.add_argument(
        "--fail-on",
        type=severity,
        metavar="SEVERITY",
        help=f"exit with status {FAIL} if a finding is as odd as one in so many ordinary rows, such as 100; 1 is any "
        "finding",
    )
    command.add_argument("--html", type=Path, metavar="REPORT", help="write the report as a page of its own there")
    cluster_options(command)
    reading_options(command)
    rows_option(command)
    rows_output(command, "the rows of all findings")
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="of the fit (default: 0)")


def severity(text: str) -> float:
    """Read a severity: one in how many ordinary rows is as odd."""
    if not float(text) >= 1:
        raise argparse.ArgumentTypeError(f"a number from 1 (any finding) on was wanted, such as 100, got {text}")
    return float(text)


def run(arguments: argparse.Namespace) -> Result:
    """Return the findings; set the exit status that --fail-on asks for."""
    from centrality import tables
    from centrality.chain import load_rows_model
    from centrality.findings import check

    if arguments.data == "-":
        raise InputError("A file was wanted, got -: rows are read more than once. Save them to a file first.")
    require_rows_output(arguments)
    if arguments.html is not None:
        require_output(arguments.html, arguments)
    settings = {
        "label": arguments.label,
        "given": None if arguments.given is None else column_names(arguments.given),
        "time": arguments.time,
        "by": arguments.by,
        "model": None if arguments.model is None else load_rows_model(arguments.model),
        "random_state": arguments.random_state,
    }
    with working("Looking for what is wrong", arguments):
        if require_cluster(arguments, against=arguments.against):
            from centrality import distributed

            report = distributed.check(arguments.data, sample=arguments.sample, address=arguments.cluster, **settings)
        else:
            report = check(arguments.data, against=arguments.against, **settings)
    result: Result = report.as_dict()
    result["text"] = str(report)
    if arguments.html is not None:
        report.to_html(arguments.html, title=str(arguments.data))
        result["report"] = str(arguments.html)
    if arguments.output is not None:
        tables.write(report.marked_rows(), arguments.output)
        result["file"] = str(arguments.output)
    if arguments.fail_on is not None and report.at_least(arguments.fail_on):
        arguments.exit_status = FAIL
    return result


def show(result: Result) -> str:
    verdict, _, rest = result["text"].partition("\n")
    files = [f"{name}: {result[key]}" for key, name in (("report", "Report"), ("file", "Rows")) if key in result]
    return "\n".join([paint(verdict, "heading"), *([rest] if rest else []), *files])
