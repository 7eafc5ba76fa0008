"""Donor rules: who may lend a neighbourhood to whom.

The paper draws ζ_j uniformly from j's predicted class. The other rules keep the rest of the model
and change only that distribution.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph_models.zeta import ClassSets, class_sets, sample_zeta, zeta_log_probability
from nodecopy.savable import savable

# Similarities computed at once when neighbours are searched among sparse features.
_BLOCK_ENTRIES = 20_000_000


# Of each task: by k and by the points that were searched, which are held so that no others can
# take their place in memory.
_Searches = dict[tuple[int, int], tuple[Any, "ListedDonors"]]
_SEARCHES: weakref.WeakKeyDictionary[Task, _Searches] = weakref.WeakKeyDictionary()


class Donors(Protocol):
    """A distribution of ζ."""

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ζ [N]."""
        ...

    def log_probability(self, zeta: NDArray[np.int64]) -> float:
        """Return log p(ζ)."""
        ...


class DonorRule(Protocol):
    """A way to derive the distribution of ζ from the base classifier's probabilities."""

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> Donors:
        """Return the distribution of ζ given class probabilities [N, K]."""
        ...


# Probabilities that differ by less say nothing.
_ALIKE = 1e-6


@savable
@dataclass(frozen=True)
class HardClass:
    """The paper's rule: a node of the same predicted class, uniformly (eqs. 3-4).

    Args:
        clamp_labels: use the known label instead of the predicted one where there is one; the paper
            uses ĉ for every node.
        set_apart: nodes whose classes are all equally probable form a set of their own; else they
            fall to the first class. There are such nodes where no walk leads to a label.
    """

    clamp_labels: bool = False
    set_apart: bool = False

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> HardDonors:
        """Form the class sets."""
        given = np.asarray(probabilities)
        labels = given.argmax(1)
        if self.set_apart:
            labels[np.ptp(given, axis=1) < _ALIKE] = task.num_classes
        if self.clamp_labels:
            labels[task.train] = task.labels[task.train]
        return HardDonors(class_sets(labels, task.num_classes + self.set_apart))


