"""Read rows and fit models for commands, and print rows."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import output_path, require_output, table_output_options
from centrality.apps.commands._terminal import aligned, harmless, paint, working

if TYPE_CHECKING:
    import pyarrow as pa

    from centrality.model.interface import CentralityModel


def row_names(text: str) -> list[str]:
    """Read numbers or names of rows that are separated by commas."""
    names = [part.strip() for part in text.split(",")]
    if "" in names or any(name.startswith("-") and name[1:].isdecimal() for name in names):
        raise argparse.ArgumentTypeError(f"row numbers from 0 on, or names of rows, were wanted, got {text}")
    return names


def rows_called(names: list[str], table: "pa.Table") -> list[int]:
    """Return the numbers of the rows with these numbers or names; raise if a name fits no row, or more than one."""
    import pyarrow as pa
    from pyarrow import compute

    texts = [column for column in table.itercolumns() if pa.types.is_string(column.type) or
             pa.types.is_large_string(column.type)]  # fmt: skip
    numbers = []
    for name in names:
        if name.isdecimal():
            if int(name) >= table.num_rows:
                raise InputError(f"--rows counts from 0 to {table.num_rows - 1} here, got {name}.")
            numbers.append(int(name))
            continue
        rows_by_column = (compute.indices_nonzero(compute.equal(column, name)).to_pylist() for column in texts)
        rows = sorted(set(chain.from_iterable(rows_by_column)))
        if len(rows) != 1:
            holders = "none holds it" if not rows else f"{len(rows):,} rows hold it, the first are {rows[:3]}"
            raise InputError(
                f"--rows: a number from 0 to {table.num_rows - 1} was wanted, or a text that one row holds, "
                f"got {name}: {holders}."
            )
        numbers.append(rows[0])
    return numbers


def reading_lines(reads: Mapping[str, str], doubts: Mapping[str, str]) -> list[str]:
    """Return the lines of a table: each column's name and how it was read, with any doubt on the line below."""
    rows: list[tuple[str, str]] = []
    doubtful = []
    for name in sorted(reads, key=lambda name: name not in doubts):  # otherwise in the order of the file
        rows.append((name, reads[name]))
        if name in doubts:
            doubtful.append(len(rows) + 1)  # the header is the first line
            rows.append(("", f"doubtful: {doubts[name]}"))
    lines = aligned(("column", "read as"), rows, left=(0, 1))
    return [paint(line, "bad") if place in doubtful else line for place, line in enumerate(lines)]


# Options of `centrality fit` that the other commands have too, with the same meaning.
SHARED = ("quiet", "vectors", "represent", "window", "given", "random_state", "encoder", "cache", "corrupt", "device")


def fit_from_arguments(arguments: argparse.Namespace) -> "CentralityModel":
    """Return a model fitted on the data with default settings; write it to the path of --save, if one is named.

    Unless --quiet is, stderr says how the data was read and, in a second line, how to keep the model and open the page.
    """
    from centrality.apps.commands import fit

    if arguments.data == "-":
        raise InputError("stdin can be read once only: save it to a file, or give a MODEL before the -.")
    if arguments.data.endswith(".safetensors"):
        raise InputError(f"{arguments.data} is a model: say of which data, MODEL DATA.")
    if arguments.save is not None:
        require_output(arguments.save, arguments)
    # The arguments of `centrality fit` for this data: its defaults, and the options of this command.
    parser = argparse.ArgumentParser()
    fit.arguments(parser)
    settings = parser.parse_args([arguments.data, "-o", "unused.safetensors"])
    options = {name: value for name in SHARED if (value := getattr(arguments, name, None)) is not None}
    by = getattr(arguments, "by", None)
    leave_out = None if by in (arguments.given or "").split(",") else by  # a group that is the context is learned from
    vars(settings).update(options, columns=getattr(arguments, "learned", None), leave_out=leave_out)
    with working("Fitting a model", arguments):
        model, _, _ = fit.learn(settings)
    if arguments.save is not None:
        model.save(arguments.save)
    if not getattr(arguments, "quiet", False):
        from centrality.selection.rank import how_read

        keep = "--save MODEL keeps the model" if arguments.save is None else f"Model: {arguments.save}"
        represent = f" --represent {arguments.represent}" if arguments.represent else ""
        if arguments.rows_file is not None:
            represent = f" --with {arguments.rows_file}"
        elif arguments.vectors is not None:
            represent = f" --vectors {arguments.vectors}"
        page = "" if "export" in arguments else f"; centrality explore {arguments.data}{represent} opens a page"
        series = "" if "time" not in arguments or arguments.represent else _series_hint(arguments.data)
        text = f"Read {arguments.data} {how_read(model)}.\n{keep}{page}.{series}"
        print(harmless(text), file=sys.stderr, flush=True)
    return model


