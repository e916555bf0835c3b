"""Rank, detect, score and compare the moments of series: what these commands do with --time, or with such a model."""

import argparse
import csv
import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from centrality._internal.checks import InputError
from centrality._internal.text import number
from centrality.apps.commands._arguments import import_scikit_learn
from centrality.apps.commands._reading import ROWS_TO_PRINT, footer_lines, require_rows_output
from centrality.apps.commands._terminal import Result, harmless, paint, working

if TYPE_CHECKING:
    from centrality._internal.model_file import Arrays, Header
    from centrality.series import Events, Timeline

VIEWS = ("values", "differences")
RARELY = 1e9  # ordinary moments: beyond that the number says no more
SAVED_EVERY = 1.0  # seconds


def time_arguments(command: argparse.ArgumentParser, *, by: bool = True) -> None:
    """Add the options that make rows the moments of series."""
    series = command.add_argument_group("series")
    series.add_argument(
        "--time", metavar="COLUMN", help="rows are moments in the order of this column: find odd stretches"
    )
    if by:
        series.add_argument("--by", metavar="COLUMN", help="with --time: one series for each value of this column")


def is_series(arguments: argparse.Namespace) -> bool:
    """Say whether the arguments speak of series: by --time, or by a model of series."""
    model = getattr(arguments, "model", None)
    return arguments.time is not None if model is None else is_series_model(model)


def is_series_model(path: Path) -> bool:
    """Say whether the file holds a model of series; what is no model is a matter of those who load it."""
    from centrality._internal import model_file

    try:
        return model_file.read(path)[0].get("model") == "Timeline"
    except (OSError, model_file.ModelFileError):
        return False


def fit_or_load(arguments: argparse.Namespace) -> tuple["Timeline", Any]:
    """Return the model of series, and the rows it is to judge; None: those of its fit."""
    import_scikit_learn()
    from centrality import tables
    from centrality.chain import load
    from centrality.series import Timeline

    if arguments.model is not None:
        model = load(arguments.model, device=arguments.device)
        assert isinstance(model, Timeline)  # `is_series` has looked
        model.set_params(**{name: value for name in ("time", "by") if (value := getattr(arguments, name, None))})
        return model, tables.read(arguments.data)
    table = tables.read(arguments.data)
    model = Timeline(
        arguments.time, getattr(arguments, "by", None), arguments.window, random_state=arguments.random_state
    )
    with working("Fitting a model", arguments):
        model.fit(table)
    if getattr(arguments, "save", None) is not None:
        model.save(arguments.save)
    if not getattr(arguments, "quiet", False):
        for note in [f"Read {arguments.data} as {model.reading()}.", *model.notes_]:
            print(harmless(note), file=sys.stderr, flush=True)
    return model, None


def rank(arguments: argparse.Namespace) -> Result:
    """Return the oddest stretches, as many as asked for if there are so many, whatever their error rate."""
    model, rows = fit_or_load(arguments)
    events = model.events(rows, false_alarms=float(arguments.top))
    return _result(model, events, arguments.top) | {"rank": True}


def detect(arguments: argparse.Namespace) -> Result:
    """Return the stretches that are events at the expected number of false alarms."""
    if arguments.fdr is not None or arguments.contamination is not None:
        raise InputError("Events of series are called by --false-positives N, the false alarms expected in all.")
    require_rows_output(arguments)
    model, rows = fit_or_load(arguments)
    wanted = 0.05 if arguments.false_positives is None else arguments.false_positives
    events = model.events(rows, false_alarms=wanted)
    result = _result(model, events, None) | {"rank": False}
    if arguments.output is not None:
        # The rows in events, the oddest event first, with its number, what it is, and their centrality.
        import numpy as np

        from centrality import tables

        table = tables.read(arguments.data)
        centrality = model.centrality(rows)
        row_numbers = np.array([row for event in events for row in event.rows], dtype=np.int64)
        which = np.array([place for place, event in enumerate(events) for _ in event.rows], dtype=np.int64)
        new = {
            "row": row_numbers,
            "event": which + 1,
            "centrality": centrality[row_numbers] if len(row_numbers) else np.empty(0),
            "reasons": np.array([events[place].sentence for place in which.tolist()], dtype=object),
        }
        tables.write(tables.with_columns(table.take(row_numbers), new), arguments.output)
        result["file"] = str(arguments.output)
    return result


