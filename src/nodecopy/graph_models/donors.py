"""Donor rules: the distribution of ζ, which node's neighbourhood each node receives.

The paper draws ζ_j uniformly from j's predicted class (eqs. 3-4). Another rule keeps the rest
of the model and changes only that distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.task import Task
from nodecopy.saving import savable

# Probabilities that differ by less than this count as equal.
_EQUAL = 1e-6


class Donors(Protocol):
    """A distribution of ζ."""

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ζ [N]."""
        ...


class DonorRule(Protocol):
    """A way to derive the distribution of ζ from the base classifier's probabilities."""

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> Donors:
        """Return the distribution of ζ given class probabilities [N, K]."""
        ...


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

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ζ [N]: each ζ_j uniform over j's predicted class, j itself included (eq. 4)."""
        # In place where possible: on large graphs fresh memory costs more than arithmetic.
        place = rng.random(len(self.labels))
        place *= self.sizes[self.labels]
        offset = place.astype(np.int64)
        offset += self.starts[self.labels]
        return self.nodes[offset]


def class_sets(labels: ArrayLike, num_classes: int) -> ClassSets:
    """Collect the nodes of each predicted class: C_k = {ℓ : ĉ_ℓ = k} (eq. 3).

    >>> sets = class_sets([1, 0, 1], num_classes=2)
    >>> sets.nodes.tolist(), sets.sizes.tolist()
    ([1, 0, 2], [1, 2])
    """
    c = np.asarray(labels, np.int64)
    # A stable sort of small integers is a radix sort, O(N).
    order = np.argsort(c.astype(np.int16) if num_classes < 2**15 else c, kind="stable")
    counts = np.bincount(c, minlength=num_classes)
    return ClassSets(c, order, np.concatenate([[0], np.cumsum(counts)]))


@savable
@dataclass(frozen=True)
class HardClass:
    """The paper's rule: a node of the same predicted class, uniformly (eqs. 3-4).

    Args:
        set_apart: nodes whose classes are all equally probable form another set; else they fall
            to the first class. There are such nodes where no walk leads to a label.
    """

    set_apart: bool = False

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> ClassSets:
        """Form the class sets."""
        p = np.asarray(probabilities)
        labels = p.argmax(1)
        if self.set_apart:
            labels[np.ptp(p, axis=1) < _EQUAL] = task.num_classes
        sets = task.num_classes + self.set_apart
        labels += sets * task.kind_of_node  # donors are of the same kind
        return class_sets(labels, sets * max(len(task.kinds), 1))


@savable
@dataclass(frozen=True)
class SoftClass:
    """p(ζ_j = m) ∝ Σ_k p_jk p_mk: the probability that j and m share a class, replacing eq. 4."""

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> SoftDonors:
        """Keep the probabilities."""
        return SoftDonors(np.asarray(probabilities, np.float64))


@dataclass(frozen=True, eq=False)
class SoftDonors:
    """Donors weighted by the probability of a common class."""

    probabilities: NDArray[np.float64]  # [N, K]

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a class for each node, then a donor within it: exact, O(N (K + log N)).

        Class k is drawn with probability ∝ p_jk S_k, S_k = Σ_m p_mk; the donor with p_mk / S_k.
        """
        p = self.probabilities
        weight = np.cumsum(p * p.sum(0), axis=1)
        chosen = (rng.random((len(p), 1)) * weight[:, -1:] >= weight).sum(1)
        chosen = np.minimum(chosen, p.shape[1] - 1)
        uniform, zeta = rng.random(len(p)), np.empty(len(p), np.int64)
        for k in range(p.shape[1]):
            cumulative = np.cumsum(p[:, k])
            nodes = chosen == k
            donors = np.searchsorted(cumulative, uniform[nodes] * cumulative[-1], side="right")
            zeta[nodes] = np.minimum(donors, len(p) - 1)
        return zeta
