"""The operators of a graph that networks propagate with: Â, the Laplacian, and others, by rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import GraphError
from nodecopy.graph.arrays import MAX_INT32, FloatArray, IntArray, RowGraph, Rows

# Rows of a whole operator that are computed at a time; of a graph with as many, Â is kept.
BLOCK = 2**19

OperatorName = Literal["adjacency", "laplacian", "attention", "plain"]


class OperatorRows(NamedTuple):
    """Some rows of an operator: row i holds ``values`` at the nodes ``columns``."""

    indptr: IntArray  # [R + 1]
    columns: IntArray  # [nnz], node numbers, of 32 bits, which sparse products read faster
    values: NDArray[np.float32]  # [nnz]


def adjacency_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of Â = D^-½ (A + I) D^-½, D the row sums of A + I (eqs. 1-2)."""
    block = _with_self_loops(graph.take_rows(nodes), nodes)
    return _scaled(block, *_factors(graph, nodes, block.indices, lambda d: 1.0 / np.sqrt(d + 1.0)))


def whole_adjacency(graph: RowGraph) -> OperatorRows:
    """Return all rows of Â; a graph that is not large keeps them, a drawn one does not."""
    n = graph.num_nodes
    if n <= BLOCK and graph.built is graph:
        return graph.built.normalised
    if n <= BLOCK:
        return adjacency_rows(graph, np.arange(n))
    check_index(n)
    parts = []
    for start in range(0, n, BLOCK):
        rows = adjacency_rows(graph, np.arange(start, min(start + BLOCK, n)))
        parts.append((np.diff(rows.indptr), rows.columns, rows.values))
    counts, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return OperatorRows(np.concatenate([[0], np.cumsum(counts)]), columns, values)


def laplacian_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the scaled Laplacian L̃ = 2L/λ_max - I with λ_max = 2, i.e. -D^-½ A D^-½."""
    block = graph.take_rows(nodes)

    def inverse_root(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)

    left, right = _factors(graph, nodes, block.indices, inverse_root)
    return _scaled(block, -left, right)


def attention_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the pattern of A + I, each node its own neighbour, all ones."""
    block = _with_self_loops(graph.take_rows(nodes), nodes)
    return OperatorRows(block.indptr, block.indices, np.ones(len(block.indices), np.float32))


def plain_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of A: what a PyTorch module reads, which normalises by itself."""
    block = graph.take_rows(nodes)
    return _scaled(block, np.ones(len(nodes)), np.ones(len(block.indices)))


OPERATORS = {
    "adjacency": adjacency_rows,
    "laplacian": laplacian_rows,
    "attention": attention_rows,
    "plain": plain_rows,
}


def check_index(*sizes: int) -> None:
    """Raise an error for more entries, rows or columns than indices of 32 bits can number."""
    if max(sizes) > MAX_INT32:
        raise GraphError(
            f"a batch of {max(sizes):,} entries, rows or columns is too large for its 32-bit "
            f"indices (at most {MAX_INT32:,}); lower the memory bound, so that it is divided"
        )


def _factors(
    graph: RowGraph,
    nodes: NDArray[np.int64],
    columns: IntArray,
    factor: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a function of the strengths of some nodes, and of the columns of their rows."""
    if 4 * len(columns) > graph.num_nodes:  # cheaper than sorting the columns
        every = factor(graph.strengths(np.arange(graph.num_nodes)))
        return every[nodes], every[columns]
    at, place = np.unique(columns.astype(np.int64), return_inverse=True)
    return factor(graph.strengths(nodes)), factor(graph.strengths(at))[place]


def _with_self_loops(block: Rows, nodes: NDArray[np.int64]) -> Rows:
    """Append its own node at weight one to each row: rows of A + I."""
    columns = np.insert(block.indices, block.indptr[1:], nodes)
    weights = None if block.weights is None else np.insert(block.weights, block.indptr[1:], 1.0)
    return Rows(block.indptr + np.arange(len(block.indptr)), columns, weights)


def _scaled(block: Rows, left: FloatArray, right: FloatArray) -> OperatorRows:
    """Multiply each entry by a factor of its row [R] and one per entry [nnz]."""
    values = np.repeat(left, np.diff(block.indptr))
    if block.weights is not None:
        values *= block.weights
    values *= right
    return OperatorRows(block.indptr, block.indices, values.astype(np.float32))
