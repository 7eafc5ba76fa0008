"""Evidence: why a fit prefers one class to another at a node, as terms that add up.

A fit whose log-odds log p_ja / p_jb are a sum says what it is a sum of: own columns of the node,
its neighbours, similar nodes, its position. Of features that diffuse, with the scores
s = X (W_a - W_b), walks from j are divided by the first edge over which they leave it, after r
steps of staying at j:

    (Π s)_j = Σ_t c_t (Âᵗ s)_j = s_j Σ_t c_t Â_jjᵗ + Σ_i Â_ji Σ_r Â_jjʳ Σ_t c_(r+1+t) (Âᵗ s)_i

so that what reaches a node over an edge is counted for that edge, exactly.

The same log-odds are a sum over the labels, too: W is a sum of rows z_l of Π X at labelled nodes
(Schölkopf, Herbrich and Smola 2001, "A generalized representer theorem"), so that each adds a
multiple of z_j z_l.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nodecopy.features.kernel_map import FittedKernelMap
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import whole_adjacency
from nodecopy.nn.products import Features, kept_features

if TYPE_CHECKING:
    from nodecopy.nn.diffusion import Diffusion

Source = Literal[
    "column",
    "neighbour",
    "similar node",
    "own label",
    "position",
    "class name",
    "class prior",
    "not explained",
    "labelled node",
]
OF_NODES: tuple[Source, ...] = ("neighbour", "similar node", "labelled node")
# What predictions are learnt from.
OF_LABELS: tuple[Source, ...] = ("labelled node", "class prior", "class name")
# Smaller probabilities are taken for this one.
LEAST = 1e-30
# Added to Z Zᵀ, as a share of its mean diagonal.
_RIDGE = 1e-6
# Labels, and labels times nodes, beyond which it is not computed what each label adds.
_MOST_LABELS, _MOST_ENTRIES = 1_000, 5e7
# Neighbours that are named, and the number of the term of all others.
_MOST_EDGES, OTHERS = 1_000, -1
# The number of the term of what all numeric columns add together, see `by_column`.
TOGETHER = -1
# By source, and number of the column or node; 0 where a source has no numbers.
Terms = dict[tuple[Source, int], float]


class Neighbourhood:
    """A graph and its features, and what several fits need of them to explain nodes.

    Args:
        graph: as the fits see it.
        features: as the fits see them [N, D].
        nodes: where the nodes of the fits are in the graph, as in `Fitted.predict`; None where
            it is the graph that they were fitted to.
        labels: the nodes of the graph whose labels they were fitted to, as far as they are known.
        together: so many first columns have one term, as the vector of a text has.
    """

    def __init__(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        labels: ArrayLike = (),
        together: int = 0,
    ) -> None:
        self.graph, self.features, self.nodes = graph, features, nodes
        self.together = together
        self.labels = np.asarray(labels, np.int64)
        self._seen: tuple[FittedKernelMap, Neighbourhood] | None = None
        self.labelled: dict[Diffusion, tuple[Tensor, Tensor]] = {}  # Z, and (Z Zᵀ)⁻¹

    @cached_property
    def fitted(self) -> Neighbourhood:
        """The part that the fits were fitted to, in the order of their nodes."""
        if self.nodes is None:
            return self
        within = np.searchsorted(self.nodes, self.labels)
        graph, features = self.graph.built.induced(self.nodes), self.features[self.nodes]
        return Neighbourhood(graph, features, labels=within)

    def seen(self, kernel: FittedKernelMap) -> Neighbourhood:
        """Return the same with features seen through a kernel, made once."""
        if self._seen is None or self._seen[0] is not kernel:
            mapped = kernel.apply(self.features)
            self._seen = kernel, Neighbourhood(self.graph, mapped, self.nodes, self.labels)
        return self._seen[1]

    @cached_property
    def adjacency(self) -> sp.csr_array[np.float32]:
        """Â [N, N]."""
        indptr, columns, values = whole_adjacency(self.graph)
        return sp.csr_array((values, columns, indptr), shape=(self.graph.num_nodes,) * 2)

    @cached_property
    def x(self) -> Features:
        """X with rows of length one."""
        return kept_features(self.features, torch.device("cpu"))

    def own_columns(self, of: Contrast, weights: NDArray[np.floating]) -> list[Terms]:
        """Return what each column of each node adds, given weights of the columns [D, K]."""
        rows = sp.csr_array(unit_rows(self.features[of.nodes]))
        a, b = np.repeat([of.a, of.b], np.diff(rows.indptr), axis=1)
        values = rows.data.astype(np.float64)
        values *= weights[rows.indices, a] - weights[rows.indices, b]
        each = list[Terms]()
        for entries in starmap(slice, pairwise(rows.indptr.tolist())):
            columns, added = rows.indices[entries], values[entries]
            one = columns < self.together
            first: Terms = {("column", 0): float(added[one].sum())} if one.any() else {}
            others = zip(columns[~one].tolist(), added[~one].tolist(), strict=True)
            each.append(first | {("column", d): value for d, value in others})
        return each


class Contrast(NamedTuple):
    """What is to be explained: class a against class b at each node, with these probabilities.

    Attributes:
        nodes: which [n].
        a: the class that is preferred at each [n].
        b: the class that it is compared with [n].
        probabilities: of the fit that is explained, of every node [N, K].
    """

    nodes: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    probabilities: NDArray[np.floating]

    @property
    def classes(self) -> NDArray[np.int64]:
        """The classes that are compared at any node, ascending [C]."""
        return np.union1d(self.a, self.b)

    @property
    def places(self) -> NDArray[np.int64]:
        """Where a and b of each node are among the `classes` [2, n]."""
        return np.searchsorted(self.classes, [self.a, self.b])

    @property
    def both(self) -> NDArray[np.float64]:
        """The probabilities of a and b at each node [2, n]."""
        return self.probabilities[self.nodes, np.array([self.a, self.b])].astype(np.float64)

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """The logarithm of p_a / p_b at each node [n]."""
        p_a, p_b = np.maximum(self.both, LEAST)
        result: NDArray[np.float64] = np.log(p_a / p_b)
        return result


def label_terms(network: Diffusion, w: Tensor, near: Neighbourhood, of: Contrast) -> list[Terms]:
    """Return what each label adds to the logit of a minus that of b at each node.

    The coefficients of the labels follow from their logits on the graph of the fit,
    W = Zᵀ (Z Zᵀ)⁻¹ Z W: exactly, if W is the maximum of a posterior there, and else what comes
    nearest at these nodes. Similarity to a label counts as far as it is above the mean; the rest is
    common to all labels, and left.

    Args:
        network: linear in W.
        w: W [D, K] of the fit; where X = I, of its nodes.
        near: graph and features.
        of: what to explain.
    """
    labels = near.labels
    if not 0 < len(labels) <= min(_MOST_LABELS, _MOST_ENTRIES / near.fitted.graph.num_nodes):
        return [{} for _ in of.nodes]
    if network not in near.labelled:
        rows = network.rows(near.fitted, near.fitted.labels).double()  # Z [L, D]
        gram = rows @ rows.T
        gram.diagonal().add_(_RIDGE * gram.diagonal().mean())
        near.labelled[network] = rows, torch.linalg.pinv(gram, hermitian=True)
    rows, inverse = near.labelled[network]
    learnt = inverse @ (rows @ w[:, of.classes].double())  # [L, C]
    a, b = of.places
    at = network.rows(near, of.nodes).double()
    if near.nodes is not None and not network.features:
        at = at[:, torch.as_tensor(near.nodes)]
    similar = at @ rows.T  # [n, L]
    similar -= similar.mean(1, keepdim=True)
    values, nodes = (similar * (learnt[:, a] - learnt[:, b]).T).tolist(), labels.tolist()
    return [
        {("labelled node", node): value for node, value in zip(nodes, each, strict=True)}
        for each in values
    ]


def first_edges(
    adjacency: sp.csr_array[np.float32],
    coefficients: NDArray[np.float64],
    scores: NDArray[np.float64],
    of: Contrast,
) -> Iterator[tuple[float, float, Terms]]:
    """Yield for each node s_j, its weight, and what comes over each edge.

    Args:
        adjacency: Â [N, N].
        coefficients: c [T + 1].
        scores: X W of the classes that are compared [N, C]; s is the difference of two columns.
        of: what to explain.
    """
    hops = len(coefficients) - 1
    rows, own_scores = adjacency[of.nodes], np.subtract(*scores[of.nodes, of.places])
    counts = np.diff(rows.indptr)
    away = rows.indices != np.repeat(of.nodes, counts)
    a, b = np.repeat(of.places, counts, axis=1)
    kept = [rows.data[s:e] @ ~away[s:e] for s, e in pairwise(rows.indptr.tolist())]  # Â_jj
    stays = np.array(kept, np.float64)[:, None] ** np.arange(hops + 1)
    terms = np.zeros(len(away))
    for t in range(hops):
        scores = np.asarray(adjacency @ scores) if t else scores  # Âᵗ s
        weights = stays[:, : hops - t] @ coefficients[t + 1 :]
        leads = scores[rows.indices, a] - scores[rows.indices, b]
        terms += np.repeat(weights, counts) * leads
    terms *= rows.data
    entries = starmap(slice, pairwise(rows.indptr.tolist()))
    own = zip(own_scores.tolist(), (stays @ coefficients).tolist(), entries, strict=True)
    for score, weight, part in own:
        others = away[part] & (hops > 0)
        yield score, weight, terms_of_edges(rows.indices[part][others], terms[part][others])


def terms_of_edges(others: NDArray[np.integer], terms: NDArray[np.float64]) -> Terms:
    """Return what comes over each edge; of very many, over the smallest ones together."""
    rest: Terms = {}
    if len(terms) > _MOST_EDGES:
        order = np.argpartition(-np.abs(terms), _MOST_EDGES)
        rest["neighbour", OTHERS] = float(terms[order[_MOST_EDGES:]].sum())
        others, terms = others[order[:_MOST_EDGES]], terms[order[:_MOST_EDGES]]
    pairs = zip(others.tolist(), terms.tolist(), strict=True)
    return {("neighbour", other): term for other, term in pairs} | rest


def by_column(kernel: FittedKernelMap, features: FeatureMatrix, node: int, terms: Terms) -> Terms:
    """Return terms of numeric columns in place of those of the directions of their kernel.

    A column gets what replacing it by its mean takes away. These parts do not add up exactly,
    since a kernel is not linear; what is left is what the columns add together.
    """
    row = np.array(features[np.array([node])], np.float64)
    others = np.repeat(row, row.shape[1], axis=0)
    np.fill_diagonal(others, kernel.mean)
    mapped = np.asarray(unit_rows(kernel.apply(np.concatenate([row, others], dtype=np.float32))))
    values = np.array([terms.pop(("column", d), 0.0) for d in range(mapped.shape[1])])
    weights = np.divide(values, mapped[0], out=np.zeros(len(values)), where=mapped[0] != 0)
    without = mapped[1:] @ weights
    parts = values.sum() - without
    split: Terms = {("column", d): float(value) for d, value in enumerate(parts)}
    return terms | split | {("column", TOGETHER): float(values.sum() - parts.sum())}
