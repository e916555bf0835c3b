"""centrality export: write a model as an ONNX file."""

import argparse
from pathlib import Path

from centrality._internal.checks import InputError
from centrality.apps.commands._arguments import require_output
from centrality.apps.commands._terminal import Result

HELP = "write a model as ONNX, to be scored by other programs and languages"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="model.onnx", help="an .onnx file")
    command.add_argument("--float32", action="store_true", help="the file takes numbers of float32, not of float64")
    command.add_argument(
        "--vectors", action="store_true", help="leave out what reads a table: the file takes the vectors it makes"
    )


def run(arguments: argparse.Namespace) -> Result:
    """Return facts about the ONNX file; `without` names a representation, which is not in the file."""
    if arguments.output.suffix != ".onnx":
        raise InputError(f"The output must end in .onnx, got {arguments.output}.")
    require_output(arguments.output, arguments)

    from centrality.chain import Chain, load_rows_model
    from centrality.onnx.graph import OPSET

    model = load_rows_model(arguments.model, device="cpu")
    is_chain = isinstance(model, Chain)
    part = model.model_ if is_chain and arguments.vectors else model
    part.to_onnx(arguments.output, rows="float32" if arguments.float32 else "float64")
    reads = model.representation_.columns_ if is_chain else None
    return {
        "onnx": str(arguments.output),
        "bytes": arguments.output.stat().st_size,
        "opset": OPSET,
        "features": len(reads or []) if is_chain and not arguments.vectors else model.fitted_.width,
        "without": type(model.representation_).__name__ if is_chain and arguments.vectors else None,
        "columns": None if arguments.vectors else reads,
    }


def show(result: Result) -> str:
    text = f"Wrote {result['onnx']}: {result['bytes']:,} bytes, ONNX opset {result['opset']}"
    if result["columns"] is not None:
        return f"{text}\nThe whole model: the file takes {result['features']} columns as they are, by their names."
    if result["without"] is None:
        return text
    return (
        f"{text}\nOnly the FUSE part: {result['without']} stays in Python. The file scores its "
        f"{result['features']} numbers a row, load(MODEL).representation_.transform(rows), not the rows themselves."
    )
