"""Suspect edges: the formula, the order, and planted wrong edges found."""

from __future__ import annotations

import numpy as np

from nodecopy import NodeCopyClassifier
from nodecopy.data import planted_partition
from nodecopy.graph import Graph
from nodecopy.labelling import suspect_edges


def test_edges_match_the_formula_and_come_in_order():
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(30, rng.integers(30, size=(80, 2)))
    p = rng.dirichlet([0.3] * 3, size=30)
    found = suspect_edges(graph, p, 0.7)
    expected = {
        (u, v): 1 - p[u] @ p[v]
        for u, v in graph.edges().tolist()
        if u != v
        and p[u].argmax() != p[v].argmax()
        and 1 - p[u] @ p[v] >= 0.7
        and min(p[u].max(), p[v].max()) > 0.5
    }
    assert {tuple(edge) for edge in found.nodes.tolist()} == set(expected)
    assert np.all(np.diff(found.probability) <= 0)
    for edge, probability in zip(found.nodes.tolist(), found.probability, strict=True):
        assert abs(expected[tuple(edge)] - probability) < 1e-12


def test_planted_wrong_edges_are_found_among_few_suspects():
    data = planted_partition(300, 3, homophily=1.0, seed=2).dataset
    rng = np.random.default_rng(0)
    pairs = rng.integers(300, size=(200, 2))
    wrong = pairs[data.labels[pairs[:, 0]] != data.labels[pairs[:, 1]]][:30]
    graph = Graph.from_edges(300, np.concatenate([data.graph.edges(), wrong]))
    known = np.where(np.arange(300) < 60, data.labels, -1)
    clf = NodeCopyClassifier(n_zeta=3, random_state=0).fit(graph, data.features, known)
    found = suspect_edges(graph, clf.predict_proba(), 0.6)
    planted = {tuple(sorted(edge)) for edge in wrong.tolist()}
    hits = [tuple(sorted(edge)) in planted for edge in found.nodes.tolist()]
    assert sum(hits) >= 20  # of 30 planted
    assert np.mean(hits) > 0.8


def test_two_guesses_among_many_classes_are_no_suspicion():
    pair = Graph.from_edges(2, [(0, 1)])
    guesses = np.full((2, 20), 0.05) + np.eye(20)[:2] * 0.001
    assert len(suspect_edges(pair, guesses / guesses.sum(1, keepdims=True), 0.9).nodes) == 0


def test_no_edges_no_suspects():
    assert suspect_edges(Graph.from_edges(3, []), np.full((3, 2), 0.5)).nodes.shape == (0, 2)
