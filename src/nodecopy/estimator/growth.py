"""New nodes: a fit with nodes that came later, without training again.

A prediction depends on what walks from a node reach. So a model is applied to a part of the grown
graph: the new nodes, the nodes that walks from their neighbours reach most often, and the nodes
that the model was fitted to, with which it compares others. That is all nodes of a graph of up to
20,000, and predictions are then those of the whole grown graph; of a larger one, the time depends
on the part alone, and walks that leave it are cut off.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from nodecopy.classifiers import GivenProbabilities
from nodecopy.core.errors import ModelError, counted, shown
from nodecopy.core.machine import torch_defaults
from nodecopy.estimator.method import check_columns
from nodecopy.features.matrix import FeatureMatrix, ties_to
from nodecopy.graph import Graph, align_relations, join_relations
from nodecopy.graph.neighbourhood import reach
from nodecopy.nn.diffusion import Diffusion
from nodecopy.problem.problem import Problem
from nodecopy.read.edges import EdgeRows, build_graph
from nodecopy.read.graphs import edge_rows
from nodecopy.read.objects import are_positions, read_problem
from nodecopy.result import Result
from nodecopy.result.tables import Predictions
from nodecopy.stack.base import FittedStack
from nodecopy.stack.tags import FittedTags

# Nodes around the new ones that a model of a large graph is applied to, at most: for each of them,
# and where they are few.
_AROUND_EACH, _AROUND = 1_000, 10_000
_SHOWN = 3

Nodes = NDArray[np.int64]


class Grown(NamedTuple):
    """A result with new nodes.

    Attributes:
        result: of the part of the grown graph that the model was applied to.
        nodes: numbers of the new nodes in it [m].
    """

    result: Result
    nodes: Nodes

    def predictions(self, fitted: Result) -> Predictions:
        """Return the table of the new nodes, with the prediction sets or intervals of the fit."""
        posterior, novelty = self.result.posterior.take(self.nodes), self.result.novelty
        return fitted.table(
            self.result.given,
            self.nodes,
            posterior,
            novelty=None if novelty is None else novelty[self.nodes],
            new=np.ones(len(self.nodes), bool),
        )


def read_new(fitted: Problem, X: Any, edges: Any, text_model: object) -> Problem:
    """Return new nodes with their features, and the nodes of the fit that they are linked to.

    Args:
        fitted: what the model was fitted to.
        X: see `NodeCopyClassifier.grown`.
        edges: see `NodeCopyClassifier.grown`.
        text_model: see `NodeCopyClassifier`.
    """
    rows = edge_rows(edges)
    linked = list(dict.fromkeys(rows.pairs.ravel().tolist()))
    known = dict(zip(linked, fitted.places(linked).tolist(), strict=True))
    features: Any = None
    plain: dict[str, NDArray[Any]] = {}
    if fitted.hubs is None:
        if X is None:
            raise ModelError("X is missing: the model was fitted to columns of nodes")
        _check_titles(X, fitted)
        names, X = _named_rows(X, fitted.num_nodes)
        own = read_problem(Graph.from_edges(len(names), []), X, labelled=False, fitted=fitted)
        if fitted.meaning is not None:
            own = own.by_meaning(text_model, fitted=fitted.meaning)
        features, plain = own.features, own.plain
        check_columns(features, fitted)
    elif X is not None:
        raise ModelError("X is given, but the model was fitted without columns of nodes")
    else:
        names = [name for name in linked if known[name] < 0]
    if (there := fitted.places(names) >= 0).any():
        raise ModelError(
            f"{np.array(names, object)[there][0]!r} is a node of the fit: a new node needs another "
            "name"
        )
    new = set(names)
    if unknown := [name for name in linked if known[name] < 0 and name not in new]:
        raise ModelError(
            f"edges name {shown(unknown[:_SHOWN])}: neither nodes of the fit nor rows of X"
        )
    names += [name for name in linked if known[name] >= 0]
    number = {name: at for at, name in enumerate(names)}
    pairs = np.array([number[name] for name in rows.pairs.ravel().tolist()], np.int64)
    graph = _new_edges(fitted.graph, len(names), rows._replace(pairs=pairs.reshape(-1, 2)))
    if features is not None:
        rest = sp.csr_array((len(names) - features.shape[0], features.shape[1]), dtype=np.float32)
        features = _stacked([features, rest])
    every = np.empty(len(names), object)
    every[:] = names
    return Problem("new nodes", graph, features, names=every, plain=plain)


def _named_rows(X: Any, first: int) -> tuple[list[Any], Any]:
    """Return the names of rows, and the rows without them: numbers from the first on by default."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or are_positions(index):
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        return list(range(first, first + count)), X
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()
        raise ModelError(f"the index of X has {shown(twice[0])} more than once")
    return index.tolist(), X.reset_index(drop=True)


