"""Every classifier goes through the same checks."""

from __future__ import annotations

import dataclasses
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from nodecopy.classifiers import (
    AnnotatedBlocks,
    ClassDescriptions,
    CopiedPlaces,
    DiffusedStudent,
    DiffusionClassifier,
    FeatureClassifier,
    Fitted,
    GCNClassifier,
    GivenProbabilities,
    LabelPropagation,
    NetworkClassifier,
    NodeClassifier,
    RoleClassifier,
    fit_one,
)
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.paper import GAT, ChebNet, OnlineBayesianGCN
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best
from nodecopy.problem.task import Task
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.weights import MaximumPosterior, MCDropout, TrainConfig
from tests.modules import Sage
from tests.problems import make_task, true_labels

SHORT = TrainConfig(epochs=60)


def _class_means() -> np.ndarray:
    """Return what the features of each class are like, as words for it would say."""
    task = make_task()
    rows = sp.csr_array(task.features).toarray()
    means = np.array([rows[true_labels(task) == k].mean(0) for k in range(3)], np.float32)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


CLASSIFIERS: dict[str, NodeClassifier] = {
    "gcn": GCNClassifier(training=SHORT),
    "cheb": NetworkClassifier(ChebNet(), SHORT),
    "gat": NetworkClassifier(GAT(), TrainConfig(epochs=60, learning_rate=0.02, patience=20)),
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
    "copied places": CopiedPlaces(),
    "roles": RoleClassifier(),
    "annotated blocks, diffused": DiffusedStudent(),
    "label propagation": LabelPropagation(),
    "class descriptions": ClassDescriptions(_class_means()),
    "logistic regression": FeatureClassifier(LogisticRegression(C=100.0)),
    "nearest neighbours": FeatureClassifier(KNeighborsClassifier(3)),
    "bayesian gcn": BayesianGCN(n_zeta=2, n_graphs=2, n_weights=2, weights=MCDropout(SHORT)),
    "bayesian gcn, online": OnlineBayesianGCN(pretraining=50, epochs=70, collect=10),
    "own module": NetworkClassifier(TorchNetwork(Sage), SHORT),
    "bayesian, own modules": BayesianGCN(
        n_zeta=2, n_weights=2, network=TorchNetwork(Sage), weights=MCDropout(SHORT)
    ),
    "online, own module": OnlineBayesianGCN(
        network=TorchNetwork(partial(Sage, norm=False), hops=2),
        pretraining=50,
        epochs=62,
        collect=5,
    ),
}
every = pytest.mark.parametrize("name", CLASSIFIERS)
TASK = make_task()


def fit(name: str, task: Task, progress: Progress | None = None) -> Any:
    return fit_one(CLASSIFIERS[name], task, 7, progress)


@cache
def first_fit(name: str) -> tuple[Any, list[tuple[int, int]]]:
    """Return the fit to the task that most tests are about, and what progress it reported."""
    seen: list[tuple[int, int]] = []
    return fit(name, TASK, lambda *state: seen.append(state)), seen


def assert_distributions(p: np.ndarray, num_nodes: int = 90) -> None:
    assert p.shape == (num_nodes, 3)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)


@every
def test_every_node_gets_a_distribution_that_is_better_than_chance(name: str) -> None:
    fitted, _ = first_fit(name)
    assert isinstance(CLASSIFIERS[name], NodeClassifier)
    assert isinstance(fitted, Fitted)
    assert_distributions(fitted.probabilities)
    assert np.mean(fitted.probabilities.argmax(1) == true_labels(TASK)) > 0.45


@every
def test_the_same_labels_and_seed_give_the_same_and_hidden_labels_change_nothing(name: str) -> None:
    scrambled = true_labels(TASK).copy()
    hidden = np.setdiff1d(np.arange(len(scrambled)), [*TASK.train, *TASK.val])
    scrambled[hidden] = (scrambled[hidden] + 1) % TASK.num_classes
    other = Task.of(TASK.graph, TASK.features, scrambled, TASK.train, TASK.val, num_classes=3)
    before = other.graph.digest(), other.features.copy(), other.labels.copy(), repr(CLASSIFIERS)
    np.testing.assert_array_equal(first_fit(name)[0].probabilities, fit(name, other).probabilities)
    # Fitting changes neither the task nor the classifier.
    assert (before[0], before[3]) == (other.graph.digest(), repr(CLASSIFIERS))
    assert (before[1] != other.features).nnz == 0
    np.testing.assert_array_equal(before[2], other.labels)


