"""The convex fit = scikit-learn's, few labels or many; a batch of members = each alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import DiffusionClassifier, fit_one
from nodecopy.core.errors import ModelError, TrainingError
from nodecopy.nn.diffusion import Diffused, Diffusion
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.task import Task
from nodecopy.weights import MaximumPosterior
from nodecopy.weights.maximum import label_weights, softmax_weights
from tests.problems import make_task

TIGHT = 1e-8


class Products(Diffused):
    """F of which only products can be had."""

    def __init__(self, rows: torch.Tensor) -> None:
        super().__init__(None)
        self._f = rows.float()

    def times(self, w: torch.Tensor) -> torch.Tensor:
        return self._f @ w

    def transposed_times(self, r: torch.Tensor) -> torch.Tensor:
        return self._f.mT @ r


def solved(
    rows: torch.Tensor, targets: torch.Tensor, precision: float, tolerance: float = TIGHT
) -> torch.Tensor:
    """W of members that each have their own graph."""
    return softmax_weights(Diffused(rows.float()), targets[:, None], 3, precision, tolerance)[:, 0]


def problem(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    targets = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    rows = rng.normal(size=(n, d)) + np.eye(3, d)[targets]
    return torch.as_tensor(rows)[None], torch.as_tensor(targets)[None]


@pytest.mark.parametrize(
    ("n", "d", "design", "tolerance"),
    [
        *((n, d, Diffused, TIGHT) for n, d in ((12, 40), (40, 12), (20, 20), (3, 5))),
        (600, 30, Diffused, 1e-5),
        *((n, d, Products, 1e-5) for n, d in ((600, 30), (600, 150))),  # in single precision
    ],
)
@pytest.mark.parametrize("precision", [0.003, 1.0])
def test_it_is_the_logistic_regression_of_scikit_learn(
    n: int, d: int, design: type[Diffused], tolerance: float, precision: float
) -> None:
    rows, targets = problem(n, d)
    ours = softmax_weights(design(rows.float()), targets[None], 3, precision, tolerance)[0, 0]
    peer = LogisticRegression(C=1 / precision, fit_intercept=False, tol=1e-9, max_iter=10_000)
    theirs = peer.fit(rows[0].numpy(), targets[0].numpy()).coef_.T
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * np.abs(theirs).max())


def test_members_do_not_influence_one_another_and_padding_counts_for_nothing() -> None:
    (a, ya), (b, yb) = problem(12, 40), problem(9, 40, seed=1)
    padded = torch.zeros_like(a)
    padded[:, :9] = b
    targets = torch.full_like(ya, -100)
    targets[:, :9] = yb
    both = solved(torch.cat([a, padded]), torch.cat([ya, targets]), 0.01)
    torch.testing.assert_close(both[:1], solved(a, ya, 0.01), atol=2e-6, rtol=0)
    torch.testing.assert_close(both[1:], solved(b, yb, 0.01), atol=2e-6, rtol=0)


@pytest.mark.parametrize("network", [Diffusion(), Diffusion(features=False)])
@pytest.mark.parametrize("num_features", [24, 700])  # Π X is formed, or only multiplied by
def test_folds_of_many_labels_share_what_each_is_fitted_to(
    network: Diffusion, num_features: int
) -> None:
    task = make_task(num_nodes=900, num_features=num_features, per_class=230)
    classifier = DiffusionClassifier(network, MaximumPosterior(0.1, tolerance=1e-5))
    parts = [replace(task, train=np.delete(task.train, slice(i, None, 3))) for i in range(2)]
    together = classifier.fit(parts, [0, 1])
    for part, fitted in zip(parts, together, strict=True):
        alone = fit_one(classifier, part).probabilities
        np.testing.assert_allclose(fitted.probabilities, alone, atol=1e-3)


def test_features_without_end_are_a_training_error() -> None:
    rows, targets = problem(12, 40)
    with pytest.raises(TrainingError, match="features are not finite"):
        solved(rows * float("inf"), targets, 0.01)


def test_only_networks_that_are_linear_in_their_weights_are_solved() -> None:
    task = make_task()
    with pytest.raises(ModelError, match=r"linear in its weights: Diffusion\(\); got GCN"):
        MaximumPosterior().fit(GCN(), [task], [task.graph], [0], 1)


def test_without_a_base_the_members_are_their_own(task: Task) -> None:
    model = BayesianGCN(n_zeta=2, network=Diffusion(), weights=MaximumPosterior())
    base = fit_one(DiffusionClassifier(), task).probabilities
    np.testing.assert_array_equal(fit_one(model, task, seed=5).base_probabilities, base)


def test_balanced_classes_are_those_of_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_sample_weight

    targets = torch.tensor([0, 0, 0, 2, 2])
    onehot = torch.cat([torch.eye(3)[targets], torch.zeros(1, 3)])
    expected = [*compute_sample_weight("balanced", targets.numpy()), 0.0]
    torch.testing.assert_close(label_weights(onehot), torch.tensor(expected).float())
