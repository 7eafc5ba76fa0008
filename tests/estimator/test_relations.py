"""Relations, from `fit` to a model that is loaded and applied to a grown graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import GraphError
from nodecopy.graph import Graph
from nodecopy.presets import best
from tests.problems import make_task, true_labels

TASK = make_task(num_nodes=120)
X, Y = TASK.features, np.where(np.isin(np.arange(120), TASK.train), true_labels(TASK), -1)
RNG = np.random.default_rng(0)
RELATIONS = {
    "agrees": TASK.graph,
    "noise": Graph.from_edges(120, RNG.integers(120, size=(500, 2)), RNG.random(500)),
    "cites": Graph.from_edges(120, RNG.integers(120, size=(200, 2)), directed=True),
}
METHOD = replace(best(n_zeta=2), folds=2)


def fitted(graph: Any, method: Any = METHOD, **settings: Any) -> NodeCopyClassifier:
    return NodeCopyClassifier(method, random_state=0, progress=False, **settings).fit(graph, X, Y)


@pytest.fixture(scope="module")
def of_relations() -> NodeCopyClassifier:
    return fitted(RELATIONS)


def test_one_relation_is_the_graph_without_relations() -> None:
    with_node_type, without = fitted({"agrees": TASK.graph}), fitted(TASK.graph)
    np.testing.assert_array_equal(with_node_type.predict_proba(), without.predict_proba())


def test_relations_are_matched_by_name_and_may_be_missing(
    of_relations: NodeCopyClassifier, tmp_path: Path
) -> None:
    other_order = dict(reversed(RELATIONS.items()))
    of_relations.save(tmp_path / "model")
    for model in (of_relations, NodeCopyClassifier.load(tmp_path / "model")):
        again = model.predict_on(other_order, X).probabilities
        np.testing.assert_allclose(again, of_relations.predict_proba(), atol=1e-6)
    fewer = of_relations.predict_on({"agrees": TASK.graph}, X).probabilities
    assert np.all(np.isfinite(fewer))
    for graph, word in ((RELATIONS | {"new": TASK.graph}, "'new'"), (TASK.graph, "without a name")):
        with pytest.raises(GraphError, match=word):
            of_relations.predict_on(graph, X)
    with pytest.raises(GraphError, match="one relation without a name"):
        fitted(TASK.graph, "fast").predict_on(RELATIONS, X)


def test_direction_tells_classes_that_cite_each_other_in_turn() -> None:
    rng, labels = np.random.default_rng(1), np.arange(300) % 3
    source, anywhere = rng.integers(300, size=(2, 900))
    following = 3 * rng.integers(100, size=900) + (labels[source] + 1) % 3
    target = np.where(rng.random(900) < 0.4, anywhere, following)
    x = (rng.random((300, 12)) < 0.15 + 0.15 * (np.arange(12) % 3 == labels[:, None])).astype(float)
    y = np.where(np.arange(300) < 60, labels, -1)
    cites = Graph.from_edges(300, np.stack([source, target], 1), directed=True)
    classifier = NodeCopyClassifier(METHOD, random_state=0, progress=False)
    both_ways, directed = (
        np.mean(classifier.fit(graph, x, y).predict() == labels)
        for graph in (cites.symmetrise(), cites)
    )
    assert directed > both_ways + 0.1
