"""Write a user's own encoder as ONNX nodes, by torch's exporter."""

import copy
import logging
import warnings
from typing import Any

import torch
from torch import nn

from centrality._checks import InputError
from centrality._optional import optional
from centrality.network.network import Network
from centrality.torch.networks import Copies, to_train


def encoder_of(network: Network, trunk: int, member: int) -> nn.Module:
    """Return a member's copy of the user's encoder, as it was trained."""
    copies = to_train(network, "cpu").trunks[trunk]
    assert isinstance(copies, Copies)
    return copies.members[member]


def nodes_of(encoder: nn.Module, width: int, opset: int, z: str, prefix: str) -> tuple[list[Any], list[Any], str]:
    """Return nodes and constants from the tensor called `z`, (n, width), to the features; and the features' name."""
    onnx = optional("onnx", "onnx")
    exported = onnx.compose.add_prefix(_exported(encoder, width, opset), prefix)
    (given,), (made,) = exported.graph.input, exported.graph.output
    bridge = onnx.helper.make_node("Identity", [z], [given.name])
    return [bridge, *exported.graph.node], list(exported.graph.initializer), made.name


def _exported(encoder: nn.Module, width: int, opset: int) -> Any:
    """Return the encoder as an ONNX model; raise an error that says why if torch cannot export it."""
    optional("onnxscript", "onnx")
    try:
        made = _by_torch(copy.deepcopy(encoder).cpu().eval(), width, opset)
        wanted = {("", opset)}
        if {(one.domain, one.version) for one in made.opset_import} != wanted or made.functions:
            raise InputError(f"it needs operators beyond those of opset {opset}")
    except Exception as error:  # noqa: BLE001  (an encoder and the exporter can raise anything)
        lines = str(error.__cause__ or error).strip().splitlines()
        raise InputError(
            f"The encoder {type(encoder).__name__} cannot be written as ONNX. torch.onnx.export says: "
            f"{lines[0] if lines else type(error).__name__}. Write it in operators that do not depend on the rows' "
            "values or number, or score with the model's own file."
        ) from error
    return made


def _by_torch(encoder: nn.Module, width: int, opset: int) -> Any:
    talk = logging.getLogger("torch.onnx")
    before = talk.level
    try:
        talk.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's, about itself
            program = torch.onnx.export(
                encoder,
                (torch.zeros(3, width),),
                dynamo=True,
                opset_version=opset,
                dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
                verbose=False,
            )
    finally:
        talk.setLevel(before)
    assert program is not None  # so it is with dynamo
    return program.model_proto
