"""The convex fit = scikit-learn's; primal = dual; a batch of members = each alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import DiffusionClassifier
from nodecopy.data.task import Task
from nodecopy.errors import ModelError, TrainingError
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MaximumPosterior
from nodecopy.weights.maximum import softmax_weights
from tests.problems import make_task

TIGHT = 1e-8


def problem(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    targets = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    rows = rng.normal(size=(n, d)) + np.eye(3, d)[targets]
    return torch.as_tensor(rows)[None], torch.as_tensor(targets)[None]


@pytest.mark.parametrize(("n", "d"), [(12, 40), (40, 12), (20, 20), (3, 5)])
@pytest.mark.parametrize("precision", [0.003, 1.0])
def test_it_is_the_logistic_regression_of_scikit_learn(n: int, d: int, precision: float) -> None:
    rows, targets = problem(n, d)
    ours = softmax_weights(rows, targets, 3, precision, TIGHT)[0]
    peer = LogisticRegression(C=1 / precision, fit_intercept=False, tol=1e-9, max_iter=10_000)
    theirs = peer.fit(rows[0].numpy(), targets[0].numpy()).coef_.T
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * np.abs(theirs).max())


def test_members_do_not_influence_one_another_and_padding_counts_for_nothing() -> None:
    (a, ya), (b, yb) = problem(12, 40), problem(9, 40, seed=1)
    padded = torch.zeros_like(a)
    padded[:, :9] = b
    targets = torch.full_like(ya, -100)
    targets[:, :9] = yb
    both = softmax_weights(torch.cat([a, padded]), torch.cat([ya, targets]), 3, 0.01, TIGHT)
    torch.testing.assert_close(both[:1], softmax_weights(a, ya, 3, 0.01, TIGHT), atol=1e-6, rtol=0)
    torch.testing.assert_close(both[1:], softmax_weights(b, yb, 3, 0.01, TIGHT), atol=1e-6, rtol=0)


def test_the_gradient_is_within_the_tolerance() -> None:
    rows, targets = problem(12, 40)
    for tolerance in (1e-2, 1e-6):
        w = softmax_weights(rows, targets, 3, 0.01, tolerance)[0]
        p = torch.softmax(rows[0] @ w, -1) - torch.eye(3, dtype=torch.float64)[targets[0]]
        assert (rows[0].T @ p + 0.01 * w).abs().max() < 10 * tolerance


def test_features_without_end_are_a_training_error() -> None:
    rows, targets = problem(12, 40)
    with pytest.raises(TrainingError, match="features are not finite"):
        softmax_weights(rows * float("inf"), targets, 3, 0.01, 1e-6)


def test_only_networks_that_are_linear_in_their_weights_are_solved() -> None:
    task = make_task()
    with pytest.raises(ModelError, match=r"linear in its weights: Diffusion\(\); got GCN"):
        MaximumPosterior().fit(GCN(), task, [task.graph], [0], 1)


def test_without_a_base_the_members_are_their_own(task: Task) -> None:
    model = BayesianGCN(n_zeta=2, network=Diffusion(), weights=MaximumPosterior())
    base = DiffusionClassifier().fit(task).probabilities
    np.testing.assert_array_equal(model.fit(task, seed=5).base_probabilities, base)
