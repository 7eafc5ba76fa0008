"""Algorithm 1: what it reduces to, what it depends on, and what it does not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import GCNClassifier, LabelPropagation, fit_one
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import child_seed
from nodecopy.graph_models import NodeCopying, ObservedGraph
from nodecopy.nn.gcn import GCN
from nodecopy.paper.networks import ChebNet
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.task import Task
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig
from tests.problems import train

SHORT = TrainConfig(epochs=12)
SMALL = BayesianGCN(n_zeta=2, n_graphs=2, n_weights=3, weights=MCDropout(SHORT))


def test_one_of_everything_on_the_observed_graph_is_the_plain_gcn(task: Task) -> None:
    network = GCN(dropout=0.0)
    model = BayesianGCN(
        graph_model=ObservedGraph(),
        weights=PointEstimate(SHORT),
        n_zeta=1,
        n_graphs=1,
        n_weights=1,
        network=network,
    )
    seed = child_seed(3, "member", 0)
    plain = train(network, task, [task.graph], [seed], SHORT)
    expected = plain.predict_proba(task.graph, task.features)[0]
    np.testing.assert_allclose(fit_one(model, task, seed=3).probabilities, expected, atol=1e-7)
    # With dropout off, drawing masks changes nothing either.
    masked = fit_one(dataclasses.replace(model, weights=MCDropout(SHORT)), task, seed=3)
    np.testing.assert_allclose(masked.probabilities, expected, atol=1e-7)


def test_members_are_trained_each_on_its_own_graph(task: Task) -> None:
    fitted = fit_one(SMALL, task, seed=1)
    posterior = NodeCopying().fit(task, fitted.base_probabilities, seed=0)
    for m, (v, i) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        graph = posterior.graph(1, v, i)
        assert fitted.graphs[m].built == graph.built
        alone = train(GCN(), task, [graph], [child_seed(1, "member", m)], SHORT)
        for name, weights in alone.weights.items():
            together = fitted.samples.weights[name][m]
            np.testing.assert_allclose(weights[0].numpy(), together.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (LabelPropagation(), LabelPropagation()),
        (SMALL, SMALL),  # it can be its own base
        (None, GCNClassifier(ChebNet(degree=2), SHORT)),  # a network like the members
    ],
)
def test_the_base_gives_the_predicted_classes(task: Task, base: object, expected: Any) -> None:
    network = GCN() if base is not None else ChebNet(degree=2)
    fitted = fit_one(dataclasses.replace(SMALL, base=base, network=network), task, seed=1)
    p = fit_one(expected, task, child_seed(1, "base")).probabilities
    np.testing.assert_allclose(fitted.base_probabilities, p, atol=1e-7)
    drawn = NodeCopying().fit(task, fitted.base_probabilities, seed=0).graph(1, 1, 1)
    assert fitted.graphs[3].built == drawn.built


def test_predictions_may_be_made_on_the_sampled_graphs(task: Task) -> None:
    observed = fit_one(SMALL, task, seed=2)
    sampled = fit_one(dataclasses.replace(SMALL, predict_on="sampled"), task, seed=2)
    by_hand = np.zeros((90, 3))
    for m, graph in enumerate(observed.graphs):
        member = observed.samples.take(slice(m, m + 1))
        for _, _, p in member.predictions(graph, task.features):
            by_hand += p[0] / 12
    np.testing.assert_allclose(sampled.probabilities, by_hand, atol=1e-6)
    assert np.abs(observed.probabilities - by_hand).max() > 1e-3


def test_the_observed_graph_leaves_a_deep_ensemble(task: Task) -> None:
    assert BayesianGCN().weight_posterior() == MCDropout()
    ensemble = dataclasses.replace(SMALL, graph_model=ObservedGraph(), weights=PointEstimate(SHORT))
    fitted = fit_one(ensemble, task)
    assert all(graph is task.graph for graph in fitted.graphs)
    each = fitted.samples.predict_proba(task.graph, task.features)  # [4, N, K]
    np.testing.assert_allclose(fitted.probabilities, each.mean(0), atol=1e-6)
    assert fitted.posterior.num_draws == 1
    np.testing.assert_allclose(fitted.posterior.weight_information, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "gcn"}, "base must be a node classifier .* got 'gcn'"),
        ({"base": GCNClassifier}, "base must be"),
        ({"base": LogisticRegression()}, r"scikit-learn estimator: .*FeatureClassifier\(Logi"),
        ({"graph_model": "mmsbm"}, "graph_model must be .* got 'mmsbm'"),
        ({"weights": MCDropout}, "weights must be .* None; got .*MCDropout"),
        ({"network": (16,)}, r"network must be .* got \(16,\)"),
        ({"n_zeta": 0}, "at least 1"),
    ],
)
def test_wrong_parts_are_refused_at_once(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        BayesianGCN(**settings)
