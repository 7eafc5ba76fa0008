"""The node-copying model: ζ (equations 3 and 4), G given ζ (equation 5), and the model as a whole.

Pal, Regol and Coates (2019), "Bayesian graph convolutional neural networks using node copying":

    ζ_j uniform over the predicted class of j                          (eqs. 3-4)
    row j of G is row j of G_obs with probability ε, else row ζ_j      (eq. 5)

A copied graph is an integer vector and G_obs, and stays so. Row j of the copied matrix C is row
``source[j]`` of G_obs; column j of C, which the undirected graph needs, holds every u whose source
is a neighbour of j. An inverse index of ``source`` finds those, so a row costs what it holds, and
nothing sorts all E edges. Where most rows are asked for, building the whole graph once is cheaper,
and is what happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Probability, Settings
from nodecopy.graph import Graph, Rows
from nodecopy.graph.arrays import distinct, unpacked
from nodecopy.problem.task import Task

# Probabilities that differ by less than this count as equal.
_EQUAL = 1e-6
# From this share of all rows on, building the graph costs less than reading it by rows; so it does
# where the observed graph has few entries, of whatever share.
_MOST = 0.25
_FEW = 2**15


@savable
@dataclass(frozen=True)
class NodeCopying(Settings):
    """Each node keeps its own neighbours with probability ε, else receives those of ζ_j.

    There is an edge wherever either end received it; ε = 1 gives back G_obs. Donors are of the same
    type, where there are several node types.

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
        labels += sets * task.type_of_node
        donors = class_sets(labels, sets * max(len(task.node_types), 1))
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


@dataclass(frozen=True, eq=False, repr=False)
class CopiedGraph:
    """The graph in which node j has the observed neighbours of ``source[j]``.

    Attributes:
        observed: G_obs.
        source: whose neighbours each node receives [N].
    """

    observed: Graph
    source: NDArray[np.int64]

    def __repr__(self) -> str:
        """Show the observed graph."""
        return f"CopiedGraph({self.observed!r})"

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.observed.num_nodes

    def take_rows(self, rows: NDArray[np.int64]) -> Rows:
        """Gather rows: row i of the answer is row ``rows[i]`` of this graph."""
        if self._better_built(rows):
            return self.built.take_rows(rows)
        return self._merged(rows, self.observed.take_rows(self.source[rows]), self._given(rows))

    def strengths(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of the weights in each of some rows."""
        built = self._better_built(rows)
        return self.built.strengths(rows) if built else self.take_rows(rows).strengths()

    @cached_property
    def built(self) -> Graph:
        """The whole graph."""
        return self.observed.copied(self.source)

    def _better_built(self, rows: NDArray[np.int64]) -> bool:
        return len(rows) > _MOST * self.num_nodes or len(self.observed.indices) < _FEW

    def _given(self, rows: NDArray[np.int64]) -> Rows:
        """Return some columns of C: for each j, every u that copied a neighbour of j."""
        donors = self.observed.take_rows(rows)  # s in N(j), which is j in N(s)
        receivers = self._receivers[donors.indices]  # of each s
        weights = None
        if donors.weights is not None:
            weights = np.repeat(donors.weights, np.diff(receivers.indptr))
        begins = receivers.indptr.astype(np.int64)[donors.indptr]
        return Rows(begins, receivers.indices.astype(np.int32, copy=False), weights)

    @cached_property
    def _receivers(self) -> sp.csr_array:
        """The inverse of ``source``: row s holds every u with source s; by a counting sort."""
        n = self.num_nodes
        sources = np.ones(n, np.int8), self.source.astype(np.int32), np.arange(n + 1)
        return sp.csr_array(sources, shape=(n, n)).T.tocsr()

    def _merged(self, rows: NDArray[np.int64], *parts: Rows) -> Rows:
        """Join entries of the same rows, each entry once with the larger weight, without loops."""
        place = [np.repeat(np.arange(len(rows)), np.diff(part.indptr)) << 32 for part in parts]
        keys = np.concatenate([at | part.indices for at, part in zip(place, parts, strict=True)])
        other = rows[keys >> 32] != keys & 0xFFFFFFFF
        values = None
        if self.observed.weights is not None:
            weights = [part.weights for part in parts if part.weights is not None]
            values = np.concatenate(weights)[other]
        keys, values = distinct(keys[other], values)
        return Rows(*unpacked(keys, len(rows)), values)


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
