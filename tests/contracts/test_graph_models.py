"""Every graph model goes through the same checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph, RowGraph
from nodecopy.graph_models import (
    GraphModel,
    GraphPosterior,
    NodeCopying,
    ObservedGraph,
)
from nodecopy.paper.mmsbm import MMSBM, MMSBMPosterior
from nodecopy.problem.task import Task
from tests.problems import true_labels

MODELS: dict[str, GraphModel] = {
    "copying": NodeCopying(0.2),
    "block model": MMSBM(cold_iterations=20, warm_iterations=10),
    "observed": ObservedGraph(),
}
# Models that always give the same graph.
DETERMINISTIC = (ObservedGraph(),)
every = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def probabilities_of(task: Task, certainty: float = 0.8) -> np.ndarray:
    """Return what a base classifier may give, mostly right; read-only, as nothing may change it."""
    k = task.num_classes
    p = np.full((task.graph.num_nodes, k), (1 - certainty) / (k - 1))
    p[np.arange(len(p)), true_labels(task)] = certainty
    p = 0.9 * p + 0.1 * stream(0, "noise").dirichlet(np.ones(k), size=len(p))
    p.flags.writeable = False
    return p


def fitted(model: GraphModel, task: Task, seed: int = 3) -> GraphPosterior:
    return model.fit(task, probabilities_of(task), seed)


@every
def test_a_draw_depends_on_its_name_alone(model: GraphModel, task: Task) -> None:
    assert isinstance(model, GraphModel)
    posterior = fitted(model, task)
    names = [(seed, v, i) for seed in (1, 2) for v in (0, 1) for i in (0, 1)]
    drawn = {name: posterior.graph(*name).built for name in names}
    again = fitted(model, task)
    for name in reversed(names):
        assert again.graph(*name).built == drawn[name]
    different = {graph.digest() for graph in drawn.values()}
    assert len(different) == (1 if model in DETERMINISTIC else len(names))


@every
def test_graphs_are_of_the_nodes_and_kind_they_should(model: GraphModel, task: Task) -> None:
    posterior = fitted(model, task)
    for v in range(3):
        graph = posterior.graph(1, v, 0)
        built = graph.built
        assert graph.num_nodes == built.num_nodes == task.graph.num_nodes
        assert built.weights is None
        Graph(built.indptr, built.indices)  # checks that it is undirected and simple


@every
def test_rows_are_those_of_the_whole_graph(model: GraphModel, task: Task) -> None:
    for nodes in (np.array([5, 0, 89]), np.arange(90), np.zeros(0, np.int64)):
        graph: RowGraph = fitted(model, task).graph(1, 1, 0)
        result, expected = graph.take_rows(nodes), graph.built.take_rows(nodes)
        np.testing.assert_array_equal(result.indptr, expected.indptr)
        np.testing.assert_array_equal(result.indices, expected.indices)
        np.testing.assert_array_equal(graph.strengths(nodes), graph.built.strengths()[nodes])


@every
def test_fitting_and_drawing_change_nothing(model: GraphModel, task: Task) -> None:
    p = probabilities_of(task)
    before = task.graph.digest(), task.features.copy(), task.labels.copy(), repr(model), p.copy()
    posterior = model.fit(task, p, 0)
    kept = posterior.graph(0, 0, 0).built
    if isinstance(posterior, MMSBMPosterior):
        one, again = (posterior.refreshed(p, 4).graph(1, 0, 0) for _ in range(2))
        assert one.built == again.built
    assert posterior.graph(0, 0, 0).built == kept
    assert before[0] == task.graph.digest()
    assert (before[1] != task.features).nnz == 0
    np.testing.assert_array_equal(before[2], task.labels)
    assert before[3] == repr(model)
    np.testing.assert_array_equal(before[4], p)


@every
def test_a_graph_without_edges_is_sampled_or_an_error(model: GraphModel, task: Task) -> None:
    try:
        sample = fitted(model, replace(task, graph=Graph.from_edges(90, []))).graph(1, 0, 0).built
    except ModelError as error:
        assert "edges" in str(error)  # noqa: PT017
    else:
        assert sample.num_nodes == 90
