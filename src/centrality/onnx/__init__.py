"""All that is ONNX: a model written as a graph, and `Scorer`, which scores by ONNX Runtime, without torch."""

from centrality.onnx.scorer import Scorer as Scorer

__all__ = ["Scorer"]
