"""How a sampled graph differs from the observed one, and how far ε lets it go.

The paper says that ε controls the expected edit distance between a sample and G_obs. For the
paper's donor rule and the union construction that expectation has a closed form. With c = ĉ and

    a_vk = |N(v) ∩ C_k| / |C_k|        the share of class k that neighbours v
    q_uv = ε A_uv + (1 - ε) a_{v,c(u)}  the chance that the row u receives has v

the rows of u and v are drawn independently, so P(edge uv) = 1 - (1 - q_uv)(1 - q_vu).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.errors import GraphError, ModelError
from nodecopy.graph import Graph
from nodecopy.graph_models.copying import CopyingPosterior
from nodecopy.graph_models.donors import HardDonors
from nodecopy.graph_models.zeta import ClassSets, class_sets


@dataclass(frozen=True)
class GraphSummary:
    """One graph in a few numbers; self-loops do not count.

    Attributes:
        edges: E.
        mean_degree: 2 E / N.
        max_degree: of any node.
        homophily: share of edges that join equal labels, both known; NaN where there is none.
    """

    edges: int
    mean_degree: float
    max_degree: int
    homophily: float


@dataclass(frozen=True)
class GraphComparison:
    """A sampled graph beside the observed one.

    Attributes:
        observed: the observed graph.
        sample: the sampled one.
        degree_distance: largest difference of the two degree distribution functions (Kolmogorov).
        kept: share of the observed edges that the sample has; NaN where none was observed.
        overlap: common edges over edges of either (Jaccard); NaN where neither has one.
        edit_distance: edges added plus edges removed.
    """

    observed: GraphSummary
    sample: GraphSummary
    degree_distance: float
    kept: float
    overlap: float
    edit_distance: int


def compare_graphs(observed: Graph, sample: Graph, labels: ArrayLike) -> GraphComparison:
    """Compare the edges of two undirected graphs on the same nodes; weights play no part.

    Args:
        observed: G_obs.
        sample: e.g. a draw of a graph posterior.
        labels: one per node [N], -1 where unknown; they decide the homophily of both.

    >>> path, star = (Graph.from_edges(4, e) for e in ([(0, 1), (1, 2)], [(0, 1), (0, 2), (0, 3)]))
    >>> difference = compare_graphs(path, star, [0, 0, 1, 1])
    >>> difference.edit_distance, difference.kept, difference.overlap
    (3, 0.5, 0.25)
    """
    if observed.directed or sample.directed:
        raise GraphError("compare_graphs takes undirected graphs; symmetrise() a directed one")
    if observed.num_nodes != sample.num_nodes:
        raise GraphError(
            "compare_graphs takes graphs on the same nodes; "
            f"got {observed.num_nodes} and {sample.num_nodes}"
        )
    observed, sample = observed.without_self_loops(), sample.without_self_loops()
    common = int(np.count_nonzero(sample.contains(*observed.edges().T)))
    either = observed.num_edges + sample.num_edges - common
    return GraphComparison(
        observed=_summary(observed, labels),
        sample=_summary(sample, labels),
        degree_distance=_kolmogorov(observed.degrees, sample.degrees),
        kept=common / observed.num_edges if observed.num_edges else float("nan"),
        overlap=common / either if either else float("nan"),
        edit_distance=either - common,
    )


def edge_probability(
    posterior: CopyingPosterior, u: ArrayLike, v: ArrayLike
) -> NDArray[np.float64]:
    """Return P(edge uv) = 1 - (1 - q_uv)(1 - q_vu) of pairs of nodes, over ζ and G alike.

    Args:
        posterior: of `NodeCopying` with `HardClass` donors and the union construction.
        u: nodes, any shape.
        v: nodes, of a shape that broadcasts with u.
    """
    if not isinstance(posterior.donors, HardDonors) or posterior.model.construction != "union":
        raise ModelError(
            "edge probabilities are known for HardClass donors and construction='union'; got "
            f"{posterior.model.donors} and construction={posterior.model.construction!r}"
        )
    observed, sets = _simple(posterior.task.graph), posterior.donors.sets
    share = _neighbour_shares(observed, sets)  # [N, K]
    moves = _move_probability(posterior.model.epsilon, observed.num_nodes)  # [N], 1 - ε
    u, v = np.broadcast_arrays(np.asarray(u), np.asarray(v))
    stays = observed.contains(u, v)
    q_uv = (1.0 - moves[u]) * stays + moves[u] * share[v, sets.labels[u]]
    q_vu = (1.0 - moves[v]) * stays + moves[v] * share[u, sets.labels[v]]
    return np.where(u == v, 0.0, 1.0 - (1.0 - q_uv) * (1.0 - q_vu))


def expected_edit_distance(
    observed: Graph, labels: ArrayLike, num_classes: int, epsilon: ArrayLike
) -> float:
    """Return E[edges added + edges removed] of a union sample, exactly, in O(N K + E).

    The sum of P(edge uv) over all pairs factors over classes once A_uv is left out of q. The pairs
    that are edges, where A_uv counts, are then put right one by one.

    Args:
        observed: G_obs, undirected, without self-loops or weights.
        labels: ĉ, a class for every node [N].
        num_classes: K.
        epsilon: ε, or one per node [N].

    >>> triangle = Graph.from_edges(4, [(0, 1), (1, 2), (0, 2)])
    >>> expected_edit_distance(triangle, [0, 0, 0, 0], num_classes=1, epsilon=1.0)
    0.0
    """
    sets = class_sets(labels, num_classes)
    if len(sets.labels) != observed.num_nodes:
        raise ModelError(f"labels need one per node: {observed.num_nodes}; got {len(sets.labels)}")
    share = _neighbour_shares(_simple(observed), sets)  # [N, K]
    moves = _move_probability(epsilon, observed.num_nodes)  # [N], 1 - ε
    without = _expected_edges_ignoring_observed(share, moves, sets)
    u, v = observed.edges().T
    given, taken = share[v, sets.labels[u]], share[u, sets.labels[v]]
    missing = moves[u] * moves[v] * (1.0 - given) * (1.0 - taken)
    counted = 1.0 - (1.0 - moves[u] * given) * (1.0 - moves[v] * taken)
    return max(0.0, without + float((missing - counted).sum()))


def _expected_edges_ignoring_observed(
    share: NDArray[np.float64], moves: NDArray[np.float64], sets: ClassSets
) -> float:
    """Return Σ_{u<v} P(edge uv), with q_uv = (1 - ε) a_{v,c(u)} whether or not uv is an edge.

    Over all ordered pairs, the diagonal included, Σ q_uv = Σ_k (Σ_{u∈C_k} 1 - ε)(Σ_v a_vk) and
    Σ q_uv q_vu = Σ_{k,l} B_kl B_lk with B_kl = Σ_{u∈C_k} (1 - ε) a_ul.
    """
    classes = len(sets.sizes)
    moving = np.bincount(sets.labels, weights=moves, minlength=classes)  # [K]
    between = np.zeros((classes, classes))  # B
    np.add.at(between, sets.labels, moves[:, None] * share)
    own = moves * np.take_along_axis(share, sets.labels[:, None], axis=1)[:, 0]  # [N], q_uu
    received = float(moving @ share.sum(0) - own.sum())
    both = float((between * between.T).sum() - (own**2).sum())
    return received - both / 2


def _neighbour_shares(observed: Graph, sets: ClassSets) -> NDArray[np.float64]:
    """Return a_vk = |N(v) ∩ C_k| / |C_k| [N, K]; 0 for an empty class."""
    n, k = observed.num_nodes, len(sets.sizes)
    cells = observed.row_of_entry() * k + sets.labels[observed.indices]
    counts = np.bincount(cells, minlength=n * k).reshape(n, k)
    return counts / np.maximum(sets.sizes, 1)


def _move_probability(epsilon: ArrayLike, num_nodes: int) -> NDArray[np.float64]:
    """Return 1 - ε for every node [N]."""
    given = np.asarray(epsilon, float)
    if given.shape not in ((), (num_nodes,)) or not np.all((given >= 0) & (given <= 1)):
        raise ModelError(
            f"epsilon must be one number or one per node ({num_nodes}), between 0 and 1; "
            f"got {epsilon!r}"
        )
    return np.broadcast_to(1.0 - given, num_nodes)


def _simple(graph: Graph) -> Graph:
    if graph.directed or graph.weights is not None or graph.num_self_loops:
        raise ModelError(
            "the closed form needs an undirected graph without weights and self-loops; "
            f"got {graph} with {graph.num_self_loops} self-loops"
        )
    return graph


def _summary(graph: Graph, labels: ArrayLike) -> GraphSummary:
    return GraphSummary(
        edges=graph.num_edges,
        mean_degree=2 * graph.num_edges / max(graph.num_nodes, 1),
        max_degree=int(graph.degrees.max(initial=0)),
        homophily=graph.homophily(labels),
    )


def _kolmogorov(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the largest difference of the distribution functions of two samples of one size."""
    largest = max(int(first.max(initial=0)), int(second.max(initial=0)))
    counts = [np.bincount(degrees, minlength=largest + 1) for degrees in (first, second)]
    gap = np.cumsum(counts[0] - counts[1])
    return float(np.abs(gap).max() / max(len(first), 1))
