"""Prediction sets: classes that hold the true label with a given probability.

Sadinle, Lei and Wasserman (2019), "Least ambiguous set-valued classifiers with bounded error
levels": the set of a node holds the classes whose probability p is at least 1 - q. q is a quantile
of the scores 1 - p(y) of labels that the classifier did not see, here by cross-fitting (Vovk 2015,
"Cross-conformal predictors"). With few labels that quantile is coarse, or there is none; so it is
taken of a mixture of

    n held-out labels, each of weight 1,
    the scores that the probabilities themselves expect of all nodes, of total weight 20,
    and one infinite score, for the node in question.

The second part decides while labels are few and fades as they become many. Where even the mixture
has no such quantile, above 1 - 1 / (n + 21), a set holds every class.

A node of a class without any label is never covered. Where these have a share M of the nodes
(`nodecopy.trust.accuracy`), the others are covered more often: with coverage / (1 - M), or as
often as leaves a quarter of their misses, (3 + coverage) / 4, if that is less.

What is guaranteed. For labels drawn at random from the nodes, held-out scores alone would give the
requested coverage, on average over draws of the labels and over nodes; cross-fitting and the
mixture make that approximate. There is no guarantee for a single node, for a class, for one draw of
few labels, nor where labels were drawn otherwise: evenly over classes of uneven size, or by what
seemed worth labelling. The coverage measured there: docs/decisions/0025-honest-outputs.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.typed import check_fraction

# Total weight of the expected scores, in labels.
_EXPECTED = 20.0
# How many quantiles of these scores are kept.
_QUANTILES = 500


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """What sets of any coverage are computed from.

    Attributes:
        scores: 1 - p(y) of held-out labels, ascending [n].
        expected: quantiles of the score of a label that is drawn from the probabilities
            themselves, ascending [Q].
        missing: share of the nodes whose class has no label.
    """

    scores: NDArray[np.float64]
    expected: NDArray[np.float64]
    missing: float = 0.0

    def threshold(self, coverage: float = 0.9) -> float:
        """Return q: a class is in a set where 1 - p is at most q; infinite where all are."""
        check_fraction("coverage", coverage)
        of_known = min(coverage / max(1 - self.missing, coverage), (3 + coverage) / 4)
        scores = np.concatenate([self.scores, self.expected, [np.inf]])
        expected = np.full(len(self.expected), _EXPECTED / max(len(self.expected), 1))
        weights = np.concatenate([np.ones(len(self.scores)), expected, [1.0]])
        order = np.argsort(scores, kind="stable")
        cumulative = np.cumsum(weights[order]) / weights.sum()
        index = np.searchsorted(cumulative, of_known - 1e-12)
        return float(scores[order][min(int(index), len(scores) - 1)])

    def sets(self, probabilities: NDArray[np.floating], coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return which classes the set of each node holds [N, K]; always the most probable one.

        Args:
            probabilities: calibrated, like those that gave the scores [N, K].
            coverage: probability that the true label is in the set, between 0 and 1.
        """
        p = np.asarray(probabilities, np.float64)
        chosen: NDArray[np.bool_] = 1.0 - p <= self.threshold(coverage)
        chosen[np.arange(len(p)), p.argmax(1)] = True
        return chosen


def fit_sets(
    held_out: NDArray[np.floating],
    truth: NDArray[np.int64],
    probabilities: NDArray[np.floating],
    missing: float = 0.0,
) -> PredictionSets:
    """Fit prediction sets to held-out labels.

    Args:
        held_out: calibrated probabilities of labelled nodes whose labels were held out [n, K].
        truth: their labels [n].
        probabilities: calibrated probabilities of the nodes that sets are for [N, K].
        missing: share of the nodes whose class has no label.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    >>> sets = fit_sets(p[:3], np.array([0, 0, 1]), p)
    >>> sets.sets(p, coverage=0.8).astype(int).tolist()
    [[1, 0], [1, 0], [1, 1], [0, 1]]
    >>> sets.sets(p, coverage=0.5).sum(1).tolist()
    [1, 1, 1, 1]
    """
    scores = 1.0 - np.asarray(held_out, np.float64)[np.arange(len(truth)), truth]
    return PredictionSets(np.sort(scores), _expected_scores(probabilities), missing)


def _expected_scores(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return quantiles of the score 1 - p_k, where class k has probability p_k [Q]."""
    p = np.sort(np.asarray(probabilities, np.float64).ravel())[::-1]  # scores ascend
    mass = np.cumsum(p)
    if not len(p) or mass[-1] <= 0:
        return np.zeros(0)
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    indices = np.searchsorted(mass, levels * mass[-1])
    result: NDArray[np.float64] = 1.0 - p[np.minimum(indices, len(p) - 1)]
    return result
