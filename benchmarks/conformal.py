"""Split conformal prediction on a fitted network: the peers of our prediction sets.

They are given 500 labels for calibration, beside the labels that the network learns from. Scores of
a class: LAC, 1 - p (Sadinle et al. 2019); APS, the probability of the classes that come before it,
and a random part of its own (Romano et al. 2020); diffused APS, half of which is the mean over
neighbours (Zargarbashi et al. 2023, "Conformal prediction sets for graph neural networks", DAPS).
CF-GNN (Huang et al. 2023), which trains a second network on half of the calibration labels for
small sets, is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.compared import Row, ScoredTask
from nodecopy.classifiers import NodeClassifier, fit_one
from nodecopy.core.rng import child_seed, stream
from nodecopy.graph import Graph

Score = Literal["LAC", "APS", "diffused APS"]


@dataclass(frozen=True)
class SplitConformal:
    """Sets of a classifier's classes, calibrated by labels of their own.

    Args:
        classifier: what gives probabilities.
        score: of a class.
        coverage: how often the label is to be in the set.
        from_neighbours: share of a diffused score that is its neighbours' mean.
    """

    classifier: NodeClassifier
    score: Score = "LAC"
    coverage: float = 0.9
    from_neighbours: float = 0.5

    def measure(self, problem: ScoredTask, trial: int) -> Row:
        """Return the coverage and the mean size of sets of the test nodes."""
        fitted = fit_one(self.classifier, problem.task, child_seed(trial, "method"))
        scores = self.scores(
            np.asarray(fitted.probabilities, np.float64), problem.task.graph, trial
        )
        held, truth = problem.calibration, problem.truth
        assert held is not None
        limit = conformal_quantile(scores[held, truth[held]], self.coverage)
        sets = scores[problem.test] <= limit
        return {
            "set coverage": round(float(sets[np.arange(len(sets)), truth[problem.test]].mean()), 5),
            "set size": round(float(sets.sum(1).mean()), 5),
        }

    def scores(self, p: np.ndarray, graph: Graph, trial: int) -> np.ndarray:
        """Return how little each class fits each node [N, K]."""
        if self.score == "LAC":
            return 1.0 - p
        order = np.argsort(-p, axis=1, kind="stable")
        ordered = np.take_along_axis(p, order, axis=1)
        before = np.cumsum(ordered, axis=1) - ordered
        part = stream(trial, "conformal").random((len(p), 1))
        scores = np.empty_like(p)
        np.put_along_axis(scores, order, before + part * ordered, axis=1)
        if self.score == "APS":
            return scores
        near = graph.to_scipy() @ scores / np.maximum(graph.degrees, 1)[:, None]
        near[graph.degrees == 0] = scores[graph.degrees == 0]
        return (1 - self.from_neighbours) * scores + self.from_neighbours * near


def conformal_quantile(scores: np.ndarray, coverage: float) -> float:
    """Return the ⌈(n + 1) coverage⌉-th smallest of n scores; infinite where there is none.

    >>> conformal_quantile(np.arange(1.0, 10.0), 0.8)
    8.0
    """
    place = int(np.ceil((len(scores) + 1) * coverage - 1e-12))
    return float(np.sort(scores)[place - 1]) if place <= len(scores) else np.inf
