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
    command.add_argument("--float32", action="store_true", help="the file takes rows of float32, not of float64")


def run(arguments: argparse.Namespace) -> Result:
    """Return facts about the ONNX file; `without` names a representation, which is not in the file."""
    if arguments.output.suffix != ".onnx":
        raise InputError(f"The output must end in .onnx, got {arguments.output}.")
    require_output(arguments.output, arguments)

    from centrality.chain import load_rows_model
    from centrality.model.reader import reader_of
    from centrality.onnx.export import OPSET

    model = load_rows_model(arguments.model, device="cpu")
    model.to_onnx(arguments.output, rows="float32" if arguments.float32 else "float64")
    return {
        "onnx": str(arguments.output),
        "bytes": arguments.output.stat().st_size,
        "opset": OPSET,
        "features": model.fitted_.width,
        "without": reader_of(model).about().get("representation"),
    }


def show(result: Result) -> str:
    text = f"Wrote {result['onnx']}: {result['bytes']:,} bytes, ONNX opset {result['opset']}"
    if result["without"] is None:
        return text
    return (
        f"{text}\nOnly the FUSE part: {result['without']} stays in Python. The file scores its "
        f"{result['features']} numbers a row, load(MODEL).representation_.transform(rows), not the rows themselves."
    )
