"""Inspection: counts that can be checked by hand, and warnings where they are due."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from nodecopy.data import NodeDataset
from nodecopy.graph import Graph
from nodecopy.tables.inspection import inspect_dataset


def made(edges, labels, classes=("a", "b")) -> NodeDataset:
    graph = Graph.from_edges(len(labels), edges)
    return NodeDataset("made", graph, np.eye(len(labels)), labels, classes)


def test_counts_of_a_small_graph():
    # A triangle, a path of two edges and an isolated node.
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)]
    result = inspect_dataset(made(edges, [0, 0, 1, 1, 1, -1, -1]))
    assert result.components.tolist() == [3, 3, 1]
    assert result.label_counts.tolist() == [2, 3]
    # Labelled edges: 0-1 (a, a), 1-2 and 2-0 (a, b), 3-4 (b, b); ends: a 4 of 8.
    assert result.mixing == (4, 0.5, 0.5)
    assert result.mixing.adjusted == 0


def test_isolated_nodes_and_components_without_a_label():
    result = inspect_dataset(made([(0, 1), (2, 3)], [0, 1, -1, -1, -1]))
    assert result.warnings[0].startswith("1 of 5 nodes have no edge")
    assert result.warnings[1] == "2 of 5 nodes are in components without a label"
    complete = inspect_dataset(made([(0, 1), (1, 2)], [0, 1, -1]))
    assert not [text for text in complete.warnings if "no edge" in text or "without a" in text]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([-1, -1, -1], "no node has a label"),
        ([0, 0, -1], "all labels are of one class"),
        ([0, 0, 1], "single label .*'b'"),
        ([0, 1, 2, 3, 4, 5], "single label .*'e' and 1 more"),
    ],
)
def test_warnings_about_labels(labels, expected):
    edges = [(n, n + 1) for n in range(len(labels) - 1)]
    warnings = inspect_dataset(made(edges, labels, tuple("abcdef"))).warnings
    assert [text for text in warnings if re.search(expected, text)]


def test_a_heterophilous_graph_is_warned_of():
    even, odd = np.arange(0, 20, 2), np.arange(1, 20, 2)
    edges = [(u, v) for u in even for v in odd if (u + v) % 3]
    result = inspect_dataset(made(edges, np.arange(20) % 2))
    assert result.mixing.homophily == 0
    assert result.mixing.adjusted == -1
    assert result.warnings[-1].startswith("the graph is heterophilous: 0% of the labelled edges")
    path = [(k, k + 1) for k in range(13)]
    few = inspect_dataset(made(path, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]))
    assert few.mixing.adjusted < 0.3  # 8 of 13 edges: by chance, perhaps
    assert not [w for w in few.warnings if "heterophilous" in w]


def test_few_labelled_edges_are_too_few_to_tell():
    result = inspect_dataset(made([(0, 1), (1, 2), (2, 3)], [0, 1, 1, 0]))
    assert result.warnings[-1].startswith("only 3 edges between labelled nodes")
    unlabelled = inspect_dataset(made([(0, 1)], [-1, -1]))
    assert math.isnan(unlabelled.mixing.homophily)
    empty = inspect_dataset(made([], []))
    assert (empty.components.tolist(), empty.warnings) == ([], ("no node has a label",))
