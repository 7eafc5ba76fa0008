"""Python objects in: `read_problem` reads graph, features and labels of other libraries.

See `nodecopy.read.graphs` for graphs, and `nodecopy.read.hetero` for several node types. Rows of
pandas objects go by their index.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, ModelError, unknown_name
from nodecopy.features.columns import (
    NodeColumns,
    columns_of_attributes,
    columns_of_frame,
    columns_of_numbers,
    is_plain_frame,
)
from nodecopy.features.encoding import Encoder, encode_columns, plain_columns, without_labels
from nodecopy.features.label_values import (
    MOST_NUMBERS,
    UNKNOWN_LABELS,
    EncodedLabels,
    check_classes,
    encode_labels,
    encode_numbers,
    numbers_refused,
    training_labels,
)
from nodecopy.features.matrix import NO_FEATURES, stored_by_content, to_matrix
from nodecopy.features.tag_values import written_tags
from nodecopy.problem.problem import Problem
from nodecopy.read.graphs import is_edge_list, is_networkx, read_graph
from nodecopy.read.hetero import ReadNodes, has_node_types, read_typed_nodes, type_to_label

_SHOWN = 3


def read_problem(
    graph: Any,
    X: Any = None,
    y: Any = None,
    validation: ArrayLike = (),
    suggested: ArrayLike = (),
    *,
    labelled: bool = True,
    fitted: Problem | None = None,
    target: str = "class",
) -> Problem:
    """Read the arguments of `NodeCopyClassifier.fit`, or of another estimator.

    Args:
        graph: see `nodecopy.read.graphs.read_graph`, or `nodecopy.read.hetero` for node types.
        X: features [N, D]: an array, a SciPy matrix, a tensor, or a pandas or polars DataFrame,
            whose columns may be of any type (`nodecopy.features.columns`). None takes those inside
            the graph.
        y: labels, or the name of the column of X or of the attribute of networkx nodes that has
            them, which is then not a feature; None takes those inside the graph: of a Problem with
            a public split, those of its training nodes.
        validation: labelled nodes to hold out for early stopping.
        suggested: labelled nodes that were suggested, beside those that a Problem names.
        labelled: whether labels are needed; else none are read.
        fitted: what a model was fitted to, if this is another graph for it: columns become features
            as they did there.
        target: the kind of target, see `Problem`.
    """
    column = y if isinstance(y, str) else None
    if column is not None:
        X, y = _taken_out(graph, X, column)
    y = _tags(graph, y) if target == "tags" and labelled else y
    y, encoder = _checked_labels(y), None if fitted is None else fitted.encoder
    if has_node_types(graph, X):
        first = type_to_label(graph, X) if not labelled else None
        first = first if fitted is None else next(iter(fitted.node_types), None)
        nodes = read_typed_nodes(graph, X, y, first, encoder)
        y = nodes.labels
    else:
        rows = None if y is None or _names_rows(y) else len(y)
        nodes = _read_nodes(graph, X, rows, encoder, attributes=fitted is None or encoder)
    problem, columns = nodes.problem, nodes.columns
    if column is not None:
        columns = {name: own and own.without({column}) for name, own in columns.items()}
    labels = EncodedLabels(np.full(problem.num_nodes, -1, np.int64), np.zeros(0, np.int64))
    if labelled:
        labels = _labels(graph, problem, y, column, target)
    features, made, texts = problem.features, problem.encoder, problem.texts
    if columns:
        places = problem.node_types, labels.values(), nodes.kept
        columns, held = without_labels(columns, *places, target)
        if held or features is None:
            features, made, texts = encode_columns(columns, problem.node_types, encoder)
        if fitted is None:
            _warn_of_columns(columns, held)
    if features is None and fitted is None and not isinstance(graph, Problem):  # its notes say it
        warnings.warn(NO_FEATURES, stacklevel=3)
    # Several blocks are scaled already, and stay sparse: they are neither counts nor plain numbers.
    blocks = problem.meaning is not None or (made is not None and bool(made.blocks))
    if features is not None and not blocks:
        features = stored_by_content(features)
    known = problem.suggested if y is None and labelled else ()
    return replace(
        problem,
        features=features,
        encoder=made,
        plain=plain_columns(columns, problem.node_types) if columns else problem.plain,
        texts=texts,
        columns=problem.columns if made is None else (),
        labels=labels.numbers,
        classes=labels.classes,
        target=target if labelled else problem.target,
        public_split=None,
        validation=problem.numbers(validation, "validation"),
        suggested=np.union1d(known, problem.numbers(suggested, "suggested")).astype(np.int64),
    )


def _tags(graph: Any, y: Any) -> Any:
    """Return tags beside a graph or inside it as strings; a problem of tags has them already."""
    if y is not None:
        return written_tags(y)
    if isinstance(graph, Problem):
        return None if graph.target == "tags" else written_tags(graph.label_values)
    return written_tags(training_labels(graph, getattr(graph, "num_nodes", 0), np.nan))


def _read_nodes(
    graph: Any, X: Any, num_nodes: int | None, encoder: Encoder | None, *, attributes: Any
) -> ReadNodes:
    """Return the nodes of a graph with the features given beside it, or inside it.

    Args:
        graph: see `read_problem`.
        X: see `read_problem`.
        num_nodes: N, where neither graph nor features say it.
        encoder: of a model.
        attributes: whether attributes of networkx nodes are features.
    """
    X = None if isinstance(graph, (str, os.PathLike)) else X  # refused by its name below
    if X is not None and not hasattr(X, "columns"):
        X = _rows_of_numbers(X)
    named = list(X.index) if _has_index(X) and _names_rows(X) else []
    problem = read_graph(graph, num_nodes if X is None else X.shape[0], named)
    n, names = problem.num_nodes, problem.names
    sorted_names = is_edge_list(graph) and names is not None and not named
    if sorted_names and not hasattr(X, "columns") and (X is not None or num_nodes):
        what = "y" if X is None else "X"
        raise DatasetError(
            f"the nodes of the edge list are {_listed(problem.ids)}, and {what} is an array: "
            f"which row is whose? Give {what} as a pandas object whose index has these names"
        )
    types = None if encoder is None else encoder.types
    if X is None and is_networkx(graph) and attributes:
        columns = columns_of_attributes([graph.nodes[node] for node in graph], types)
        return ReadNodes(problem, {} if columns is None else {"": columns})
    if X is None and hasattr(graph, "edge_index"):
        X = getattr(graph, "x", None)
    if X is None:
        return ReadNodes(problem, {})
    if names is None and _has_index(X) and len(X) == n:
        names = X.index if all(isinstance(name, str) for name in X.index) else None
    problem = replace(problem, features=None, encoder=None, names=names)
    if not hasattr(X, "columns"):
        return ReadNodes(replace(problem, features=to_matrix(X)), {})
    order = _row_order(X, problem)
    frame = X if order is None else X.iloc[order]
    if encoder is not None or not is_plain_frame(frame):
        return ReadNodes(problem, {"": columns_of_frame(frame, types)})
    matrix, titles = frame.to_numpy(), tuple(map(str, X.columns))
    problem = replace(problem, features=matrix, columns=titles)
    return ReadNodes(problem, {"": columns_of_numbers(problem.features, titles)})


def _taken_out(graph: Any, X: Any, column: str) -> tuple[Any, Any]:
    """Return X without a column, and the labels in it; attributes of networkx nodes are columns."""
    attributes = X is None and is_networkx(graph)
    if not attributes and not hasattr(X, "columns"):
        raise DatasetError(
            f"y={column!r} must be a column of a DataFrame X, or an attribute of networkx nodes; "
            f"of tables: read_tables(…, predict={column!r}); of several node types: {{type: y}}"
        )
    own = graph.nodes.values() if attributes else [X.columns]
    titles = dict.fromkeys(title for names in own for title in names)
    if column not in titles:
        raise DatasetError(f"y: {unknown_name('column', column, map(str, titles))}")
    if attributes:
        return None, dict(graph.nodes(data=column))
    return X[[title for title in titles if title != column]], X[column]


def _labels(graph: Any, problem: Problem, y: Any, column: str | None, target: str) -> EncodedLabels:
    """Return the labels beside a graph or inside it, or of a column, as places in their values."""
    n, first, classes = problem.num_nodes, problem.num_classified, None
    if y is None and isinstance(graph, Problem):
        y, classes = _labels_inside(graph, target)
    elif y is None:
        y = training_labels(graph, n, -1 if target == "class" else np.nan)
    labels = _aligned_labels(y, problem)
    if len(labels) not in (first, n):
        raise ModelError(f"the graph has {first} nodes but there are {len(labels)} labels")
    encoded = encode_numbers(labels) if target == "number" else encode_labels(labels, classes)
    if target == "class" and classes is None:
        _check_classes(encoded, column)
    if np.any(encoded.numbers[first:] >= 0):
        raise ModelError(f"labels must be of {next(iter(problem.node_types))!r}, others are not")
    numbers = np.full(n, -1, np.int64)
    numbers[: len(labels)] = encoded.numbers
    return encoded._replace(numbers=numbers)


def _labels_inside(problem: Problem, target: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the labels of a problem, those to train on if it has a public split, and classes."""
    known = problem.labels >= 0
    if problem.public_split is not None:
        known &= np.isin(np.arange(problem.num_nodes), problem.public_split.train)
    if target == "number":
        return np.where(known, problem.label_values, np.nan), None
    if problem.target == "number":
        raise ModelError(f"the labels are of the kind {problem.target}: NodeCopyRegressor")
    return np.where(known, problem.labels, -1), problem.classes


