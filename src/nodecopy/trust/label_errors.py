"""Suspect labels: known labels that predictions made without them contradict.

A known label g of a node is the true one with probability 1 - ε, else any other with the same
probability. With t_k the held-out probabilities of the true class, after a temperature T,

    p(g)          = (1 - ε) t_g + ε (1 - t_g) / (K - 1)
    p(wrong | g)  = ε (1 - t_g) / (K - 1) / p(g)

T and ε are unknown together: probabilities calibrated on labels of which some are wrong are too
flat, and confident predictions that labels contradict are a sign of wrong labels. So both are
averaged over their posterior, on a grid, with log T ~ N(0, 1), and ε = 0 with probability ½, else
ε ~ Beta(1, 4): otherwise an honest mistake of the classifier counts as a wrong label. Northcutt,
Jiang and Chuang (2021), "Confident learning: estimating uncertainty in dataset labels", use
thresholds instead.

A label that somebody confirmed when asked again is right, p(g) = (1 - ε) t_g, and one that they
changed was a mistake, ε: so the answers of a person who hardly errs are doubted less and less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.stack.temperature import Temperature

# The grid of log T, and that of ε: wrong labels are a minority.
_LOG_TEMPERATURES = np.linspace(-2.5, 2.5, 51)
_EPSILONS = np.append(0.0, (np.arange(60) + 0.5) / 120)
# ε ~ Beta(1, 4), where it is not 0.
_PRIOR_RIGHT = 4.0


class SuspectLabel(NamedTuple):
    """A known label that predictions made without it contradict.

    Attributes:
        node: whose label it is.
        known: the label.
        predicted: the class that was predicted in its place.
        probability: that the known label is wrong.
    """

    node: Any
    known: Any
    predicted: Any
    probability: float


@dataclass(frozen=True, eq=False)
class SuspectLabels:
    """Known labels that held-out predictions contradict, the most suspect first.

    Attributes:
        nodes: the labelled nodes [r].
        known: their labels, numbers of classes or the numbers that they are [r].
        predicted: in their place, the most probable class of each [r].
        probability: that the known label is wrong [r], descending.
        share: estimated share of wrong labels among all that were held out.
    """

    nodes: NDArray[np.int64]
    known: NDArray[Any]
    predicted: NDArray[Any]
    probability: NDArray[np.float64]
    share: float


def suspect_labels(
    nodes: NDArray[np.int64],
    known: NDArray[np.int64],
    held_out: NDArray[np.floating],
    confirmed: NDArray[np.bool_] | None = None,
    mistakes: int = 0,
) -> SuspectLabels:
    """Rank the known labels that held-out predictions contradict.

    Args:
        nodes: labelled nodes whose labels were held out [n].
        known: their labels [n].
        held_out: probabilities of their classes, predicted without them [n, K].
        confirmed: which of them are certainly right [n]; None is none.
        mistakes: labels that were found to be wrong, and changed.

    >>> p = np.array([[0.95, 0.05]] * 38 + [[0.01, 0.99]] + [[0.4, 0.6]])
    >>> suspect = suspect_labels(np.arange(40), np.zeros(40, int), p)
    >>> suspect.nodes.tolist(), suspect.predicted.tolist(), bool(suspect.probability[0] > 0.5)
    ([38, 39], [1, 1], True)
    """
    p = np.asarray(held_out, np.float64)
    wrong, share = wrong_probabilities(p, known, confirmed, mistakes)
    contradicted = np.flatnonzero(p.argmax(1) != known)
    order = contradicted[np.argsort(-wrong[contradicted], kind="stable")]
    return SuspectLabels(nodes[order], known[order], p[order].argmax(1), wrong[order], share)


def wrong_probabilities(
    held_out: NDArray[np.float64],
    known: NDArray[np.int64],
    confirmed: NDArray[np.bool_] | None = None,
    mistakes: int = 0,
) -> tuple[NDArray[np.float64], float]:
    """Return the probability that each known label is wrong [n], and the posterior mean of ε."""
    n, classes = held_out.shape
    if classes < 2:
        return np.zeros(n), 0.0
    prior = (1.0 - _EPSILONS) ** (_PRIOR_RIGHT - 1)
    prior[0] = prior[1:].sum()  # no label is wrong as probably as some are
    prior *= _EPSILONS**mistakes
    right = np.zeros(n, bool) if confirmed is None else confirmed
    prior = np.maximum(prior / prior.max(), 1e-300)
    weights = np.empty((len(_LOG_TEMPERATURES), len(_EPSILONS)))
    for row, log_temperature in enumerate(_LOG_TEMPERATURES):
        label, _ = _likelihoods(held_out, known, right, log_temperature)
        weights[row] = np.log(label).sum(1) + np.log(prior) - log_temperature**2 / 2
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    wrong = np.zeros(n)
    for row, log_temperature in enumerate(_LOG_TEMPERATURES):
        label, mistaken = _likelihoods(held_out, known, right, log_temperature)
        wrong += weights[row] @ (mistaken / label)
    return wrong, float(weights.sum(0) @ _EPSILONS)


def _likelihoods(
    held_out: NDArray[np.float64],
    known: NDArray[np.int64],
    right: NDArray[np.bool_],
    log_temperature: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p(g), and p(g and wrong), of each label at every ε [E, n]."""
    n, classes = held_out.shape
    t = Temperature(float(np.exp(log_temperature))).apply(held_out)[np.arange(n), known]
    t = np.clip(t, 1e-12, 1.0)
    mistaken = _EPSILONS[:, None] * (1.0 - t) / (classes - 1) * ~right
    return (1.0 - _EPSILONS)[:, None] * t + mistaken, mistaken
