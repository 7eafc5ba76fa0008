"""Predictions of every node in other forms: a table, a DataFrame, a graph of networkx."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

# Colours of numbers from low to high: viridis, which colour-blind readers tell apart.
SHADES = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725")

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What is predicted for each node, as a table: predictions.csv, or a DataFrame.

    A subclass for each kind of target adds its columns.

    Attributes:
        ids: names or numbers of the nodes [N].
        titles: what people call the nodes [N]; None without such a column.
        new: whether the model was fitted without the node [N]; None where it was not.
    """

    ids: NDArray[Any]
    titles: NDArray[np.object_] | None
    new: NDArray[np.bool_] | None

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns of the table, of some rows.

        Args:
            rows: which; all by default.
            text: values as strings, as in files; else as they were given.
        """
        columns: Columns = {ID: self.ids[rows]}
        if self.titles is not None:
            columns[NAME] = self.titles[rows]
        if self.new is not None:
            columns["new"] = self.new[rows]
        return columns

    def frame(self) -> Any:
        """Return the table as a pandas DataFrame, by the name of the node."""
        pandas = import_pandas()
        columns = self.columns(text=False)
        index = pandas.Index(columns.pop(ID), name="node")
        return pandas.DataFrame(columns, index=index)


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


def predicted_colours(nodes: Columns) -> dict[Any, str]:
    """Return a colour for each prediction in a table of nodes: of its class, or of its number."""
    predicted = nodes[PREDICTED]
    if predicted.dtype.kind == "f":
        values = np.unique(predicted[np.isfinite(predicted)])
        ranks = np.arange(len(values)) * len(SHADES) // max(len(values), 1)
        return {value: SHADES[rank] for value, rank in zip(values.tolist(), ranks, strict=True)}
    classes = [name[2:] for name in nodes if name.startswith("p_")]
    return dict(zip(classes, COLOURS * len(classes), strict=False))


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


def _is_there(value: Any) -> bool:
    return value not in ("", None) and value == value  # NaN is not
