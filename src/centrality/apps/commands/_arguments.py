"""Arguments that several commands share, and the imports that they wait for."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from centrality._internal.checks import InputError
from centrality.apps.commands._terminal import Result, shows_progress

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel


# How addresses of databases begin; `tables.database` reads them, and is not imported to look.
LAKES = ("delta:", "iceberg:")
DATABASES = ("postgresql:", "postgres:", "sqlite:", "duckdb:", *LAKES, "env:")
PLACES = ("data", "old", "new", "against", "output")  # arguments that may be such addresses
INPUTS = ("model", "data", "rows_file", "old", "new", "against", "marks")  # arguments that name what is read
DATA = (
    ".csv, .tsv, .jsonl, .json (also .gz, .bz2, .zst, .zip), .xlsx, .parquet, .arrow, .npy, .npz, a folder of .parquet "
    "files, of images or of a data set that save_to_disk wrote, a database (postgresql://host/name, sqlite:FILE, "
    "duckdb:FILE), a lake (delta:FOLDER, iceberg:CATALOG), or a published set by name, such as breastw"
)

GIVEN_HELP = "the columns that are the context: rows are judged among rows of their kind"


def model_and_data(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add MODEL and DATA to a command, and the options that say how this machine reads them."""
    command.add_argument("model", type=Path, metavar="MODEL", help="a model file, from `centrality fit`")
    command.add_argument(
        "data",
        metavar="DATA",
        nargs=None if needed else "?",
        help=f"{DATA}; or - for stdin (CSV, JSON lines or an Arrow stream)",
    )
    how_to_read(command)


def how_to_read(command: argparse.ArgumentParser) -> None:
    """Add to a command the options for how this machine reads rows: encoder, cache, bad cells, device."""
    command.add_argument("--encoder", metavar="NAME", help="where the model's encoder is now, if its folder has moved")
    command.add_argument("--cache", metavar="FOLDER", help="keep the vectors of images there")
    command.add_argument("--corrupt", metavar="HOW", help="images that cannot be read: refuse or skip")
    reading_options(command)
    vectors_options(command)
    unreadable_option(command)
    device_option(command)


def vectors_options(command: argparse.ArgumentParser) -> None:
    """Add to a command the options for vectors that come with the rows: their column, or the rows of their file."""
    command.add_argument(
        "--vectors", metavar="COLUMN", help="the vectors in this column stand for the rows; other columns come along"
    )
    rows_option(command)


def rows_option(command: argparse.ArgumentParser) -> None:
    """Add to a command the option for the rows of vectors that lie in a file of their own."""
    command.add_argument(
        "--with", dest="rows_file", metavar="ROWS", help="the rows of the vectors in DATA, a .npy or .npz file"
    )


def device_option(command: argparse.ArgumentParser) -> None:
    """Add to a command the option that names where it computes."""
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")


def cluster_options(command: argparse.ArgumentParser) -> None:
    """Add to a command the options for a folder of Parquet files that is larger than one machine."""
    command.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="look at a folder of .parquet files on a Ray cluster: its address, auto for the one this machine belongs "
        "to, local for a new one here",
    )
    command.add_argument(
        "--sample",
        type=count,
        metavar="ROWS",
        help="with --cluster: rows drawn for what is said of all (default: up to 200,000)",
    )


def require_cluster(arguments: argparse.Namespace, **elsewhere: object) -> bool:
    """Say whether a cluster is to be used; raise if options come with it, or without it, that do not go together.

    `elsewhere` are the options, by name, that only one machine understands.
    """
    if arguments.cluster is None:
        if arguments.sample is not None:
            raise InputError("--sample is for --cluster ADDRESS: without it, all rows are read.")
        return False
    if names := [f"--{name}" for name, value in elsewhere.items() if value is not None]:
        raise InputError(f"--cluster looks at one folder of rows, file by file: leave out {' and '.join(names)}.")
    return True


