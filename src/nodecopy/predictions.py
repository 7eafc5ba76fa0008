"""Predictions of every node in other forms: a table, a DataFrame, a graph of networkx."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.core.errors import InputError, missing_extra
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.trust.explanation import import_pandas

# Columns of the table of predictions.
ID, NAME, KNOWN, PREDICTED, CONFIDENCE = "id", "name", "known", "predicted", "confidence"
# Columns of the tables of nodes and edges beside these.
NODE_TYPE, RELATION, WEIGHT, DIRECTED = "node_type", "relation", "weight", "directed"
SOURCE, TARGET = "source", "target"
# Colours of classes, as on the pages (page.css).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#7d8893")
# Classes that a notebook shows, pixels of the longest bar, and what a sure prediction has.
_SHOWN, _WIDTH, SURE = 12, 240, 0.9

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Predictions:
    r"""What is predicted for each node, as a table: predictions.csv, or a DataFrame.

    In a file, a prediction set is one column of text: ``set_90`` holds ``cat|dog`` for a set of two
    classes, in the order of their probability. A ``|`` or ``\`` within a name has a ``\`` in front.

    Attributes:
        ids: names or numbers of the nodes [N].
        classes: the labels that the classes stand for [K].
        posterior: probabilities [N, K] and uncertainty of the nodes.
        known: the labels that the model was given, as numbers of classes, -1 for none [N].
        titles: what people call the nodes [N]; None without such a column.
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: that the sets were made for.
        novelty: how probable none of the classes is [N]; None where it is not known.
        max_novelty: from which novelty on nothing is predicted; None always predicts.
        new: whether the model was fitted without the node [N]; None where it was not.
    """

    ids: NDArray[Any]
    classes: NDArray[Any]
    posterior: Posterior
    known: NDArray[np.int64]
    titles: NDArray[np.object_] | None = None
    sets: NDArray[np.bool_] | None = None
    coverage: float = 0.9
    novelty: NDArray[np.float64] | None = None
    max_novelty: float | None = None
    new: NDArray[np.bool_] | None = None

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns of the table, of some rows.

        Args:
            rows: which; all by default.
            text: labels as strings and sets as one string, as in files; else labels as they were
                given and sets as tuples.
        """
        posterior = self.posterior.take(rows)
        p = posterior.probabilities
        values = [str(value) if text else value for value in self.classes.tolist()]
        labels, predicted = np.array([*values, "" if text else None], object), p.argmax(1)
        columns: Columns = {ID: self.ids[rows]}
        if self.titles is not None:
            columns[NAME] = self.titles[rows]
        if self.new is not None:
            columns["new"] = self.new[rows]
        columns |= {KNOWN: labels[self.known[rows]], PREDICTED: self.classes[predicted]}
        if text or self.max_novelty is not None:
            columns[PREDICTED] = labels[np.where(self._abstains(rows), -1, predicted)]
        columns[CONFIDENCE] = p.max(1)
        if self.sets is not None:
            cells = set_cells(self.sets[rows], p, _joined(values) if text else _tuple_of(values))
            columns[f"set_{100 * self.coverage:.10g}"] = cells
        if self.novelty is not None:
            columns["novelty"] = self.novelty[rows]
        columns |= {
            "entropy": posterior.entropy,
            "mutual_information": posterior.mutual_information,
        }
        return columns | {f"p_{value}": p[:, k] for k, value in enumerate(values)}

    def frame(self) -> Any:
        """Return the table as a pandas DataFrame, by the name of the node."""
        pandas = import_pandas()
        columns = self.columns(text=False)
        index = pandas.Index(columns.pop(ID), name="node")
        return pandas.DataFrame(columns, index=index)

    def _abstains(self, rows: slice) -> NDArray[np.bool_] | bool:
        """Tell for which nodes nothing is predicted, as they are likely of no known class."""
        if self.novelty is None or self.max_novelty is None:
            return False
        return self.novelty[rows] >= self.max_novelty


def set_cells(
    sets: NDArray[np.bool_],
    probabilities: NDArray[np.floating],
    cell: Callable[[Sequence[int]], Any],
) -> NDArray[np.object_]:
    r"""Return the set of each node as a cell of a table, the most probable class first [N].

    >>> p = np.array([[0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])
    >>> set_cells(p > 0.15, p, _joined(("a", "b|c", "d"))).tolist()
    ['b\\|c|a', 'd']
    """
    ones = np.empty(sets.shape[1], object)
    for k in range(len(ones)):
        ones[k] = cell([k])
    cells = ones[sets.argmax(1)]  # right where there is one class
    many = np.flatnonzero(sets.sum(1) != 1)
    order = np.argsort(-probabilities[many], axis=1, kind="stable")  # [n, K]
    ranked = np.where(np.take_along_axis(sets[many], order, 1), order, -1)
    different, which = np.unique(ranked, axis=0, return_inverse=True)
    several = np.empty(len(different), object)
    for at, row in enumerate(different.tolist()):
        several[at] = cell([k for k in row if k >= 0])
    cells[many] = several[which.ravel()]
    return cells


def _joined(names: Sequence[str]) -> Callable[[Sequence[int]], str]:
    escaped = [re.sub(r"([\\|])", r"\\\1", name) for name in names]
    return lambda classes: "|".join(escaped[k] for k in classes)


