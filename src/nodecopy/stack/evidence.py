"""Why a fitted model prefers a class to the next one: its lead, divided into terms.

The lead of class a over class b at a node is p_a - p_b. In a pool p_mix = Σ_c w_c g_c(p_c) it is a
sum over components, and the log-odds of a component are a sum of terms t (`nodecopy.nn.evidence`):

    w_c (g_c(p_c)_a - g_c(p_c)_b) · t / log (p_ca / p_cb)

is what a term adds. The factor stays finite where the log-odds vanish, since the gap between the
two probabilities vanishes with them. What the terms of a component lack of its log-odds, because it
has none or averages several members, is a term "not explained". The calibration of the pool scales
all terms alike, and a class prior adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.features.kernel_map import FittedKernelMap
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.graph import Graph
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.stack.calibrator import FittedCalibrator
from nodecopy.stack.class_prior import weighted
from nodecopy.stack.stacked import FittedStack

# Log-odds and leads below this are zero.
_LEAST = 1e-9
# The term of what all numeric columns add together, see `_by_column`.
TOGETHER = -1


class Lead(NamedTuple):
    """The lead of the most probable class of a node over the next one.

    Attributes:
        a: the most probable class.
        b: the next one.
        probabilities: of the two.
        terms: what adds up to the lead.
        labels: the same lead by the labels that it was learnt from; empty where they are unknown.
    """

    a: int
    b: int
    probabilities: tuple[float, float]
    terms: Terms
    labels: Terms


class Part(NamedTuple):
    """A component of a model, on a graph.

    Attributes:
        fitted: the component.
        weight: w_c.
        calibrator: g_c; None where there is none.
        near: graph and features as it sees them.
        probabilities: p_c of every node [N, K].
    """

    fitted: Fitted
    weight: float
    calibrator: FittedCalibrator | None
    near: Neighbourhood
    probabilities: NDArray[np.floating]


class Mixture(NamedTuple):
    """A model on a graph, as components whose probabilities are added up.

    Attributes:
        parts: the components.
        finish: p without and with the class prior, given p_mix [n, K].
        kernel: replaces dense numeric columns, where there is one.
    """

    parts: list[Part]
    finish: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
    kernel: FittedKernelMap | None = None


class Leads:
    """The leads of nodes.

    Args:
        model: the fitted model.
        graph: the graph that it was fitted to.
        features: of its nodes, as the model sees them [N, D].
    """

    def __init__(self, model: Fitted, graph: Graph, features: FeatureMatrix) -> None:
        self._features = features
        if isinstance(model, FittedStack):
            self._mixture = mixture(model, graph, features)
        else:
            part = _part_of(model, 1.0, None, Neighbourhood(graph, features))
            self._mixture = Mixture([part], lambda p: (p, p))

    def of(self, numbers: Sequence[int]) -> list[Lead]:
        """Return the leads of some nodes; those of a pair of classes cost little more than one."""
        nodes, parts = np.array(numbers, np.int64), self._mixture.parts
        each = [_calibrated(part, nodes) for part in parts]
        mixed = sum(part.weight * p for part, p in zip(parts, each, strict=True))
        assert isinstance(mixed, np.ndarray)  # a model has a component
        pooled, final = self._mixture.finish(mixed)
        order = np.argsort(-final, axis=1, kind="stable")[:, :2]
        leads: dict[int, Lead] = {}
        for a, b in np.unique(order, axis=0).tolist():
            here = np.flatnonzero((order == [a, b]).all(1))
            views = _pooled_terms(parts, [p[here] for p in each], nodes[here], a, b)
            for at, (terms, labels) in zip(here.tolist(), views, strict=True):
                before, after, end = (p[at, a] - p[at, b] for p in (mixed, pooled, final))
                scale = after / before if abs(before) > _LEAST else 1.0
                terms, labels = _times(scale, terms), _times(scale, labels)
                if self._mixture.kernel is not None:
                    terms = _by_column(self._mixture.kernel, self._features, int(nodes[at]), terms)
                terms["class prior", 0] = float(end - after)
                two = float(final[at, a]), float(final[at, b])
                leads[at] = Lead(a, b, two, terms, labels)
        return [leads[at] for at in range(len(nodes))]


def mixture(stack: FittedStack, graph: Graph, features: FeatureMatrix) -> Mixture:
    """Return the components of a stack on the graph that they were fitted to."""
    labels = np.concatenate([stack.held_out.nodes, stack.held_out.single])
    graphs, mapped = stack.graphs(graph, features), stack.mapped(features)
    near = {
        view: Neighbourhood(view.of(graphs), mapped, stack.part, labels)
        for view in dict.fromkeys(stack.views)
    }
    pool, views = stack.pool, (near[view] for view in stack.views)
    each = zip(stack.components, pool.weights, pool.calibrators, views, strict=True)

    def finish(p: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pooled = pool.calibrator.apply(p)
        return pooled, pooled if stack.factors is None else weighted(pooled, stack.factors)

    return Mixture([_part_of(*one) for one in each], finish, stack.features)


def _part_of(
    fitted: Fitted, weight: float, calibrator: FittedCalibrator | None, near: Neighbourhood
) -> Part:
    """Return a component on a graph; if it was fitted to a part, all nodes are predicted first."""
    p = fitted.probabilities
    if near.nodes is not None:
        p = fitted.predict(near.graph, near.features, near.nodes).probabilities
    return Part(fitted, weight, calibrator, near, p)


def _calibrated(part: Part, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return g_c(p_c) of some nodes [n, K]."""
    p = np.asarray(part.probabilities[nodes], np.float64)
    return p if part.calibrator is None else part.calibrator.apply(p)


def _pooled_terms(
    parts: list[Part],
    calibrated: list[NDArray[np.float64]],
    nodes: NDArray[np.int64],
    a: int,
    b: int,
) -> list[tuple[Terms, Terms]]:
    """Return what each term of each component adds to the lead of p_mix; and each label."""
    pooled: list[tuple[Terms, Terms]] = [({}, {}) for _ in nodes]
    for part, p in zip(parts, calibrated, strict=True):
        if part.weight == 0:
            continue
        of = Contrast(nodes, a, b, part.probabilities)
        each = part.fitted.terms(part.near, of)
        gap, odds = p[:, a] - p[:, b], of.log_odds
        limit = (p[:, a] + p[:, b]) / 2
        scale = part.weight * np.divide(gap, odds, out=limit, where=np.abs(odds) > _LEAST)
        for totals, terms, log_odds, factor in zip(pooled, each, odds, scale, strict=True):
            learnt = {key: v for key, v in terms.items() if key[0] == "labelled node"}
            evidence = {key: v for key, v in terms.items() if key not in learnt}
            for total, view in zip(totals, (evidence, learnt), strict=True):
                view["not explained", 0] = log_odds - sum(view.values())
                for term, value in view.items():
                    total[term] = total.get(term, 0.0) + float(factor * value)
    return pooled


def _times(scale: float, terms: Terms) -> Terms:
    return {term: scale * value for term, value in terms.items()}


def _by_column(kernel: FittedKernelMap, features: FeatureMatrix, node: int, terms: Terms) -> Terms:
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
