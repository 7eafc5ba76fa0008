"""Suspect labels: given labels that predictions made without them contradict.

A given label g of a node is the true one with probability 1 - ε, else any other with the same
probability. With t_k the held-out probabilities of the true class, after a temperature T,

    p(g)          = (1 - ε) t_g + ε (1 - t_g) / (K - 1)
    p(wrong | g)  = ε (1 - t_g) / (K - 1) / p(g)

T and ε are unknown together: probabilities that were calibrated on labels of which some are wrong
are too flat, and what is sharp and contradicted tells of wrong labels. So both are averaged over
their posterior, on a grid, with log T ~ N(0, 1) and ε ~ Beta(1, 9). Northcutt, Jiang and Chuang
(2021), "Confident learning: estimating uncertainty in dataset labels", go by thresholds instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.temperature import tempered
from nodecopy.errors import ModelError
from nodecopy.savable import savable

# The grid of log T, in standard deviations of its prior, and of ε: wrong labels are a minority.
_TEMPERATURES = np.linspace(-2.5, 2.5, 51)
_SHARES = (np.arange(60) + 0.5) / 120


@savable
@dataclass(frozen=True)
class WrongShare:
    """The prior of the share of wrong labels, ε ~ Beta(wrong, right)."""

    wrong: float = 1.0
    right: float = 9.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if not (self.wrong > 0 and self.right > 0):
            raise ModelError(f"wrong and right must be positive; got {self.wrong} and {self.right}")


@dataclass(frozen=True, eq=False)
class SuspectLabels:
    """Given labels that held-out predictions contradict, the most suspect first.

    Attributes:
        nodes: whose label it is [r].
        given: the label [r].
        suggested: the most probable other class [r].
        probability: that the given label is wrong [r], descending.
        share: estimated share of wrong labels among all that were held out.
    """

    nodes: NDArray[np.int64]
    given: NDArray[np.int64]
    suggested: NDArray[np.int64]
    probability: NDArray[np.float64]
    share: float


def suspect_labels(
    nodes: NDArray[np.int64],
    given: NDArray[np.int64],
    held_out: NDArray[np.floating],
    prior: WrongShare | None = None,
) -> SuspectLabels:
    """Rank the given labels that held-out predictions contradict.

    Args:
        nodes: labelled nodes whose labels were hidden [n].
        given: their labels [n].
        held_out: probabilities of their classes, predicted without them [n, K].
        prior: of the share of wrong labels.

    >>> p = np.array([[0.9, 0.1]] * 9 + [[0.05, 0.95]] + [[0.4, 0.6]])
    >>> suspect = suspect_labels(np.arange(11), np.zeros(11, int), p)
    >>> suspect.nodes.tolist(), suspect.suggested.tolist(), bool(suspect.probability[0] > 0.5)
    ([9, 10], [1, 1], True)
    """
    p = np.asarray(held_out, np.float64)
    wrong, share = wrong_probabilities(p, given, prior)
    contradicted = np.flatnonzero(p.argmax(1) != given)
    order = contradicted[np.argsort(-wrong[contradicted], kind="stable")]
    # A contradicted label is not the most probable class, so that one is the suggestion.
    return SuspectLabels(nodes[order], given[order], p[order].argmax(1), wrong[order], share)


def wrong_probabilities(
    held_out: NDArray[np.float64], given: NDArray[np.int64], prior: WrongShare | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return the probability that each given label is wrong [n], and the mean of ε."""
    prior = prior or WrongShare()
    n, classes = held_out.shape
    if classes < 2:
        return np.zeros(n), 0.0
    log_prior = (prior.wrong - 1) * np.log(_SHARES) + (prior.right - 1) * np.log1p(-_SHARES)
    weights = np.empty((len(_TEMPERATURES), len(_SHARES)))
    for row, log_temperature in enumerate(_TEMPERATURES):
        label, _ = _likelihoods(held_out, given, log_temperature)
        weights[row] = np.log(label).sum(1) + log_prior - log_temperature**2 / 2
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    wrong = np.zeros(n)
    for row, log_temperature in enumerate(_TEMPERATURES):
        label, mistaken = _likelihoods(held_out, given, log_temperature)
        wrong += weights[row] @ (mistaken / label)
    return wrong, float(weights.sum(0) @ _SHARES)


def _likelihoods(
    held_out: NDArray[np.float64], given: NDArray[np.int64], log_temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p(g), and p(g and wrong), of each label at every ε [E, n]."""
    n, classes = held_out.shape
    right = tempered(held_out, float(np.exp(log_temperature)))[np.arange(n), given]
    right = np.clip(right, 1e-12, 1.0)
    mistaken = _SHARES[:, None] * (1.0 - right) / (classes - 1)
    return (1.0 - _SHARES)[:, None] * right + mistaken, mistaken
