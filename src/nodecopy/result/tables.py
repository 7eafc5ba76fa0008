"""Predictions in other forms: a table, a DataFrame, a graph of networkx, bars of a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.core.errors import InputError, missing_extra
from nodecopy.features.tag_values import join_tags, split_tags
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.stack.tags import TagPosterior
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
# Classes or tags that a notebook shows, pixels of the longest bar, and what a sure prediction has.
_SHOWN, _WIDTH, SURE = 12, 240, 0.9
# Opacity of a bar's second part: predictions that are not sure.
_PALE = 0.3

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


@dataclass(frozen=True, eq=False)
class ClassPredictions(Predictions):
    r"""Predicted classes with probabilities.

    In a file, a prediction set is one column of text: ``set_90`` holds ``cat|dog`` for a set of two
    classes, in the order of their probability. A ``|`` or ``\`` within a name has a ``\`` in front.

    Attributes:
        known: the labels that the model was given, as numbers of classes, -1 for none [N].
        classes: the labels that the classes stand for [K].
        posterior: probabilities [N, K] and uncertainty of the nodes.
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: that the sets were made for.
        novelty: how probable none of the classes is [N]; None where it is not known.
        max_novelty: from which novelty on nothing is predicted; None always predicts.
    """

    known: NDArray[np.int64]
    classes: NDArray[Any]
    posterior: Posterior
    sets: NDArray[np.bool_] | None = None
    coverage: float = 0.9
    novelty: NDArray[np.float64] | None = None
    max_novelty: float | None = None

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns; sets are one string in files, and else tuples."""
        posterior = self.posterior.take(rows)
        p = posterior.probabilities
        values = [str(value) if text else value for value in self.classes.tolist()]
        labels, predicted = np.array([*values, "" if text else None], object), p.argmax(1)
        columns = super().columns(rows)
        columns |= {KNOWN: labels[self.known[rows]], PREDICTED: self.classes[predicted]}
        if text or self.max_novelty is not None:
            columns[PREDICTED] = labels[np.where(self._abstains(rows), -1, predicted)]
        columns[CONFIDENCE] = p.max(1)
        if self.sets is not None:
            cells = set_cells(self.sets[rows], p, _joined(values) if text else _tuple_of(values))
            columns[f"set_{100 * self.coverage:.10g}"] = cells
        if self.novelty is not None:
            columns["novelty"] = self.novelty[rows]
        return columns | _probabilities(posterior, values)

    def _abstains(self, rows: slice) -> NDArray[np.bool_] | bool:
        """Tell for which nodes nothing is predicted, as they are likely of no known class."""
        if self.novelty is None or self.max_novelty is None:
            return False
        return self.novelty[rows] >= self.max_novelty


@dataclass(frozen=True, eq=False)
class NumberPredictions(Predictions):
    """Predicted numbers with intervals.

    Attributes:
        known: the numbers that the model was given, NaN for none [N].
        values: predicted [N].
        intervals: where they begin and end [N, 2]; None where no label was held out.
        coverage: of the intervals.
    """

    known: NDArray[np.float64]
    values: NDArray[np.float64]
    intervals: NDArray[np.float64] | None
    coverage: float

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns: known, predicted, and both ends of the interval."""
        columns = super().columns(rows) | {KNOWN: self.known[rows], PREDICTED: self.values[rows]}
        if self.intervals is not None:
            name = f"{100 * self.coverage:.10g}"
            columns |= {
                f"low_{name}": self.intervals[rows, 0],
                f"high_{name}": self.intervals[rows, 1],
            }
        return columns


@dataclass(frozen=True, eq=False)
class TagPredictions(Predictions):
    """Predicted tags with probabilities.

    In a file, the tags of a node are one cell: ``cat|dog``, and ``[]`` where it has none.

    Attributes:
        known: the tags that the model was given, as such cells, "" where they are unknown [N].
        names: the tags that are predicted [T].
        posterior: probabilities [N, T] and uncertainty of the nodes.
        predicted: which tags are predicted [N, T].
    """

    known: NDArray[np.object_]
    names: NDArray[np.str_]
    posterior: TagPosterior
    predicted: NDArray[np.bool_]

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns; tags are one string in files, and else tuples."""
        posterior, known = self.posterior.take(rows), self.known[rows].tolist()
        predicted = [tuple(self.names[own].tolist()) for own in self.predicted[rows]]
        cells = np.empty((2, len(known)), object)
        if text:
            cells[0], cells[1] = known, list(map(join_tags, predicted))
        else:
            cells[0][:] = [split_tags(one) if one else None for one in known]
            cells[1][:] = predicted
        columns = super().columns(rows) | {KNOWN: cells[0], PREDICTED: cells[1]}
        return columns | _probabilities(posterior, self.names.tolist())


def _probabilities(posterior: Posterior | TagPosterior, names: Sequence[Any]) -> Columns:
    """Return the columns that say how sure predictions are, and those of classes or tags."""
    p, shared = posterior.probabilities, posterior.mutual_information
    columns: Columns = {"entropy": posterior.entropy, "mutual_information": shared}
    return columns | {f"p_{name}": p[:, k] for k, name in enumerate(names)}


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
    head = "class", "known", "predicted", f"of them {SURE:.0%} sure"
    return _bars(head, names, counts, counts[:, 2])


def tag_bars(names: Sequence[str], known: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> str:
    """Return HTML for a notebook: for each tag a bar as long as it has predicted nodes.

    Of many tags, those that are predicted most often are shown.
    """
    counts = np.stack([known.sum(0), predicted.sum(0)], 1)  # [T, 2]
    return _bars(("tag", "known", "predicted"), names, counts, counts[:, 1])


def number_bars(known: NDArray[np.float64], values: NDArray[np.float64]) -> str:
    """Return HTML for a notebook: how often numbers of each range are known, and predicted."""
    ends = np.linspace(values.min(), values.max(), _SHOWN + 1)
    if ends[0] == ends[-1]:
        return ""
    counts = np.stack([np.histogram(own, ends)[0] for own in (known, values)], 1)
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends)]
    return _bars(("number", "known", "predicted"), names, counts, counts[:, 1], ranked=False)


def _bars(
    head: Iterable[str],
    names: Sequence[str],
    counts: NDArray[Any],
    solid: NDArray[Any],
    *,
    ranked: bool = True,
) -> str:
    """Return a table of counts, known and predicted, with a bar for the second, partly pale.

    Ranked ones are those that are predicted most often, each in its colour.
    """
    order = np.argsort(-counts[:, 1], kind="stable") if ranked else np.arange(len(names))
    scale, rows = _WIDTH / max(int(counts[:, 1].max(initial=1)), 1), []
    for k in order[:_SHOWN].tolist():
        own, colour = counts[k].tolist(), COLOURS[k % len(COLOURS) if ranked else 0]
        style = f"display:inline-block;height:0.8em;background:{colour};width"
        pale = own[1] - int(solid[k])
        widths = f"{scale * int(solid[k]):.0f}px", f"{scale * pale:.0f}px;opacity:{_PALE}"
        bar = "".join(f'<i style="{style}:{width}"></i>' for width in widths)
        cells = (escape(names[k]), *(f"{count:,}" for count in own), bar)
        rows.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    if len(names) > _SHOWN:
        rows.append(f"<tr><td>and {len(names) - _SHOWN:,} more</td></tr>")
    titles = "".join(f"<th>{title}</th>" for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


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
