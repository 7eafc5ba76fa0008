"""Ridge regression on columns as they are, on their means over neighbours, on roles and places.

    f_i = b + x_i u + x̄_i v + r_i w + Π_i p,   x̄_i = Σ_j A_ij x_j / Σ_j A_ij

What features through a kernel cannot say: a number that is linear in the columns, those of a node
and of its neighbours each with a weight, in its role (`role_columns`), and in a smooth function of
its place, walks Π over the graph alone. The squares of all weights are penalised as in
`nodecopy.regressors.ridge`; roles, and places, are scaled to the length of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph, RowGraph
from nodecopy.graph.neighbourhood import role_columns
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, terms_of_edges
from nodecopy.problem.task import Task
from nodecopy.regressors.base import FittedNumbers, NumberPosterior
from nodecopy.regressors.ridge import propagator, ridge, some_labels
from nodecopy.weights import WeightSamples

Array = NDArray[np.float64]


@savable
@dataclass(frozen=True)
class NeighbourRidge(Settings):
    """Ridge regression on columns.

    Args:
        neighbours: also on their means over neighbours, and on roles.
        places: how the graph alone tells nodes apart; None leaves it out.
    """

    neighbours: bool = True
    places: Diffusion | None = None

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedNeighbours]:
        """Fit to each task; the rows of labelled nodes are computed once."""
        check_no_start(self, start)
        x, graph = tasks[0].features, tasks[0].graph
        nodes = np.unique(np.concatenate([task.train for task in tasks]))
        blocks, roles, scale = [_dense(x[nodes])], np.zeros((graph.num_nodes, 0)), np.zeros((2, 0))
        if self.neighbours:
            roles = tasks[0].roles.astype(np.float64)
            scale = np.stack([roles.mean(0), np.maximum(roles.std(0), 1e-9)])
            blocks += [_dense(_walk(graph)[nodes] @ x), ((roles - scale[0]) / scale[1])[nodes]]
        if self.places is not None:
            walks = propagator(self.places, graph, x).rows(nodes)
            blocks.append(np.asarray(walks, np.float64))
        fits = []
        for task, seed in zip(tasks, seeds, strict=True):
            labelled, y = some_labels(task, seed)
            rows = [block[np.searchsorted(nodes, labelled)] for block in blocks]
            weights, intercept = self._weights(rows, y)
            place = None if self.places is None else _place_weights(self.places, weights.pop())
            own, near, of_roles = [*weights, np.zeros(0), np.zeros(0)][:3]
            empty = FittedNeighbours(own, near, of_roles, scale, intercept, np.zeros(0), place)
            fits.append(replace(empty, values=empty.of(graph, x, roles)))
        return fits

    def _weights(self, rows: list[Array], y: Array) -> tuple[list[Array], float]:
        """Return the weights of each block, and b; roles and places as long as the columns."""
        units = [1.0] * len(rows)
        if self.neighbours:
            units[2] = _length(rows[0]) / _length(rows[2])
        if self.places is not None:
            columns = np.hstack([unit * own for unit, own in zip(units, rows[:-1], strict=False)])
            units[-1] = _length(columns) / _length(rows[-1])
        line = ridge(np.hstack([unit * own for unit, own in zip(units, rows, strict=True)]), y)
        parts = np.split(line.w, np.cumsum([own.shape[1] for own in rows])[:-1])
        return [unit * part for unit, part in zip(units, parts, strict=True)], line.intercept


@savable
@dataclass(frozen=True, eq=False)
class FittedNeighbours(FittedNumbers):
    """A linear function of columns, those of neighbours, and roles.

    Attributes:
        own: u [D].
        near: v [D]; empty without neighbours.
        roles: w [5]; empty without neighbours.
        scale: centre and unit of the roles [2, 5].
        intercept: b.
        values: of every node of the graph that it was fitted to [N].
        place: p, as a matrix whose second column is zero [1, N, 2]; None without places.
    """

    own: Array
    near: Array
    roles: Array
    scale: Array
    intercept: float
    values: Array
    place: WeightSamples | None = None

    def of(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        roles: NDArray[np.floating],
        nodes: NDArray[np.int64] | None = None,
    ) -> Array:
        """Return numbers of the nodes of a graph, given their roles [N]."""
        values = np.asarray(features @ self.own) + self.intercept
        if len(self.near):
            values = values + _walk(graph.built) @ np.asarray(features @ self.near)
            values = values + (roles - self.scale[0]) / self.scale[1] @ self.roles
        if self.place is not None:
            network: Any = self.place.network
            p = self.place.placed(nodes, graph.num_nodes).weights["w"][0, :, :1]
            values = values + np.asarray(propagator(network, graph, features).times(p)[:, 0])
        return np.asarray(values, np.float64)

    def predict(  # type: ignore[override]
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NumberPosterior:
        """Apply the function to any graph with the same features."""
        roles = role_columns(graph.built) if len(self.roles) else np.zeros((0, 0))
        return NumberPosterior.single(self.of(graph, features, roles, nodes))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what own columns, each neighbour, the role and the place add, exactly."""
        walk, over, graph = None, np.zeros(0), near.graph.built
        if len(self.near):
            walk, over = _walk(graph), np.asarray(near.features @ self.near, np.float64)
        places: list[Terms] = [{} for _ in of.nodes]
        if self.place is not None:
            places = self.place.terms(near, of)
        for node, terms in zip(of.nodes.tolist(), places, strict=True):
            row = sp.csr_array(_dense(near.features[np.array([node])]))
            for d, value in zip(row.indices.tolist(), row.data.tolist(), strict=True):
                terms["column", d] = value * float(self.own[d])
            terms["class prior", 0] = self.intercept
            if walk is not None:
                step = walk[[node]]
                for term, value in terms_of_edges(
                    step.indices, step.data * over[step.indices]
                ).items():
                    terms[term] = terms.get(term, 0.0) + value
                known = sum(value for term, value in terms.items() if term[0] != "labelled node")
                role = float(of.probabilities[node, 0]) - known
                terms["position", 0] = terms.get(("position", 0), 0.0) + role
        return places

    def reduced(self) -> FittedNeighbours:
        """Return it without the values of its nodes."""
        return replace(self, values=self.values[:0])


def _walk(graph: Graph) -> Any:
    """Return a step of a random walk [N, N]; rows of nodes without an edge are zero."""
    adjacency = graph.to_scipy().astype(np.float64)
    strengths = np.asarray(adjacency.sum(1)).ravel()
    scale = np.divide(1.0, strengths, out=np.zeros(len(strengths)), where=strengths > 0)
    return sp.csr_array(sp.diags_array(scale) @ adjacency)


def _length(rows: Array) -> float:
    """Return the length of rows, less their mean, on average; one where they are all alike."""
    return float(np.sqrt(np.mean(((rows - rows.mean(0)) ** 2).sum(1)))) or 1.0


def _place_weights(network: Diffusion, p: Array) -> WeightSamples:
    weights = torch.as_tensor(np.stack([p, np.zeros(len(p))], 1), dtype=torch.float32)
    return WeightSamples(network, {"w": weights[None]}, (0,))


def _dense(rows: Any) -> Array:
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.asarray(dense, np.float64)
