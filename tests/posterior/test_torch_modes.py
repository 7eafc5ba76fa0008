"""Fits do not depend on torch's global modes: gradients off, inference mode, another precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import torch

from nodecopy import presets
from nodecopy.classifiers import ChebNetClassifier, GATClassifier, NodeClassifier
from nodecopy.posterior import BayesianGCN, OnlineSchedule
from nodecopy.weights import SGLD, Laplace, MCDropout, MeanField, TrainConfig
from tests.problems import make_task

SHORT = TrainConfig(epochs=4)
FEW = {"n_zeta": 2, "n_weights": 2}
METHODS: dict[str, NodeClassifier] = {
    "paper": BayesianGCN(weights=MCDropout(SHORT), **FEW),
    "online": BayesianGCN(schedule=OnlineSchedule(2, 5, 2)),
    "sgld": BayesianGCN(weights=SGLD(burn_in=2, thinning=1), **FEW),
    "mean field": BayesianGCN(weights=MeanField(epochs=3), **FEW),
    "laplace": BayesianGCN(weights=Laplace(epochs=3), **FEW),
    "chebyshev": ChebNetClassifier(training=SHORT),
    "attention": GATClassifier(training=GATClassifier().training.replace(epochs=3)),
    "best": presets.best(n_zeta=2),
}


@contextmanager
def float64_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, float64_by_default])
@pytest.mark.parametrize("name", METHODS)
def test_a_fit_is_the_same_in_every_mode(name: str, mode) -> None:
    with mode():
        result = METHODS[name].fit(make_task(), seed=1).probabilities
    np.testing.assert_allclose(result, usual(name), atol=1e-5)


@cache
def usual(name: str) -> np.ndarray:
    return METHODS[name].fit(make_task(), seed=1).probabilities
