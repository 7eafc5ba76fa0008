"""Any PyTorch module as a network: PyTorch Geometric's layers and models, or your own.

The module is built once for each member and taken apart: its parameters and buffers join those of
the other members, stacked, and a forward pass puts a member's back (`torch.func.functional_call`).
Members are computed one after the other, because a module may do anything with its graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call
from torch.nn import Module
from torch.nn.modules.batchnorm import _NormBase

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import key64
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.batch import padded, receptive_field
from nodecopy.nn.network import Computing, Network, Reading, Weights, chunks_within, member_bytes

# Tensors of a module that are not learnt: buffers, such as running statistics, and parameters
# that are frozen. The number of classes goes with them, to build the module again.
_FIXED = "fixed:"
_CLASSES = "fixed:num_classes"


@dataclass(frozen=True)
class TorchNetwork(Network):
    """A `torch.nn.Module` whose ``forward`` takes (x, edge_index), or edge_weight too.

    ``forward`` gets all nodes' features x [N, D], float32, and the edges [2, E], from source to
    target; it returns logits [N, K], or log-probabilities, not probabilities. If ``forward`` has an
    argument ``edge_weight``, it gets the weights of the edges [E], ones where the graph has none;
    without it, all edges count alike.

    Dropout and batch norm are the module's own. Dropout is on while training and in draws of
    `MCDropout`; batch norm learns its running statistics in training, and predicts with them.

    Args:
        build: called with (number of features D, number of classes K), returns the module.
        hops: how many edges away from a node its output depends on, at least 1, to train on that
            part of the graph only; as many as there are layers, and one more where layers normalise
            by the degrees of neighbours, as GCNConv does. None reads the whole graph, as batch norm
            needs.

    >>> class Mean(torch.nn.Module):
    ...     def __init__(self, num_features, num_classes):
    ...         super().__init__()
    ...         self.linear = torch.nn.Linear(num_features, num_classes)
    ...
    ...     def forward(self, x, edge_index):
    ...         source, target = edge_index
    ...         return self.linear(x + torch.zeros_like(x).index_add(0, target, x[source]))
    >>> network = TorchNetwork(Mean, hops=1)
    >>> sorted(network.initial_weights(4, 2, np.random.default_rng(0)))
    ['fixed:num_classes', 'linear.bias', 'linear.weight']
    """

    build: Callable[[int, int], Module]
    hops: int | None = None

    def __post_init__(self) -> None:
        """Check that modules can be built: a module is callable, too."""
        if isinstance(self.build, Module):
            raise ModelError(
                "build must be a function of (number of features, number of classes) that returns "
                f"a torch.nn.Module, new for every member; got a {type(self.build).__name__}"
            )

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Build the module with torch's generator seeded from ``rng``, and take it apart."""
        module = self._built(num_features, num_classes, int(rng.integers(2**63)))
        learnt = {name: w for name, w in module.named_parameters() if w.requires_grad}
        frozen = [(n, w) for n, w in module.named_parameters() if not w.requires_grad]
        fixed = {f"{_FIXED}{name}": w for name, w in [*frozen, *module.named_buffers()]}
        tensors = {name: w.detach().clone() for name, w in {**learnt, **fixed}.items()}
        return tensors | {_CLASSES: torch.tensor(num_classes)}

    def trained(self, name: str) -> bool:
        """Parameters are, unless frozen; buffers are not."""
        return not name.startswith(_FIXED)

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
    ) -> Iterator[tuple[slice, tuple[ModuleInputs, ...]]]:
        """Yield (members, inputs of each set of nodes), the whole graph or the part in reach."""
        device = torch.device(computing.device)
        module = self._built(int(features.shape[1]), int(weights[_CLASSES]), 0).to(device)
        dense = features.toarray() if sp.issparse(features) else np.asarray(features)
        x = torch.tensor(dense, dtype=torch.float32, device=device)  # [N, D]
        sized = _parts(readings, x, weights, self.hops if computing.prune else None)
        for members, chunk in chunks_within(sized, computing.memory):
            seeds = [seed for seed, _ in chunk]
            sets = [list(parts) for parts in zip(*(parts for _, parts in chunk), strict=True)]
            yield members, tuple(ModuleInputs(module, x, parts, seeds) for parts in sets)

    def forward(self, weights: Weights, inputs: ModuleInputs, key: int | None) -> Tensor:
        """Return the logits [M, n, K], member by member."""
        training = key is not None and torch.is_grad_enabled()
        _set_modes(inputs.module, dropout=key is not None, statistics=training)
        logits = (inputs.logits(weights, m, key, training=training) for m in range(inputs.size))
        return torch.stack(list(logits))

    def _built(self, num_features: int, num_classes: int, seed: int) -> Module:
        with _seeded(seed):
            module = self.build(num_features, num_classes).float()
        if any(getattr(part, "cached", False) is True for part in module.modules()):
            raise ModelError(
                f"a layer of {type(module).__name__} keeps the first graph it sees (cached=True), "
                "but each member has another graph; set cached=False"
            )
        return module


