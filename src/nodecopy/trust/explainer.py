"""The computation of explanations: what each piece of evidence adds to the log-odds of a class.

In a pool p_mix = Σ_c w_c g_c(p_c) the lead of class a over class b, p_a - p_b, is a sum over
components, and the log-odds of a component are a sum of terms t (`nodecopy.nn.evidence`):

    w_c (g_c(p_c)_a - g_c(p_c)_b) · t / log (p_ca / p_cb)

is what a term adds to the lead. The factor stays finite where the log-odds vanish, since the gap
between the two probabilities vanishes with them. What the terms of a component lack of its
log-odds, because it has none or averages several members, is a term "not explained". All terms are
then multiplied by the log-odds of the calibrated pool per unit of its lead, and a class prior adds
the logarithm of its factors: the sum is log p_a / p_b of the prediction.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from textwrap import shorten
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import shortened
from nodecopy.features.matrix import FeatureMatrix, row_blocks
from nodecopy.graph import Graph
from nodecopy.nn.evidence import (
    LEAST,
    OF_LABELS,
    OF_NODES,
    OTHERS,
    TOGETHER,
    Contrast,
    Neighbourhood,
    Source,
    Terms,
    by_column,
)
from nodecopy.problem.problem import Problem
from nodecopy.stack.base import FittedStack
from nodecopy.stack.class_prior import weighted
from nodecopy.stack.stacked import FittedClassStack
from nodecopy.stack.temperature import FittedCalibrator
from nodecopy.trust.explanation import Explanation, Row

# Log-odds and leads below this are zero.
_LEAST = 1e-9
# Nodes times nodes that are explained at a time: the entries of a dense matrix.
_MOST_ENTRIES = 2**24
# Labelled texts that the meaning of a text is described by, and their length.
_SIMILAR_TEXTS, _TEXT, _CLASS = 2, 60, 20


class Lead(NamedTuple):
    """The most probable class of a node, the next one, and why.

    Attributes:
        a: the most probable class.
        b: the next one.
        probabilities: of the two.
        terms: what adds up to log p_a / p_b.
        labels: the same by the labels that it was learnt from.
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
        probabilities: p_c of every node [N, K]; of numbers, one column.
    """

    fitted: Fitted
    weight: float
    calibrator: FittedCalibrator | None
    near: Neighbourhood
    probabilities: NDArray[np.floating]

    def calibrated(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return g_c(p_c) of some nodes [n, K]."""
        p = np.asarray(self.probabilities[nodes], np.float64)
        return p if self.calibrator is None else self.calibrator.apply(p)


