"""Every classifier goes through the same checks."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nodecopy.calibration import Component, StackedClassifier
from nodecopy.classifiers import (
    AnnotatedBlocks,
    Applicable,
    ChebNetClassifier,
    DiffusedStudent,
    DiffusionClassifier,
    FeatureClassifier,
    Fitted,
    GATClassifier,
    GCNClassifier,
    GivenProbabilities,
    LabelPropagation,
    NetworkClassifier,
    NodeClassifier,
)
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.gat import GAT
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.posterior import BayesianGCN, OnlineSchedule
from nodecopy.presets import best
from nodecopy.weights import MaximumPosterior, MCDropout, TrainConfig
from tests.modules import Sage, Weighted
from tests.problems import make_task, true_labels

SHORT = TrainConfig(epochs=60)
CLASSIFIERS: dict[str, NodeClassifier] = {
    "gcn": GCNClassifier(training=SHORT),
    "cheb": ChebNetClassifier(training=SHORT),
    "gat": GATClassifier(training=TrainConfig(epochs=60, learning_rate=0.02, patience=20)),
    "diffusion": DiffusionClassifier(),
    "diffusion with copying": BayesianGCN(
        n_zeta=3, network=Diffusion(), weights=MaximumPosterior()
    ),
    "diffusion on the graph alone": DiffusionClassifier(Diffusion(features=False)),
    "stack": StackedClassifier((Component(DiffusionClassifier()), Component(LabelPropagation()))),
    "best preset": best(),
    "calibrated bayesian gcn": StackedClassifier(
        (Component(BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(SHORT))),), folds=2
    ),
    "annotated blocks": AnnotatedBlocks(),
    "annotated blocks, diffused": DiffusedStudent(),
    "label propagation": LabelPropagation(),
    "logistic regression": FeatureClassifier(LogisticRegression(C=100.0)),
    "nearest neighbours": FeatureClassifier(KNeighborsClassifier(3)),
    "bayesian gcn": BayesianGCN(n_zeta=2, n_graphs=2, n_weights=2, weights=MCDropout(SHORT)),
    "bayesian gcn, online": BayesianGCN(
        schedule=OnlineSchedule(pretraining=50, epochs=70, collect=10)
    ),
    "own module": NetworkClassifier(TorchNetwork(Sage), SHORT),
    "bayesian, own modules": BayesianGCN(
        n_zeta=2, n_weights=2, network=TorchNetwork(Sage), weights=MCDropout(SHORT)
    ),
    "online, own module": BayesianGCN(
        network=TorchNetwork(partial(Sage, norm=False), hops=2),
        schedule=OnlineSchedule(pretraining=50, epochs=62, collect=5),
    ),
}
every = pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())


@every
def test_every_node_gets_a_distribution(classifier: NodeClassifier, task: Task) -> None:
    assert isinstance(classifier, NodeClassifier)
    fitted = classifier.fit(task, seed=3)
    assert isinstance(fitted, Fitted)
    p = fitted.probabilities
    assert p.shape == (task.graph.num_nodes, task.num_classes)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)


@every
def test_it_learns_more_than_chance(classifier: NodeClassifier, task: Task) -> None:
    predicted = classifier.fit(task).probabilities.argmax(1)
    assert np.mean(predicted == true_labels(task)) > 0.45


@every
def test_the_seed_decides(classifier: NodeClassifier, task: Task) -> None:
    first, again = (classifier.fit(task, seed=7).probabilities for _ in range(2))
    np.testing.assert_array_equal(first, again)


@every
def test_hidden_labels_change_nothing(classifier: NodeClassifier, task: Task) -> None:
    scrambled = true_labels(task).copy()
    hidden = np.setdiff1d(np.arange(len(scrambled)), [*task.train, *task.val])
    scrambled[hidden] = (scrambled[hidden] + 1) % task.num_classes
    other = Task.of(task.graph, task.features, scrambled, task.train, task.val, num_classes=3)
    np.testing.assert_array_equal(
        classifier.fit(task).probabilities, classifier.fit(other).probabilities
    )


@every
def test_a_class_with_one_label_and_a_class_with_none(classifier: NodeClassifier) -> None:
    base = make_task()
    labels = true_labels(base)
    train = np.concatenate([base.train[labels[base.train] == 0], [1]])
    val = np.setdiff1d(base.val[labels[base.val] < 2], train)
    task = Task.of(base.graph, base.features, labels, train, val, num_classes=3)
    p = classifier.fit(task).probabilities
    assert p.shape == (90, 3)
    assert np.all(np.isfinite(p))


@every
def test_a_graph_without_edges_and_dense_features(classifier: NodeClassifier) -> None:
    base = make_task(dense=True)
    empty = Graph.from_edges(base.graph.num_nodes, [])
    task = dataclasses.replace(base, graph=empty)
    p = classifier.fit(task).probabilities
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)


@every
def test_fitting_changes_neither_task_nor_classifier(
    classifier: NodeClassifier, task: Task
) -> None:
    before = task.graph.digest(), task.features.copy(), task.labels.copy(), repr(classifier)
    classifier.fit(task)
    assert before[0] == task.graph.digest()
    assert (before[1] != task.features).nnz == 0
    np.testing.assert_array_equal(before[2], task.labels)
    assert before[3] == repr(classifier)


@every
def test_a_fit_applied_to_its_own_graph_is_the_fit(classifier: NodeClassifier, task: Task) -> None:
    fitted = classifier.fit(task, seed=2)
    assert isinstance(fitted, Applicable)
    again = fitted.predict_proba(task.graph, task.features)
    np.testing.assert_allclose(again, fitted.probabilities, atol=2e-5)


@every
def test_a_fit_is_applied_to_a_grown_graph(classifier: NodeClassifier, task: Task) -> None:
    fitted = classifier.fit(task, seed=2)
    assert isinstance(fitted, Applicable)
    # Twins of the first three labelled nodes, which know their friends and one another.
    twins = [(90 + i, friend) for i, j in enumerate(range(3)) for friend in friends(task, j)]
    grown = Graph.from_edges(93, [*task.graph.edges().tolist(), *twins, (90, 93 - 1)])
    features = sp.vstack([task.features, task.features[:3]]).tocsr()
    p = fitted.predict_proba(grown, features)
    assert p.shape == (93, 3)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)
    assert np.mean(p[:90].argmax(1) == fitted.probabilities.argmax(1)) > 0.9


def friends(task: Task, node: int) -> list[int]:
    return task.graph.neighbours(node).tolist()


@every
def test_progress_reaches_its_end(classifier: NodeClassifier, task: Task) -> None:
    seen: list[tuple[int, int]] = []
    classifier.fit(task, progress=lambda done, total: seen.append((done, total)))
    if seen:
        assert seen[-1][0] == seen[-1][1]
        assert all(0 < done <= total for done, total in seen)


def test_given_probabilities_apply_to_no_other_graph(task: Task) -> None:
    stack = StackedClassifier((Component(GivenProbabilities(np.full((90, 3), 1 / 3))),))
    with pytest.raises(ModelError, match="GivenProbabilities cannot be applied to another graph"):
        stack.fit(task).predict(task.graph, task.features)


def test_a_network_that_does_not_use_edge_weights_warns_of_it(task: Task) -> None:
    heavy = np.linspace(1, 2, task.graph.num_edges)
    graph = Graph.from_edges(task.graph.num_nodes, task.graph.edges(), heavy)
    weighted = dataclasses.replace(task, graph=graph)
    short = TrainConfig(epochs=2)
    schedule = OnlineSchedule(pretraining=1, epochs=3, collect=1)
    attentive: list[NodeClassifier] = [
        GATClassifier(training=short),
        BayesianGCN(n_zeta=1, n_weights=1, network=GAT(), weights=MCDropout(short)),
        BayesianGCN(base=LabelPropagation(), network=GAT(), n_zeta=1, weights=MCDropout(short)),
        BayesianGCN(network=GAT(), schedule=schedule),
        NetworkClassifier(TorchNetwork(Sage), short),
        BayesianGCN(n_zeta=1, network=TorchNetwork(Sage), weights=MCDropout(short)),
    ]
    for classifier in attentive:
        name = "TorchNetwork" if "Sage" in repr(classifier) else "GAT"
        with pytest.warns(UserWarning, match=f"{name} does not use the edge weights") as warned:
            classifier.fit(weighted)
        assert len(warned) == 1
        classifier.fit(task)  # warnings are errors: there is none
    GCNClassifier(training=short).fit(weighted)
    NetworkClassifier(TorchNetwork(Weighted), short).fit(weighted)


def test_an_estimator_that_takes_dense_features_only_gets_them(task: Task) -> None:
    assert sp.issparse(task.features)
    dense = dataclasses.replace(task, features=task.features.toarray())
    for estimator in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        np.testing.assert_array_equal(
            FeatureClassifier(estimator).fit(task).probabilities,
            FeatureClassifier(estimator).fit(dense).probabilities,
        )
    with pytest.raises(ValueError, match="n_neighbors"):
        FeatureClassifier(KNeighborsClassifier(99)).fit(dense)


def test_given_probabilities_are_checked(task: Task) -> None:
    good = np.full((90, 3), 1 / 3)
    assert GivenProbabilities(good).fit(task).probabilities is good
    with pytest.raises(ModelError, match=r"shape \[90, 3\]; got \[90, 2\]"):
        GivenProbabilities(good[:, :2]).fit(task)
    with pytest.raises(ModelError, match="sum to one"):
        GivenProbabilities(good * 2).fit(task)


def test_clear_errors(task: Task) -> None:
    with pytest.raises(ModelError, match="early stopping needs validation nodes"):
        GATClassifier().fit(dataclasses.replace(task, val=np.array([], int)))
    with pytest.raises(ModelError, match="has none"):
        FeatureClassifier(object()).fit(task)
