"""The receptive field holds exactly what is needed, in nested order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.graph import Graph
from nodecopy.nn.batch import receptive_field
from tests.problems import k_hop


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_levels_are_the_neighbourhoods_and_each_begins_with_the_one_before(
    seed: int, hops: int, prune: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(30, rng.integers(0, 30, (25, 2)))
    nodes = rng.choice(30, 4, replace=False)
    field = receptive_field(graph, nodes, hops, "adjacency", prune=prune)
    for h, level in enumerate(field.levels):
        expected = k_hop(graph, nodes, h) if prune else np.arange(30)
        np.testing.assert_array_equal(np.sort(level), expected)
        if h:
            before = field.levels[h - 1]
            np.testing.assert_array_equal(level[: len(before)], before)
    for h, step in enumerate(field.operators):
        back = field.levels[h + 1][step.columns]
        for i, node in enumerate(field.levels[h]):
            row = np.sort(back[step.indptr[i] : step.indptr[i + 1]])
            np.testing.assert_array_equal(row, np.sort([*graph.neighbours(node), node]))