def _check_classes(encoded: EncodedLabels, column: str | None) -> None:
    """Refuse numbers in place of classes, and stand-ins for unknown ones."""
    count = len(encoded.classes)
    if column is not None and encoded.classes.dtype.kind in "iuf" and count > MOST_NUMBERS:
        message = numbers_refused(column, count, encoded.classes[0])
        raise DatasetError(f"y: {message}; if each is a class: y=X[{column!r}]")
    check_classes(encoded.classes)


def _warn_of_columns(columns: Mapping[str, NodeColumns | None], held: Collection[str]) -> None:
    if held:
        text = f"columns of the nodes that hold the labels are left out: {', '.join(held)}"
        warnings.warn(f"{text}; an array X is taken as it is", stacklevel=4)
    own = columns.get("")
    for name, why in own.reasons.items() if own is not None else ():
        warnings.warn(f"column {name!r} of the nodes is left out: {why}", stacklevel=4)


def _checked_labels(y: Any) -> Any:
    """Return labels that have a length, or refuse what is not a list of one label per node."""
    if hasattr(y, "detach") or (hasattr(y, "__array__") and not hasattr(y, "__len__")):
        y = to_matrix(y)
    sizes = not sp.issparse(y) and hasattr(y, "__len__") and getattr(y, "ndim", 1) > 0
    if y is None or (sizes and not isinstance(y, (bytes, Set))):
        return y
    raise ModelError(
        f"y must be a list or array of one label per node, {UNKNOWN_LABELS}, a mapping "
        f"{{node: label}}, or the name of a column of X; got an object of type {type(y).__name__}"
    )


