"""A graph of other nodes: what transfers is used, and held-out labels say how far to trust it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, presets
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.read.synthetic import planted_partition

N = 300
DATA = planted_partition(2 * N, 3, seed=0)
HERE, THERE = np.split(stream(0, "halves").permutation(2 * N), 2)
GRAPH, OTHER = DATA.graph.induced(HERE), DATA.graph.induced(THERE)
X, OTHER_X = DATA.features[HERE], DATA.features[THERE]
Y = np.where(np.arange(N) < 60, DATA.labels[HERE], -1)
TRUTH = DATA.labels[THERE]


def fitted(method: object = "best", **arguments: object) -> NodeCopyClassifier:
    return NodeCopyClassifier(method, random_state=0, **arguments).fit(GRAPH, X, Y)


def test_held_out_labels_say_how_accurate_predictions_are(tmp_path):
    clf = fitted()
    with pytest.warns(UserWarning, match="none of these nodes is in the fit"):
        posterior = clf.predict_on(OTHER, OTHER_X, numbers=-1)
    p = posterior.probabilities
    accuracy = np.mean(clf.classes_[p.argmax(1)] == TRUTH)
    own = NodeCopyClassifier(random_state=0).fit(OTHER, OTHER_X, np.where(Y >= 0, TRUTH, -1))
    assert accuracy > np.mean(own.predict()[60:] == TRUTH[60:]) - 0.08
    trust = clf.result_.elsewhere(posterior)
    assert trust.accuracy.low < accuracy < trust.accuracy.high
    assert trust.confidence == pytest.approx(p.max(1).mean())
    assert trust.confidence < accuracy + 0.02
    assert np.mean(trust.sets.sets(p, 0.9)[np.arange(N), TRUTH]) > 0.87
    clf.save(tmp_path / "model.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "model.safetensors")
    with pytest.warns(UserWarning, match="none of these"):
        again = loaded.predict_on(OTHER, OTHER_X, numbers=np.full(N, -1)).probabilities
    np.testing.assert_allclose(again, p, atol=1e-6)


@pytest.mark.filterwarnings("ignore:none of these nodes")
def test_nothing_depends_on_the_nodes_of_the_fit():
    for method in ("best", replace(presets.best(), most_nodes=150)):
        clf = fitted(method)
        left_out = {"graph", "label propagation", "places", "blocks"}
        weights = zip(clf.model_.names, clf.model_.elsewhere.pool.weights, strict=True)
        assert all((weight == 0) == (name in left_out) for name, weight in weights)
        p = clf.predict_on(OTHER, OTHER_X, numbers=-1).probabilities
        order = np.random.default_rng(0).permutation(N)
        graph = Graph.from_edges(N, np.argsort(order)[OTHER.edges()])
        moved = clf.predict_on(graph, OTHER_X[order], numbers=-1).probabilities
        np.testing.assert_allclose(moved, p[order], atol=1e-6)
        few = clf.predict_on(OTHER.induced(np.arange(7)), OTHER_X[:7], numbers=-1)
        assert few.probabilities.shape == (7, 3)


def test_a_method_of_which_nothing_transfers_says_so():
    with pytest.raises(ModelError, match="graph of other nodes"):
        fitted("label-propagation").predict_on(OTHER, OTHER_X, numbers=-1)
    uncalibrated = fitted(calibrate=False)
    posterior = uncalibrated.predict_on(OTHER, OTHER_X, numbers=-1)
    assert uncalibrated.result_.elsewhere(posterior) is None
    assert np.mean(posterior.probabilities.argmax(1) == TRUTH) > 0.5
