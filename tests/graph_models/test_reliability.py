"""Edge reliability: evidence from features, and none from constant ones."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.rng import stream
from nodecopy.features.kernel_map import KernelMap
from nodecopy.features.matrix import structural_features
from nodecopy.graph import Graph
from nodecopy.graph_models import EdgeReliability, OwnClasses
from nodecopy.graph_models.reliability import FittedReliability, similarity_of
from nodecopy.read.synthetic import planted_partition

NODES = 300


def words(topic: np.ndarray) -> sp.csr_array:
    """Return a row with two words of its topic, and one that all nodes have."""
    x = np.zeros((len(topic), 21), np.float32)
    for word in (2 * topic, 2 * topic + 1, 20):
        x[np.arange(len(topic)), word] = 1.0
    return sp.csr_array(x)


@pytest.fixture
def topics() -> np.ndarray:
    return stream(0, "topics").integers(10, size=NODES)


def edges_between(topics: np.ndarray, same: bool) -> np.ndarray:
    pairs = stream(1, "pairs").integers(NODES, size=(8000, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1])]
    return pairs[(topics[pairs[:, 0]] == topics[pairs[:, 1]]) == same][:600]


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("dense", [True, False])
def test_edges_unlike_the_others_count_less(topics: np.ndarray, same: bool, dense: bool) -> None:
    usual, odd = edges_between(topics, same), edges_between(topics, not same)[:60]
    graph = Graph.from_edges(NODES, np.concatenate([usual, odd]))
    x = words(topics).toarray() if dense else words(topics)
    weights = EdgeReliability().fit(graph, x).weighted(graph, x).to_scipy()
    alike = topics[graph.row_of_entry()] == topics[graph.indices]
    assert weights.data[alike == same].mean() > 1.05 * weights.data[alike != same].mean()
    # The edges of a node are weighted among themselves, on average over its neighbours.
    linked = graph.degrees > 0
    kept = weights.sum(1)[linked] / graph.degrees[linked]
    assert np.median(np.abs(np.log(kept))) < 0.1


def test_features_that_say_nothing_leave_the_graph_as_it_is() -> None:
    data = planted_partition(200, 2, seed=0)
    same = np.ones((200, 3), np.float32)
    weighted = EdgeReliability().fit(data.graph, same).weighted(data.graph, same)
    np.testing.assert_allclose(weighted.weights, 1.0)
    none = Graph.from_edges(4, np.zeros((0, 2), int))
    assert EdgeReliability().fit(none, same[:4]).weighted(none, same[:4]).num_edges == 0


def test_weights_are_multiplied_and_numeric_columns_compared_by_their_kernel() -> None:
    rng = stream(2, "columns")
    place = rng.normal(size=(NODES, 2))
    near = ((place[:, None] - place) ** 2).sum(2).argsort(1)[:, 1:4]
    pairs = np.stack([np.repeat(np.arange(NODES), 3), near.ravel()], axis=1)
    graph = Graph.from_edges(NODES, pairs, rng.uniform(1, 2, len(pairs)))
    x = place.astype(np.float32)
    kernel = KernelMap().fit(x)
    fitted = EdgeReliability().fit(graph, x, kernel)
    assert fitted.coefficients[0] > 0
    gained = fitted.weighted(graph, x).weights / graph.weights
    plain = fitted.weighted(Graph(graph.indptr, graph.indices), x).weights
    assert np.corrcoef(gained, plain)[0, 1] > 0.9


def test_the_row_of_a_hub_is_not_copied_for_each_of_its_edges() -> None:
    leaves = 20_000
    star = Graph.from_edges(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])
    features, _ = structural_features(star)
    cosine_alone = FittedReliability(np.array([1.0, 0.0, 0.0]), np.ones(4096, np.float32))
    tracemalloc.start()
    weights = cosine_alone.weighted(star, features).to_scipy()[0].toarray()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    hub, reliability = np.ones(4096), []
    for row in ([0, 5], [0]):  # the last leaves are no columns themselves
        own = np.zeros(4096)
        own[row] = 1
        cosine = hub @ own / np.sqrt(hub @ hub * (own @ own))
        reliability.append(1 / (1 + np.exp(-cosine)))
    # Each leaf has one edge: it is weighted among those of the hub alone.
    assert weights[5] / weights[leaves] == pytest.approx(reliability[0] / reliability[1])


def test_columns_of_long_rows_may_come_in_any_order() -> None:
    x = sp.random_array((4, 2000), density=0.4, format="csr", dtype=np.float32, rng=0)
    reversed_rows = sp.csr_array(x @ sp.eye_array(2000, dtype=np.float32))
    assert not reversed_rows.has_sorted_indices
    pairs = np.array([[0, 1], [2, 3]])
    similar = similarity_of(x, None, None)(pairs)
    assert similar.min() > 0.1
    assert similarity_of(reversed_rows, None, None)(pairs) == pytest.approx(similar)


def test_edges_between_classes_that_own_columns_tell_count_less() -> None:
    data = planted_partition(400, 4, homophily=0.95, seed=0)
    truth, rng = data.labels, stream(0, "added")
    pairs = rng.integers(400, size=(600, 2))
    added = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]]
    graph = Graph.from_edges(400, np.concatenate([data.graph.edges(), added]))
    x, q = data.features, np.eye(4)[truth][None].repeat(2, 0)
    own = OwnClasses.fit(graph, x, q, rng.integers(2, size=400), 1.0)
    across = truth[graph.row_of_entry()] != truth[graph.indices]
    shares = []
    for classes in (None, own):
        weights = EdgeReliability().fit(graph, x, own=classes).weighted(graph, x).weights
        shares.append(weights[across].sum() / weights.sum())
    assert shares[1] < 0.8 * shares[0] < 0.9 * across.mean()


def test_edges_that_are_all_unreliable_share_the_weight_of_their_node() -> None:
    path = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    x = np.repeat(np.eye(2, dtype=np.float32), 2, axis=0)
    sure = FittedReliability(np.array([900.0, 0.0, -800.0]))  # exp(800) is not finite
    np.testing.assert_allclose(sure.weighted(path, x).to_scipy().sum(1)[[0, 3]], 2**0.5)
    none = FittedReliability(np.array([0.0, 0.0, -800.0]))
    np.testing.assert_allclose(none.weighted(path, x).weights, 1.0)