def t_option(command: argparse.ArgumentParser) -> None:
    """Add to a command the option for one t."""
    command.add_argument("--t", type=one_number, help="from 0, global, to 1, local (default: the model's own)")


def reading_options(command: argparse.ArgumentParser) -> None:
    """Add to a command the options that say how its rows are read: the encoding of text, the table of a database."""
    command.add_argument(
        "--encoding", metavar="NAME", help="of a text file (default: UTF-8, UTF-16 or cp1252, as its bytes show)"
    )
    database = command.add_argument_group("databases")
    database.add_argument("--table", metavar="NAME", help="the rows of this table or view")
    database.add_argument("--query", metavar="SQL", help="the rows of this query")
    database.add_argument("--as-of", metavar="WHEN", help="of a lake: a version, or a time such as 2026-01-31")
    database.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="the most a statement of PostgreSQL may take (default: 3600)"
    )


def table_output_options(command: argparse.ArgumentParser) -> None:
    """Add to a command the options for -o into a table of a database."""
    table = command.add_argument_group("-o into a database")
    table.add_argument("--into", metavar="NAME", help="the table to write, in one transaction")
    table.add_argument(
        "--if-exists",
        choices=("fail", "replace", "append"),
        help="where there is such a table: stop (default), put a new one in its place, or add rows to it",
    )
    table.add_argument("--only", metavar="a,b", help="write these columns alone, such as a key and the new ones")


def output_path(text: str) -> Path | str:
    """Read where rows are written: a path, or the address of a database as it is."""
    return text if text.startswith(DATABASES) else Path(text)


def name_tables(arguments: argparse.Namespace) -> None:
    """Put the tables, the query and the time that options name into the addresses of their databases.

    Raise an InputError if an address holds a password, or if an option has no database to speak of.
    """
    places = vars(arguments)
    for name in PLACES[:-1]:
        if places.get(name) is not None and Path(places[name]).is_dir():
            from centrality.tables.lakes import lake_of_folder

            places[name] = lake_of_folder(places[name]) or places[name]
    databases = [name for name in PLACES if str(places.get(name) or "").startswith(DATABASES)]
    rows = "new" if "new" in places else "data"
    options = {"table": rows, "query": rows, "as_of": rows, "timeout": None}
    options |= {"into": "output", "if_exists": "output", "only": "output"}
    if "into" not in places:  # `reproduce --only` means another thing
        del options["only"]
    for option, place in options.items():
        if places.get(option) is not None and (place not in databases if place else not databases):
            kind = "databases"
            address = "postgresql://host/name or sqlite:FILE"
            if option == "as_of":
                kind = "lakes, which keep older versions"
                address = "delta:FOLDER or iceberg:CATALOG"
            raise InputError(f"--{option.replace('_', '-')} is for {kind}: an address such as {address} was wanted.")
    if not databases:
        return
    from centrality.tables.database import DatabasePlace, with_table
    from centrality.tables.lakes import with_time

    for name in databases:
        DatabasePlace.of(places[name])
    if places.get("as_of") is not None:
        places[rows] = with_time(places[rows], places["as_of"])
    if places.get("table") is not None or places.get("query") is not None:
        places[rows] = with_table(places[rows], table=places["table"], query=places["query"])
    if places.get("into") is not None:
        places["output"] = with_table(places["output"], table=places["into"])
    if "output" in databases and places["output"] in [places[name] for name in databases if name != "output"]:
        raise InputError(f"{places['output']} would be overwritten, but it is read: name another table with --into.")