@dataclass(frozen=True, eq=False)
class HardDonors:
    """Uniform over the class set of each node."""

    sets: ClassSets

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ζ by equation 4."""
        return sample_zeta(self.sets, rng)

    def log_probability(self, zeta: NDArray[np.int64]) -> float:
        """Return log p(ζ) by equation 4."""
        return zeta_log_probability(zeta, self.sets)


@savable
@dataclass(frozen=True)
class SoftClass:
    """p(ζ_j = m) ∝ Σ_k p_jk p_mk: the chance that j and m share a class, in place of eq. 4."""

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
        spot, zeta = rng.random(len(p)), np.empty(len(p), np.int64)
        for k in range(p.shape[1]):
            cumulative = np.cumsum(p[:, k])
            mine = chosen == k
            found = np.searchsorted(cumulative, spot[mine] * cumulative[-1], side="right")
            zeta[mine] = np.minimum(found, len(p) - 1)
        return zeta

    def log_probability(self, zeta: NDArray[np.int64]) -> float:
        """Return Σ_j log of (Σ_k p_jk p_ζk / Σ_m Σ_k p_jk p_mk), or -∞ off the support."""
        p = self.probabilities
        if np.any((zeta < 0) | (zeta >= len(p))):
            return -np.inf
        with np.errstate(divide="ignore"):
            return float(np.log((p * p[zeta]).sum(1) / (p @ p.sum(0))).sum())


@savable
@dataclass(frozen=True, eq=False)
class NearestNeighbours:
    """A donor among the k nodes most alike by cosine, the node itself counted among them.

    The search takes O(N²) time. It is made once for a task, and for every fit only where the space
    is "probabilities".

    Args:
        k: how many candidates each node has.
        space: "features" (X), "probabilities" (the base classifier's), or an array [N, d].
    """

    k: int = 10
    space: Literal["features", "probabilities"] | NDArray[np.floating] = "features"

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> ListedDonors:
        """Find the candidates of every node."""
        if self.k < 1:
            raise ModelError(f"k must be at least 1; got {self.k}")
        if isinstance(self.space, str):
            if self.space not in ("features", "probabilities"):
                raise ModelError(
                    f"unknown space {self.space!r}; accepted: features, probabilities, an array"
                )
            points = task.features if self.space == "features" else probabilities
        else:
            points = self.space
        if points.ndim != 2 or points.shape[0] != task.graph.num_nodes:
            raise ModelError(
                f"the space needs a row per node: [{task.graph.num_nodes}, d]; "
                f"got {list(points.shape)}"
            )
        k = min(self.k, points.shape[0])
        if points is probabilities:
            return ListedDonors(_most_alike(points, k))
        # The online schedule fits the model anew at every epoch, to the same points.
        searches = _SEARCHES.setdefault(task, {})
        if (k, id(points)) not in searches:
            searches[k, id(points)] = points, ListedDonors(_most_alike(points, k))
        return searches[k, id(points)][1]


@dataclass(frozen=True, eq=False)
class ListedDonors:
    """Uniform over a list of candidates per node [N, k]."""

    candidates: NDArray[np.int64]

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one candidate for each node."""
        n, k = self.candidates.shape
        return self.candidates[np.arange(n), rng.integers(0, k, n)]

    def log_probability(self, zeta: NDArray[np.int64]) -> float:
        """Return -N log k, or -∞ where ζ leaves the lists."""
        n, k = self.candidates.shape
        listed = (self.candidates == np.asarray(zeta)[:, None]).any(1).all()
        return -n * float(np.log(k)) if listed else -np.inf


@dataclass(frozen=True)
class CallableDonors:
    """Any function (task, probabilities, rng) -> ζ [N]; its probability is not known."""

    function: Callable[[Task, NDArray[np.floating], np.random.Generator], NDArray[np.int64]]

    def donors(self, task: Task, probabilities: NDArray[np.floating]) -> CalledDonors:
        """Bind the arguments."""
        return CalledDonors(self.function, task, probabilities)


@dataclass(frozen=True, eq=False)
class CalledDonors:
    """Donors that a user's function draws."""

    function: Callable[[Task, NDArray[np.floating], np.random.Generator], NDArray[np.int64]]
    task: Task
    probabilities: NDArray[np.floating]

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Call the function and check its answer."""
        zeta = np.asarray(self.function(self.task, self.probabilities, rng))
        n = self.task.graph.num_nodes
        whole = np.issubdtype(zeta.dtype, np.integer)
        if not whole or zeta.shape != (n,) or zeta.min() < 0 or zeta.max() >= n:
            raise ModelError(
                f"a donor function must return {n} node numbers, 0 to {n - 1}; "
                f"got {zeta.dtype} of shape {list(zeta.shape)}"
            )
        return zeta.astype(np.int64)

    def log_probability(self, zeta: NDArray[np.int64]) -> float:
        """Refuse: a function that draws does not say with which probability."""
        raise ModelError("a donor function only draws; its probabilities are not known")


def _most_alike(points: sp.csr_array | NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Return the k rows with the largest cosine to each row, itself among them [N, k]."""
    points = sp.csr_array(points)  # dense ones too: one path, and a search is rare
    norms = np.sqrt(points.multiply(points).sum(1))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms, dtype=float), where=norms > 0)
    unit = sp.csr_array(sp.diags_array(scale) @ points)
    n = points.shape[0]
    block = max(1, _BLOCK_ENTRIES // n)
    found = np.empty((n, k), np.int64)
    for start in range(0, n, block):
        rows = np.arange(start, min(start + block, n))
        cosines = (unit[rows] @ unit.T).toarray()
        cosines[np.arange(len(rows)), rows] = np.inf
        found[rows] = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    return found