def _result(model: "Timeline", events: "Events", top: int | None) -> Result:
    plain = events.as_dict()
    return {
        "series": True,
        "channels": list(model.channels_),
        "window": model.window_,
        "notes": model.notes_,
        "false_alarms": events.false_alarms,
        "events": plain["events"][:top],
    }


def show(result: Result) -> str:
    """Write the stretches, one a line with its reason below."""
    events = result["events"]
    alarms = result["false_alarms"]
    expected = f"{number(alarms)} false alarm{'' if alarms == 1 else 's'} expected"
    if result["rank"]:
        heading = f"The oddest stretches ({len(events)})" if events else "No stretch stands out."
    else:
        heading = f"{len(events)} odd stretch{'' if len(events) == 1 else 'es'} ({expected})"
    lines = [paint(heading, "heading")]
    if not events and not result["rank"]:
        lines.append("No stretch is odd enough for this rate: `centrality rank` shows the oddest ones all the same.")
    for event in events[:ROWS_TO_PRINT]:
        where = f"{event['series']}  " if event["series"] else ""
        severity = float(f"{event['severity']:.2g}")
        one_in = f"one in {number(severity)} moments" if severity < RARELY else ""
        lines += [f"{where}{event['span']}  {paint(one_in, 'faint')}".rstrip(), f"    ↳ {event['sentence']}"]
    return "\n".join([*lines, *footer_lines(result, len(events), len(events[:ROWS_TO_PRINT]), "Rows of events")])


def score(arguments: argparse.Namespace) -> Result:
    """Write the rows of a file with the centrality of their moments, or judge lines as they come."""
    if arguments.follow:
        return follow(arguments)
    if arguments.output is None or arguments.output == "-":
        raise InputError("Say where the scores go, -o SCORES; lines are judged as they come with --follow.")
    from centrality import tables

    tables.kind_to_write(arguments.output)
    model, table = fit_or_load(arguments)
    new = {"centrality": model.centrality(table)}
    if arguments.p_values:
        new["p_value"] = model.p_values(table)
    if arguments.explain:
        import numpy as np

        # For each row whose moment is odd, the channels to blame.
        p_values = model.p_values(table)
        shares = model.blame(table)
        reasons = np.full(len(shares), "", dtype=object)
        for row in np.flatnonzero(p_values < 0.05):
            order = [c for c in np.argsort(-shares[row])[:3] if shares[row, c] >= 0.1]
            reasons[row] = "; ".join(f"{model.channels_[c]} {shares[row, c]:.0%}" for c in order)
        new["reasons"] = reasons
    tables.write(tables.with_columns(table, new), arguments.output)
    return {"scores": arguments.output, "rows": table.num_rows, "columns": list(new)}


def follow(arguments: argparse.Namespace) -> Result:
    """Judge each line of stdin as it comes, CSV with a header or JSON objects; a note says which are skipped."""
    import_scikit_learn()
    from centrality.chain import load
    from centrality.series import Stream, Timeline

    if arguments.data != "-":
        raise InputError(f"--follow judges lines as they come: give - instead of {arguments.data}.")
    model = load(arguments.model, device=arguments.device)
    if not isinstance(model, Timeline):
        raise InputError(
            f"--follow wants a model of series, from rank or detect with --time and --save: {arguments.model}."
        )
    stream = Stream(model)
    state = arguments.state
    if state is not None and state.exists():
        stream.restore(state)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a line of other bytes is one broken line
    lines = 0
    broken = 0
    saved = time.monotonic()
    try:
        for place, text, row in _lines(sys.stdin, model.channels_):
            try:
                if isinstance(row, str):
                    raise InputError(row)
                moment = stream.push(row, str(row.get(model.by, "")) if model.by else "")
            except InputError as error:
                broken += 1
                print(harmless(f"centrality: line {place} skipped: {error}"), file=sys.stderr, flush=True)
                continue
            lines += 1
            answer: Result = {"line": text, "centrality": None, "p_value": None, "channels": {}}
            if moment is not None:
                answer |= {
                    "centrality": moment.centrality,
                    "p_value": moment.p_value,
                    "channels": dict(moment.channels),
                }
            print(json.dumps(answer), flush=True)
            if state is not None and time.monotonic() - saved > SAVED_EVERY:
                stream.save(state)
                saved = time.monotonic()
    finally:
        if state is not None:
            stream.save(state)
    return {"scores": "-", "rows": lines, "columns": ["centrality", "p_value"], "broken": broken}


