"""ζ: which node's neighbourhood each node receives (equations 3 and 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.errors import ModelError


class ClassSets(NamedTuple):
    """The sets C_k of nodes by predicted class (eq. 3).

    C_k is ``nodes[starts[k]:starts[k + 1]]``, in increasing order.
    """

    labels: NDArray[np.int64]  # [N], ĉ
    nodes: NDArray[np.int64]  # [N], grouped by class
    starts: NDArray[np.int64]  # [K + 1]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """|C_k| of each class [K]."""
        return np.diff(self.starts)


def class_sets(labels: ArrayLike, num_classes: int) -> ClassSets:
    """Collect the nodes of each predicted class: C_k = {ℓ : ĉ_ℓ = k} (eq. 3).

    >>> sets = class_sets([1, 0, 1], num_classes=2)
    >>> sets.nodes.tolist(), sets.sizes.tolist()
    ([1, 0, 2], [1, 2])
    """
    c = np.asarray(labels, np.int64)
    if c.size and not 0 <= c.min() <= c.max() < num_classes:
        raise ModelError(f"predicted labels must lie in 0 to {num_classes - 1}")
    # A stable sort of small integers is a radix sort, O(N).
    order = np.argsort(c.astype(np.int16) if num_classes < 2**15 else c, kind="stable")
    counts = np.bincount(c, minlength=num_classes)
    return ClassSets(c, order, np.concatenate([[0], np.cumsum(counts)]))


def sample_zeta(sets: ClassSets, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw ζ [N]: each ζ_j uniform over j's predicted class, j itself included (eq. 4)."""
    # In place where possible: on large graphs fresh memory costs more than arithmetic.
    share = rng.random(len(sets.labels))
    share *= sets.sizes[sets.labels]
    place = share.astype(np.int64)
    place += sets.starts[sets.labels]
    return sets.nodes[place]


def zeta_log_probability(zeta: ArrayLike, sets: ClassSets) -> float:
    """Return log p(ζ | G_obs, X, Y) = -Σ_j log |C_{ĉ_j}|, or -∞ off the support (eq. 4)."""
    donors = np.asarray(zeta, np.int64)
    if donors.shape != sets.labels.shape:
        raise ModelError(f"ζ needs one donor per node: {len(sets.labels)}; got {donors.shape}")
    exist = np.all((donors >= 0) & (donors < len(donors)))
    if not exist or not np.array_equal(sets.labels[donors], sets.labels):
        return -np.inf
    return -float(np.log(sets.sizes[sets.labels]).sum())