@contextmanager
def reading_as_asked(arguments: argparse.Namespace) -> Iterator[None]:
    """Read text files in the encoding that the arguments name, and read and write databases as they say, in the block.

    What is read of a database is of one moment. Vectors in a file of their own are read with their rows.
    """
    places = vars(arguments)
    with ExitStack() as stack:
        if any(str(places.get(name) or "").startswith(DATABASES) for name in PLACES):
            from centrality.tables.database import database_access

            access = database_access(
                timeout=3600.0 if places.get("timeout") is None else places["timeout"],
                if_exists=places.get("if_exists") or "fail",
                only=() if places.get("only") is None else column_names(places["only"]),
            )
            stack.enter_context(access)
        if places.get("encoding") is not None:
            from centrality.tables import named_encoding

            stack.enter_context(named_encoding(arguments.encoding))
        if places.get("rows_file") is not None:
            from centrality.tables import rows_beside

            if arguments.data is None or arguments.data == "-":
                raise InputError(f"--with {arguments.rows_file} wants a file of vectors as DATA, .npy or .npz.")
            stack.enter_context(rows_beside(arguments.data, arguments.rows_file))
            if "vectors" in places and arguments.vectors is None:
                from centrality.tables.beside import VECTORS

                arguments.vectors = VECTORS
        yield


def unreadable_option(command: argparse.ArgumentParser) -> None:
    """Add to a command the option that says how many cells of a column may be unlike any in fitting."""
    command.add_argument(
        "--unreadable",
        type=float,
        metavar="SHARE",
        help="stop if more than this share of a column is no date, a new gap or an unseen category "
        "(default: 0.05; 1 never stops)",
    )


def data_with_or_without_model(command: argparse.ArgumentParser, *, columns: bool = True) -> None:
    """Add an optional MODEL, and DATA; without a model, one is fitted on the data with these options."""
    command.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="left out: one is fitted on DATA")
    command.add_argument("data", metavar="DATA", help=f"{DATA}; with a MODEL also - for stdin")
    command.set_defaults(model_may_be_left_out=True)
    how_to_read(command)
    fit = command.add_argument_group("without a MODEL")
    fit.add_argument("--save", type=model_path, metavar="MODEL", help="keep the model that was fitted, a .safetensors")
    fit.add_argument("--represent", metavar="WHAT", help="how to read DATA, as in `centrality fit` (default: as it is)")
    fit.add_argument("--window", type=count, metavar="N", help="cut one long series into windows of this length")
    fit.add_argument("--given", metavar="a,b", help=GIVEN_HELP)
    if columns:
        fit.add_argument("--columns", dest="learned", metavar="a,b", help="the columns to learn from (default: all)")
    fit.add_argument(
        "--random-state", type=seed, default=0, metavar="SEED", help="a seed makes results repeatable (default: 0)"
    )


def load_model(arguments: argparse.Namespace) -> "CentralityModel":
    """Load the model that the arguments name, and set its options of this machine (caches, devices).

    If they name none, fit one on the data.
    """
    import_scikit_learn()
    if arguments.model is None:
        from centrality.apps.commands._reading import fit_from_arguments

        return fit_from_arguments(arguments)
    from centrality.chain import load_rows_model
    from centrality.model.reader import reader_of
    from centrality.tables.columns import first_few
    from centrality.tables.files import folder_of

    could_have_fitted = "save" in arguments
    for option in ("save", "represent", "window", "given", "learned") if could_have_fitted else ():
        if getattr(arguments, option, None) is not None:
            name = "columns" if option == "learned" else option
            raise InputError(f"--{name} is for DATA without a model: leave out {arguments.model}, or --{name}.")
    model = load_rows_model(arguments.model, device=arguments.device)
    columns = reader_of(model).input_spec().columns
    if getattr(arguments, "vectors", None) is not None and arguments.vectors not in (columns or ()):
        names = first_few(columns) if columns else "columns of numbers"
        raise InputError(
            f"{arguments.model} does not read a column {arguments.vectors!r}, but {names}: rename the column, or fit "
            "again with --vectors."
        )
    where = {name: getattr(arguments, name, None) for name in ("cache", "corrupt", "unreadable")}
    where["folder"] = folder_of(getattr(arguments, "data", None))
    where["model"] = getattr(arguments, "encoder", None)
    reader_of(model).configure(device=arguments.device, progress=shows_progress(arguments), **where)
    return model


def show_scores(result: Result) -> str:
    """Say how many rows were scored, and where the scores are."""
    return f"Scored {result['rows']:,} rows: {', '.join(result['columns'])} in {result['scores']}"