def _lines(file: TextIO, channels: Sequence[str]) -> Iterator[tuple[int, str, dict[str, Any] | str]]:
    """Yield the number of each line, the line, and its values by name or what is wrong with it.

    A line of CSV that names all channels is a header, wherever it comes: files that are rotated repeat theirs.
    """
    header: list[str] | None = None
    for place, line in enumerate(iter(file.readline, ""), start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        if text.lstrip().startswith("{"):
            try:
                yield place, text, json.loads(text)
            except (ValueError, RecursionError) as error:
                yield place, text, f"no JSON ({error})"
            continue
        try:
            fields = next(csv.reader([text]))
        except csv.Error as error:
            yield place, text, f"no CSV ({error})"
            continue
        if set(channels) <= set(fields):
            header = fields
        elif header is None:
            yield place, text, f"a header that names {', '.join(channels[:6])} was wanted first"
        elif len(fields) != len(header):
            yield place, text, f"{len(header)} fields were wanted, got {len(fields)}"
        else:
            yield place, text, dict(zip(header, fields, strict=True))


def described(header: "Header", arrays: "Arrays", size: int) -> Result:
    """Return the facts of a file with a model of series."""
    weights = sum(array.size for name, array in arrays.items() if ".network." in name)
    parts = [
        {"view": VIEWS[part["view"]], "of": "all channels jointly" if f"loadings{number}" in arrays else "each channel"}
        for number, part in enumerate(header["parts"])
    ]
    names = ("model", "format", "version", "parameters", "window", "channels", "context", "series")
    facts = {name: header[name] for name in names if name in header}
    learned = {"windows": header["counts"][0], "moments": header["counts"][1]}
    return {**facts, **learned, "parts": parts, "weights": int(weights), "bytes": size}


def show_description(result: Result) -> str:
    """Write the facts of a model of series, one a line."""
    names = [name for name in result["series"] if name]
    lines = {
        "model": f"Timeline, written by centrality {result['version']}",
        "size": f"{result['bytes']:,} bytes, {result['weights']:,} weights",
        "channels": f"{len(result['channels'])}: {_few(result['channels'])}",
        "states": _few(result["context"]) + ", not judged" if result["context"] else "",
        "series": f"{len(names)} by {result['parameters']['by']}: {_few(names)}" if names else "one",
        "window": f"{result['window']} moments",
        "learned from": f"{result['moments']:,} moments, {result['windows']:,} windows",
        "judges": "; ".join(f"{part['view']} of {part['of']}" for part in result["parts"]),
        "parameters": ", ".join(f"{name}={value!r}" for name, value in result["parameters"].items()),
    }
    return "\n".join(f"{name:>15}  {text}" for name, text in lines.items() if text)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + " ..." * (len(names) > 8)


def drift(arguments: argparse.Namespace) -> Result:
    """Compare the moments of new rows with those of a model, or of old rows."""
    import_scikit_learn()
    from centrality import tables
    from centrality.chain import load
    from centrality.series import Timeline

    if Path(arguments.old).suffix == ".safetensors":
        model = load(arguments.old, device=arguments.device)
        assert isinstance(model, Timeline)  # `is_series` has looked
    else:
        model = Timeline(arguments.time, random_state=arguments.random_state).fit(tables.read(arguments.old))
    return dict(model.drift(tables.read(arguments.new))) | {"series": True}


def show_drift(result: Result) -> str:
    heading = "The series have changed." if result["changed"] else "The series have not changed noticeably."
    return "\n".join([paint(heading, "bad" if result["changed"] else "good"), *result["changes"]])
