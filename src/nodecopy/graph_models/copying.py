"""The node-copying model: ζ (equations 3 and 4), G given ζ (equation 5), and the model as a whole.

Pal, Regol and Coates (2019), "Bayesian graph convolutional neural networks using node copying":

    ζ_j uniform over the predicted class of j                          (eqs. 3-4)
    row j of G is row j of G_obs with probability ε, else row ζ_j      (eq. 5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.task import Task
from nodecopy.graph import Graph
from nodecopy.graph_models.copied import CopiedGraph
from nodecopy.rng import stream
from nodecopy.saving import savable
from nodecopy.typed import Probability, Settings

# Probabilities that differ by less than this count as equal.
_EQUAL = 1e-6


@savable
@dataclass(frozen=True)
class NodeCopying(Settings):
    """Each node keeps its own neighbours with probability ε, else receives those of ζ_j.

    There is an edge wherever either end received it; ε = 1 gives back G_obs. Donors are of the same
    kind, where there are several kinds of nodes.

    Args:
        epsilon: ε; the paper uses a small one, 0 < ε ≪ 1.
        set_apart: nodes whose classes are all equally probable form another set of donors; else
            they fall to the first class. There are such nodes where no walk leads to a label.
    """

    epsilon: Probability = 0.01
    set_apart: bool = False

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> CopyingPosterior:
        """Form the class sets of the distribution of ζ; there is nothing else to infer."""
        p = np.asarray(probabilities)
        labels = p.argmax(1)
        if self.set_apart:
            labels[np.ptp(p, axis=1) < _EQUAL] = task.num_classes
        sets = task.num_classes + self.set_apart
        labels += sets * task.kind_of_node
        donors = class_sets(labels, sets * max(len(task.kinds), 1))
        return CopyingPosterior(task.graph, self.epsilon, donors)


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


@dataclass(frozen=True, eq=False)
class CopyingPosterior:
    """p(G | G_obs, ζ) p(ζ | G_obs, X, Y).

    Attributes:
        observed: G_obs.
        epsilon: ε.
        donors: the sets that ζ is drawn from.
    """

    observed: Graph
    epsilon: float
    donors: ClassSets

    def zeta(self, seed: int, v: int) -> NDArray[np.int64]:
        """Draw ζ_v [N] (line 5 of Algorithm 1)."""
        return self.donors.sample(stream(seed, "zeta", v))

    def source(self, seed: int, v: int, i: int) -> NDArray[np.int64]:
        """Draw G_{i,v} as an integer vector [N]: whose neighbours each node receives (line 7)."""
        return sample_source(self.zeta(seed, v), self.epsilon, stream(seed, "graph", v, i))

    def graph(self, seed: int, v: int, i: int) -> CopiedGraph:
        """Draw G_{i,v}, to be read by rows."""
        return CopiedGraph(self.observed, self.source(seed, v, i))


def sample_source(
    zeta: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Decide for each row whether it stays (probability ε) or becomes row ζ_j (eq. 5): [N].

    >>> sample_source(np.array([2, 2, 0]), 1.0, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    >>> sample_source(np.array([2, 2, 0]), 0.0, np.random.default_rng(0)).tolist()
    [2, 2, 0]
    """
    stays = np.flatnonzero(rng.random(len(zeta)) < epsilon)
    source = zeta.copy()
    source[stays] = stays
    return source
