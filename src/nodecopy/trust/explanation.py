"""Why a node has its class: the lead over the next class as named rows that add up.

What the terms are is computed elsewhere: `nodecopy.nn.evidence` divides the log-odds of a linear
model by columns, neighbours and labels, `nodecopy.stack.evidence` the lead of a pool by components.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import InputError
from nodecopy.graph import Graph
from nodecopy.nn.evidence import OF_NODES, OTHERS, Source, Terms
from nodecopy.problem.problem import Problem
from nodecopy.stack.evidence import TOGETHER, Lead, Leads

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
    too; beyond 10,000 neighbours, the smallest are one row, "all other neighbours". Exact, but for
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


class Explainer:
    """Explanations of the nodes of a fit; what they share is computed once.

    Args:
        given: the nodes, as the model was fitted to them.
        model: the fitted model.
    """

    def __init__(self, given: Problem, model: Fitted) -> None:
        self._given = given
        self._leads = Leads(model, given.graph, given.scaled)

    def explain(self, nodes: Sequence[int]) -> list[Explanation]:
        """Return why nodes have their class, given their numbers."""
        leads = self._leads.of(nodes)
        return [
            named_explanation(self._given, self._given.graph.relations, node, lead)
            for node, lead in zip(nodes, leads, strict=True)
        ]


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
    evidence = _rows(given, lead.terms)
    if relations:
        evidence = tuple(row._replace(over=_over(relations, node, row)) for row in evidence)
    rows = evidence, _rows(given, lead.labels)
    return Explanation(_node(given, node), label, against, *lead.probabilities, *rows)


def _rows(given: Problem, terms: Terms) -> tuple[Row, ...]:
    rows: dict[tuple[Source, Hashable], Row] = {}
    columns = given.columns if given.encoder is None else given.encoder.feature_names
    for (source, number), points in terms.items():
        name: Hashable = ""
        if source == "column":
            name = _column(given, number, columns)
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