def _series_hint(data: str) -> str:
    """Say that rows look like moments of a series, if the first ones do."""
    import pyarrow as pa

    from centrality import tables
    from centrality.series.reading import find_series

    with tables.open_rows(data) as source:
        first = next(iter(source.batches()), None)
    series = None if first is None else find_series(pa.Table.from_batches([first]))
    if series is None:
        return ""
    column, interval = series
    return f"\nIt looks like a series, one row {interval}: --time {column} finds stretches that are odd."


ROWS_TO_PRINT = 20  # all of them go to -o
WIDTH = 60  # characters of a row that are printed
COLUMNS_TO_PRINT = 4
SMALL = 0.05  # a column that lowers the centrality by less does not make a row odd by itself
AS_A_WHOLE = "no column alone, but its values together; most of all"


def rows_output(command: argparse.ArgumentParser, what: str) -> None:
    """Add to a command the option for a file of all rows that it names."""
    command.add_argument("-o", "--output", type=output_path, metavar="ROWS", help=f"write {what} there")
    table_output_options(command)


def require_rows_output(arguments: argparse.Namespace) -> None:
    """Raise if the file of rows, if one is wanted, cannot be written. It is called before the work begins."""
    from centrality import tables

    if arguments.output is not None:
        tables.kind_to_write(arguments.output)
        require_output(arguments.output, arguments)


def require_rows_again(arguments: argparse.Namespace) -> None:
    """Raise if a file of rows is wanted that cannot be written, or of rows that cannot be read a second time."""
    require_rows_output(arguments)
    if arguments.output is not None and arguments.data == "-":
        raise InputError("-o wants rows that can be read again: give a file instead of stdin.")


def footer_lines(result: Mapping[str, Any], rows: int, printed: int, name: str) -> list[str]:
    """Return the last lines: how many of the rows or groups are not printed, and where all of them are."""
    lines = []
    if printed < rows:
        lines.append(f"... and {rows - printed:,} more" + ("" if "file" in result else ": -o ROWS writes them all"))
    return [*lines, f"{name}: {result['file']}"] if "file" in result else lines


def counting_line(result: Mapping[str, Any], rows: Sequence[int]) -> list[str]:
    """Say how the rows of a result are counted, by an example: from 0, while people's spreadsheets count lines."""
    if result.get("rows_above") is None or not rows:
        return []
    row = rows[0]
    return [f"Rows count from 0: row {row:,} is row {row + result['rows_above'] + 1:,} in a spreadsheet."]


def columns_to_print(model: "CentralityModel") -> list[str] | None:
    """Return the column of texts or images, if the model reads one, else None: all columns are printed."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).input_spec()
    return reading.columns if reading.kind in ("text", "images") else None


def in_words(row: Mapping[str, Any]) -> str:
    """Return the reasons for a row in one line; an empty one where it has none."""
    from centrality.analysis.reasons import Reason

    reasons = row.get("reasons", [])
    whole = f"{AS_A_WHOLE}: " if reasons and odd_as_a_whole(reasons) else ""
    return whole + "; ".join(str(Reason(**reason)) for reason in reasons)


def severity_in_words(row: Mapping[str, Any], calibration_rows: int) -> str:
    """Write how many ordinary rows are as odd as this one; an empty text where nothing is known of them."""
    from centrality.analysis import severity

    return severity.in_words(row["severity"], calibration_rows) if "severity" in row else ""


def odd_as_a_whole(reasons: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether no column alone lowers the row's centrality by much: its values are unusual together."""
    return all(reason["contribution"] > -SMALL for reason in reasons)


def excerpt(values: dict[str, object], only: list[str] | None) -> str:
    """Write a short excerpt of a row: the first words of a text, the path of an image, or the first few columns."""
    from centrality.bulk.ranking import cell_text

    if only is not None and len(only) == 1:
        return _short(str(values[only[0]]), WIDTH, keep_end="/" in str(values[only[0]]))
    parts = [f"{name}={_short(cell_text(value), 20)}" for name, value in list(values.items())[:COLUMNS_TO_PRINT]]
    return _short(" ".join(parts) + (" ..." if len(values) > COLUMNS_TO_PRINT else ""), 2 * WIDTH)


def _short(text: str, width: int, *, keep_end: bool = False) -> str:
    """Shorten a text to one line, cut after a word; with `keep_end` cut its beginning, as for paths."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    if keep_end and " " not in text:
        return "…" + text[-(width - 1) :]
    cut = text[: width - 1]
    inside_a_word = text[width - 1] != " " and " " in cut
    return (cut.rsplit(" ", 1)[0] if inside_a_word else cut) + "…"
