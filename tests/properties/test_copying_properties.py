"""The copying model on arbitrary small graphs: laws that hold for every draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, NodeCopying
from nodecopy.problem.task import Task

thorough = settings(max_examples=80, derandomize=True)

CLASSES = 3


class Case(NamedTuple):
    """A simple graph, a predicted class for each node, ε, an order of the nodes, a seed."""

    graph: Graph
    labels: np.ndarray
    epsilon: float
    order: np.ndarray
    seed: int

    def posterior(self) -> CopyingPosterior:
        features = np.zeros((self.graph.num_nodes, 1), np.float32)
        task = Task.of(self.graph, features, self.labels, [0], num_classes=CLASSES)
        model = NodeCopying(self.epsilon)
        return model.fit(task, np.eye(CLASSES)[self.labels], seed=0)

    def renamed(self) -> Case:
        """Rename the nodes: node i becomes what was ``order[i]``."""
        graph = self.graph.induced(self.order)
        return self._replace(graph=graph, labels=self.labels[self.order])


@st.composite
def cases(draw: st.DrawFn, max_nodes: int = 8) -> Case:
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    labels = draw(st.lists(st.integers(0, CLASSES - 1), min_size=n, max_size=n))
    epsilon = draw(st.sampled_from([0.0, 0.01, 0.3, 0.5, 1.0]))
    order = draw(st.permutations(range(n)))
    seed = draw(st.integers(0, 2**32))
    return Case(Graph.from_edges(n, pairs), np.array(labels), epsilon, np.array(order), seed)


@thorough
@given(cases())
def test_every_row_is_an_observed_one(case: Case) -> None:
    posterior = case.posterior()
    source = posterior.source(case.seed, 1, 2)
    zeta = posterior.zeta(case.seed, 1)
    assert np.all((source == zeta) | (source == np.arange(len(source))))
    assert case.epsilon > 0 or np.all(source == zeta)
    assert case.epsilon < 1 or np.all(source == np.arange(len(source)))
    assert np.array_equal(case.labels[zeta], case.labels)
    sample = posterior.graph(case.seed, 1, 2).built
    assert case.epsilon < 1 or sample == case.graph
    Graph(sample.indptr, sample.indices)  # checks that it is undirected and simple
    for node, donor in enumerate(source.tolist()):
        lent = set(case.graph.neighbours(donor).tolist()) - {node}
        assert lent <= set(sample.neighbours(node).tolist())


@thorough
@given(cases())
def test_copying_commutes_with_renaming(case: Case) -> None:
    source = case.posterior().source(case.seed, 0, 0)
    place = np.argsort(case.order)
    renamed = case.renamed().graph.copied(place[source[case.order]])
    assert renamed == case.graph.copied(source).induced(case.order)
