"""Random graph models: p(ζ | G_obs, X, Y) p(G | G_obs, ζ), the two last factors of equation 6."""

from nodecopy.graph_models.base import (
    GraphModel,
    GraphPosterior,
    RefreshableGraphPosterior,
    SampledGraphs,
)
from nodecopy.graph_models.copied import CopiedGraph
from nodecopy.graph_models.copying import CopyingPosterior, NodeCopying
from nodecopy.graph_models.donors import (
    CallableDonors,
    DonorRule,
    HardClass,
    NearestNeighbours,
    SoftClass,
)
from nodecopy.graph_models.mmsbm import MMSBM, MMSBMPosterior
from nodecopy.graph_models.observed import ObservedGraph

__all__ = [
    "MMSBM",
    "CallableDonors",
    "CopiedGraph",
    "CopyingPosterior",
    "DonorRule",
    "GraphModel",
    "GraphPosterior",
    "HardClass",
    "MMSBMPosterior",
    "NearestNeighbours",
    "NodeCopying",
    "ObservedGraph",
    "RefreshableGraphPosterior",
    "SampledGraphs",
    "SoftClass",
]