class ModuleInputs:
    """What a module reads for each of M members, and at which nodes its outputs are read.

    Args:
        module: whose tensors are replaced by those of a member.
        x: features of all nodes [N, D].
        parts: of each member.
        seeds: one for each member; they name its dropout masks.
    """

    def __init__(self, module: Module, x: Tensor, parts: list[_Part], seeds: list[int]) -> None:
        self.module, self.size = module, len(parts)
        self._x, self._parts, self._seeds = x, parts, seeds
        outputs = [part.outputs for part in parts if part.outputs is not None]
        self._outputs = torch.as_tensor(padded(outputs, 0), device=x.device) if outputs else None
        self._weighted = _takes_weights(module)

    def logits(self, weights: Weights, member: int, key: int | None, *, training: bool) -> Tensor:
        """Return the logits of one member [n, K]; rows that fill it up are of any node."""
        own = {name: w[member] for name, w in weights.items() if name != _CLASSES}
        fixed = {name: w for name, w in own.items() if name.startswith(_FIXED)}
        # Copies of what is fixed: predictions must not change it, and training writes it back.
        copies = {name: w.clone() for name, w in fixed.items()}
        tensors = {name.removeprefix(_FIXED): w for name, w in (own | copies).items()}
        part = self._parts[member]
        x = self._x if part.nodes is None else self._x[part.nodes]  # [n, D]
        more = {"edge_weight": part.edge_weight} if self._weighted else {}
        with _seeded(key64(self._seeds[member], "dropout", "off" if key is None else key)):
            logits = functional_call(self.module, tensors, (x, part.edge_index), more)
        if bool((logits >= 0).all()) and torch.allclose(logits.sum(1), logits.new_ones(())):
            raise ModelError(
                f"{type(self.module).__name__} returns probabilities: return what softmax is "
                "applied to, or log_softmax of it"
            )
        if training:
            with torch.no_grad():
                for name, w in fixed.items():
                    w.copy_(tensors[name.removeprefix(_FIXED)])
        return logits if self._outputs is None else logits[self._outputs[member]]


class _Part(NamedTuple):
    """What one member reads for one set of nodes, by PyTorch Geometric's conventions.

    A message goes from ``edge_index[0]`` to ``edge_index[1]``. Node i aggregates over row i of our
    graphs, so an entry j of row i is the edge j → i.
    """

    nodes: Tensor | None  # numbers of its nodes in the graph [n]; None is all, in order
    edge_index: Tensor  # sources and targets, numbered within ``nodes`` [2, E]
    edge_weight: Tensor  # [E]
    outputs: NDArray[np.int64] | None  # rows to read; None is all


def _parts(
    readings: Iterable[Reading], x: Tensor, weights: Weights, hops: int | None
) -> Iterator[tuple[tuple[int, list[_Part]], int]]:
    """Yield each member's seed and parts, and the bytes that they take."""
    # A row of a matrix is a unit of a layer, with a number for every node and every message.
    matrices = [w for name, w in weights.items() if not name.startswith(_FIXED) and w.ndim > 1]
    units = sum(w.shape[0] for w in matrices)
    last: tuple[RowGraph, _Part] | None = None
    for graph, seed, sets in readings:
        parts, size = list[_Part](), 0
        for nodes in sets:
            if hops is not None and nodes is not None:
                parts.append(_read(graph, nodes, hops, x.device))
            else:
                if last is None or last[0] is not graph:
                    last = graph, _read(graph, None, 1, x.device)
                parts.append(last[1]._replace(outputs=nodes))
            part = parts[-1]
            rows, edges = len(x if part.nodes is None else part.nodes), len(part.edge_weight)
            size += member_bytes(x, weights, rows, (rows + edges) * units, edges)
        yield (seed, parts), size


def _read(
    graph: RowGraph, nodes: NDArray[np.int64] | None, hops: int, device: torch.device
) -> _Part:
    """Read the edges on paths of at most ``hops`` edges that end in some nodes; None is all."""
    ends = np.arange(graph.num_nodes) if nodes is None else nodes
    field = receptive_field(graph, ends, hops, "plain", prune=nodes is not None)
    rows, known = field.operators[-1], torch.as_tensor(field.levels[-1], device=device)
    targets = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    index = torch.as_tensor(np.stack([rows.columns, targets]), device=device)
    weight = torch.as_tensor(rows.values, device=device)
    if nodes is None:
        return _Part(None, index, weight, None)
    return _Part(known, index, weight, np.arange(len(nodes)))


def _set_modes(module: Module, *, dropout: bool, statistics: bool) -> None:
    """Turn dropout on or off, and the learning of running statistics."""
    module.train(dropout)
    if statistics:
        return
    for part in module.modules():
        names = (name for name, _ in part.named_buffers(recurse=False))
        if isinstance(part, _NormBase) or any(name.startswith("running") for name in names):
            part.eval()


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generators, which modules draw from, and give them back afterwards."""
    with torch.random.fork_rng(devices=list(range(torch.cuda.device_count()))):
        torch.manual_seed(seed)
        yield


def _takes_weights(module: Module) -> bool:
    # Models of PyTorch Geometric have the argument, and say so where their layers do not use it.
    arguments = inspect.signature(module.forward).parameters
    return "edge_weight" in arguments and getattr(module, "supports_edge_weight", True)
