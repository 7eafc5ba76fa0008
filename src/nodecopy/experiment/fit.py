"""Fits to compare with on a built-in dataset: a GCN, and the paper's Bayesian GCN."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from nodecopy.classifiers import Fitted, GivenProbabilities, NodeClassifier
from nodecopy.data import NodeDataset, Split, Task
from nodecopy.metrics import Scores, score_predictions
from nodecopy.posterior import BayesianGCN
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed


class ScoredFit(NamedTuple):
    """A fitted method, its test scores, and the CPU time of its fit."""

    title: str
    fitted: Fitted
    scores: Scores
    cpu_seconds: float


def fits_to_compare(
    dataset: NodeDataset,
    split: Split,
    seed: int,
    model: BayesianGCN,
    progress: Progress | None = None,
) -> Iterator[ScoredFit]:
    """Yield the base classifier of a Bayesian GCN, then the whole of it, scored on test nodes.

    Args:
        dataset: with all labels.
        split: which of them are learned from, and which scored.
        seed: of all that is random.
        model: the Bayesian GCN.
        progress: told how far it is.
    """
    task, test = Task.from_split(dataset, split), split.test
    before, during = stages(progress, [1, model.n_zeta])

    def scored(title: str, method: NodeClassifier, seed: int, watch: Progress | None) -> ScoredFit:
        start = time.process_time()
        fitted = method.fit(task, seed, watch)
        spent = time.process_time() - start
        scores = score_predictions(fitted.probabilities[test], dataset.labels[test])
        return ScoredFit(title, fitted, scores, spent)

    base = scored("GCN", model.base_classifier(), child_seed(seed, "base"), before)
    yield base
    given = GivenProbabilities(base.fitted.probabilities)  # so that it is fitted once
    rest = scored("Bayesian GCN (paper)", replace(model, base=given), seed, during)
    yield rest._replace(cpu_seconds=base.cpu_seconds + rest.cpu_seconds)
