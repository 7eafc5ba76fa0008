"""Which tags to predict, how good that is, and which known tags may be wrong or missing.

A tag is predicted where its probability is above a threshold. With F* the largest F1 that any
threshold gives, the best one is F* / 2 (Lipton, Elkan and Naryanaswamy 2014, "Optimal thresholding
of classifiers to maximize F1 measure"). With calibrated probabilities p of the m nodes in question,
sorted in descending order, the expected F1 of the first k is

    F_k = 2 Σ_{i ≤ k} p_i / (k + Σ_i p_i),   F* = max_k F_k

F*_t of the nodes alone makes macro F1 largest, and F* of all pairs of a node and a tag, a threshold
that all tags share, micro F1. The first gives every node many rare tags that nothing predicts, and
the second hardly ever gives a rare tag: the threshold is the geometric mean, √(F*_t F*) / 2.
Held-out labels decide only through the calibration: few of them would choose thresholds of rare
tags by chance (docs/decisions/0078-tags.md).

F1 of the nodes without tags is estimated as accuracy is (`nodecopy.trust.accuracy`): what
calibrated probabilities expect, corrected by held-out labels. With ŷ what is predicted, and b_t =
mean(p) + mean(ŷ) over these nodes,

    F_t = 2 mean(p ŷ) / b_t,   d_it = (2 (y_it - p_it) ŷ_it - F_t (y_it - p_it)) / b_t

are F1 of a tag, and what label i adds to it, to first order. Macro F1 is the mean of F_t; the
labels of a tag count in its correction by the same prior as for all: with two or three examples, a
fit without one of them says little. Micro F1 has the sums over all tags in place of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.typed import check_fraction
from nodecopy.trust.accuracy import corrected, trusted
from nodecopy.trust.label_errors import wrong_probabilities

_LEAST = 1e-9


def f1_thresholds(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return √(F*_t F*) / 2 of each tag [T], from 0 to 1/2.

    Args:
        probabilities: calibrated, of the nodes in question [m, T].

    >>> f1_thresholds(np.array([[1.0, 0.2], [1.0, 0.2], [0.0, 0.2]])).round(3).tolist()
    [0.466, 0.269]
    """
    p = np.asarray(probabilities, np.float64)
    return np.sqrt(_largest_f1(p) * _largest_f1(p.reshape(-1, 1))) / 2