@every
def test_a_class_with_one_label_and_a_class_with_none(name: str) -> None:
    labels = true_labels(TASK)
    train = np.concatenate([TASK.train[labels[TASK.train] == 0], [1]])
    val = np.setdiff1d(TASK.val[labels[TASK.val] < 2], train)
    task = Task.of(TASK.graph, TASK.features, labels, train, val, num_classes=3)
    assert_distributions(fit(name, task).probabilities)


@every
def test_a_graph_without_edges_and_dense_features(name: str) -> None:
    task = dataclasses.replace(make_task(dense=True), graph=Graph.from_edges(90, []))
    assert_distributions(fit(name, task).probabilities)


@every
def test_a_fit_is_applied_to_its_own_graph_and_to_a_grown_one(name: str) -> None:
    fitted, _ = first_fit(name)
    again = fitted.predict(TASK.graph, TASK.features).probabilities
    np.testing.assert_allclose(again, fitted.probabilities, atol=2e-5)
    # Twins of the first three nodes, which know their friends and one another.
    twins = [(90 + i, friend) for i in range(3) for friend in TASK.graph.neighbours(i).tolist()]
    grown = Graph.from_edges(93, [*TASK.graph.edges().tolist(), *twins, (90, 92)])
    p = fitted.predict(grown, sp.vstack([TASK.features, TASK.features[:3]]).tocsr()).probabilities
    assert_distributions(p, 93)
    # Most known nodes keep their class; the roles of nodes with a new neighbour change.
    assert np.mean(p[:90].argmax(1) == fitted.probabilities.argmax(1)) > 0.8


@every
def test_a_fit_that_transfers_needs_none_of_its_nodes(name: str) -> None:
    fitted, _ = first_fit(name)
    other = TASK.graph.induced(np.arange(30, 90)), TASK.features[30:]
    if fitted.transfers:
        nowhere = fitted.predict(*other, np.full(90, 60)).probabilities
        np.testing.assert_allclose(nowhere, fitted.predict(*other).probabilities, atol=1e-6)


@every
def test_progress_never_goes_back_and_reaches_its_end(name: str) -> None:
    _, seen = first_fit(name)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len({total for _, total in seen}) <= 1
    assert not seen or 0 < seen[0][0] <= seen[-1][0] == seen[-1][1]


def test_given_probabilities_apply_to_no_other_graph(task: Task) -> None:
    stack = StackedClassifier((Component(GivenProbabilities(np.full((90, 3), 1 / 3))),))
    with pytest.raises(ModelError, match="GivenProbabilities cannot be applied to another graph"):
        fit_one(stack, task).predict(task.graph, task.features)


def test_given_probabilities_are_checked(task: Task) -> None:
    good = np.full((90, 3), 1 / 3)
    assert fit_one(GivenProbabilities(good), task).probabilities is good
    with pytest.raises(ModelError, match=r"shape \[90, 3\]; got \[90, 2\]"):
        fit_one(GivenProbabilities(good[:, :2]), task)
    with pytest.raises(ModelError, match="sum to one"):
        fit_one(GivenProbabilities(good * 2), task)


def test_clear_errors(task: Task) -> None:
    with pytest.raises(ModelError, match="early stopping needs validation nodes"):
        fit_one(CLASSIFIERS["gat"], dataclasses.replace(task, val=np.array([], int)))
    with pytest.raises(ModelError, match="has none"):
        fit_one(FeatureClassifier(object()), task)


def test_a_fit_that_breaks_the_contract_is_refused(task: Task) -> None:
    class Alone:
        def fit(self, *_: object, **__: object) -> Any:
            return GivenProbabilities(np.full((90, 3), 1 / 3))

    class TooFew(Alone):
        def fit(self, *given: object, **more: object) -> Any:
            return [super().fit(*given, **more)]

    with pytest.raises(ModelError, match="Alone must return a list"):
        fit_one(Alone(), task)
    with pytest.raises(ModelError, match="TooFew must return a list.*of 4 tasks"):
        fit_one(StackedClassifier((Component(TooFew()),), folds=3), task)


@pytest.mark.parametrize("name", ["diffusion", "gcn", "label propagation", "roles", "stack"])
def test_what_is_fitted_to_labels_alone_starts_from_no_other_fit(name: str, task: Task) -> None:
    start = [GivenProbabilities(np.full((90, 3), 1 / 3))]
    with pytest.raises(ModelError, match="labels alone"):
        CLASSIFIERS[name].fit([task], [0], start)


def test_a_bayesian_gcn_may_start_from_another_fit(task: Task) -> None:
    p = np.eye(3)[true_labels(task)]
    (fitted,) = CLASSIFIERS["diffusion with copying"].fit([task], [0], [GivenProbabilities(p)])
    np.testing.assert_array_equal(fitted.base_probabilities, p)  # type: ignore[attr-defined]
