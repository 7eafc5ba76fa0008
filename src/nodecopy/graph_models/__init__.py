"""Random graph models: p(ζ | G_obs, X, Y) p(G | G_obs, ζ), the two last factors of equation 6."""

from nodecopy.graph_models.base import (
    DonorPosterior,
    GraphModel,
    GraphPosterior,
    RefreshableGraphPosterior,
    SampledGraphs,
)
from nodecopy.graph_models.copied import CopiedGraph
from nodecopy.graph_models.copying import CopyingPosterior, NodeCopying
from nodecopy.graph_models.donors import DonorRule, HardClass, SoftClass
from nodecopy.graph_models.mmsbm import MMSBM, MMSBMPosterior
from nodecopy.graph_models.observed import ObservedGraph

__all__ = [
    "MMSBM",
    "CopiedGraph",
    "CopyingPosterior",
    "DonorPosterior",
    "DonorRule",
    "GraphModel",
    "GraphPosterior",
    "HardClass",
    "MMSBMPosterior",
    "NodeCopying",
    "ObservedGraph",
    "RefreshableGraphPosterior",
    "SampledGraphs",
    "SoftClass",
]