def _rows_of_numbers(X: Any) -> Any:
    """Return features as a matrix, or refuse what has no row for each node."""
    try:
        matrix = to_matrix(X)
    except (TypeError, ValueError):  # rows of several lengths
        matrix = None
    if matrix is None or matrix.ndim != 2:
        raise DatasetError(
            "X must be an array, a sparse matrix, a tensor or a DataFrame with a row of numbers "
            f"per node, [N, D]; got an object of type {type(X).__name__}"
            + ("" if matrix is None else f" and shape {list(matrix.shape)}")
        )
    return matrix


def _names_rows(values: Any) -> bool:
    """Tell whether labels or features go by the names of nodes: a mapping, or a pandas index."""
    return isinstance(values, Mapping) or (_has_index(values) and not are_positions(values.index))


def _aligned_labels(labels: Any, problem: Problem) -> Any:
    """Return labels in the order of the nodes; those that an index does not name are unknown.

    Args:
        labels: any; a mapping goes by its keys, and a pandas object by its index.
        problem: has the nodes.
    """
    if isinstance(labels, Mapping):
        rows: NDArray[np.int64] | None = _node_places("y", list(labels), problem)
        values = np.fromiter(labels.values(), object, len(labels))
    elif _has_index(labels):
        values, rows = labels.to_numpy(), _rows_by_index("y", labels.index, problem)
    else:
        return labels
    if rows is None:
        return values
    aligned = np.full((problem.num_nodes, *values.shape[1:]), None, object)
    aligned[rows] = values
    return aligned


