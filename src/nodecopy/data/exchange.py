"""Datasets of other libraries: SciPy and NumPy, NetworkX, PyTorch Geometric.

Arrays are shared where they can be: float32 features come in without a copy. A dataset is
read-only and a tensor is not, so they are copied on the way out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from nodecopy.data.alignment import aligned_labels, aligned_rows
from nodecopy.data.convert import GraphInput, read_graph
from nodecopy.data.dataset import NodeDataset
from nodecopy.data.label_values import encode_labels, one_per_node
from nodecopy.data.node_sets import NodeSets
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.errors import DatasetError, missing_extra

if TYPE_CHECKING:
    import torch

UNKNOWN = ("unknown",)
_MASKS = ("train_mask", "val_mask", "test_mask")


def from_scipy(
    adjacency: Any,
    features: Any,
    labels: ArrayLike | None,
    class_names: Sequence[str] | None,
    name: str,
) -> NodeDataset:
    """See `NodeDataset.from_scipy`."""
    if not sp.issparse(adjacency):
        raise DatasetError(
            f"from_scipy takes a SciPy sparse matrix [N, N]; got {type(adjacency).__name__}"
        )
    return _assembled(read_graph(adjacency), features, labels, class_names, name)


def from_networkx(graph: Any, features: Any, labels: Any, name: str | None) -> NodeDataset:
    """See `NodeDataset.from_networkx`."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_directed"):
        raise DatasetError(f"from_networkx takes a networkx.Graph; got {type(graph).__name__}")
    if isinstance(features, str):
        rows = _attribute(graph, features)
        features = np.array([_needed(row, node, features) for node, row in rows])
    if isinstance(labels, str):
        labels = np.array([label for _, label in _attribute(graph, labels)], dtype=object)
    called = name or str(graph.graph.get("name") or "networkx")
    return _assembled(read_graph(graph), features, labels, None, called)


def from_pyg(data: Any, name: str | None) -> NodeDataset:
    """See `NodeDataset.from_pyg`."""
    if not hasattr(data, "edge_index"):
        raise DatasetError(f"from_pyg takes a PyTorch Geometric Data; got {type(data).__name__}")
    given = read_graph(data)
    called = name or str(getattr(data, "name", None) or "pyg")
    names = getattr(data, "class_names", None)
    return _assembled(given, given.features, given.labels, names, called, _split_of(data))


def to_pyg(dataset: NodeDataset) -> Any:
    """See `NodeDataset.to_pyg`."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own imports, which nobody here can mend
            from torch_geometric.data import Data
    except ImportError as error:
        raise DatasetError(missing_extra("to_pyg", "PyTorch Geometric", "pyg")) from error
    graph = dataset.graph
    ends = np.stack([graph.row_of_entry(), graph.indices])
    data = Data(
        x=_tensor(dataset),
        edge_index=torch.from_numpy(ends),
        y=torch.tensor(dataset.labels),
        name=dataset.name,
        class_names=list(dataset.class_names),
    )
    if graph.weights is not None:
        data.edge_weight = torch.tensor(graph.weights)
    if dataset.public_split is not None:
        for mask, part in zip(_MASKS, ("train", "val", "test"), strict=True):
            chosen = torch.zeros(dataset.num_nodes, dtype=torch.bool)
            chosen[torch.tensor(getattr(dataset.public_split, part))] = True
            setattr(data, mask, chosen)
    return data


def _assembled(
    given: GraphInput,
    features: Any,
    labels: ArrayLike | None,
    class_names: Sequence[str] | None,
    name: str,
    split: NodeSets | None = None,
) -> NodeDataset:
    if features is None:
        warnings.warn(NO_FEATURES, UserWarning, stacklevel=4)
        features = structural_features(given.graph).values
    features = aligned_rows(features, given.graph.num_nodes, given.names)
    labels = aligned_labels(labels, given.graph.num_nodes, given.names)
    names: Sequence[str] = UNKNOWN if class_names is None else class_names
    if labels is None:
        numbers = np.full(given.graph.num_nodes, -1, np.int64)
    elif class_names is not None:
        numbers = one_per_node(np.asarray(labels))
    else:
        numbers, classes = encode_labels(labels, least=0)
        whole = classes.astype(np.int64) if classes.dtype.kind == "f" else classes
        names = [str(value) for value in whole] or UNKNOWN
    return NodeDataset(name, given.graph, features, numbers, tuple(names), split)


def _attribute(graph: Any, name: str) -> list[tuple[Any, Any]]:
    held = [(node, values.get(name)) for node, values in graph.nodes(data=True)]
    if held and all(value is None for _, value in held):
        raise DatasetError(f"no node of the networkx graph has an attribute {name!r}")
    return held


def _needed(value: Any, node: Any, name: str) -> Any:
    if value is None:
        raise DatasetError(f"node {node!r} of the networkx graph lacks the attribute {name!r}")
    return np.atleast_1d(value)


def _split_of(data: Any) -> NodeSets | None:
    masks = [getattr(data, mask, None) for mask in _MASKS]
    single = [mask.detach().cpu().numpy() for mask in masks if mask is not None and mask.ndim == 1]
    return NodeSets(*map(np.flatnonzero, single)) if len(single) == len(_MASKS) else None


def _tensor(dataset: NodeDataset) -> torch.Tensor:
    """Return the features as a tensor: dense, or CSR where they are sparse."""
    import torch

    features = dataset.features
    if isinstance(features, np.ndarray):
        return torch.tensor(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that CSR tensors are in beta
        return torch.sparse_csr_tensor(
            torch.tensor(features.indptr),
            torch.tensor(features.indices),
            torch.tensor(features.data),
            size=features.shape,
            check_invariants=False,
        )
