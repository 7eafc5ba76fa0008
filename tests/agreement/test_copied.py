"""Graphs read by rows = graphs built whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.data.task import Task
from nodecopy.graph import Graph
from nodecopy.graph_models import CopiedGraph, NodeCopying
from nodecopy.graph_models.copied import Construction, copy_rows
from nodecopy.nn.propagation import OPERATORS
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MCDropout, TrainConfig
from tests.problems import make_task


@pytest.fixture(autouse=True, scope="module")
def read_by_rows() -> Iterator[None]:
    """Small graphs are built at once; these are to be read by rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nodecopy.graph_models.copied._FEW", 0)
        yield


CONSTRUCTIONS: tuple[Construction, ...] = ("union", "sum", "row")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(CONSTRUCTIONS), st.booleans(), st.booleans())
def test_rows_and_strengths_are_those_of_the_built_graph(
    seed: int, construction: Construction, weighted: bool, loops: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, edges = int(rng.integers(5, 60)), int(rng.integers(1, 120))
    weights = rng.random(edges) + 0.1 if weighted else None
    observed = Graph.from_edges(
        n, rng.integers(0, n, (edges, 2)), weights, self_loops="keep" if loops else "drop"
    )
    source = rng.integers(0, n, n)
    lazy, built = (
        CopiedGraph(observed, source, construction),
        copy_rows(observed, source, construction),
    )
    assert lazy.built == built
    for count in (1, n // 5, n):
        rows = rng.permutation(n)[:count]
        some, expected = lazy.take_rows(rows), built.take_rows(rows)
        np.testing.assert_array_equal(some.indptr, expected.indptr)
        np.testing.assert_array_equal(some.indices, expected.indices)
        assert (some.weights is None) == (expected.weights is None)
        if some.weights is not None:
            np.testing.assert_allclose(some.weights, expected.weights)
        np.testing.assert_allclose(lazy.strengths(rows), built.strengths(rows))


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("construction", ["union", "sum"])
def test_operators_are_those_of_the_built_graph(kind: str, construction: Construction) -> None:
    observed = make_task().graph
    rng = np.random.default_rng(1)
    lazy = CopiedGraph(observed, rng.integers(0, 90, 90), construction)
    nodes = rng.permutation(90)[:7]
    some, expected = OPERATORS[kind](lazy, nodes), OPERATORS[kind](lazy.built, nodes)
    for part in range(3):
        np.testing.assert_array_equal(some[part], expected[part])


def test_copied_rows_are_normalised_like_the_graph_they_predict_on() -> None:
    """Where every node keeps its row, members train on the very operator they predict with."""
    task = make_task()
    model = NodeCopying(epsilon=1.0, construction="row")
    copied = model.fit(task, np.full((90, 3), 1 / 3), seed=0).graph(0, 0, 0)
    nodes = np.arange(90)
    for kind in OPERATORS:
        some, expected = OPERATORS[kind](copied, nodes), OPERATORS[kind](task.graph, nodes)
        for part in range(3):
            np.testing.assert_array_equal(some[part], expected[part])


def test_a_fit_on_copied_rows_equals_a_fit_on_built_graphs(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = MCDropout(TrainConfig(epochs=8))
    model = BayesianGCN(n_zeta=2, n_weights=2, weights=weights)
    by_rows = model.fit(task, seed=1).probabilities
    monkeypatch.setattr("nodecopy.graph_models.copied._MOST", 0.0)
    assert np.array_equal(by_rows, model.fit(task, seed=1).probabilities)