def _node_places(what: str, given: Sequence[Hashable], problem: Problem) -> NDArray[np.int64]:
    """Return the number of each named node."""
    places = problem.places(given)
    unknown = [name for name, place in zip(given, places, strict=True) if place < 0]
    if unknown:
        known = _listed(problem.ids)
        known = f"0 to {problem.num_nodes - 1}" if problem.names is None else known
        raise DatasetError(
            f"{what} has {len(unknown)} of {len(given)} names that no node of the graph has: "
            f"{_listed(unknown)}; the nodes are {known}; leave these out, or add them to the graph"
        )
    return places


def _has_index(values: Any) -> bool:
    """Tell whether these are a pandas Series or DataFrame."""
    return hasattr(values, "index") and hasattr(values, "iloc")


def _row_order(frame: Any, problem: Problem) -> NDArray[np.int64] | None:
    """Return which row of a DataFrame belongs to each node; None where rows are in their order."""
    index = frame.index if _has_index(frame) else np.arange(len(frame))  # polars has none
    places = _rows_by_index("X", index, problem)
    if places is None:
        return None
    if len(places) < problem.num_nodes:
        missing = problem.ids[np.setdiff1d(np.arange(problem.num_nodes), places)]
        raise DatasetError(
            f"X has no row for {len(missing)} of {problem.num_nodes} nodes: {_listed(missing)}"
        )
    return np.argsort(places)


def _rows_by_index(what: str, index: Any, problem: Problem) -> NDArray[np.int64] | None:
    """Return the node of each row, by its name; None where rows are in the order of the nodes."""
    if are_positions(index):
        if problem.names is not None:
            raise DatasetError(
                f"{what} has the default index 0 to {len(index) - 1}, the nodes of the graph are "
                f"{_listed(problem.ids)}: which row is whose? Set the pandas index of {what} to "
                f"their names, or give {what}.to_numpy() with rows in the order of the nodes"
            )
        return None
    if not index.is_unique:
        twice = _listed(list(index[index.duplicated()])[:1])
        raise DatasetError(f"the index of {what} has {twice} more than once")
    return _node_places(what, list(index), problem)


def are_positions(index: Any) -> bool:
    """Tell whether an index is 0, 1, 2, …, as pandas makes it by default."""
    whole = getattr(index, "dtype", np.dtype(object)).kind in "iu"
    return whole and np.array_equal(np.asarray(index), np.arange(len(index)))


def _listed(names: Sequence[Any] | NDArray[Any]) -> str:
    text = ", ".join(repr(getattr(name, "item", lambda n=name: n)()) for name in names[:_SHOWN])
    return text + (", …" if len(names) > _SHOWN else "")
