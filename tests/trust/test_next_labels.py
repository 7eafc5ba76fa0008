"""What to label next: where doubt is, what is typical, and not twice in one place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.classifiers import Posterior
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.graph import Graph
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust import next_labels as acquisition
from nodecopy.trust.next_labels import embedding, next_labels


def posterior(entropy: list[float] | np.ndarray) -> Posterior:
    zero = np.zeros(len(entropy))
    half = np.full((len(entropy), 2), 0.5)
    return Posterior(half, np.array(entropy, float), zero, zero, 1, 1)


# Two groups of six alike, and an odd one out.
GROUPS = Graph.from_edges(
    13, [(u, v) for r in (0, 6) for u in range(r, r + 6) for v in range(r, u)]
)
FEATURES = np.eye(3)[[0] * 6 + [1] * 6 + [2]]
DOUBT = [1.0] * 13


def random_problem() -> tuple[Graph, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(40, rng.integers(40, size=(70, 2)))
    return graph, rng.random((40, 5)), rng.random(40)


def cosines(graph: Graph, X: np.ndarray) -> np.ndarray:
    """Return the cosines of P²X, centred, by dense matrices."""
    A = graph.to_scipy().toarray().astype(float) + np.eye(40)
    A /= A.sum(1, keepdims=True)
    Z = A @ A @ X
    Z -= Z.mean(0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z @ Z.T


@pytest.mark.parametrize("fitted", [True, False])
def test_choices_match_the_formula_written_out(fitted):
    graph, X, H = random_problem()
    H = H if fitted else np.ones(40)
    cosine = np.maximum(cosines(graph, X), 0)
    covering = min(range(1, 9), key=lambda power: abs((cosine**power).mean() - 0.02))
    S = cosine ** (4 if fitted else covering)
    M = np.minimum(H[:, None], H) * S
    chosen = [4, 7]
    told = H * S[:, chosen].max(1)
    result = next_labels(graph, X, posterior(H) if fitted else None, chosen, 5)
    for node, gain in zip(result.nodes, result.gain, strict=True):
        gains = np.maximum(M - told[:, None], 0).sum(0)
        gains[chosen] = -1
        assert node == gains.argmax()
        unit = np.log(2) if fitted else 1.0  # of a node of which nothing is known
        assert gain == pytest.approx(gains.max() / unit, rel=1e-3, abs=1e-5)
        chosen.append(int(node))
        told = np.maximum(told, M[:, node])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_embedding_keeps_angles_where_it_can_hold_them_all(weighted):
    graph, X, _ = random_problem()
    if weighted:
        graph = Graph.from_edges(40, graph.edges(), 1 + np.arange(len(graph.edges()), dtype=float))
    for features in (X, X.astype(np.float32), sp.csr_array(X)):
        seen = embedding(graph, features, 0)
        assert (seen.shape, seen.dtype) == ((40, 5), np.float32)
        assert np.allclose(seen @ seen.T, cosines(graph, X), atol=1e-5)


def test_of_many_features_the_directions_are_those_of_the_nodes():
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(300, rng.integers(300, size=(900, 2)))
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 90))
    three = embedding(graph, np.linalg.svd(X)[0][:, :3] * np.linalg.svd(X)[1][:3], 0)
    nodes = np.arange(299, 0, -7)
    for features in (X, sp.csr_array(X)):
        seen = embedding(graph, features, 0)
        assert seen.shape == (300, 64)
        assert np.allclose(seen @ seen.T, three @ three.T, atol=1e-4)
        np.testing.assert_array_equal(embedding(graph, features, 0, nodes), seen[nodes])


def test_very_many_features_are_no_matter_of_their_square():
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(300, rng.integers(300, size=(900, 2)))
    few = rng.standard_normal((300, 30)) * (rng.random((300, 30)) < 0.3)
    spread = sp.coo_array(few)
    places = spread.coords[0], spread.coords[1] * 6_007 + 5
    many = sp.csr_array((spread.data, places), shape=(300, 200_000))
    seen, expected = embedding(graph, many, 0), embedding(graph, few, 0)
    assert np.allclose(seen @ seen.T, expected @ expected.T, atol=1e-4)


def test_known_and_forbidden_nodes_are_never_chosen_and_there_may_be_too_few():
    allowed = np.zeros(13, bool)
    allowed[[0, 1, 2]] = True
    result = next_labels(GROUPS, FEATURES, posterior(DOUBT), [0], 5, allowed=allowed)
    assert sorted(result.nodes.tolist()) == [1, 2]
    assert next_labels(GROUPS, FEATURES, posterior(DOUBT), [], 0).nodes.tolist() == []
    assert next_labels(GROUPS, FEATURES, posterior(DOUBT), range(13), 3).nodes.tolist() == []


def test_on_large_graphs_a_sample_stands_for_all(monkeypatch):
    monkeypatch.setattr(acquisition, "_MAX_POINTS", 20)
    monkeypatch.setattr(acquisition, "_MAX_CANDIDATES", 10)
    graph, X, H = random_problem()
    result = next_labels(graph, X, posterior(H), range(15), 12)
    again = next_labels(graph, X, posterior(H), range(15), 12)
    assert len(result.nodes) == 10
    assert result.nodes.min() >= 15
    assert np.array_equal(result.nodes, again.nodes)
    other = next_labels(graph, X, posterior(H), range(15), 12, seed=1)
    assert not np.array_equal(result.nodes, other.nodes)


def test_what_was_computed_before_gives_the_same_choice(monkeypatch):
    monkeypatch.setattr(acquisition, "_MAX_POINTS", 20)
    monkeypatch.setattr(acquisition, "_MAX_CANDIDATES", 10)
    graph, X, H = random_problem()
    seen = embedding(graph, X, 3)
    fresh = next_labels(graph, X, posterior(H), [1, 2], 5, seed=3)
    again = next_labels(graph, X, posterior(H), [1, 2], 5, seed=3, seen=seen)
    assert again.nodes.tolist() == fresh.nodes.tolist()
    assert again.gain.tolist() == fresh.gain.tolist()


def test_where_most_nodes_are_certain_the_sample_finds_the_others(monkeypatch):
    monkeypatch.setattr(acquisition, "_MAX_POINTS", 50)
    monkeypatch.setattr(acquisition, "_MAX_CANDIDATES", 50)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(5000, rng.integers(5000, size=(20_000, 2)))
    entropy = np.full(5000, 1e-5)
    doubtful = rng.choice(5000, 20, replace=False)
    entropy[doubtful] = 0.5
    result = next_labels(graph, rng.random((5000, 8)), posterior(entropy), [], 5)
    assert set(result.nodes.tolist()) <= set(doubtful.tolist())
    # No more than the whole entropy is covered.
    assert result.gain.sum() <= entropy.sum() * 1.001


def test_first_labels_are_deterministic_and_cover_all_groups() -> None:
    data = planted_partition(300, 5, seed=1)
    clf = NodeCopyClassifier(random_state=0)
    first = clf.suggest(10, data.graph, data.features)
    assert clf.suggest(15, data.graph, data.features)[:10].tolist() == first.tolist()
    assert len(set(data.labels[first])) == 5
    drawn = clf.suggest(200, data.graph, data.features, exclude=first, random=True)
    assert len(set(drawn)) == 200
    assert not set(drawn) & set(first)
