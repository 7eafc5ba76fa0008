"""Inspection: counts that can be checked by hand, and warnings where they are due."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nodecopy.data import NodeDataset, load_dataset, planted_partition
from nodecopy.data.inspection import degree_law, inspect_dataset
from nodecopy.graph import Graph


def made(edges, labels, classes=("a", "b")) -> NodeDataset:
    graph = Graph.from_edges(len(labels), edges)
    return NodeDataset("made", graph, np.eye(len(labels)), labels, classes)


def test_counts_of_a_small_graph():
    # A triangle, a path of two edges and an isolated node.
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)]
    found = inspect_dataset(made(edges, [0, 0, 1, 1, 1, -1, -1]))
    assert found.components.tolist() == [3, 3, 1]
    assert found.degrees.tolist() == [2, 2, 2, 1, 2, 1, 0]
    assert [tuple(row) for row in found.degree_law] == [(0, 0, 1), (1, 1, 2), (2, 3, 4)]
    assert found.label_counts == (("a", 2), ("b", 3))
    # Labelled edges: 0-1 (a, a), 1-2 and 2-0 (a, b), 3-4 (b, b); ends: a 4 of 8.
    assert found.mixing == (4, 0.5, 0.5)
    assert found.mixing.adjusted == 0


def test_degrees_are_counted_in_classes_that_double():
    law = degree_law(np.array([0, 1, 1, 2, 3, 4, 7, 8, 15, 16, 1000]))
    counts = [(row.low, row.high, row.nodes) for row in law]
    expected = [(0, 0, 1), (1, 1, 2), (2, 3, 2), (4, 7, 2), (8, 15, 2), (16, 31, 1), (512, 1023, 1)]
    assert counts == expected
    assert degree_law(np.array([], np.int64)) == ()


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_homophily_is_that_of_the_graph(name):
    data = load_dataset(name)
    found = inspect_dataset(data)
    assert found.mixing.homophily == data.graph.homophily(data.labels)
    assert found.mixing.adjusted > 0.6
    assert not [text for text in found.warnings if "heterophilous" in text]


def test_isolated_nodes_and_components_without_a_label():
    found = inspect_dataset(made([(0, 1), (2, 3)], [0, 1, -1, -1, -1]))
    assert found.warnings[0].startswith("1 of 5 nodes have no edge")
    assert found.warnings[1] == "2 of 5 nodes are in components without a label"
    complete = inspect_dataset(made([(0, 1), (1, 2)], [0, 1, -1]))
    assert not [text for text in complete.warnings if "no edge" in text or "without a" in text]


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        ([-1, -1, -1], ("a",), ["no node has a label"]),
        ([0, 0, -1], ("a", "b"), ["all labels are of one class; at least two are needed to fit"]),
        ([0, 0, 1], ("a", "b"), ["a class with a single label cannot be checked: 'b'"]),
        ([0, 1, 2], tuple("abc"), ["a class with a single label cannot be checked: 'a', 'b', 'c'"]),
        ([0, 1, 2, 3, 4, 5], tuple("abcdef"), ["a class with a single label .* and others"]),
    ],
)
def test_warnings_about_labels(labels, classes, expected):
    edges = [(n, n + 1) for n in range(len(labels) - 1)]
    found = inspect_dataset(made(edges, labels, classes)).warnings
    about_labels = [text for text in found if "edges join" not in text]
    assert len(about_labels) == len(expected)
    assert found[0].startswith(expected[0].split(" .* ")[0])
    assert all(found[0].endswith(end) for end in expected[0].split(" .* ")[1:])


def test_a_heterophilous_graph_is_warned_of():
    even, odd = np.arange(0, 20, 2), np.arange(1, 20, 2)
    edges = [(u, v) for u in even for v in odd if (u + v) % 3]
    found = inspect_dataset(made(edges, np.arange(20) % 2))
    assert found.mixing.homophily == 0
    assert found.mixing.adjusted == -1
    assert found.warnings[-1].startswith("the graph is heterophilous: 0% of the labelled edges")
    path = [(k, k + 1) for k in range(13)]
    few = inspect_dataset(made(path, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]))
    assert few.mixing.adjusted < 0.3  # 8 of 13 edges: by chance, perhaps
    assert not [w for w in few.warnings if "heterophilous" in w]
    planted = planted_partition(200, 2, seed=0).dataset
    assert not [w for w in inspect_dataset(planted).warnings if "heterophilous" in w]


def test_a_self_loop_is_no_labelled_edge():
    graph = Graph.from_edges(2, [(0, 0), (0, 1)], self_loops="keep")
    found = inspect_dataset(NodeDataset("loop", graph, np.eye(2), [0, 1], ("a", "b")))
    assert (found.mixing.edges, found.mixing.homophily) == (1, 0)


def test_few_labelled_edges_are_too_few_to_tell():
    found = inspect_dataset(made([(0, 1), (1, 2), (2, 3)], [0, 1, 1, 0]))
    assert found.warnings[-1].startswith("only 3 edges join two labelled nodes: too few to tell")
    unlabelled = inspect_dataset(made([(0, 1)], [-1, -1]))
    assert math.isnan(unlabelled.mixing.homophily)


def test_an_empty_graph():
    found = inspect_dataset(made([], []))
    assert found.components.tolist() == []
    assert found.warnings == ("no node has a label",)
