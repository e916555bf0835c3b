"""Fit a model for a command that was given data alone, as `centrality fit` would, and say how the data was read."""

import argparse
import sys
from typing import TYPE_CHECKING

from centrality._checks import InputError
from centrality.commands._arguments import require_output
from centrality.commands._display import working
from centrality.commands._terminal import harmless

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

# Options of `centrality fit` that the other commands have too, with the same meaning.
SHARED = ("quiet", "represent", "window", "given", "random_state", "encoder", "cache", "corrupt", "device")


def model_of_data(arguments: argparse.Namespace) -> "CentralityModel":
    """Return a model fitted on the data with default settings; write it to the path of --save, if given."""
    from centrality.commands import fit

    _require_data(arguments)
    with working("Fitting a model", arguments):
        model, _, _ = fit.learn(_as_for_fit(arguments))
    if arguments.save is not None:
        model.save(arguments.save)
    if not getattr(arguments, "quiet", False):
        print(harmless(_how_it_was_read(arguments, model)), file=sys.stderr, flush=True)
    return model


def _require_data(arguments: argparse.Namespace) -> None:
    """Raise if DATA cannot be fitted: stdin is read once only, a model is no data; or if --save cannot be written."""
    if arguments.data == "-":
        raise InputError("stdin can be read once only: save it to a file, or give a MODEL before the -.")
    if arguments.data.endswith(".safetensors"):
        raise InputError(f"{arguments.data} is a model: say of which data, MODEL DATA.")
    if arguments.save is not None:
        require_output(arguments.save, arguments.data)


def _as_for_fit(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments of `centrality fit` for this data: its defaults, and the options given to this command."""
    from centrality.commands import fit

    parser = argparse.ArgumentParser()
    fit.arguments(parser)
    settings = parser.parse_args([arguments.data, "-o", "unused.safetensors"])
    given = {name: value for name in SHARED if (value := getattr(arguments, name, None)) is not None}
    by = getattr(arguments, "by", None)
    leave_out = None if by in (arguments.given or "").split(",") else by  # a group that is the context is learned from
    vars(settings).update(given, columns=getattr(arguments, "learned", None), leave_out=leave_out)
    return settings


def _how_it_was_read(arguments: argparse.Namespace, model: "CentralityModel") -> str:
    """Say how the data was read, and in a second line how to keep the model and open the page."""
    from centrality.selecting.suited import how_read

    keep = "--save MODEL keeps the model" if arguments.save is None else f"Model: {arguments.save}"
    represent = f" --represent {arguments.represent}" if arguments.represent else ""
    page = "" if "export" in arguments else f"; centrality explore {arguments.data}{represent} opens a page"
    return f"Read {arguments.data} {how_read(model)}.\n{keep}{page}."
