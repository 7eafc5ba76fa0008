"""Inspection: counts that can be checked by hand, and warnings where they are due."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.read.inspection import inspect_dataset


def made(edges, labels, classes=("a", "b")) -> Problem:
    graph = Graph.from_edges(len(labels), edges)
    return Problem("made", graph, np.eye(len(labels)), labels, classes)


def test_counts_of_a_small_graph():
    # A triangle, a path of two edges and an isolated node.
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)]
    result = inspect_dataset(made(edges, [0, 0, 1, 1, 1, -1, -1]))
    assert result.components.tolist() == [3, 3, 1]
    assert result.label_counts.tolist() == [2, 3]


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


def test_an_empty_graph_is_fine():
    empty = inspect_dataset(made([], []))
    assert (empty.components.tolist(), empty.warnings) == ([], ("no node has a label",))
