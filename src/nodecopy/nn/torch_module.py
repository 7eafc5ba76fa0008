"""Any PyTorch module as a network: PyTorch Geometric's layers and models, or your own.

The module is built once for each member and taken apart: its parameters and buffers join those of
the other members, stacked, and a forward pass puts a member's back (`torch.func.functional_call`).
Members are computed one after the other, because a module may do anything with its graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
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
from torch.nn.parameter import UninitializedParameter

from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.edge_list import EdgeList, list_around, whole_list
from nodecopy.nn.memory import chunks_within
from nodecopy.nn.network import Computing, Reading, Weights
from nodecopy.rng import key64

# Tensors of a module that are not learnt: buffers, such as running statistics, and parameters
# that are frozen. The number of classes goes with them, to build the module again.
_FIXED = "fixed:"
_CLASSES = "fixed:num_classes"


@dataclass(frozen=True)
class TorchNetwork:
    """A `torch.nn.Module` whose ``forward`` takes (x, edge_index), or edge_weight too.

    ``forward`` gets all nodes' features x [N, D], float32, and the edges [2, E], from source to
    target; it returns logits [N, K], or log-probabilities, not probabilities. Where the graph has
    edge weights and ``forward`` an argument ``edge_weight``, they are given, too.

    Dropout and batch norm are the module's own. Dropout is on while training and in draws of
    `MCDropout`; batch norm learns its running statistics in training, and predicts with them.

    Args:
        build: called with (number of features D, number of classes K), returns the module.
        hops: how many edges away from a node its output depends on, to train on that part of the
            graph only; as many as there are layers, and one more where layers normalise by the
            degrees of neighbours, as GCNConv does. None reads the whole graph, as batch norm
            needs.
        decay: which parameters the L2 penalty is on: names, or those of submodules. None is all.
        readout: names of the last layer's parameters, where the logits are linear in them; for
            weight posteriors of the last layer.

    >>> class Mean(torch.nn.Module):
    ...     def __init__(self, num_features, num_classes):
    ...         super().__init__()
    ...         self.linear = torch.nn.Linear(num_features, num_classes)
    ...
    ...     def forward(self, x, edge_index):
    ...         source, target = edge_index
    ...         return self.linear(x + torch.zeros_like(x).index_add(0, target, x[source]))
    >>> TorchNetwork(Mean, hops=1).decayed("linear.weight")
    True
    """

    build: Callable[[int, int], Module]
    hops: int | None = None
    decay: tuple[str, ...] | None = None
    readout: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the settings."""
        if isinstance(self.build, Module) or not callable(self.build):
            raise ModelError(
                "build must be a function of (number of features, number of classes) that returns "
                f"a torch.nn.Module, new for every member; got {type(self.build).__name__}"
            )
        if self.hops is not None and self.hops < 0:
            raise ModelError(f"hops must not be negative; got {self.hops}")

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Build the module with torch's generator seeded from ``rng``, and take it apart."""
        module = self._built(num_features, num_classes, int(rng.integers(2**63)))
        learnt = {name: w for name, w in module.named_parameters() if _learnt(w)}
        rest = [(n, w) for n, w in module.named_parameters() if not _learnt(w)]
        fixed = {f"{_FIXED}{name}": w for name, w in [*rest, *module.named_buffers()]}
        self._check_names(learnt)
        tensors = {name: w.detach().clone() for name, w in {**learnt, **fixed}.items()}
        return tensors | {_CLASSES: torch.tensor(num_classes)}

    def trained(self, name: str) -> bool:
        """Parameters are, unless frozen; buffers are not."""
        return not name.startswith(_FIXED)

    def decayed(self, name: str) -> bool:
        """As ``decay`` says; all by default, as in torch.optim."""
        if self.decay is None:
            return True
        return any(name == one or name.startswith(f"{one}.") for one in self.decay)

    def uses_weights(self, num_features: int, num_classes: int) -> bool:
        """Tell whether ``forward`` has an argument ``edge_weight``."""
        return _takes_weights(self._built(num_features, num_classes, 0))

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
        *,
        gradients: bool,
    ) -> Iterator[tuple[slice, tuple[ModuleInputs, ...]]]:
        """Yield (members, inputs of each set of nodes), the whole graph or the part in reach."""
        device = torch.device(computing.device)
        num_classes = int(weights[_CLASSES])
        module = self._built(int(features.shape[1]), num_classes, 0).to(device)
        x = torch.as_tensor(_dense(features), device=device)  # [N, D]
        hops = self.hops if computing.prune else None
        sized = _parts(readings, x, weights, hops, gradients=gradients)
        for members, chunk in chunks_within(sized, computing.memory):
            seeds = [seed for seed, _ in chunk]
            sets = [list(parts) for parts in zip(*(parts for _, parts in chunk), strict=True)]
            yield members, tuple(ModuleInputs(module, num_classes, x, s, seeds) for s in sets)

    def forward(self, weights: Weights, inputs: ModuleInputs, key: int | None) -> Tensor:
        """Return the logits [M, n, K], member by member."""
        training = key is not None and torch.is_grad_enabled()
        _set_modes(inputs.module, dropout=key is not None, statistics=training)
        logits = (inputs.logits(weights, m, key, training=training) for m in range(inputs.size))
        return torch.stack(list(logits))

    def _built(self, num_features: int, num_classes: int, seed: int) -> Module:
        with _seeded(seed):
            module = _check_module(self.build(num_features, num_classes))
            if any(isinstance(w, UninitializedParameter) for w in module.parameters()):
                # Lazy layers learn their sizes from the first features that they see.
                _set_modes(module, dropout=False, statistics=False)
                with torch.no_grad():
                    module(torch.zeros(2, num_features), torch.tensor([[0, 1], [1, 0]]))
        return module

    def _check_names(self, learnt: Collection[str]) -> None:
        if not learnt:
            raise ModelError("the module has no parameters to train")
        names = ", ".join(learnt)
        for one in self.readout:
            if one not in learnt:
                raise ModelError(f"readout names {one!r}; the parameters are: {names}")
        for one in self.decay or ():
            if not any(name == one or name.startswith(f"{one}.") for name in learnt):
                raise ModelError(f"decay names {one!r}; the parameters are: {names}")


