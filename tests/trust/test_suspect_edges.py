"""Suspect edges: their order, planted wrong edges found, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.graph import Graph
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.read.synthetic import planted_partition
from nodecopy.read.tables import read_tables
from nodecopy.trust import suspect_edges as suspects
from nodecopy.trust.edge_model import EdgeModel
from nodecopy.trust.suspect_edges import suspect_edges


def random_graph(nodes: int = 60, edges: int = 200) -> Graph:
    rng = np.random.default_rng(0)
    pairs = rng.integers(nodes, size=(edges, 2))
    return Graph.from_edges(nodes, pairs[pairs[:, 0] != pairs[:, 1]])


def sure(labels: np.ndarray, confidence: float = 0.95) -> np.ndarray:
    k = labels.max() + 1
    rest = (1 - confidence) / (k - 1)
    return np.eye(k)[labels] * (confidence - rest) + rest


def hits(result, planted) -> np.ndarray:
    wrong = {tuple(sorted(edge)) for edge in planted.tolist()}
    return np.array([tuple(sorted(edge)) in wrong for edge in result.nodes.tolist()])


def with_planted(
    graph: Graph, count: int, keep=lambda pairs: pairs[:, 0] != pairs[:, 1]
) -> tuple[Graph, np.ndarray]:
    pairs = np.random.default_rng(1).integers(graph.num_nodes, size=(20 * count, 2))
    pairs = pairs[keep(pairs)]
    new = pairs[~graph.contains(pairs[:, 0], pairs[:, 1])][:count]
    return Graph.from_edges(graph.num_nodes, np.concatenate([graph.edges(), new])), new


def test_shared_neighbours_are_counted_and_weighted():
    graph = random_graph()
    pairs = np.random.default_rng(2).integers(60, size=(300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    near = [set(graph.neighbours(node).tolist()) for node in range(60)]
    common = [near[u] & near[v] for u, v in pairs.tolist()]
    assert shared_neighbours(graph, pairs).tolist() == [len(some) for some in common]
    weight = np.random.default_rng(3).random(60)
    expected = [sum(weight[list(some)]) for some in common]
    assert shared_neighbours(graph, pairs, weight) == pytest.approx(expected)
    larger = Graph.from_edges(10_000, graph.edges())  # in which each neighbour is looked up
    assert np.array_equal(
        shared_neighbours(larger, pairs, np.resize(weight, 10_000)),
        shared_neighbours(graph, pairs, weight),
    )


def test_planted_edges_are_found_where_neighbours_differ():
    """Classes in a circle, each tied to the next only: edges inside a class are the wrong ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(800) % 4
    source = rng.integers(800, size=2400)
    target = 4 * rng.integers(200, size=2400) + (labels[source] + 1) % 4
    true = Graph.from_edges(800, np.stack([source, target], axis=1))
    inside = lambda e: (e[:, 0] != e[:, 1]) & (labels[e[:, 0]] == labels[e[:, 1]])  # noqa: E731
    graph, new = with_planted(true, 50, inside)
    result = suspect_edges(EdgeModel(graph, predict=lambda _: sure(labels)), count=50)
    assert hits(result, new).mean() > 0.9


def test_how_many_edges_are_random_is_told_roughly():
    made = planted_partition(1000, 4, homophily=1.0, seed=3)
    graph, new = with_planted(made.graph, round(0.1 * made.graph.num_edges))
    share = len(new) / graph.num_edges
    known = np.where(np.arange(1000) < 100, made.labels, -1)
    clf = NodeCopyClassifier("fast", random_state=0).fit(graph, made.features, known)
    result = clf.result_.suspect_edges(100)
    assert 0.8 * share < result.at_most < 2 * share
    right = hits(result, new).mean()
    assert right > 0.5
    assert right == pytest.approx(result.expected_wrong(share) / 100, abs=0.2)


def test_few_or_no_edges_are_fine():
    made = planted_partition(300, 3, seed=1)
    assert suspect_edges(EdgeModel(Graph.from_edges(3, []))).nodes.shape == (0, 2)
    assert suspect_edges(EdgeModel(made.graph), count=0).nodes.shape == (0, 2)
    pair = suspect_edges(EdgeModel(Graph.from_edges(2, [(0, 1)]), predict=lambda _: np.eye(2)))
    assert np.isfinite(pair.surprise).all()
    assert len(suspect_edges(EdgeModel(Graph.from_edges(1, [(0, 0)]))).nodes) == 0


@pytest.mark.parametrize("directed", [False, True])
def test_of_very_many_edges_a_random_sample_is_ranked(monkeypatch, directed):
    monkeypatch.setattr(suspects, "_ALL", 300)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(200, rng.integers(200, size=(2_000, 2)), directed=directed)
    total = graph.symmetrise().num_edges
    drawn = [suspect_edges(EdgeModel(graph, seed=seed), 400) for seed in (0, 0, 1)]
    for result in drawn:
        assert result.ranked == -(-total // 10)
        assert (graph.contains(*result.nodes.T) | graph.contains(*result.nodes.T[::-1])).all()
        assert len(np.unique(result.nodes, axis=0)) == len(result.nodes)
    assert np.array_equal(drawn[0].nodes, drawn[1].nodes)
    assert not np.array_equal(drawn[0].nodes, drawn[2].nodes)
    monkeypatch.setattr(suspects, "_ALL", 10_000)
    assert suspect_edges(EdgeModel(graph), 400).ranked is None


def test_surprise_is_finite_where_a_few_edges_are_all_told_apart(tmp_path):
    files = {
        "edges": "source,target\na,b\nb,c\nc,a\nc,d\nd,e\ne,f\nf,d\n",
        "labels": "id,label\na,x\nb,x\nd,y\ne,y\n",
        "nodes": "id,,f2\na,1,0\nc,1,1\nd,0,1\ne,0,1\nf,0,1\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    table = read_tables(*(tmp_path / f"{name}.csv" for name in files))
    clf = NodeCopyClassifier("fast", random_state=0).fit(table)
    assert np.isfinite(clf.result_.suspect_edges(100).surprise).all()
    clf.report(tmp_path / "page.html")
