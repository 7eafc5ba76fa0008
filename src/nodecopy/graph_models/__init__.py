"""Random graph models: p(ζ | G_obs, X, Y) p(G | G_obs, ζ), the two last factors of equation 6."""

from nodecopy.graph_models.base import GraphModel, GraphPosterior, SampledGraphs
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
    "CopyingPosterior",
    "DonorRule",
    "GraphModel",
    "GraphPosterior",
    "HardClass",
    "MMSBMPosterior",
    "NearestNeighbours",
    "NodeCopying",
    "ObservedGraph",
    "SampledGraphs",
    "SoftClass",
]