def require_output(output: str | Path, arguments: argparse.Namespace) -> None:
    """Raise if the output cannot be written, or would overwrite what the arguments say to read.

    It is called before the work begins.
    """
    if str(output).startswith(DATABASES):
        from centrality.tables import database

        database.require_writable(output)
        return
    from centrality._internal.files import require_writable

    output = Path(output)
    for name in INPUTS:
        if (place := getattr(arguments, name, None)) is None:
            continue
        path = Path(place)
        if output.exists() and path.exists() and (output.samefile(path) or path.resolve() in output.resolve().parents):
            raise InputError(f"{output} would be overwritten, but it is read: name another file than {path} with -o.")
    require_writable(output)


def column_names(text: str) -> list[str]:
    """Read names of columns that are separated by commas."""
    if not text.strip():
        raise InputError("Names of columns were wanted, separated by commas, got none.")
    return [name.strip() for name in text.split(",")]


def numbers(text: str) -> list[float]:
    """Read numbers that are separated by commas."""
    return [float(part) for part in text.split(",")]


def one_number(text: str) -> float:
    """Read one number; raise an error that says so for several, as `score --t` takes them."""
    try:
        return float(text)
    except ValueError:
        hint = "; score --t takes several" if "," in text else ""
        raise argparse.ArgumentTypeError(
            f"one number from 0 (global) to 1 (local) was wanted, got {text}{hint}"
        ) from None


def model_path(text: str) -> Path:
    """Read the path of a model to write, which must end in .safetensors."""
    if Path(text).suffix != ".safetensors":
        wanted = Path(text).with_suffix(".safetensors") if text.strip("./") else "model.safetensors"
        raise argparse.ArgumentTypeError(f"a model file ends in .safetensors, got {text}: try -o {wanted}")
    return Path(text)


def count(text: str) -> int:
    """Read a whole number above 0."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0 was wanted, got {text}")
    return int(text)


def port(text: str) -> int:
    """Read the number of a port."""
    if not 0 <= int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"a port from 0 to {(1 << 16) - 1} was wanted, got {text}")
    return int(text)


def seed(text: str) -> int:
    """Read a seed as numpy takes it."""
    if not 0 <= int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {(1 << 32) - 1} was wanted, got {text}")
    return int(text)


def auto_or_count(text: str) -> int | str:
    """Read a whole number above 0, or the word auto."""
    return text if text == "auto" else count(text)


def auto_or_number(text: str) -> float | str:
    """Read a number, or the word auto."""
    return text if text == "auto" else float(text)


def auto_or_numbers(text: str) -> float | list[float] | str:
    """Read a number, several that are separated by commas, or the word auto."""
    if text == "auto":
        return text
    values = numbers(text)
    return values[0] if len(values) == 1 else values


STATISTICS = "scipy.stats"  # takes a third of the time of the imports, and few commands need it


class _Statistics(ModuleType):
    """Stands for SciPy's statistics, and imports them if something of them is asked for after all."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(STATISTICS) is self:
            del sys.modules[STATISTICS]
        return getattr(import_module(STATISTICS), name)


class _WithoutPandas:
    """Finder of modules that says pandas is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_scikit_learn() -> None:
    """Import what the estimators take from scikit-learn, without SciPy's statistics and pandas.

    Scikit-learn and Arrow import pandas only to recognize its tables, and commands have none. Both are imported as
    ever by whoever uses them later. A process that has scikit-learn already is left as it is.
    """
    if "sklearn" in sys.modules:
        return
    statistics = _Statistics(STATISTICS)
    finder: Any = _WithoutPandas()
    sys.modules.setdefault(STATISTICS, statistics)
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa
        import sklearn.utils.validation  # noqa: F401

        pa.array([0])  # Arrow looks for pandas once, before its first array
    finally:
        sys.meta_path.remove(finder)
        if sys.modules.get(STATISTICS) is statistics:
            del sys.modules[STATISTICS]