def _new_edges(fitted: Graph, count: int, rows: EdgeRows) -> Graph:
    """Return edges of new nodes as a graph, directed where those of the fit are."""
    if rows.relation is None and len(fitted.relations) == 1:
        rows = rows._replace(
            relation=np.zeros(len(rows.pairs), np.int64), relations=tuple(fitted.relations)
        )
    directed = rows.relation is not None and any(r.directed for r in fitted.relations.values())
    return build_graph(count, rows, directed=directed)[0]


def _check_titles(X: Any, fitted: Problem) -> None:
    """Refuse a DataFrame with other numeric columns; warn of columns that the fit did not have."""
    titles = [str(name) for name in getattr(X, "columns", ())]
    if titles and fitted.columns and tuple(titles) != fitted.columns:
        raise ModelError(
            f"X must have the columns of the fit, {shown(list(fitted.columns))}, in their order; "
            f"got {shown(titles)}"
        )
    seen = titles if fitted.encoder is None else fitted.encoder.types
    if unseen := [name for name in titles if name not in seen]:
        text = f"columns that the model has not seen are left out: {shown(unseen)}"
        warnings.warn(text, stacklevel=5)


def grow(result: Result, new: Problem, places: Nodes | None = None) -> Grown:
    """Return a result with new nodes, computed by the fitted model.

    Args:
        result: of a fit, with its graph.
        new: names and edges of the new nodes and of nodes that they are linked to; features of the
            new nodes, in the columns of the fit, rows of the others are not read.
        places: the number in the fit of each node, -1 for a new one [n]; None matches names.
    """
    given = result.nodes("new nodes")
    places = given.places(new.ids.tolist()) if places is None else places
    fresh = np.flatnonzero(places < 0)
    old = _part(result, places[places >= 0], max(_AROUND, _AROUND_EACH * len(fresh)))
    if not len(fresh):
        raise ModelError(f"none of {counted(len(places), 'node')} is new: all are nodes of the fit")
    if given.hubs is not None:
        _check_linked(new, places)
    classified = int(np.searchsorted(old, given.num_classified))
    number = np.full(given.num_nodes, len(old) + len(fresh))  # in the part, of nodes of the fit
    number[old] = np.arange(len(old)) + len(fresh) * (np.arange(len(old)) >= classified)
    nodes = classified + np.arange(len(fresh))
    in_part = np.empty(len(places), np.int64)
    in_part[fresh], in_part[places >= 0] = nodes, number[places[places >= 0]]
    graph = _joined(
        given.graph.induced(old), number[old], new.graph, in_part, len(old) + len(fresh)
    )
    order = np.argsort(np.concatenate([number[old], nodes]))
    part = _grown_problem(given, new, graph, old, fresh, order, number)
    model = result.model
    with torch_defaults():
        if isinstance(model, (FittedStack, FittedTags)):
            applied: Any = model.on(graph, part.scaled, number)
        else:
            applied = GivenProbabilities(model.predict(graph, part.scaled, number).probabilities)
    return Grown(replace(result, given=part, model=applied), nodes)


def _check_linked(new: Problem, places: Nodes) -> None:
    """Refuse new nodes without columns that no path leads to from a node of the fit."""
    _, component = connected_components(new.graph.to_scipy(), directed=False)
    alone = ~np.isin(component, component[places >= 0])
    if alone.any():
        raise ModelError(
            f"no path leads from {shown(new.ids[alone][:_SHOWN].tolist())} to a node of the fit, "
            "and there are no columns to predict from"
        )


