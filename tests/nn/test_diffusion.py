"""Diffusion: rows of Π X are what the formula says, however they are computed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from nodecopy.core.errors import ModelError
from nodecopy.features.kernel_map import KernelMap
from nodecopy.graph import Graph
from nodecopy.graph.operators import adjacency_rows
from nodecopy.graph_models import CopiedGraph
from nodecopy.nn.diffusion import Diffused, Diffusion, Propagator
from nodecopy.nn.network import Computing, Reading
from nodecopy.nn.products import Features, Identity
from tests.problems import make_task

TASK = make_task()
RNG = np.random.default_rng(3)
WEIGHTED = Graph.from_edges(90, TASK.graph.edges(), RNG.random(TASK.graph.num_edges) + 0.1)
COPIED = CopiedGraph(TASK.graph, RNG.integers(0, 90, 90))


def laid_out(network: Diffusion, *readings: Reading, memory: int | None = None) -> list[Diffused]:
    weights = network.initial_weights(TASK.features.shape[1], 3, RNG)
    computing = Computing(memory=memory)
    chunks = network.lay_out(readings, TASK.features, weights, computing)
    return [inputs for _, (inputs,) in chunks]


def by_hand(network: Diffusion, graph: Graph | CopiedGraph) -> np.ndarray:
    """Π X with dense matrices."""
    indptr, columns, values = adjacency_rows(graph, np.arange(90))
    a = np.zeros((90, 90))
    np.add.at(a, (np.repeat(np.arange(90), np.diff(indptr)), columns), values)
    powers = [np.linalg.matrix_power(a, t) for t in range(network.hops + 1)]
    pi = sum(c * power for c, power in zip(network.coefficients, powers, strict=True))
    return pi @ unit_features()


def unit_features() -> np.ndarray:
    x = TASK.features.toarray()
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


@pytest.mark.parametrize("graph", [TASK.graph, WEIGHTED, COPIED])
@pytest.mark.parametrize("network", [Diffusion(), Diffusion(0.2, 3)])
@pytest.mark.parametrize("count", [4, 60])  # fewer and more than there are features
def test_rows_and_products_are_those_of_the_dense_formula(
    graph: Graph | CopiedGraph, network: Diffusion, count: int
) -> None:
    expected = by_hand(network, graph)
    nodes = np.random.default_rng(count).permutation(90)[:count]
    (some,) = laid_out(network, Reading(graph, 1, (nodes,)))
    np.testing.assert_allclose(some.rows[0], expected[nodes], atol=1e-5)
    (every,) = laid_out(network, Reading(graph, 1, (None,)))
    w = torch.randn(1, TASK.features.shape[1], 3)
    np.testing.assert_allclose(every.times(w)[0], expected @ w[0].numpy(), atol=1e-4)
    np.testing.assert_allclose(some.times(w)[0], (expected @ w[0].numpy())[nodes], atol=1e-4)


@pytest.mark.parametrize("graph", [TASK.graph, WEIGHTED, COPIED])
def test_products_with_many_rows_are_those_of_the_rows(
    graph: Graph | CopiedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = [Reading(graph, 1, (np.arange(60),)), Reading(TASK.graph, 1, (np.arange(9, 50),))]
    (formed,) = laid_out(Diffusion(), *readings)
    monkeypatch.setattr("nodecopy.nn.diffusion.few_coordinates", lambda _: 10)
    (products,) = laid_out(Diffusion(), *readings)
    assert products.rows is None
    w, r = torch.randn(2, TASK.features.shape[1], 3), torch.randn(2, 60, 3)
    torch.testing.assert_close(products.times(w), formed.times(w), atol=1e-5, rtol=1e-4)
    if graph is not TASK.graph:  # else one operator serves both
        expected = formed.transposed_times(r)
        torch.testing.assert_close(products.transposed_times(r), expected, atol=1e-5, rtol=1e-4)


def test_members_on_one_graph_and_on_several_agree() -> None:
    w = torch.randn(3, TASK.features.shape[1], 3)
    network, same = Diffusion(), [Reading(TASK.graph, m, (None,)) for m in range(3)]
    (together,) = laid_out(network, *same)
    apart = laid_out(network, *same, memory=1)
    assert len(apart) == 3
    for m, one in enumerate(apart):
        torch.testing.assert_close(together.times(w)[m], one.times(w[m : m + 1])[0])
    (mixed,) = laid_out(network, same[0], Reading(COPIED, 1, (None,)), same[2])
    torch.testing.assert_close(mixed.times(w)[2], together.times(w)[2])
    assert not torch.allclose(mixed.times(w)[1], together.times(w)[1])


@pytest.mark.parametrize("kind", ["sparse", "filled", "dense", "identity"])
def test_rows_of_many_nodes_are_those_of_each(kind: str) -> None:
    n, device = 50_000, torch.device("cpu")
    path = Graph.from_edges(n, np.stack([np.arange(n - 1), np.arange(1, n)], 1))
    x = sp.random_array((n, 6), density=0.2, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    parts = {
        "sparse": Features(x, device),
        "filled": Features(sp.csr_array(sp.hstack([x, x[:, :2].toarray() + 1.0])), device),
        "dense": Features(x.toarray(), device),
        "identity": Identity(n),
    }
    propagator = Propagator(Diffusion(0.2, 3).coefficients, path, parts[kind], device)
    nodes = np.arange(0, n, 1_300)  # 39 of them: more than are followed at a time
    together = propagator.rows(nodes)
    assert together.shape == (39, parts[kind].num_columns)
    for row, node in zip(together, nodes, strict=True):
        torch.testing.assert_close(row, propagator.rows(np.array([node]))[0])


def test_coefficients_add_up_to_one_and_alpha_one_keeps_the_features() -> None:
    for network in (Diffusion(), Diffusion(0.3, 0), Diffusion((0.9, 0.01), 40)):
        np.testing.assert_allclose(network.coefficients.sum(), 1)
    nodes = np.arange(90)
    (alone,) = laid_out(Diffusion(1.0), Reading(TASK.graph, 0, (nodes,)))
    np.testing.assert_allclose(alone.rows[0], unit_features(), atol=1e-6)


@pytest.mark.parametrize("settings", [{"alpha": -0.1}, {"alpha": (0.1, 1.5)}])
def test_alpha_is_a_probability(settings: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="alpha must be from 0 to 1"):
        Diffusion(**settings)
    with pytest.raises(ModelError, match="hops must be .* got -1"):
        Diffusion(hops=-1)


@pytest.mark.parametrize("filled", [[1, 0.9, 0.1, 0.1, 0, 0.7, 0.2, 0.1, 0.1], [1] * 9, [0] * 9])
def test_filled_columns_of_sparse_features_have_the_products_of_dense_ones(filled) -> None:
    rng, device = np.random.default_rng(0), torch.device("cpu")
    x = rng.random((50, 9)) * (rng.random((50, 9)) < filled)
    mixed, dense = Features(sp.csr_array(x.astype(np.float32)), device), Features(x, device)
    w, h = (torch.as_tensor(rng.normal(size=(n, 4)).astype(np.float32)) for n in (9, 50))
    torch.testing.assert_close(mixed.times(w), dense.times(w))
    torch.testing.assert_close(mixed.transposed_times(h), dense.transposed_times(h))
    torch.testing.assert_close(mixed.column_squares(), dense.column_squares())


def test_features_read_in_blocks_give_the_products_of_all_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 7)).astype(np.float32)
    h = torch.as_tensor(rng.normal(size=(100, 3)).astype(np.float32))
    for features in (x, KernelMap(landmarks=20).fit(x).rows(x)):
        w = torch.as_tensor(rng.normal(size=(features.shape[1], 3)).astype(np.float32))
        whole = Features(np.asarray(features), torch.device("cpu"))
        with monkeypatch.context() as smaller:
            smaller.setattr("nodecopy.nn.products._WHOLE_ROWS", 30)
            smaller.setattr("nodecopy.nn.products._BLOCK_ROWS", 13)
            blocks = Features(features, torch.device("cpu"))
        torch.testing.assert_close(blocks.times(w), whole.times(w))
        torch.testing.assert_close(blocks.transposed_times(h), whole.transposed_times(h))
        torch.testing.assert_close(blocks.column_squares(), whole.column_squares())
