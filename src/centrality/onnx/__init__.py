"""Export a model as an ONNX graph, and score it by ONNX Runtime, without torch (`Scorer`)."""

from centrality.onnx.scorer import Scorer as Scorer

__all__ = ["Scorer"]
