"""Copied places: similar nodes are those that a full search finds, and their predictions count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.classifiers import CopiedPlaces, GivenProbabilities
from nodecopy.classifiers.places import comparable, similarities
from nodecopy.features.matrix import inverse_document_frequency, unit_rows
from nodecopy.read.synthetic import planted_partition
from tests.problems import make_task


def full_search(x: np.ndarray, count: int) -> np.ndarray:
    """Cosines of each node to the most similar others, descending [N, count]."""
    cosine = x @ x.T
    np.fill_diagonal(cosine, 0)
    return -np.sort(-cosine, axis=1)[:, :count]


def weighted(features: sp.csr_array) -> sp.csr_array:
    """Return comparable rows, as a fit makes them."""
    return comparable(features, inverse_document_frequency(features))


@pytest.mark.parametrize("dense", [False, True])
def test_few_nodes_are_searched_exactly(dense: bool) -> None:
    features = planted_partition(300, 3, seed=0).features
    x = unit_rows(features.toarray()) if dense else weighted(features)
    nearest = similarities(x, np.arange(300), x, 5).toarray()
    assert np.count_nonzero(nearest.diagonal()) == 0
    expected = full_search(x.toarray() if sp.issparse(x) else x, 5)
    np.testing.assert_allclose(-np.sort(-nearest, axis=1)[:, :5], expected, atol=1e-6)


def test_many_nodes_are_searched_within_cells() -> None:
    x = weighted(planted_partition(6000, 4, seed=0).features)
    nearest = similarities(x, np.arange(6000), x, 10)
    assert np.all(np.diff(nearest.indptr) <= 10)
    some = np.arange(0, 6000, 60)
    exact = full_search(x.toarray(), 10)[some].sum()
    assert nearest[some].sum() > 0.7 * exact


def test_predictions_are_means_over_similar_nodes() -> None:
    task = make_task()
    p = np.random.default_rng(0).dirichlet(np.ones(3), 90)
    (fitted,) = CopiedPlaces(neighbours=4).fit([task], [0], [GivenProbabilities(p)])
    x = weighted(task.features).toarray()
    p[task.train] = np.eye(3)[task.labels[task.train]]
    cosine = x @ x.T
    np.fill_diagonal(cosine, 0)
    node = int(np.setdiff1d(np.arange(90), task.train)[0])
    near = np.argsort(-cosine[node])[:4]
    expected = cosine[node, near] @ p[near] / cosine[node, near].sum()
    np.testing.assert_allclose(fitted.probabilities[node], expected, atol=1e-6)


def test_a_node_without_features_keeps_what_is_known_of_it() -> None:
    task = make_task()
    features = task.features.toarray()
    features[7] = 0
    (fitted,) = CopiedPlaces().fit(
        [type(task).of(task.graph, sp.csr_array(features), task.labels, task.train)],
        [0],
        [GivenProbabilities(np.tile([0.5, 0.3, 0.2], (90, 1)))],
    )
    expected = [0.5, 0.3, 0.2] if 7 not in task.train else np.eye(3)[task.labels[7]]
    np.testing.assert_allclose(fitted.probabilities[7], expected)