def _largest_f1(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F* of each column, of [m, T]."""
    p = -np.sort(-probabilities, axis=0)
    chosen = np.arange(1, len(p) + 1)[:, None]
    expected: NDArray[np.float64] = 2 * p.cumsum(0) / (chosen + p.sum(0))  # F_k
    return expected.max(0)


@dataclass(frozen=True)
class EstimatedScore:
    """A score, estimated.

    Attributes:
        value: the estimate.
        low: lower end of its interval.
        high: upper end of its interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EstimatedTags:
    """How well tags are predicted for the nodes without any, estimated.

    Attributes:
        micro_f1: of all pairs of a node and a tag.
        macro_f1: the mean of F1 over tags.
        ranking: label ranking average precision of held-out labels: of the tags of a node, the mean
            share of its tags among those that are at least as probable; nan where no label has any.
        level: the probability that the intervals are for.
        num_labels: how many held-out labels it rests on.
    """

    micro_f1: EstimatedScore
    macro_f1: EstimatedScore
    ranking: float
    level: float
    num_labels: int


def estimate_tags(
    held_out: NDArray[np.floating],
    truth: NDArray[np.bool_],
    probabilities: NDArray[np.floating],
    thresholds: NDArray[np.floating],
    level: float = 0.95,
    representative: NDArray[np.bool_] | None = None,
) -> EstimatedTags:
    """Estimate how well tags are predicted.

    Args:
        held_out: calibrated probabilities of labelled nodes whose tags were held out [n, T].
        truth: which tags they have [n, T].
        probabilities: calibrated, of the nodes without known tags [m, T].
        thresholds: above which a tag is predicted [T].
        level: of the intervals.
        representative: which of the labels are of nodes like the others; None takes all [n].
    """
    check_fraction("level", level)
    some = np.ones(len(truth), bool) if representative is None else representative
    p, own, truth = np.asarray(probabilities), np.asarray(held_out)[some], truth[some]
    predicted, chosen = own > thresholds, p > thresholds
    right, size = (p * chosen).mean(0), p.mean(0) + chosen.mean(0)  # [T]
    error = truth - own

    def score(right: Any, size: Any, over_tags: Any) -> EstimatedScore:
        """Return the mean F1 of tags, or of all as one, corrected by held-out labels."""
        f1 = 2 * right / np.maximum(size, _LEAST)
        gain = (2 * error * predicted - f1 * error) / np.maximum(size, _LEAST)  # [n, T]
        correction, half = corrected(over_tags(gain), level)
        value = float(np.clip(np.mean(f1) + correction, 0.0, 1.0))
        return EstimatedScore(value, max(value - half, 0.0), min(value + half, 1.0))

    micro = score(right.sum(), size.sum(), lambda gain: gain.sum(1))
    macro = score(right, size, lambda gain: (gain * trusted(gain)).mean(1))
    return EstimatedTags(micro, macro, ranking_precision(own, truth), level, int(some.sum()))


def ranking_precision(probabilities: NDArray[np.floating], truth: NDArray[np.bool_]) -> float:
    """Return the label ranking average precision of nodes with a tag; nan where none has any.

    >>> p = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.1]])
    >>> ranking_precision(p, np.array([[True, True, False], [True, False, False]]))
    0.75
    """
    from sklearn.metrics import label_ranking_average_precision_score

    some = truth.any(1)
    if not some.any():
        return float("nan")
    return float(label_ranking_average_precision_score(truth[some], probabilities[some]))


class SuspectTag(NamedTuple):
    """A known tag that predictions made without it contradict, or one that seems to be missing.

    Attributes:
        node: whose tag it is.
        tag: the tag.
        known: whether the node is known to have it; False where it seems to be missing.
        probability: that this is wrong.
    """

    node: Any
    tag: Any
    known: bool
    probability: float


@dataclass(frozen=True, eq=False)
class SuspectTags:
    """Known tags that held-out predictions contradict, the most suspect first.

    Attributes:
        nodes: the labelled nodes [r].
        tags: of each, the number of the tag [r].
        known: whether the node is known to have the tag [r].
        probability: that this is wrong [r], descending.
    """

    nodes: NDArray[np.int64]
    tags: NDArray[np.int64]
    known: NDArray[np.bool_]
    probability: NDArray[np.float64]


def suspect_tags(
    nodes: NDArray[np.int64],
    truth: NDArray[np.bool_],
    held_out: NDArray[np.floating],
    thresholds: NDArray[np.floating],
) -> SuspectTags:
    """Rank given tags that would not be predicted, and missing ones that are probably there.

    All pairs of a node and a tag are labels of two classes (`nodecopy.trust.label_errors`).

    Args:
        nodes: labelled nodes whose tags were held out [n].
        truth: which tags they have [n, T].
        held_out: probabilities of tags, predicted without them [n, T].
        thresholds: above which a tag is predicted [T].
    """
    p = np.asarray(held_out, np.float64).ravel()
    known = truth.ravel().astype(np.int64)
    wrong, _ = wrong_probabilities(np.stack([1 - p, p], 1), known)
    contradicted = np.flatnonzero(np.where(truth, held_out <= thresholds, held_out > 0.5))
    order = contradicted[np.argsort(-wrong[contradicted], kind="stable")]
    at, tags = np.divmod(order, truth.shape[1])
    return SuspectTags(nodes[at], tags, truth.ravel()[order], wrong[order])
