"""centrality watch: follow rows as they come, and say when they have changed."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import load_model, model_and_data, seed
from centrality.apps.commands._terminal import FAIL, Result, paint, shows_progress

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

AT_ONCE = 500  # rows; of several alarms among so many, the first is said
HELP = "follow a stream of rows and say when it has changed, with a promise on false alarms"


def arguments(command: argparse.ArgumentParser) -> None:
    model_and_data(command, needed=False)
    command.add_argument(
        "--state", type=Path, metavar="FILE", help="what was seen so far: read if it is there, written at the end"
    )
    promise = command.add_mutually_exclusive_group()
    promise.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="P",
        help="the chance that a false alarm is ever given, however long this goes on (default: .05)",
    )
    promise.add_argument(
        "--every",
        type=float,
        metavar="ROWS",
        help="start again after each alarm; the chance of a false one within T rows is at most T / ROWS",
    )
    promise.add_argument(
        "--fdr",
        type=float,
        metavar="SHARE",
        help="with --by: of the streams called changed, at most this share is not, on average (default: .05)",
    )
    command.add_argument("--by", metavar="COLUMN", help="the column that tells several streams apart")
    command.add_argument(
        "--fail-on-alarm", action="store_true", help=f"exit with status {FAIL} if there has been an alarm"
    )
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="breaks ties (default: 0)")


def run(arguments: argparse.Namespace) -> Result:
    """Return the alarms; those of a monitor for good end the reading."""
    import pyarrow as pa

    from centrality import tables
    from centrality.bulk.adapter import Adapter
    from centrality.model.reader import reader_of

    model = load_model(arguments)
    reader = reader_of(model)
    reader.require_rows_apart()
    if arguments.by is not None:
        return _several(arguments, model)
    if arguments.fdr is not None:
        raise InputError("--fdr is for several streams: --by COLUMN was wanted, which tells them apart.")
    state = arguments.state if arguments.state is not None and arguments.state.exists() else None
    monitor = model.monitor(
        alpha=arguments.alpha, every=arguments.every, state=state, random_state=arguments.random_state
    )
    alarms = []
    watch = monitor.watch()
    with tables.open_rows(arguments.data or "-") as source:
        adapter = Adapter(model, source.schema.names)
        for table in adapter.read(source, ahead=False, progress=shows_progress(arguments)):
            for part in table.select(adapter.columns).to_batches(max_chunksize=AT_ONCE):
                with reader.suppress_issues():
                    watch = monitor.update(pa.Table.from_batches([part]))
                if watch.alarm:
                    alarms.append(watch)
            if watch.alarm and arguments.every is None:
                break
    if arguments.state is not None:
        monitor.save(arguments.state)
    if alarms and arguments.fail_on_alarm:
        arguments.exit_status = FAIL
    return {
        "alarm": bool(alarms),
        "rows": watch.rows,
        "evidence": watch.evidence,
        "wanted": watch.wanted,
        "alarms": [{"row": alarm.row, "since": alarm.since, "changes": list(alarm.changes)} for alarm in alarms],
        "text": "\n".join(map(str, alarms)) or str(watch),
    }


def _several(arguments: argparse.Namespace, model: "CentralityModel") -> Result:
    """Watch one stream for each value of a column, and return what is known of each."""
    import pyarrow as pa
    from pyarrow import compute

    from centrality import tables
    from centrality.bulk.adapter import Adapter
    from centrality.model.reader import reader_of

    if arguments.every is not None:
        raise InputError("--every is for one stream: --fdr was wanted with --by.")
    state = arguments.state if arguments.state is not None and arguments.state.exists() else None
    fdr = 0.05 if arguments.fdr is None else arguments.fdr
    streams = model.streams(fdr=fdr, state=state, random_state=arguments.random_state)
    watches = {}
    with tables.open_rows(arguments.data or "-") as source:
        tables.require(source.schema.names, [arguments.by])
        adapter = Adapter(model, source.schema.names)
        for table in adapter.read(source, ahead=False, progress=shows_progress(arguments)):
            for part in table.to_batches(max_chunksize=AT_ONCE):
                names = part.column(arguments.by).cast(pa.string())
                for name in names.unique().to_pylist():
                    of_stream = pa.Table.from_batches([part.filter(compute.equal(names, name))])
                    with reader_of(model).suppress_issues():
                        watches[name] = streams.update(name, of_stream.select(adapter.columns))
    if arguments.state is not None:
        streams.save(arguments.state)
    if streams.changed and arguments.fail_on_alarm:
        arguments.exit_status = FAIL
    return {
        "alarm": bool(streams.changed),
        "changed": streams.changed,
        "streams": [
            {"name": stream.name, "changed": stream.changed, "rows": stream.watch.rows, "row": stream.watch.row,
             "since": stream.watch.since, "changes": list(stream.watch.changes), "evidence": stream.evidence}
            for stream in watches.values()
        ],
        "text": "\n".join(str(stream) for stream in sorted(watches.values(), key=lambda stream: not stream.changed)),
    }  # fmt: skip


def show(result: Result) -> str:
    return paint(result["text"], "bad" if result["alarm"] else "good")
