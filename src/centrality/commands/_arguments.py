"""What several commands ask for in the same words, and the types of their arguments."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality._checks import InputError

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

DATA = (
    ".csv, .tsv, .jsonl (also .gz), .parquet, .arrow, .npy, .npz, a folder of .parquet files or of images, "
    "or a published set by name, such as breastw"
)


def model_and_data(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    command.add_argument("model", type=Path, metavar="MODEL")
    command.add_argument(
        "data",
        metavar="DATA",
        nargs=None if needed else "?",
        help=f"{DATA}; or - for stdin (CSV, JSON lines or an Arrow stream)",
    )
    command.add_argument("--encoder", metavar="NAME", help="where the model's encoder is now, if its folder has moved")
    command.add_argument("--cache", metavar="FOLDER", help="keep the vectors of images there")
    command.add_argument("--corrupt", metavar="HOW", help="images that cannot be read: refuse or skip")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")


def loaded(arguments: argparse.Namespace) -> "CentralityModel":
    """Load the model that the arguments name, and tell it where this machine keeps what it needs."""
    from centrality.chain import load

    model = load(arguments.model, device=arguments.device)
    asked = {"model": arguments.encoder, "cache": arguments.cache, "corrupt": arguments.corrupt}
    model.settle_in(device=arguments.device, progress=sys.stderr.isatty(), **asked)
    return model


def show_scores(result: dict[str, Any]) -> str:
    return f"Scored {result['rows']:,} rows: {', '.join(result['columns'])} in {result['scores']}"


def require_folder(path: Path) -> None:
    """Before the work, not after it: a place to put the result."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {path.parent} does not exist.")


def names(text: str) -> list[str]:
    if not text.strip():
        raise InputError("Names of columns were wanted, separated by commas, got none.")
    return [name.strip() for name in text.split(",")]


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0 was wanted, got {text}")
    return int(text)


def port(text: str) -> int:
    if not 0 <= int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"a port from 0 to {(1 << 16) - 1} was wanted, got {text}")
    return int(text)


def seed(text: str) -> int:
    if not 0 <= int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {(1 << 32) - 1} was wanted, got {text}")
    return int(text)


def auto_or_number(text: str) -> float | str:
    return text if text == "auto" else float(text)


def auto_or_numbers(text: str) -> float | list[float] | str:
    if text == "auto":
        return text
    found = numbers(text)
    return found[0] if len(found) == 1 else found