class ModuleInputs:
    """What a module reads for each of M members, and at which nodes its outputs are wanted.

    Args:
        module: whose tensors are replaced by those of a member.
        num_classes: K.
        x: features of all nodes [N, D].
        parts: of each member: its edges, and which of their nodes are asked for; None is all.
        seeds: one for each member; they name its dropout masks.
    """

    def __init__(
        self,
        module: Module,
        num_classes: int,
        x: Tensor,
        parts: list[_Part],
        seeds: list[int],
    ) -> None:
        self.module, self.size = module, len(parts)
        self._num_classes, self._x = num_classes, x
        self._edges, self._seeds = [part.edges for part in parts], seeds
        self._outputs = _padded([part.outputs for part in parts], x.device)
        self._named = [_weight_argument(module, part.edges) for part in parts]
        self._checked = False

    def logits(self, weights: Weights, member: int, key: int | None, *, training: bool) -> Tensor:
        """Return the logits of one member [n, K]; rows that fill it up are of any node."""
        own = {name: w[member] for name, w in weights.items() if name != _CLASSES}
        fixed = {name: w for name, w in own.items() if name.startswith(_FIXED)}
        # Copies of what is fixed: predictions must not change it, and training writes it back.
        tensors = {name.removeprefix(_FIXED): w for name, w in own.items()}
        tensors |= {name.removeprefix(_FIXED): w.clone() for name, w in fixed.items()}
        edges = self._edges[member]
        x = self._x if edges.nodes is None else self._x[edges.nodes]  # [n, D]
        with _seeded(key64(self._seeds[member], "dropout", "off" if key is None else key)):
            answer = functional_call(
                self.module, tensors, (x, edges.edge_index), self._named[member]
            )
        self._check(answer, len(x))
        if training:
            with torch.no_grad():
                for name, w in fixed.items():
                    w.copy_(tensors[name.removeprefix(_FIXED)])
        return answer if self._outputs is None else answer[self._outputs[member]]

    def _check(self, answer: object, num_nodes: int) -> None:
        if self._checked:
            return
        wanted = [num_nodes, self._num_classes]
        name = type(self.module).__name__
        if not isinstance(answer, Tensor):
            kind = type(answer).__name__
            raise ModelError(f"{name} must return logits [N, K] = {wanted}; got a {kind}")
        if list(answer.shape) != wanted:
            raise ModelError(
                f"{name} must return logits [N, K] = {wanted}; got {list(answer.shape)}"
            )
        if bool((answer >= 0).all()) and bool(torch.allclose(answer.sum(1), answer.new_ones(()))):
            raise ModelError(
                f"{name} returns probabilities: they are not negative and sum to one; "
                "return what softmax is applied to, or log_softmax of it"
            )
        self._checked = True


