"""Why a node has its class: its lead over the next class as named rows that add up.

The lead of class a over class b at a node is p_a - p_b. In a pool p_mix = Σ_c w_c g_c(p_c) it is a
sum over components, and the log-odds of a component are a sum of terms t (`nodecopy.nn.evidence`):

    w_c (g_c(p_c)_a - g_c(p_c)_b) · t / log (p_ca / p_cb)

is what a term adds. The factor stays finite where the log-odds vanish, since the gap between the
two probabilities vanishes with them. What the terms of a component lack of its log-odds, because it
has none or averages several members, is a term "not explained". The calibration of the pool scales
all terms alike, and a class prior adds one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import InputError, shortened
from nodecopy.features.kernel_map import FittedKernelMap
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.graph import Graph
from nodecopy.nn.evidence import OF_NODES, OTHERS, Contrast, Neighbourhood, Source, Terms
from nodecopy.problem.problem import Problem
from nodecopy.stack.class_prior import weighted
from nodecopy.stack.stacked import FittedStack
from nodecopy.stack.temperature import FittedCalibrator

# Log-odds and leads below this are zero.
_LEAST = 1e-9
# The term of what all numeric columns add together, see `_by_column`.
TOGETHER = -1
# Labelled texts that the meaning of a text is described by, and their length.
_SIMILAR_TEXTS, _TEXT = 2, 60
# Rows of one source that are named in a summary.
_NAMED = 4
_ABOUT: dict[Source, str] = {
    "neighbour": "neighbours",
    "column": "own columns",
    "similar node": "similar nodes",
    "position": "position in the graph",
    "class prior": "class prior",
    "not explained": "not explained",
}
LABELS = "labels that count most"
# Smaller ones, as a part of one, are not shown.
_SHOWN = 0.0005


class Row(NamedTuple):
    """A piece of evidence.

    Attributes:
        source: what it is.
        name: of the column or node.
        points: what it adds to the lead, a difference of probabilities; negative if against it.
        number: of the node, or of the column of the features.
        over: the types of the edges to a neighbour, where there are several.
    """

    source: Source
    name: Hashable
    points: float
    number: int
    over: str = ""

    @property
    def title(self) -> str:
        """The name, with the types of the edges."""
        return f"{self.name} ({self.over})" if self.over else str(self.name)


class Group(NamedTuple):
    """All evidence of one source: what it adds, how many rows favour the class, the largest."""

    title: str
    points: float
    rows: list[Row]


@dataclass(frozen=True)
class Explanation:
    """Why a node has its most probable class, and not the next one.

    The points of all rows of `evidence` add up to the lead, ``probability - next_probability``.
    What a neighbour adds is all that reaches the node over that edge, from behind the neighbour,
    too; beyond 1,000 neighbours, the smallest are one row, "all other neighbours". Exact, but for
    the row "not explained": components that are not linear, and the averaging of members. Numeric
    columns that go through a kernel are divided approximately: each has what its mean in its place
    would take away, and the row "numbers together" what is left.

    Attributes:
        node: name or number.
        label: its most probable class.
        against: the next one.
        probability: of the first.
        next_probability: of the second.
        evidence: the largest first.
        labels: the same lead by the labelled nodes that the model learnt from; what is common to
            all of them, or was learnt otherwise, is its row "not explained". Empty where labels are
            not known, or very many.
    """

    node: Hashable
    label: Any
    against: Any
    probability: float
    next_probability: float
    evidence: tuple[Row, ...]
    labels: tuple[Row, ...] = ()

    @property
    def lead(self) -> float:
        """The difference that is explained."""
        return self.probability - self.next_probability

    def groups(self) -> Iterator[Group]:
        """Yield the evidence by source, with the largest rows of each."""
        for source, title in _ABOUT.items():
            several = [row for row in self.evidence if row.source == source]
            if not any(abs(row.points) >= _SHOWN for row in several):
                continue
            total = sum(row.points for row in several)
            if source in OF_NODES:
                title += f", {sum(row.points > 0 for row in several)} of {len(several)} for it"
            yield Group(title, total, _largest(several) if several[0].name != "" else [])

    @property
    def top_labels(self) -> list[Row]:
        """The labelled nodes that count most."""
        return _largest([row for row in self.labels if row.source == "labelled node"])

    def to_frame(self) -> Any:
        """Return the evidence as a pandas DataFrame: source, name, points, share of the lead."""
        rows = [row[:3] for row in self.evidence]
        frame = import_pandas().DataFrame(rows, columns=["source", "name", "points"])
        return frame.assign(share=frame["points"] / (self.lead or float("nan")))

    def __str__(self) -> str:
        """Return a few lines."""
        lines = [f"{self.node}: {self._title()}"]
        for title, points, rows in self._lines():
            named = ", ".join(f"{row.title} {_signed(row.points)}" for row in rows)
            lines.append(f"  {title:<32}{points:>6}  {named}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        cells = (
            (escape(title), points, ", ".join(map(_marked, rows)))
            for title, points, rows in self._lines()
        )
        body = "".join("<tr><td>{}</td><td>{}</td><td>{}</td></tr>".format(*row) for row in cells)
        title = escape(f"{self.node}: {self._title()}")
        return f"<table><caption>{title}</caption><tbody>{body}</tbody></table>"

    def _lines(self) -> Iterator[tuple[str, str, list[Row]]]:
        for title, points, rows in self.groups():
            yield title, _signed(points), rows
        if self.top_labels:
            yield LABELS, "", self.top_labels

    def _title(self) -> str:
        return (
            f"{self.label} {self.probability:.1%} against {self.against} "
            f"{self.next_probability:.1%}, in points"
        )


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
        self._given, self._parts = given, parts_of(model, given.graph, given.scaled)
        self._stack = model if isinstance(model, FittedStack) else None

    def explain(self, nodes: Sequence[int]) -> list[Explanation]:
        """Return why nodes have their class, given their numbers."""
        relations, leads = self._given.graph.relations, self._leads(np.array(nodes, np.int64))
        each = zip(nodes, leads, strict=True)
        return [named_explanation(self._given, relations, *one) for one in each]

    def _leads(self, nodes: NDArray[np.int64]) -> list[Lead]:
        """Return the leads of some nodes; those of a pair of classes cost little more than one."""
        each = [part.calibrated(nodes) for part in self._parts]
        mixed = np.sum([part.weight * p for part, p in zip(self._parts, each, strict=True)], 0)
        pooled = final = mixed
        kernel = None
        if self._stack is not None:
            pooled = final = self._stack.pool.calibrator.apply(mixed)
            kernel = self._stack.features
            if self._stack.factors is not None:
                final = weighted(pooled, self._stack.factors)
        order = np.argsort(-final, axis=1, kind="stable")[:, :2]
        leads: dict[int, Lead] = {}
        for a, b in np.unique(order, axis=0).tolist():
            here = np.flatnonzero((order == [a, b]).all(1))
            views = _pooled_terms(self._parts, [p[here] for p in each], nodes[here], a, b)
            for at, (terms, labels) in zip(here.tolist(), views, strict=True):
                before, after, end = (p[at, a] - p[at, b] for p in (mixed, pooled, final))
                scale = after / before if abs(before) > _LEAST else 1.0
                terms, labels = _times(scale, terms), _times(scale, labels)
                if kernel is not None:
                    terms = _by_column(kernel, self._given.scaled, int(nodes[at]), terms)
                for part in (terms, labels):
                    part["class prior", 0] = part.get(("class prior", 0), 0.0) + float(end - after)
                leads[at] = Lead(a, b, (float(final[at, a]), float(final[at, b])), terms, labels)
        return [leads[at] for at in range(len(nodes))]


def parts_of(model: Fitted, graph: Graph, features: FeatureMatrix) -> list[Part]:
    """Return the components of a model on the graph that it was fitted to; of a stack, several.

    Where components were fitted to a part of the graph, and their predictions for all nodes were
    not kept, all nodes are predicted again.
    """
    if not isinstance(model, FittedStack):
        return [Part(model, 1.0, None, Neighbourhood(graph, features), model.probabilities)]
    labels = np.concatenate([model.held_out.nodes, model.held_out.single])
    graphs, mapped = model.graphs(graph, features), model.mapped(features)
    near = {
        view: Neighbourhood(view.of(graphs), mapped, model.part, labels)
        for view in dict.fromkeys(model.views)
    }
    pool, parts = model.pool, list[Part]()
    each = zip(model.components, pool.weights, pool.calibrators, model.views, strict=True)
    for number, (fitted, weight, calibrator, view) in enumerate(each):
        p = fitted.probabilities if model.each is None else model.each[number]
        if len(p) != graph.num_nodes:  # fitted to a part, or from a file
            p = fitted.predict(near[view].graph, mapped, model.part).probabilities
        parts.append(Part(fitted, weight, calibrator, near[view], p))
    return parts


def named_explanation(
    given: Problem, relations: Mapping[str, Graph], node: int, lead: Lead
) -> Explanation:
    """Return a lead with everything named.

    Args:
        given: what nodes, columns and classes are called.
        relations: the edges of each type, where there are several types.
        node: the number of the node.
        lead: of its class.
    """
    label, against = given.classes[[lead.a, lead.b]].tolist()
    evidence = _rows(given, lead.terms, node)
    if relations:
        evidence = tuple(row._replace(over=_over(relations, node, row)) for row in evidence)
    rows = evidence, _rows(given, lead.labels, node)
    return Explanation(_node(given, node), label, against, *lead.probabilities, *rows)


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
            learnt = {k: v for k, v in terms.items() if k[0] in ("labelled node", "class prior")}
            evidence = {k: v for k, v in terms.items() if k[0] != "labelled node"}
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


def _rows(given: Problem, terms: Terms, node: int) -> tuple[Row, ...]:
    rows: dict[tuple[Source, Hashable], Row] = {}
    columns = given.columns if given.encoder is None else given.encoder.feature_names
    first = 0 if given.meaning is None else given.meaning.dimension
    text = _about_text(given, node) if first else ""
    for (source, number), points in terms.items():
        name: Hashable = ""
        if source == "column":
            meant = 0 <= number < first
            name = text if meant else _column(given, max(number - first, TOGETHER), columns)
        elif source in OF_NODES:
            name = _node(given, number)
        held = rows.get((source, name), Row(source, name, 0.0, number))
        rows[source, name] = held._replace(points=held.points + points)
    return tuple(sorted(rows.values(), key=lambda row: -abs(row.points)))


def _over(relations: Mapping[str, Graph], node: int, row: Row) -> str:
    """Return the types of the edges that join a node and its neighbour, in either direction."""
    if row.source != "neighbour" or row.number == OTHERS:
        return ""
    pairs = (node, row.number), (row.number, node)
    return ", ".join(
        name for name, edges in relations.items() if any(v in edges.neighbours(u) for u, v in pairs)
    )


def _node(given: Problem, number: int) -> Hashable:
    """Name a node, by a plain value."""
    if number == OTHERS:
        return "all other neighbours"
    names = given.names
    if names is None or number >= len(names):
        return number
    name: Hashable = names[number : number + 1].tolist()[0]
    return name


def _about_text(given: Problem, node: int) -> str:
    """Name the meaning of a text by labelled texts that mean something similar."""
    assert given.texts is not None  # that they are known by their meaning
    named = [
        f"“{shortened(str(given.texts[one]), _TEXT)}” ({given.classes[given.labels[one]]})"
        for one in given.similar_texts(node, _SIMILAR_TEXTS).tolist()
    ]
    return f"its text, which means much the same as {' and '.join(named)}" if named else "its text"


def _column(given: Problem, number: int, names: Sequence[str]) -> str:
    """Name a column; the directions of a kernel of numbers are one."""
    kernel = getattr(given.encoder, "kernel", None)  # of a single type of nodes
    if number == TOGETHER or (kernel is not None and number < kernel.whitening.shape[1]):
        return "numbers together"
    if given.hubs is not None:
        return f"link to {_node(given, int(given.hubs[number]))}"
    return names[number] if names else f"feature {number}"


def import_pandas() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
    except ImportError:
        raise InputError("to_frame needs pandas: pip install pandas") from None
    return pandas


def _largest(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows[:_NAMED] if abs(row.points) >= _SHOWN]


def _signed(points: float) -> str:
    return f"{100 * points:+.1f}"


def _marked(row: Row) -> str:
    return f"<b>{escape(row.title)}</b> {_signed(row.points)}"
