"""Networks as values: M of them in one batch, trained on only the rows that the labels can see.

Reading order: ``products`` (of Â and of X), ``batch`` (which rows a loss needs, M members side by
side, and their dropout masks), ``network`` (what an architecture is), ``gcn`` and what other
layered networks share with it; ``diffusion``, a linear network; ``torch_module``, any PyTorch
module.
"""

from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network
from nodecopy.nn.torch_module import TorchNetwork

__all__ = ["GCN", "Diffusion", "Network", "TorchNetwork"]
