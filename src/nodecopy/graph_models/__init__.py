"""Random graph models: p(ζ | G_obs, X, Y) p(G | G_obs, ζ), the two last factors of equation 6.

Besides, ``reliability``: how much each observed edge is to count, also by ``own_classes``.
"""

from nodecopy.graph_models.base import (
    GraphModel,
    GraphPosterior,
    ObservedGraph,
    SampledGraphs,
)
from nodecopy.graph_models.copying import CopiedGraph, CopyingPosterior, NodeCopying
from nodecopy.graph_models.own_classes import OwnClasses
from nodecopy.graph_models.reliability import EdgeReliability, FittedReliability

__all__ = [
    "CopiedGraph",
    "CopyingPosterior",
    "EdgeReliability",
    "FittedReliability",
    "GraphModel",
    "GraphPosterior",
    "NodeCopying",
    "ObservedGraph",
    "OwnClasses",
    "SampledGraphs",
]
