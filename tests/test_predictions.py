"""Predictions in other forms: a graph of networkx, and bars for a notebook."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest

from nodecopy import Graph, NodeCopyClassifier
from nodecopy.core.errors import InputError, ModelError
from nodecopy.graph import join_relations
from nodecopy.problem.problem import Problem
from nodecopy.result.tables import class_bars, edge_columns, networkx_graph, node_columns

NAMES = ["ann", "bob", 3]


def problem(graph: Graph) -> Problem:
    return Problem("three", graph, names=NAMES)


def of_networkx(graph: Graph) -> nx.Graph:
    given = problem(graph)
    return networkx_graph(node_columns(given, {"id": given.ids}), edge_columns(given))


def test_a_fit_to_a_networkx_graph_comes_back_with_predictions(tmp_path):
    given = nx.karate_club_graph()
    known = {0: "Mr. Hi", 1: "Mr. Hi", 33: "Officer", 32: "Officer"}
    clf = NodeCopyClassifier("fast", random_state=0).fit(given, np.eye(34), known)
    graph = clf.to_networkx()
    assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(given.edges))
    assert [graph.edges[e]["weight"] for e in given.edges] == [
        own["weight"] for *_, own in given.edges(data=True)
    ]
    frame = clf.to_frame()
    for node, own in graph.nodes(data=True):
        assert own.get("known") == known.get(node)
        assert own["predicted"] == frame.loc[node, "predicted"]
        for name in ("confidence", "p_Mr. Hi", "p_Officer"):
            assert own[name] == frame.loc[node, name]
    nx.write_graphml(graph, tmp_path / "club.graphml")  # every value is of a plain type
    clf.save(tmp_path / "model")
    with pytest.raises(ModelError, match="to_networkx needs the graph"):
        NodeCopyClassifier.load(tmp_path / "model").to_networkx()


def test_relations_are_keys_and_undirected_edges_go_both_ways():
    pays = Graph.from_edges(3, [(0, 1)], [0.5])
    calls = Graph.from_edges(3, [(1, 0), (1, 2)], directed=True)
    graph = of_networkx(join_relations({"pays": pays, "calls": calls}))
    assert isinstance(graph, nx.MultiDiGraph)
    assert {(u, v, key, own["weight"]) for u, v, key, own in graph.edges(keys=True, data=True)} == {
        ("ann", "bob", "pays", 0.5),
        ("bob", "ann", "pays", 0.5),
        ("bob", "ann", "calls", 1.0),
        ("bob", 3, "calls", 1.0),
    }
    both = of_networkx(join_relations({"pays": pays, "knows": pays}))
    assert (type(both), both.number_of_edges()) == (nx.MultiGraph, 2)
    (edge,) = of_networkx(join_relations({"pays": pays})).edges(data=True)
    assert edge == ("ann", "bob", {"relation": "pays", "weight": 0.5})


def test_a_graph_without_weights_has_edges_without_attributes():
    graph = of_networkx(Graph.from_edges(3, [(0, 2)]))
    assert type(graph) is nx.Graph
    assert list(graph.edges(data=True)) == [("ann", 3, {})]
    assert list(graph) == NAMES


def test_an_edge_of_weight_zero_stays_an_edge():
    (edge,) = of_networkx(Graph.from_edges(3, [(0, 1)], [0.0])).edges(data=True)
    assert edge == ("ann", "bob", {"weight": 0.0})


def test_without_networkx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"nodecopy\[networkx\]"):
        of_networkx(Graph.from_edges(3, [(0, 2)]))


def test_bars_count_sure_predictions_and_name_the_commonest_classes():
    p = np.full((40, 20), 0.01)
    p[:, 1] = np.where(np.arange(40) < 30, 0.95, 0.1)
    p[30:, 0] = 0.7
    html = class_bars([f"<{k}>" for k in range(20)], p, np.array([1, 1, 0, *[-1] * 37]))
    rows = html.split("<tr>")[2:]
    assert "<td>&lt;1&gt;</td><td>2</td><td>30</td><td>30</td>" in rows[0]
    assert "<td>&lt;0&gt;</td><td>1</td><td>10</td><td>0</td>" in rows[1]
    assert "width:240px" in rows[0]
    assert "width:80px" in rows[1]
    assert "and 8 more" in rows[-1]
