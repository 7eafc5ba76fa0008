"""The model of edges, and the edges that a graph lacks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError
from nodecopy.graph import Graph, join_relations
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust.edge_model import EdgeModel
from nodecopy.trust.missing_edges import missing_edges

# Points on a torus, each linked to those nearby: an edge that is left out is easily missed.
SIDE = 18


def lattice() -> tuple[np.ndarray, np.ndarray]:
    x, y = (part.ravel() for part in np.indices((SIDE, SIDE)))
    edges = [
        np.stack([x * SIDE + y, (x + dx) % SIDE * SIDE + (y + dy) % SIDE], axis=1)
        for dx, dy in ((0, 1), (1, 0), (1, 1), (1, -1))
    ]
    columns = np.stack([np.sin(x / 3), np.cos(x / 3), np.sin(y / 3), np.cos(y / 3)], axis=1)
    return np.concatenate(edges), columns


def split(edges: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(len(edges))
    count = round(share * len(edges))
    return edges[order[:count]], edges[order[count:]]


def test_edges_that_were_taken_out_are_told_from_other_pairs():
    edges, columns = lattice()
    out, left = split(edges, 0.1)
    model = EdgeModel(Graph.from_edges(SIDE**2, left), columns.astype(np.float32))
    others = np.random.default_rng(1).integers(SIDE**2, size=(4 * len(out), 2))
    others = others[~Graph.from_edges(SIDE**2, edges).contains(*others.T)]
    others = others[others[:, 0] != others[:, 1]][: len(out)]
    scores = model.log_ratio(np.concatenate([out, others]))
    assert roc_auc_score(np.repeat([1, 0], len(out)), scores) > 0.95


def test_an_edge_is_scored_without_itself():
    made = planted_partition(300, 3, seed=0)
    pair = made.graph.edges()[:1]
    there = EdgeModel(made.graph, made.features)
    removed = made.graph.without(pair)
    evidence = there._evidence_on(pair)[0]
    assert np.array_equal(evidence, there._evidence(removed).columns(pair))
    assert not np.array_equal(evidence, there.whole.columns(pair))


def test_probabilities_of_random_pairs_add_up_to_the_edges_among_them():
    made = planted_partition(400, 4, mean_degree=20, seed=0)
    model = EdgeModel(made.graph, made.features, lambda _: np.eye(4)[made.labels])
    pairs = np.random.default_rng(0).integers(400, size=(20_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    expected = model.probability(pairs).sum()
    assert expected == pytest.approx(made.graph.contains(*pairs.T).sum(), rel=0.15)


def test_missing_edges_are_found_with_a_fair_probability():
    edges, columns = lattice()
    out, left = split(edges, 0.05)
    model = EdgeModel(Graph.from_edges(SIDE**2, left), columns.astype(np.float32))
    missing = missing_edges(model, 60, 0.05)
    taken_out = {tuple(sorted(edge)) for edge in out.tolist()}
    right = np.array([tuple(sorted(edge)) in taken_out for edge in missing.nodes.tolist()])
    assert right[:20].mean() > 0.8
    assert right.mean() == pytest.approx(missing.probability.mean(), abs=0.2)
    assert np.all(np.diff(missing.probability) <= 0)
    assert not model.observed.contains(*missing.nodes.T).any()
    assert missing_edges(model, 60, 0.01).probability.sum() < missing.probability.sum()


def people_and_places(people: int = 600, places: int = 20) -> tuple[Graph, np.ndarray]:
    """People know people nearby, and visit one place; a tenth of the visits is left out."""
    rng = np.random.default_rng(0)
    home = rng.integers(places, size=people)
    pairs = rng.integers(people, size=(20_000, 2))
    knows = pairs[(home[pairs[:, 0]] == home[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    visits = np.stack([np.arange(people), people + home], axis=1)
    out, left = split(visits, 0.1)
    relations = {
        name: Graph.from_edges(people + places, e)
        for name, e in (("knows", knows), ("visits", left))
    }
    return join_relations(relations), out


def test_probabilities_add_up_with_several_types_and_relations():
    graph, _ = people_and_places()
    pairs = np.random.default_rng(0).integers(620, size=(40_000, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & ~(pairs >= 600).all(1)]
    expected = EdgeModel(graph, node_types=(600, 20)).probability(pairs).sum()
    assert expected == pytest.approx(graph.contains(*pairs.T).sum(), rel=0.2)


def test_relations_and_types_decide_which_pairs_may_be_linked():
    people, places = 600, 20
    graph, out = people_and_places(people, places)
    missing = missing_edges(EdgeModel(graph, node_types=(people, places)), 40, 0.05)
    ends = missing.nodes >= people
    assert not ends.all(1).any()
    assert set(missing.relation[ends.any(1)]) == {"visits"}
    taken_out = {tuple(edge) for edge in out.tolist()}
    visited = [tuple(edge) for edge in missing.nodes[ends.any(1)].tolist()]
    assert np.mean([edge in taken_out for edge in visited]) > 0.5


def test_a_classifier_names_missing_edges_and_refuses_unknown_pairs():
    made = planted_partition(150, 3, seed=0)
    y = np.where(np.arange(150) < 30, made.labels, -1)
    clf = NodeCopyClassifier("fast", random_state=0).fit(made.graph, made.features, y)
    rows = clf.missing_edges(5, share=0.1)
    assert len(rows) == 5
    assert rows[0].relation is None
    assert all(row.target not in made.graph.neighbours(row.source) for row in rows)
    p = clf.edge_probability([(0, 1), (2, 3)])
    assert p.shape == (2,)
    assert ((p > 0) & (p < 1)).all()
    for pairs, words in (([(0, 999)], "999"), ([(4, 4)], "different"), ([1, 2], "shape")):
        with pytest.raises(ModelError, match=words):
            clf.edge_probability(pairs)
    with pytest.raises(ModelError, match="share"):
        clf.missing_edges(5, share=1.5)
    assert clf.missing_edges(-1) == clf.suspect_edges(-1) == []


def test_a_graph_without_edges_lacks_none():
    assert len(missing_edges(EdgeModel(Graph.from_edges(5, []))).nodes) == 0
