"""The graph value that everything else is about."""

from nodecopy.graph.arrays import FloatArray, IntArray, RowGraph, Rows, sorted_distinct
from nodecopy.graph.graph import Graph
from nodecopy.graph.neighbourhood import reach
from nodecopy.graph.relations import ONE_KIND, align_kinds, join_kinds

__all__ = [
    "ONE_KIND",
    "FloatArray",
    "Graph",
    "IntArray",
    "RowGraph",
    "Rows",
    "align_kinds",
    "join_kinds",
    "reach",
    "sorted_distinct",
]
