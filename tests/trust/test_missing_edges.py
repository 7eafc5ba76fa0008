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


def test_a_pair_is_scored_without_its_own_edge_whatever_else_is_asked():
    made = planted_partition(300, 3, seed=0)
    model = EdgeModel(made.graph, made.features)
    for number in (0, 3):
        group = model.group(number)
        without = EdgeModel(made.graph, made.features)._evidence(made.graph.without(group))
        assert np.array_equal(model._evidence_on(group), model._columns(without, group))
    pairs = np.concatenate([model.edges[:40], np.array([[0, 1], [1, 0]])])
    together = model.probability(pairs)
    assert np.array_equal(together[::-1], model.probability(pairs[::-1]))
    assert model.probability(pairs[30:31])[0] == pytest.approx(together[30], rel=1e-9)


def blocks(nodes: int, inside: float, outside: float) -> tuple[Graph, np.ndarray]:
    """Return a dense graph of four blocks, and the block of each node."""
    rng = np.random.default_rng(0)
    block = rng.integers(4, size=nodes)
    p = np.where(block[:, None] == block, inside, outside)
    return Graph.from_edges(nodes, np.argwhere(np.triu(rng.random((nodes, nodes)) < p, 1))), block


def circles() -> tuple[Graph, np.ndarray]:
    """Return a dense graph of people who know those nearby, popular ones more."""
    rng = np.random.default_rng(0)
    place, popular = rng.normal(size=(400, 2)), 0.7 * rng.normal(size=400)
    score = popular[:, None] + popular - 2 * ((place[:, None] - place) ** 2).sum(-1)
    p = 1 / (1 + np.exp(-2 * (score - np.quantile(score, 0.9))))
    graph = Graph.from_edges(400, np.argwhere(np.triu(rng.random((400, 400)) < p, 1)))
    return graph, (place[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("made", "ranking"),
    [
        (blocks(400, 0.15, 0.15), (0.47, 0.53)),  # nothing to learn, and nothing learnt
        (blocks(400, 0.3, 0.1), (0.62, 1)),
        (blocks(400, 0.02, 0.1), (0.6, 1)),
        (circles(), (0.94, 1)),
    ],
    ids=["random", "blocks", "blocks that avoid themselves", "circles"],
)
def test_probabilities_of_dense_graphs_are_calibrated_and_ranked(made, ranking):
    graph, labels = made
    classes = 0.7 * np.eye(4)[labels] + 0.3 / 4
    pairs = np.stack(np.triu_indices(400, 1), axis=1)
    p = EdgeModel(graph, predict=lambda _: classes).probability(pairs)
    linked = graph.contains(*pairs.T)
    assert ranking[0] < roc_auc_score(linked, p) < ranking[1]
    bins = np.minimum((15 * p).astype(int), 14)
    gaps = np.bincount(bins, linked, 15) - np.bincount(bins, p, 15)
    assert np.abs(gaps).sum() / len(p) < 0.015
    assert p.sum() == pytest.approx(linked.sum(), rel=0.03)


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
    p, linked = EdgeModel(graph, node_types=(600, 20)).probability(pairs), graph.contains(*pairs.T)
    for some in (pairs < 600).all(1), (pairs >= 600).any(1):
        assert p[some].sum() == pytest.approx(linked[some].sum(), rel=0.1)


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