class _Part(NamedTuple):
    """What one member reads for one set of nodes."""

    edges: EdgeList
    outputs: NDArray[np.int64] | None


def _parts(
    readings: Iterable[Reading],
    x: Tensor,
    weights: Weights,
    hops: int | None,
    *,
    gradients: bool,
) -> Iterator[tuple[tuple[int, list[_Part]], int]]:
    """Yield each member's seed and parts, and the bytes that they take."""
    last: tuple[RowGraph, EdgeList] | None = None
    for graph, seed, sets in readings:
        parts, size = list[_Part](), 0
        for place, nodes in enumerate(sets):
            trained = gradients and place == 0
            if hops is not None and nodes is not None:
                edges = list_around(graph, nodes, hops, x.device)
                parts.append(_Part(edges, np.arange(len(nodes))))
                size += _bytes(edges, x, weights, training=trained)
                continue
            if last is None or last[0] is not graph:
                last = graph, whole_list(graph, x.device)
            parts.append(_Part(last[1], nodes))
            size += _bytes(last[1], x, weights, training=trained)
        yield (seed, parts), size


def _bytes(edges: EdgeList, x: Tensor, weights: Weights, *, training: bool) -> int:
    """Return a generous guess of what one member takes: a module does not say what it keeps."""
    num_nodes = len(x) if edges.nodes is None else len(edges.nodes)
    num_edges = edges.edge_index.shape[1]
    kept = 20 * num_edges + 4 * num_nodes * int(weights[_CLASSES])
    if edges.nodes is not None:
        kept += 4 * num_nodes * x.shape[1]
    if not training:
        return kept
    # The rows of a matrix are the units of a layer: each keeps activations, a mask and gradients
    # for every node, and a message and its gradient for every edge.
    matrices = [w for name, w in weights.items() if not name.startswith(_FIXED) and w.ndim > 1]
    units = sum(w.shape[0] for w in matrices)
    size = sum(w.numel() for w in weights.values())
    activations = num_nodes * (2 * x.shape[1] + 3 * units) + 2 * num_edges * units
    return kept + 4 * (activations + 5 * size)


def _padded(outputs: list[NDArray[np.int64] | None], device: torch.device) -> list[Tensor] | None:
    """Return which rows are asked for, the shorter lists filled up with row 0; None is all."""
    lists = [rows for rows in outputs if rows is not None]
    if len(lists) < len(outputs):
        return None
    most = max(len(rows) for rows in lists)
    return [torch.as_tensor(np.pad(rows, (0, most - len(rows))), device=device) for rows in lists]


def _dense(features: FeatureMatrix) -> NDArray[np.float32]:
    if sp.issparse(features):
        return features.toarray().astype(np.float32, copy=False)
    return np.array(features, np.float32)  # a copy: torch warns of arrays that cannot be written


def _learnt(parameter: Tensor) -> bool:
    return parameter.requires_grad and parameter.is_floating_point()


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


def _arguments(module: Module) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(module.forward).parameters)


def _takes_weights(module: Module) -> bool:
    # Models of PyTorch Geometric have the argument, and say so where their layers do not use it.
    return "edge_weight" in _arguments(module) and getattr(module, "supports_edge_weight", True)


def _weight_argument(module: Module, edges: EdgeList) -> dict[str, Tensor]:
    """Return the argument ``edge_weight``, where there is one and something to give."""
    if not _takes_weights(module):
        return {}
    if edges.edge_weight is not None:
        return {"edge_weight": edges.edge_weight}
    if _arguments(module)["edge_weight"].default is inspect.Parameter.empty:
        return {
            "edge_weight": torch.ones(edges.edge_index.shape[1], device=edges.edge_index.device)
        }
    return {}


def _check_module(module: object) -> Module:
    """Return a module that can be used as a network, or say why it cannot."""
    if not isinstance(module, Module):
        raise ModelError(f"build must return a torch.nn.Module; got {type(module).__name__}")
    name = type(module).__name__
    given = ["edge_weight"] if _takes_weights(module) else []
    try:
        inspect.signature(module.forward).bind(None, None, **dict.fromkeys(given))
    except TypeError:
        raise ModelError(
            f"forward of {name} must take (x, edge_index) or (x, edge_index, edge_weight); "
            f"its arguments are ({', '.join(_arguments(module))})"
        ) from None
    for path, part in module.named_modules():
        if getattr(part, "cached", False) is True:
            raise ModelError(
                f"{path or name} of {name} keeps the first graph it sees (cached=True), but "
                "members have graphs of their own; set cached=False"
            )
    return module