def _part(result: Result, linked: Nodes, around: int) -> Nodes:
    """Return the nodes of the fit that the model is applied to, ascending.

    They are those that it was fitted to, and as many around those that new nodes are linked to.
    """
    part = getattr(result.model, "part", None)
    if part is None:
        return np.arange(result.given.num_nodes)
    if not len(linked):
        return part
    return np.union1d(part, reach(result.given.graph, linked, Diffusion().coefficients, around))


def _grown_problem(
    given: Problem,
    new: Problem,
    graph: Graph,
    old: Nodes,
    fresh: Nodes,
    order: Nodes,
    number: Nodes,
) -> Problem:
    """Return the part of the grown graph, its nodes in the given order."""

    def rows(before: Any, after: Any) -> NDArray[Any]:
        joined: NDArray[Any] = np.concatenate([np.asarray(before, object), after])[order]
        return joined

    features, hubs = given.features, given.hubs
    if hubs is not None:
        there = (hubs >= 0) & (number[hubs] < len(order))
        hubs = np.where(there, number[hubs], -1)
        features = ties_to(graph, hubs)
    else:
        assert features is not None
        assert new.features is not None
        features = _stacked([features[old], new.features[fresh]])[order]
    titles = given.titles
    if titles is not None:
        own = np.full(new.num_nodes, "", object) if new.titles is None else new.titles
        titles = rows(titles[old], own[fresh])
    first = old[: np.searchsorted(old, given.num_classified)]
    plain = {
        name: np.concatenate([given.plain[name][first], values[fresh]])
        if name in given.plain
        else np.concatenate([np.full(len(first), np.nan), values[fresh]])
        for name, values in new.plain.items()
        if name in given.plain or values.dtype.kind == "f"
    }
    types = dict(given.node_types)
    if types:
        sizes = np.bincount(np.repeat(np.arange(len(types)), list(types.values()))[old])
        sizes[0] += len(fresh)
        types = dict(zip(types, sizes.tolist(), strict=True))
    return replace(
        given,
        graph=graph,
        features=features,
        scaled=given.scaling.apply(graph, features),
        hubs=hubs,
        labels=rows(given.labels[old], np.full(len(fresh), -1)).astype(np.int64),
        names=rows(given.ids[old], new.ids[fresh]),
        titles=titles,
        node_types=types,
        texts=None,
        plain=plain,
        public_split=None,
        validation=_there(number[given.validation], len(order)),
        suggested=_there(number[given.suggested], len(order)),
        new=np.flatnonzero(order >= len(old)),
        embeddings={},
    )


def _there(nodes: Nodes, count: int) -> Nodes:
    return nodes[nodes < count]


def _stacked(parts: Sequence[FeatureMatrix]) -> Any:
    """Return rows below each other, dense if the first are."""
    if isinstance(parts[0], np.ndarray):
        dense = [one if isinstance(one, np.ndarray) else one.toarray() for one in parts]
        return np.concatenate(dense)
    return sp.csr_array(sp.vstack([sp.csr_array(one) for one in parts]))


def _joined(old: Graph, number: Nodes, new: Graph, in_part: Nodes, count: int) -> Graph:
    """Return the edges of two graphs as one of ``count`` nodes, given the numbers there."""
    new = align_relations(new, tuple(old.relations))
    if old.relations:
        return join_relations(
            {
                name: _joined(one, number, new.relations[name], in_part, count)
                for name, one in old.relations.items()
            }
        )
    parts = [(old, number), (new, in_part)]
    pairs = [at[np.stack([one.row_of_entry(), one.indices], axis=1)] for one, at in parts]
    weights = None
    if any(one.weights is not None for one, _ in parts):
        weights = np.concatenate([one.to_scipy().data for one, _ in parts])
    return Graph.from_edges(count, np.concatenate(pairs), weights, directed=old.directed)
