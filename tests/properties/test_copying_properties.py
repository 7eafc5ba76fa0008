"""The copying model on arbitrary small graphs: laws that hold for every draw."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.data.task import Task
from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, NodeCopying
from nodecopy.graph_models.copied import Construction, copy_rows
from nodecopy.graph_models.copying import sample_source
from nodecopy.graph_models.diagnostics import (
    compare_graphs,
    edge_probability,
    expected_edit_distance,
)
from nodecopy.graph_models.zeta import class_sets, sample_zeta, zeta_log_probability

thorough = settings(max_examples=80, deadline=None, derandomize=True)

CLASSES = 3


class Case(NamedTuple):
    """A simple graph, a predicted class and an ε for each node, an order of the nodes, a seed."""

    graph: Graph
    labels: np.ndarray
    epsilon: np.ndarray
    order: np.ndarray
    seed: int

    def posterior(self, construction: Construction = "union") -> CopyingPosterior:
        features = np.zeros((self.graph.num_nodes, 1), np.float32)
        task = Task.of(self.graph, features, self.labels, [0], num_classes=CLASSES)
        model = NodeCopying(self.epsilon, construction)
        return model.fit(task, np.eye(CLASSES)[self.labels], seed=0)

    def renamed(self) -> Case:
        """Rename the nodes: node i becomes what was ``order[i]``."""
        graph = self.graph.permuted(self.order)
        return Case(graph, self.labels[self.order], self.epsilon[self.order], self.order, self.seed)


@st.composite
def cases(draw: st.DrawFn, max_nodes: int = 8) -> Case:
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    labels = draw(st.lists(st.integers(0, CLASSES - 1), min_size=n, max_size=n))
    chance = st.sampled_from([0.0, 0.01, 0.3, 0.5, 1.0])
    epsilon = draw(st.lists(chance, min_size=n, max_size=n))
    order = draw(st.permutations(range(n)))
    seed = draw(st.integers(0, 2**32))
    arrays = np.array(labels), np.array(epsilon), np.array(order)
    return Case(Graph.from_edges(n, pairs), *arrays, seed)


@thorough
@given(cases())
def test_union_samples_are_simple_and_symmetric(case: Case) -> None:
    sample = case.posterior().graph(case.seed, 0, 0).built
    Graph(sample.indptr, sample.indices, None, directed=False)  # checks order and symmetry
    assert sample.weights is None
    assert not sample.directed
    assert sample.num_self_loops == 0


@thorough
@given(cases(), st.sampled_from(["union", "sum", "row"]))
def test_every_row_is_an_observed_one(case: Case, construction: Construction) -> None:
    posterior = case.posterior(construction)
    source = posterior.source(case.seed, 1, 2)
    zeta = posterior.zeta(case.seed, 1)
    assert np.all((source == zeta) | (source == np.arange(len(source))))
    assert np.all(source[case.epsilon == 0] == zeta[case.epsilon == 0])
    assert np.all((source == np.arange(len(source)))[case.epsilon == 1])
    sample = posterior.graph(case.seed, 1, 2).built
    for node, donor in enumerate(source.tolist()):
        lent = set(case.graph.neighbours(donor).tolist()) - {node}
        got = set(sample.neighbours(node).tolist()) - {node}
        assert lent == got if construction == "row" else lent <= got


@thorough
@given(cases())
def test_zeta_stays_in_the_class_and_has_a_probability(case: Case) -> None:
    sets = class_sets(case.labels, CLASSES)
    assert sorted(sets.nodes.tolist()) == list(range(len(case.labels)))
    zeta = sample_zeta(sets, np.random.default_rng(case.seed))
    assert np.array_equal(case.labels[zeta], case.labels)
    sizes = np.bincount(case.labels, minlength=CLASSES)
    assert zeta_log_probability(zeta, sets) == pytest.approx(-np.log(sizes[case.labels]).sum())


@thorough
@given(cases())
def test_epsilon_one_returns_the_observed_graph(case: Case) -> None:
    certain = case._replace(epsilon=np.ones(case.graph.num_nodes))
    assert certain.posterior().graph(case.seed, 0, 0).built == case.graph
    zeta = certain.posterior().zeta(case.seed, 0)
    stays = sample_source(zeta, 1.0, np.random.default_rng(case.seed))
    assert stays.tolist() == list(range(len(zeta)))


@thorough
@given(cases(), st.sampled_from(["union", "sum", "row"]))
def test_copying_commutes_with_renaming(case: Case, construction: Construction) -> None:
    source = case.posterior().source(case.seed, 0, 0)
    place = np.argsort(case.order)
    renamed = copy_rows(case.renamed().graph, place[source[case.order]], construction)
    assert renamed == copy_rows(case.graph, source, construction).permuted(case.order)


@thorough
@given(cases())
def test_the_law_commutes_with_renaming(case: Case) -> None:
    nodes = np.arange(case.graph.num_nodes)
    p = edge_probability(case.posterior(), nodes[:, None], nodes)
    renamed = edge_probability(case.renamed().posterior(), nodes[:, None], nodes)
    np.testing.assert_allclose(renamed, p[np.ix_(case.order, case.order)], atol=1e-12)
    sets, other = (class_sets(c.labels, CLASSES) for c in (case, case.renamed()))
    for k in range(CLASSES):
        before, after = (s.nodes[s.starts[k] : s.starts[k + 1]].tolist() for s in (sets, other))
        assert sorted(case.order[after].tolist()) == before


@thorough
@given(cases(max_nodes=4))
def test_the_law_is_that_of_all_samples(case: Case) -> None:
    n = case.graph.num_nodes
    a = case.graph.to_scipy().toarray()
    same = case.labels[:, None] == case.labels
    moves = (1 - case.epsilon[:, None]) * same / same.sum(1, keepdims=True)
    chance = np.diag(case.epsilon) + moves  # [N, N], of source[j] = m
    sources = np.array(list(itertools.product(range(n), repeat=n)))
    weight = np.prod(chance[np.arange(n), sources], axis=1)
    copied = a[sources]
    samples = np.maximum(copied, copied.swapaxes(1, 2)) * (1 - np.eye(n))
    nodes = np.arange(n)
    found = edge_probability(case.posterior(), nodes[:, None], nodes)
    np.testing.assert_allclose(found, np.tensordot(weight, samples, 1), atol=1e-12)
    distance = weight @ np.abs(samples - a).sum((1, 2)) / 2
    expected = expected_edit_distance(case.graph, case.labels, CLASSES, case.epsilon)
    assert expected == pytest.approx(distance, abs=1e-12)


@thorough
@given(cases())
def test_edit_distance_is_a_distance(case: Case) -> None:
    posterior = case.posterior()
    first, second, third = (posterior.graph(case.seed, v, 0).built for v in range(3))

    def distance(a: Graph, b: Graph) -> int:
        return compare_graphs(a, b, case.labels).edit_distance

    assert distance(first, first) == 0
    assert distance(first, second) == distance(second, first)
    assert distance(first, third) <= distance(first, second) + distance(second, third)
    assert (distance(first, second) == 0) == (first == second)