class Explainer:
    """Explanations of the nodes of a fit; what they share is computed once.

    Args:
        given: the nodes, as the model was fitted to them.
        model: the fitted model.
    """

    def __init__(self, given: Problem, model: Fitted) -> None:
        together = 0 if given.meaning is None else given.meaning.dimension
        self._given, self._parts = given, parts_of(model, given.graph, given.scaled, together)
        self._stack = model if isinstance(model, FittedClassStack) else None

    def explain(self, nodes: Sequence[int]) -> list[Explanation]:
        """Return why nodes have their class, given their numbers."""
        size = max(_MOST_ENTRIES // self._given.num_nodes, 1)
        chunks = row_blocks(len(nodes), size)
        leads = (lead for at in chunks for lead in self._leads(np.array(nodes[at], np.int64)))
        explanations = []
        for node, lead in zip(nodes, leads, strict=True):
            a, b = self._given.classes[[lead.a, lead.b]].tolist()
            rows = named_views(self._given, node, lead.terms, lead.labels)
            name = node_name(self._given, node)
            explanations.append(Explanation(name, a, b, *lead.probabilities, *rows))
        return explanations

    def _leads(self, nodes: NDArray[np.int64]) -> list[Lead]:
        """Return the leads of some nodes [n], by way of a few dense matrices [N, n]."""
        each = [part.calibrated(nodes) for part in self._parts]
        mixed = np.sum([part.weight * p for part, p in zip(self._parts, each, strict=True)], 0)
        pooled = final = mixed
        kernel, prior = None, np.zeros(mixed.shape[1])
        if self._stack is not None:
            pooled = final = self._stack.pool.calibrator.apply(mixed)
            kernel = self._stack.features
            if self._stack.factors is not None:
                final = weighted(pooled, self._stack.factors)
                prior = np.log(np.maximum(self._stack.factors, LEAST))
        pairs = np.argsort(-final, axis=1, kind="stable")[:, :2]
        leads, views = [], _pooled_terms(self._parts, each, nodes, pairs)
        for at, ((a, b), views_of_one) in enumerate(zip(pairs.tolist(), views, strict=True)):
            lead = mixed[at, a] - mixed[at, b]
            scale = 2 / max(mixed[at, a] + mixed[at, b], LEAST)
            if abs(lead) > _LEAST:
                scale = _log_odds(pooled[at], a, b) / lead
            odds, shares = _log_odds(final[at], a, b), float(prior[a] - prior[b])
            terms, labels = (_totalled(one, scale, shares, odds) for one in views_of_one)
            if kernel is not None:
                terms = by_column(kernel, self._given.scaled, int(nodes[at]), terms)
            probabilities = float(final[at, a]), float(final[at, b])
            leads.append(Lead(a, b, probabilities, terms, labels))
        return leads


def parts_of(model: Fitted, graph: Graph, features: FeatureMatrix, together: int = 0) -> list[Part]:
    """Return the components of a model on the graph that it was fitted to; of a stack, several.

    Where the predictions of components for all nodes were not kept, because they were fitted to a
    part of the graph or come from a file, all nodes are predicted again.
    """
    if not isinstance(model, FittedStack):
        near = Neighbourhood(graph, features, together=together)
        return [Part(model, 1.0, None, near, model.probabilities)]
    labels = np.concatenate([model.held_out.nodes, model.held_out.single])
    graphs, mapped = model.graphs(graph, features, model.part), model.mapped(features)
    views = {
        view: Neighbourhood(view.of(graphs), mapped, model.part, labels, together)
        for view in dict.fromkeys(model.views)
    }
    pool, parts = model.pool, list[Part]()
    calibrators = getattr(pool, "calibrators", [None] * len(model.components))  # not of numbers
    each = zip(model.components, pool.weights, calibrators, model.views, strict=True)
    for number, (fitted, weight, calibrator, view) in enumerate(each):
        p = fitted.outputs if model.each is None else model.each[number]
        if len(p) != graph.num_nodes:
            p = fitted.predict(views[view].graph, mapped, model.part).outputs
        parts.append(Part(fitted, weight, calibrator, views[view], p))
    return parts


def named_views(
    given: Problem, node: int, evidence: Terms, labels: Terms
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return both views of what adds up to a prediction with everything named.

    Args:
        given: what nodes, columns and classes are called.
        node: the number of the node.
        evidence: all terms.
        labels: by the labels that they were learnt from.
    """
    rows, learnt = (named_rows(given, terms, node) for terms in (evidence, labels))
    form = "{:.6g}" if given.target == "number" else "{}"
    noted = (
        row._replace(note=form.format(given.classes[given.labels[row.number]]))
        if row.source == "labelled node"
        else row
        for row in learnt
    )
    return rows, tuple(noted)


def _pooled_terms(
    parts: list[Part],
    calibrated: list[NDArray[np.float64]],
    nodes: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> list[tuple[Terms, Terms]]:
    """Return what each term of each component adds to the lead of p_mix; and each label."""
    pooled: list[tuple[Terms, Terms]] = [({}, {}) for _ in nodes]
    for part, p in zip(parts, calibrated, strict=True):
        if part.weight == 0:
            continue
        of = Contrast(nodes, pairs[:, 0], pairs[:, 1], part.probabilities)
        each, odds = part.fitted.terms(part.near, of), of.log_odds
        p_a, p_b = np.take_along_axis(p, pairs, 1).T
        limit = (p_a + p_b) / 2
        scale = part.weight * np.divide(p_a - p_b, odds, out=limit, where=np.abs(odds) > _LEAST)
        for totals, terms, log_odds, factor in zip(pooled, each, odds, scale, strict=True):
            add_terms(totals, terms, log_odds, factor)
    return pooled


def add_terms(totals: tuple[Terms, Terms], terms: Terms, whole: float, factor: float) -> None:
    """Add the terms of a component to those of the pool: of all evidence, and of labels.

    Args:
        totals: both views of the pool.
        terms: of the component.
        whole: what they should add up to; what they lack of it is not explained.
        factor: weight of each.
    """
    learnt = {k: v for k, v in terms.items() if k[0] in OF_LABELS}
    evidence = {k: v for k, v in terms.items() if k[0] != "labelled node"}
    for total, view in zip(totals, (evidence, learnt), strict=True):
        view["not explained", 0] = whole - sum(view.values())
        for term, value in view.items():
            total[term] = total.get(term, 0.0) + float(factor * value)


def _log_odds(p: NDArray[np.float64], a: int, b: int) -> float:
    return float(np.log(max(p[a], LEAST) / max(p[b], LEAST)))


def _totalled(terms: Terms, scale: float, shares: float, odds: float) -> Terms:
    """Return terms of the lead as terms of the log-odds, with those of the class prior."""
    terms = {term: float(scale * value) for term, value in terms.items()}
    terms["class prior", 0] = terms.get(("class prior", 0), 0.0) + shares
    # What rounding leaves, and logarithms of probabilities of zero.
    terms["not explained", 0] += odds - sum(terms.values())
    return terms


def named_rows(given: Problem, terms: Terms, node: int) -> tuple[Row, ...]:
    """Return terms of a node with everything named, the largest first."""
    rows: dict[tuple[Source, Hashable], Row] = {}
    columns = given.columns if given.encoder is None else given.encoder.feature_names
    first = 0 if given.meaning is None else given.meaning.dimension
    read = any(source == "column" and 0 <= number < first for source, number in terms)
    similar = _similar_texts(given, node) if read else ""
    for (source, number), value in terms.items():
        name: Hashable = ""
        note = ""
        if source == "column" and 0 <= number < first:
            name, note = "its text", similar
        elif source == "column":
            name = _column(given, max(number - first, TOGETHER), columns)
        elif source in OF_NODES:
            name = node_name(given, number)
        elif source == "own label" and given.labels[node] < 0:
            source = "class name"  # its label was guessed from it
        if source == "neighbour" and number != OTHERS:
            note = _relations(given.graph.relations, node, number)
        held = rows.get((source, name), Row(source, name, 0.0, number, note))
        rows[source, name] = held._replace(log_odds=held.log_odds + value)
    return tuple(sorted(rows.values(), key=lambda row: -abs(row.log_odds)))


def _relations(relations: Mapping[str, Graph], node: int, other: int) -> str:
    """Return the relations of the edges that join two nodes, in either direction."""
    pairs = (node, other), (other, node)
    return ", ".join(
        name for name, edges in relations.items() if any(v in edges.neighbours(u) for u, v in pairs)
    )


def node_name(given: Problem, number: int) -> Hashable:
    """Name a node, by a plain value."""
    if number == OTHERS:
        return "all other neighbours"
    names = given.names
    if names is None or number >= len(names):
        return number
    name: Hashable = names[number : number + 1].tolist()[0]
    return name


def _similar_texts(given: Problem, node: int) -> str:
    """Name the labelled texts whose meaning is most similar to that of a node.

    A model from a file has no texts: their nodes are named.
    """
    named = []
    for one in given.similar_texts(node, _SIMILAR_TEXTS).tolist():
        text = f"that of {node_name(given, one)}"
        if given.texts is not None:
            text = f"“{shorten(str(given.texts[one]), _TEXT, placeholder=' …')}”"
        named.append(f"{text}, {shortened(str(given.classes[given.labels[one]]), _CLASS)}")
    return f"most like {'; and '.join(named)}" if named else ""


def _column(given: Problem, number: int, names: Sequence[str]) -> str:
    """Name a column; the directions of a kernel of numbers are one."""
    only = None if given.encoder is None else given.encoder.only
    kernel = None if only is None else only.kernel
    if number == TOGETHER or (kernel is not None and number < kernel.whitening.shape[1]):
        return "numbers together"
    if given.hubs is not None:
        return f"link to {node_name(given, int(given.hubs[number]))}"
    return names[number] if names else f"feature {number}"
