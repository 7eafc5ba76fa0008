"""Fits to compare with: the base classifier once, and what a whole fit gives."""

from __future__ import annotations

import numpy as np

from nodecopy.data import Task, load_dataset, random_split
from nodecopy.experiment.fit import fits_to_compare
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MCDropout, TrainConfig

QUICK = BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(TrainConfig(epochs=30)))


def test_scores_are_those_of_the_test_nodes_and_the_base_is_fitted_once() -> None:
    dataset = load_dataset("citeseer")
    split = random_split(dataset, 5, seed=3)
    told: list[tuple[int, int]] = []
    fits = list(fits_to_compare(dataset, split, 3, QUICK, lambda *done: told.append(done)))
    assert [fit.title for fit in fits] == ["GCN", "Bayesian GCN (paper)"]
    for fit in fits:
        right = fit.fitted.probabilities[split.test].argmax(1) == dataset.labels[split.test]
        assert fit.scores.accuracy == right.mean()
    assert 0 < fits[0].cpu_seconds < fits[1].cpu_seconds
    assert told[-1][0] == told[-1][1]
    base, bayesian = fits[0].fitted, fits[1].fitted
    np.testing.assert_array_equal(bayesian.base_probabilities, base.probabilities)
    whole = QUICK.fit(Task.from_split(dataset, split), 3)
    np.testing.assert_array_equal(bayesian.probabilities, whole.probabilities)
