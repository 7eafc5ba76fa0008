"""Operators and sparse products against dense ones; dropout masks depend on names alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodecopy.core.errors import GraphError
from nodecopy.core.rng import key64
from nodecopy.graph import Graph
from nodecopy.graph.operators import (
    OperatorRows,
    adjacency_rows,
    attention_rows,
    laplacian_rows,
    whole_adjacency,
)
from nodecopy.nn.batch import _block_diagonal, entry_names, keep_mask, row_names
from nodecopy.nn.products import SparseOperator
from nodecopy.read.synthetic import planted_partition
from tests.problems import make_task


def dense(rows: OperatorRows, num_nodes: int) -> np.ndarray:
    matrix = np.zeros((len(rows.indptr) - 1, num_nodes))
    row = np.repeat(np.arange(len(matrix)), np.diff(rows.indptr))
    np.add.at(matrix, (row, rows.columns), rows.values)
    return matrix


WEIGHTED = Graph.from_edges(6, [(0, 1), (1, 2), (2, 3), (0, 3), (1, 4)], [1, 2, 0.5, 1, 1.5])


@pytest.mark.parametrize("graph", [make_task().graph, WEIGHTED])
def test_operators_are_those_of_their_dense_formulas(graph: Graph) -> None:
    """The last two nodes of the task are isolated."""
    a, n = graph.to_scipy().toarray(), graph.num_nodes

    def normalised(matrix: np.ndarray) -> np.ndarray:
        sums = matrix.sum(1)
        root = np.diag(np.where(sums > 0, np.maximum(sums, 1e-9) ** -0.5, 0))
        return root @ matrix @ root

    formulas = {
        adjacency_rows: normalised(a + np.eye(n)),
        laplacian_rows: -normalised(a),
        attention_rows: ((a + np.eye(n)) > 0).astype(float),
    }
    for operator, expected in formulas.items():
        whole, some = dense(operator(graph, np.arange(n)), n), np.array([4, 3, 0])
        np.testing.assert_allclose(whole, expected, atol=1e-6)
        np.testing.assert_array_equal(dense(operator(graph, some), n), whole[some])


def test_indices_beyond_32_bits_are_refused_instead_of_wrapped() -> None:
    block = OperatorRows(np.array([0, 1]), np.array([5]), np.ones(1, np.float32))
    joined = _block_diagonal([block, block], 1, 2**30 - 1, torch.device("cpu"))
    assert joined.columns.tolist() == [5, 2**30 + 4]
    with pytest.raises(GraphError, match="of 3,221,225,472 entries.*at most 2,147,483,647"):
        _block_diagonal([block] * 3, 1, 2**30, torch.device("cpu"))
    with pytest.raises(GraphError, match="too large for its 32-bit indices"):
        SparseOperator(np.array([0, 1]), np.array([0]), np.ones(1), 2**31, torch.device("cpu"))


def test_an_operator_made_in_blocks_is_the_one_made_at_once(monkeypatch):
    graph = planted_partition(100, 2, seed=0).graph
    weighted = Graph.from_edges(100, graph.edges(), np.linspace(0.5, 2, graph.num_edges))
    for one in (graph, weighted):
        whole = whole_adjacency(one)
        with monkeypatch.context() as smaller:
            smaller.setattr("nodecopy.graph.operators.BLOCK", 17)
            blocks = whole_adjacency(one)
        for some, expected in zip(blocks, whole, strict=True):
            np.testing.assert_array_equal(some, expected)


def names(rows: int, columns: int, member: int = 0) -> torch.Tensor:
    key = np.array([key64(member, "dropout", "test")]).view(np.uint64)
    return torch.as_tensor(
        entry_names(row_names(key, np.arange(rows))[:, None], np.arange(columns)[None, :])
    )


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.6, 0.9])
def test_share_and_scale(rate: float) -> None:
    mask = keep_mask(names(400, 500), key64(0, "epoch", 3), rate)
    kept = mask != 0
    assert set(np.unique(mask.numpy())) <= {np.float32(0), np.float32(1 / (1 - rate))}
    spread = np.sqrt(rate * (1 - rate) / mask.numel())
    assert abs(float(kept.float().mean()) - (1 - rate)) <= 4 * spread


def test_independent_between_steps_members_rows_and_columns() -> None:
    base = names(300, 400)
    draws = torch.stack(
        [keep_mask(base, key64(0, "epoch", t), 0.5).flatten() > 0 for t in range(40)]
    ).float()
    other = keep_mask(names(300, 400, member=1), key64(0, "epoch", 0), 0.5).flatten() > 0
    table = torch.cat([draws, other[None].float()])
    correlations = torch.corrcoef(table) - torch.eye(len(table))
    assert float(correlations.abs().max()) < 5 / np.sqrt(table.shape[1])
    grid = draws[0].view(300, 400)
    along_rows = torch.corrcoef(torch.stack([grid[:, 1:].flatten(), grid[:, :-1].flatten()]))
    along_columns = torch.corrcoef(torch.stack([grid[1:].flatten(), grid[:-1].flatten()]))
    assert abs(float(along_rows[0, 1])) < 5 / np.sqrt(grid.numel())
    assert abs(float(along_columns[0, 1])) < 5 / np.sqrt(grid.numel())


def test_a_mask_does_not_depend_on_the_entries_around_it() -> None:
    whole = keep_mask(names(60, 30), 17, 0.5)
    part = keep_mask(names(60, 30)[10:20, 5:9].clone(), 17, 0.5)
    assert torch.equal(whole[10:20, 5:9], part)
