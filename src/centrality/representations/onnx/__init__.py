"""Write a fitted `Table` as a part of an ONNX graph, so that a file takes a table's columns as they are."""

from centrality.representations.onnx.table import obstacles, table_reader

__all__ = ["obstacles", "table_reader"]
