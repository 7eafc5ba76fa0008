"""Graphs read by rows = graphs built whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.graph import Graph
from nodecopy.graph_models import CopiedGraph


@pytest.fixture(autouse=True, scope="module")
def read_by_rows() -> Iterator[None]:
    """Small graphs are built at once; these are to be read by rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nodecopy.graph_models.copying._FEW", 0)
        yield


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_rows_and_strengths_are_those_of_the_built_graph(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n, edges = int(rng.integers(5, 60)), int(rng.integers(1, 120))
    weights = rng.random(edges) + 0.1 if weighted else None
    observed = Graph.from_edges(n, rng.integers(0, n, (edges, 2)), weights)
    source = rng.integers(0, n, n)
    lazy, copied = CopiedGraph(observed, source), observed.to_scipy().toarray()[source]
    built = lazy.built
    expected = np.maximum(copied, copied.T) * (1 - np.eye(n))
    np.testing.assert_array_equal(built.to_scipy().toarray(), expected)
    for count in (1, n // 5, n):
        rows = rng.permutation(n)[:count]
        for some, whole in zip(lazy.take_rows(rows), built.take_rows(rows), strict=True):
            np.testing.assert_array_equal(some, whole)
        np.testing.assert_allclose(lazy.strengths(rows), built.strengths(rows))