def _tuple_of(values: Sequence[Any]) -> Callable[[Sequence[int]], tuple[Any, ...]]:
    return lambda classes: tuple(values[k] for k in classes)


def node_columns(given: Problem, predicted: Columns) -> Columns:
    """Return a table of the nodes of every type: predictions are those of the first.

    Args:
        given: the nodes; with several types of them, a column says which.
        predicted: the table of predictions, as text.
    """
    ids, others = given.ids, given.num_nodes - given.num_classified
    columns: Columns = {ID: ids}
    if given.titles is not None:
        columns[NAME] = given.titles
    if given.node_types:
        types = np.array(list(given.node_types), object)
        columns[NODE_TYPE] = np.repeat(types, list(given.node_types.values()))
    for name in [name for name in predicted if name not in columns]:
        missing = np.nan if predicted[name].dtype.kind == "f" else ""
        columns[name] = np.pad(predicted[name], (0, others), constant_values=missing)
    return columns


def edge_columns(given: Problem) -> Columns:
    """Return a table of the edges, each of them once, or once for each of its relations.

    Columns say its relation and whether it is directed, where there are relations, and its weight,
    where edges have weights.
    """
    graph = given.graph
    parts = graph.relations or {"": graph}
    pairs = [part.edges() for part in parts.values()]
    sizes = [len(own) for own in pairs]
    source, target = np.concatenate(pairs).T
    columns: Columns = {SOURCE: given.ids[source], TARGET: given.ids[target]}
    if graph.relations:
        columns[RELATION] = np.repeat(np.array(list(parts), object), sizes)
        columns[DIRECTED] = np.repeat([part.directed for part in parts.values()], sizes)
    if any(part.weights is not None for part in parts.values()):
        columns[WEIGHT] = np.concatenate([_weights(part) for part in parts.values()])
    return columns


def networkx_graph(nodes: Columns, edges: Columns) -> Any:
    """Return tables of nodes and edges as a networkx graph; missing values are not set.

    Of several relations it is a MultiGraph, whose keys are their names. If any edge is directed it
    is a DiGraph or MultiDiGraph, which has undirected edges in both directions.
    """
    try:
        import networkx
    except ImportError:
        raise InputError(missing_extra("a graph of networkx", "networkx", "networkx")) from None
    several = RELATION in edges and len(set(edges[RELATION].tolist())) > 1
    directed = edges.get(DIRECTED, np.zeros(len(edges[SOURCE]), bool))
    graph = getattr(networkx, "Multi" * several + "Di" * bool(directed.any()) + "Graph")()
    graph.add_nodes_from(_records(nodes, [ID]))
    key = [RELATION] * several
    graph.add_edges_from(_records(edges, [SOURCE, TARGET, *key]))
    if directed.any():
        back = {name: column[~directed] for name, column in edges.items()}
        graph.add_edges_from(_records(back, [TARGET, SOURCE, *key]))
    return graph


def _records(columns: Columns, ends: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield rows as networkx takes them: the values of some columns, and a dict of attributes."""
    names = [name for name in columns if name not in (ID, SOURCE, TARGET, DIRECTED)]
    rows = zip(*(columns[name].tolist() for name in names), strict=True) if names else repeat(())
    for *end, row in zip(*(columns[name].tolist() for name in ends), rows, strict=False):
        held = zip(names, row, strict=True)
        yield *end, {name: value for name, value in held if _is_there(value)}


def _weights(graph: Graph) -> NDArray[np.float64]:
    """Return the weight of each of `Graph.edges` [E]."""
    once = graph.directed | (graph.row_of_entry() <= graph.indices)
    return np.asarray(graph.to_scipy().data[once], np.float64)


def class_bars(
    names: Sequence[str], probabilities: NDArray[np.floating], known: NDArray[np.int64]
) -> str:
    """Return HTML for a notebook: for each class a bar as long as it has predicted nodes.

    Its solid part are nodes with a confidence of 90 % or more. Of many classes, those that are
    predicted most often are shown.
    """
    predicted, sure, k = probabilities.argmax(1), probabilities.max(1) >= SURE, len(names)
    kept = known[known >= 0], predicted, predicted[sure]
    counts = np.stack([np.bincount(own, minlength=k) for own in kept], 1)  # [K, 3]
    scale, rows = _WIDTH / max(int(counts[:, 1].max(initial=1)), 1), []
    for c in np.argsort(-counts[:, 1], kind="stable")[:_SHOWN].tolist():
        solid, rest = scale * counts[c, 2], scale * (counts[c, 1] - counts[c, 2])
        style = f"display:inline-block;height:0.8em;background:{COLOURS[c % len(COLOURS)]};width"
        bar = (
            f'<i style="{style}:{solid:.0f}px"></i><i style="{style}:{rest:.0f}px;opacity:0.3"></i>'
        )
        cells = (escape(names[c]), *(f"{count:,}" for count in counts[c].tolist()), bar)
        rows.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    more = f"<tr><td>and {k - _SHOWN:,} more</td></tr>" if k > _SHOWN else ""
    head = f"<th>class</th><th>known</th><th>predicted</th><th>of them {SURE:.0%} sure</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}{more}</tbody></table>"


def _is_there(value: Any) -> bool:
    return value not in ("", None) and value == value  # NaN is not
