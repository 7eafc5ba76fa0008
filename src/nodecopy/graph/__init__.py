"""The graph value that everything else is about."""

from nodecopy.graph.arrays import FloatArray, IntArray, RowGraph, Rows, sorted_distinct
from nodecopy.graph.graph import Graph
from nodecopy.graph.neighbourhood import reach
from nodecopy.graph.relations import ONE_RELATION, align_relations, join_relations

__all__ = [
    "ONE_RELATION",
    "FloatArray",
    "Graph",
    "IntArray",
    "RowGraph",
    "Rows",
    "align_relations",
    "join_relations",
    "reach",
    "sorted_distinct",
]
