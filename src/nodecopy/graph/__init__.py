"""The graph value that everything else is about."""

from nodecopy.graph.arrays import FloatArray, IntArray, sorted_distinct
from nodecopy.graph.graph import Graph, Rows

__all__ = ["FloatArray", "Graph", "IntArray", "Rows", "sorted_distinct"]
