"""centrality export: a model as an ONNX file."""

import argparse
from pathlib import Path
from typing import Any

from centrality._checks import InputError
from centrality.commands._arguments import require_folder

HELP = "write a model as ONNX, to be scored without torch"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="model.onnx")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.output.suffix != ".onnx":
        raise InputError(f"The output must end in .onnx, got {arguments.output}.")
    require_folder(arguments.output)

    from centrality.chain import load
    from centrality.model.onnx_graph import OPSET

    model = load(arguments.model, device="cpu")
    model.to_onnx(arguments.output)
    return {
        "onnx": str(arguments.output),
        "bytes": arguments.output.stat().st_size,
        "opset": OPSET,
        "features": model.fitted_.width,
        "without": model.about().get("representation"),
    }


def show(result: dict[str, Any]) -> str:
    said = f"Wrote {result['onnx']}: {result['bytes']:,} bytes, ONNX opset {result['opset']}"
    if result["without"] is None:
        return said
    return (
        f"{said}\nOnly the FUSE part: {result['without']} stays in Python. The file scores its "
        f"{result['features']} numbers a row, load(MODEL).represent(rows), not the rows themselves."
    )
