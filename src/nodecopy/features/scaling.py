"""Scaling of features, as fitted: by rows, by columns, by blocks of columns, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from nodecopy.core.errors import ModelError, unknown_name
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.features.matrix import (
    FeatureMatrix,
    few_rows,
    frozen,
    has_units,
    row_blocks,
    row_normalised,
    unit_rows,
)
from nodecopy.graph import Graph
from nodecopy.graph.operators import adjacency_rows

Normalise = Literal["auto", "rows", "columns", "none"]

# Labels that are compared, how often they are permuted, and from how many deviations on it is clear
# that a block of columns tells something of them.
_COMPARED, _PERMUTATIONS, _CLEAR = 500, 200, 5.0
# Shares of the meaning of a text that are compared, against its words; regularisation of the
# regression that compares them, and factors of its outputs.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_RIDGE, _FACTORS = 0.1, (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
# Of each, at least: a weight of zero cannot be divided by.
_LEAST_SHARE = 0.01
# Rows that are scaled at a time.
_BLOCK = 2**16


@savable
@dataclass(frozen=True, eq=False)
class Scaling:
    """What is done to features before a network sees them.

    Attributes:
        rows: whether each row is divided by the sum of its absolute values.
        shift: what is taken from each column [D], or None.
        scale: what each column is then divided by [D], or None; alone, it weights blocks.
        num_features: D.
    """

    rows: bool = False
    shift: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    num_features: int = 0

    @property
    def blocks(self) -> bool:
        """Whether blocks of columns are weighted."""
        return self.scale is not None and self.shift is None

    def apply(self, graph: Graph, features: FeatureMatrix) -> FeatureMatrix:
        """Return features on the scale that a model was fitted to [N, D], read-only.

        So what follows from them is computed once (`nodecopy.core.kept`).
        """
        if self.rows:
            return row_normalised(features)
        if self.scale is None:
            return features
        if self.shift is None:
            weights = sp.diags_array((1 / self.scale).astype(np.float32))
            sparse = sp.csr_array(sp.csr_array(features) @ weights)
            sparse.sort_indices()
            sparse.data = frozen(sparse.data)
            return sparse
        values = features if isinstance(features, np.ndarray) else features.toarray()
        scaled = np.empty(values.shape, np.float32)
        for block in row_blocks(len(values), _BLOCK):
            scaled[block] = (values[block].astype(np.float64) - self.shift) / self.scale
        return frozen(scaled)


def scaling_of(features: FeatureMatrix, normalise: Normalise) -> Scaling:
    """Return how to scale features.

    Args:
        features: [N, D].
        normalise: "rows" divides each row by its sum; "columns" brings each column to mean 0 and
            standard deviation 1 (one that never changes is only shifted); "none" does nothing.
            "auto" is "columns" for dense features, which may be in any units, and "rows" for counts
            and indicators (sparse, or 0 and 1), unless some are negative; `few_rows` do not count.

    >>> scaling = scaling_of(np.array([[1000.0, 0.1], [3000.0, 0.3]]), "auto")
    >>> scaling.apply(Graph.from_edges(1, []), np.array([[2000.0, 0.3]])).round(3).tolist()
    [[0.0, 1.0]]
    """
    if normalise not in get_args(Normalise):
        raise ModelError(unknown_name("normalise", normalise, get_args(Normalise)))
    if normalise == "columns" or (normalise == "auto" and has_units(features)):
        values = features if isinstance(features, np.ndarray) else features.toarray()
        mean = values.mean(0, dtype=np.float64)
        squares = sum(
            ((values[block] - mean) ** 2).sum(0) for block in row_blocks(len(values), _BLOCK)
        )
        deviation = np.sqrt(squares / max(len(values), 1))
        scale = np.where(deviation > 0, deviation, 1.0)
        return Scaling(shift=mean, scale=scale, num_features=len(scale))
    rows = normalise == "rows"
    if normalise == "auto":
        negative = np.unique((features < 0).nonzero()[0])
        rows = len(negative) <= few_rows(features)
    return Scaling(rows=rows, num_features=features.shape[1])


def weighted_blocks(
    graph: Graph,
    features: FeatureMatrix,
    blocks: tuple[tuple[int, ...], ...],
    labels: NDArray[np.int64],
    words: int | None = None,
) -> Scaling:
    """Return weights of blocks of columns, by how much more similar nodes of a class are in them.

    For each block, z is how much more similar nodes with the same label are than with permuted
    labels, in standard deviations, from 0 to 5; the squares of the weights are in the ratio of
    1 + z⁴. An uninformative block hardly counts; clearly informative ones count the same, and so do
    all where none is (docs/decisions/0042-columns-and-blocks.md). Of other node types than the
    labelled one, the sums over neighbours are compared, and each type is weighted by itself.

    Args:
        graph: the observed graph.
        features: blocks of columns side by side [N, D].
        blocks: the widths of the blocks of each node type, the labelled one first.
        labels: classes of each node, -1 where they are unknown, one column or several [N, T].
        words: which block of the labelled type has the words of a text whose meaning is the first;
            None where there are none. What the two count together is divided by `meaning_share`.
    """
    known = np.flatnonzero(labels[:, 0] >= 0)
    rng = stream(0, "block weights")
    known = np.sort(rng.permutation(known)[:_COMPARED])
    seen, start = features[known], 0
    scale: list[NDArray[np.float64]] = []
    for widths in blocks:
        shares = []
        for width in widths:
            block = sp.csr_array(seen[:, start : start + width])
            start += width
            z = _z_score((block @ block.T).toarray(), labels[known], rng)
            shares.append(1 + float(np.clip(z, 0.0, _CLEAR)) ** 4)
        if not scale and words is not None:
            starts = np.cumsum([0, *widths])
            texts = [slice(starts[at], starts[at + 1]) for at in (0, words)]
            share = meaning_share(graph, features, texts, labels, known)
            both = shares[0] + shares[words]
            shares[0], shares[words] = both * share, both * (1 - share)
        scale.append(np.repeat(np.sqrt(np.sum(shares) / np.array(shares)), widths))
        if len(scale) == 1 and len(blocks) > 1:
            seen = unit_rows(sp.csr_array(graph.to_scipy()[known] @ features))
    return Scaling(scale=np.concatenate(scale), num_features=features.shape[1])


def meaning_share(
    graph: Graph,
    features: FeatureMatrix,
    blocks: Sequence[slice],
    labels: NDArray[np.int64],
    known: NDArray[np.int64],
) -> float:
    """Return how much the meaning of texts is to count, against their words, from 0 to 1.

    Texts are averaged with those of neighbours, H_b = (I + Â) X_b, and labels are predicted by
    ridge regression with the kernel s H_m H_mᵀ + (1 - s) H_w H_wᵀ, each without its own label,
    which has a closed form:

        f_i = y_i - (G Y)_i / G_ii,   G = (K + λ I)⁻¹

    The share is the mean of s, weighted by the likelihood of the labels
    (docs/decisions/0060-text-by-its-meaning.md).

    Args:
        graph: the observed graph.
        features: [N, D].
        blocks: columns of the meaning, and of the words.
        labels: classes of each node, one column or several [N, T].
        known: labelled nodes that are compared [n].
    """
    n = len(known)
    if n == 0:
        return float(np.mean(_SHARES))
    columns = [np.unique(own, return_inverse=True)[1] for own in labels[known].T]
    near = adjacency_rows(graph.symmetrise(), known)
    shape = n, graph.num_nodes
    means = sp.csr_array((near.values, near.columns, near.indptr), shape=shape) @ features
    rows = [sp.csr_array(means + features[known])[:, block] for block in blocks]
    meaning, words = ((one @ one.T).toarray() for one in rows)
    each = [np.eye(own.max() + 1)[own] for own in columns]
    targets = np.hstack([own - own.mean(1, keepdims=True) for own in each])
    ends = np.cumsum([own.shape[1] for own in each])[:-1]
    scores = []
    for share in _SHARES:
        kernel = share * meaning + (1 - share) * words
        kernel /= max(float(np.diag(kernel).mean()), 1e-12)
        inverse = np.linalg.inv(kernel + _RIDGE * np.eye(n))
        outputs = targets - inverse @ targets / np.diag(inverse)[:, None]
        parts = list(zip(np.split(outputs, ends, axis=1), columns, strict=True))
        logs = [
            sum(log_softmax(factor * own, axis=1)[np.arange(n), of].sum() for own, of in parts)
            for factor in _FACTORS
        ]
        scores.append(float(max(logs)))
    share = float(softmax(scores) @ np.array(_SHARES))
    return float(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))


def _z_score(
    alike: NDArray[np.floating], labels: NDArray[np.int64], rng: np.random.Generator
) -> float:
    """Return how far same-label similarity is above that of permuted labels, in deviations.

    Args:
        alike: similarities of labelled nodes [n, n].
        labels: their classes, one column or several [n, T].
        rng: permutes the labels.
    """
    np.fill_diagonal(alike, 0.0)
    alike = alike.astype(np.float64) - alike.sum() / max(alike.size - len(alike), 1)
    np.fill_diagonal(alike, 0.0)
    same = np.hstack([np.eye(own.max(initial=0) + 1)[own] for own in labels.T])  # [n, K]
    same /= np.sqrt(np.maximum(same.sum(0) - 1, 1))  # every label counts the same

    def statistic(order: NDArray[np.int64]) -> float:
        return float(np.sum(same[order] * (alike @ same[order])))

    null = [statistic(rng.permutation(len(labels))) for _ in range(_PERMUTATIONS)]
    deviation = np.std(null)
    if deviation == 0:
        return 0.0
    return (statistic(np.arange(len(labels))) - float(np.mean(null))) / float(deviation)
