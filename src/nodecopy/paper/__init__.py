"""Reproduce the paper: its methods, its experiments, and our numbers beside the published ones.

`methods` lists what is compared. Node copying and the GCN are the package's; what only the paper
compares with is here: the block model (`mmsbm`), the authors' `online` schedule, and other
`networks`.

`experiment` runs the trials of an experiment on an executor, `store` keeps their rows, `study`
compares them with the published numbers, `tables` and `figures` show them. Nothing outside imports
this package but the command line; to load a model file that holds one of the names below, import
it first.
"""

from nodecopy.paper.mmsbm import MMSBM
from nodecopy.paper.networks import GAT, ChebNet
from nodecopy.paper.online import OnlineBayesianGCN

__all__ = ["GAT", "MMSBM", "ChebNet", "OnlineBayesianGCN"]
