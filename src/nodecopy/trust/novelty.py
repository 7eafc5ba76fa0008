"""Novelty: the probability that a node belongs to no class that has a label.

A node of an unseen class is like other nodes, but not like labelled ones. With the similarity S of
`nodecopy.trust.next_labels`, the ratio of two densities at node j,

    r_j = Σ_l w_l S_jl / mean_i S_ji,   l the labelled nodes, i all nodes,

is low there; w gives each class the share that it is predicted to have (Sugiyama, Suzuki and
Kanamori 2012, "Density ratio estimation in machine learning"). Labels are fewer among nodes with a
low r than chance would have them, if there are unseen classes. With c_b labels in a bin of r, where
m_b are expected,

    p(none | b) = 1 - g_b / g_top,   g_b = (c_b + a) / (m_b + a),  made non-decreasing in r,

as in Elkan and Noto (2008), "Learning classifiers from only positive and unlabeled data". The prior
count a keeps few labels from showing a class that is not there.

Labels that are the only one of their class say how many nodes are of no known class, not which ones
(`nodecopy.trust.accuracy`). Where their share M is above the mean of p(none), uncertain nodes
take more of the rest, with H_j the entropy of their classes and λ such that the mean is M:

    novelty_j = 1 - (1 - p_j(none)) exp(-λ H_j)

S compares directions, so a new node with numbers far outside the range of the fit may look like
labelled ones. With s_j its distance to the mean of the nodes of the fit, and d the largest distance
among these, it has a novelty of 1 - d / s_j at least; and so for each number of a table by itself:
beside other columns, numbers are seen through a kernel, where all that is far is alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.classifiers.posterior import entropy
from nodecopy.core.machine import one_thread
from nodecopy.core.rng import stream
from nodecopy.features.matrix import row_blocks
from nodecopy.problem.problem import Problem
from nodecopy.trust.next_labels import embedding, similarity

# Nodes, and labels, that others are compared with, at most; and nodes compared at a time.
_MOST, _BLOCK = 2048, 2**14
# Labels per bin, and how many bins there may be.
_LABELS_PER_BIN, _BINS = 5, (4, 20)
_PRIOR_COUNT = 4.0


@one_thread()
def novelty_of(given: Problem, posterior: Posterior, missing: float = 0.0) -> NDArray[np.float64]:
    """Return the `novelty` of the nodes that classes belong to, after a fit [n]."""
    count = len(posterior.probabilities)
    seen = embedding(given.graph, given.compared, 0, np.arange(count), centred=False)
    result = novelty(seen, given.labels[:count], posterior.probabilities, missing)
    if len(given.new) and given.hubs is None:
        result[given.new] = np.maximum(result[given.new], _out_of_range(given, count))
        if given.encoder is not None:
            own = next(iter(given.encoder.encoders.values()))
            outside = 0.0 if own is None else own.outside(given.plain, given.new)
            result[given.new] = np.maximum(result[given.new], outside)
    return result


def novelty(
    seen: NDArray[np.float32],
    labels: NDArray[np.int64],
    probabilities: NDArray[np.floating],
    missing: float = 0.0,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the probability of each node to belong to no class that has a label [N].

    It is zero for labelled nodes.

    Args:
        seen: the `nodecopy.trust.next_labels.embedding` of the nodes, not centred [N, 64].
        labels: class numbers, -1 where unknown [N].
        probabilities: of the classes [N, K].
        missing: share of the nodes whose class has no label: the least mean of the result.
        seed: of the nodes that others are compared with.
    """
    rng = stream(seed, "novelty")
    known, others = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    if not len(others):
        return np.zeros(len(labels))
    known = np.sort(rng.permutation(known)[:_MOST])
    weights = _class_shares(labels[known], probabilities[others].mean(0))
    ratio = _density_ratio(seen, known, weights, rng.permutation(len(seen))[:_MOST])
    result = _none(ratio, known, weights, others)
    result[labels >= 0] = 0.0
    result[others] = _raised(result[others], probabilities[others], missing)
    return result


def _out_of_range(given: Problem, count: int) -> NDArray[np.float64]:
    """Return 1 - d / s of the new nodes, 0 where they are within the range of the fit [m]."""
    X: Any = given.scaled[:count]
    fitted = np.setdiff1d(np.arange(count), given.new)
    mean = np.asarray(X[fitted].mean(0, dtype=np.float64)).ravel()
    squares = np.zeros(count)
    for block in row_blocks(count, _BLOCK):
        rows = X[block].astype(np.float64)
        squares[block] = (rows * rows).sum(1) - 2 * (rows @ mean) + mean @ mean
    distance = np.sqrt(np.maximum(squares, 0.0))
    farthest = distance[fitted].max(initial=0.0)
    return 1.0 - farthest / np.maximum(distance[given.new], max(farthest, 1e-12))


def _class_shares(classes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a weight for each label, those of a class adding up to its share [n]."""
    counts = np.bincount(classes, minlength=len(shares))
    weights = (shares / np.maximum(counts, 1))[classes]
    return weights / weights.sum()


def _density_ratio(
    seen: NDArray[np.float32],
    known: NDArray[np.int64],
    weights: NDArray[np.float64],
    sample: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return r [N]; a node does not count as similar to itself."""
    ratio = np.empty(len(seen))
    place = np.full(len(seen), -1)
    place[known] = np.arange(len(known))
    for start in range(0, len(seen), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(seen)))
        near = similarity(seen[block], seen[known])
        every = similarity(seen[block], seen[sample])
        own, rows = place[block], np.flatnonzero(place[block] >= 0)
        near[rows, own[rows]] = 0.0
        left = np.ones(len(block))
        left[rows] -= weights[own[rows]]
        labelled = (near @ weights) / np.maximum(left, 1e-12)
        ratio[block] = labelled / np.maximum(every.mean(1), 1e-9)
    return ratio


def _none(
    ratio: NDArray[np.float64],
    known: NDArray[np.int64],
    weights: NDArray[np.float64],
    others: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the probability of no known class at every ratio [N]."""
    from sklearn.isotonic import isotonic_regression

    bins = int(np.clip(len(known) // _LABELS_PER_BIN, *_BINS))
    inner = np.quantile(ratio[others], np.linspace(0, 1, bins + 1)[1:-1])
    bin_of = np.searchsorted(inner, ratio)
    expected = np.bincount(bin_of[others], minlength=bins) * len(known) / len(others)
    counted = np.bincount(bin_of[known], weights * len(known), bins)
    rate = (counted + _PRIOR_COUNT) / (expected + _PRIOR_COUNT)
    rate = isotonic_regression(rate, sample_weight=expected + _PRIOR_COUNT)
    top = max(1.0, float(rate[-(bins // 3 or 1) :].mean()))
    centres = np.quantile(ratio[others], (np.arange(bins) + 0.5) / bins)
    result: NDArray[np.float64] = np.clip(1.0 - np.interp(ratio, centres, rate) / top, 0.0, 1.0)
    return result


def _raised(
    none: NDArray[np.float64], probabilities: NDArray[np.floating], missing: float
) -> NDArray[np.float64]:
    """Return p(none) with a mean of the missing mass at least [n]."""
    from scipy.optimize import brentq

    if none.mean() >= missing:
        return none
    uncertain = entropy(np.asarray(probabilities, np.float64)) + 1e-3  # none is certain

    def raised(rate: float) -> NDArray[np.float64]:
        return 1.0 - (1.0 - none) * np.exp(-rate * uncertain)

    return raised(brentq(lambda rate: raised(rate).mean() - missing, 0.0, 1e6))
