"""Adaptive attacks: edges added where they most change the logits of our own diffusion member.

The member Z = softmax(Π S), S = X W, is fitted to the clean graph. For directions U [N, K],

    f = Σ_jk U_jk (Π S)_jk,   Π = Σ_t c_t Âᵗ,   ∂f / ∂Â_uv = Σ_ij c_(i+j+1) (Âⁱ U)_u · (Âʲ S)_v

and edges are added whose first-order change of f, by way of the degrees as well, lowers it most. U
is the true class minus the strongest other one: at a single target, or at all test nodes, each
times the derivative of tanh of its margin (Geisler et al. 2021, "Robustness of graph neural
networks at scale"), so that no edge is spent on nodes that are lost or safe. The attacker knows all
classes, W and the graph, but not how the method weighs edges or what else is in its pool.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.compared import ScoredTask
from nodecopy.classifiers import fit_one
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.products import kept_features
from nodecopy.presets import diffusion

PER_TARGET, SHARE, ROUNDS = 5, 0.2, 20


def attack_targets(problem: ScoredTask, per_target: int = PER_TARGET) -> ScoredTask:
    """Add edges at each test node, one after the other; their other ends are not test nodes."""
    member, graph = Member(problem), problem.task.graph
    others = np.ones(graph.num_nodes, bool)
    others[problem.test] = False
    for target in problem.test:
        for _ in range(per_target):
            u = member.directions(graph, np.array([target]))
            change = Change(graph, u, member.scores).of(np.array([target]))[0]
            allowed = others & ~graph.contains(np.full(len(others), target), np.arange(len(others)))
            graph = _with(graph, [[target, np.where(allowed, change, np.inf).argmin()]])
    return _attacked(problem, graph)


def attack_all(problem: ScoredTask, share: float = SHARE, rounds: int = ROUNDS) -> ScoredTask:
    """Add a share of all edges, in rounds in which each node gets one edge at most."""
    member, graph = Member(problem), problem.task.graph
    budgets = np.diff(np.linspace(0, share * graph.num_edges, rounds + 1).round().astype(int))
    for budget in budgets:
        u = member.directions(graph, problem.test)
        change = Change(graph, u, member.scores).of(np.arange(graph.num_nodes))
        change[graph.to_scipy().nonzero()] = np.inf
        change[np.tril_indices(len(change))] = np.inf
        graph = _with(graph, _best_matching(change, budget))
    return _attacked(problem, graph)


class Member:
    """The diffusion member that is attacked, fitted to the clean graph."""

    def __init__(self, problem: ScoredTask) -> None:
        weights = fit_one(diffusion(), problem.task, 0).weights.weights
        (w,) = weights["w"]
        x = kept_features(problem.task.features, torch.device("cpu"))
        self.scores = x.times(w.float()).double().numpy()  # S [N, K]
        self._truth = problem.truth

    def directions(self, graph: Graph, nodes: np.ndarray) -> np.ndarray:
        """Return U [N, K]."""
        operator, powers = normalised(graph), self.scores
        logits = np.zeros_like(powers)
        for coefficient in Diffusion().coefficients:
            logits += coefficient * powers
            powers = operator @ powers
        truth = self._truth[nodes]
        others = logits[nodes]
        own = np.take_along_axis(others, truth[:, None], 1)[:, 0]
        np.put_along_axis(others, truth[:, None], -np.inf, 1)
        slope = 1 - np.tanh(own - others.max(1)) ** 2 if len(nodes) > 1 else 1.0
        u = np.zeros_like(logits)
        u[nodes, truth] = slope
        u[nodes, others.argmax(1)] = -slope
        return u


class Change:
    """The first-order change of f by each new edge."""

    def __init__(self, graph: Graph, u: np.ndarray, s: np.ndarray) -> None:
        operator, lengths = normalised(graph), Diffusion().coefficients
        hops = len(lengths) - 1
        a, b = [u], [s]
        for _ in range(hops):
            a.append(operator @ a[-1])
            b.append(operator @ b[-1])
        c = [sum(lengths[i + j + 1] * b[j] for j in range(hops - i)) for i in range(hops + 1)]
        self._left, self._right = np.hstack(a[:hops]), np.hstack(c[:hops])  # [N, T K]
        self._root = 1 / np.sqrt(graph.strengths() + 1.0)
        inner = self._left * (operator @ self._right) + self._right * (operator @ self._left)
        self._degrees = -0.5 * self._root**2 * inner.sum(1)

    def of(self, nodes: np.ndarray) -> np.ndarray:
        """Return the change by edges from some nodes to all [n, N]."""
        both = self._left[nodes] @ self._right.T + self._right[nodes] @ self._left.T
        both *= self._root[nodes, None] * self._root
        return both + self._degrees[nodes, None] + self._degrees


def normalised(graph: Graph) -> sp.csr_array:
    """Return Â."""
    rows = graph.normalised
    return sp.csr_array((rows.values.astype(float), rows.columns, rows.indptr))


def _best_matching(change: np.ndarray, budget: int) -> np.ndarray:
    """Return the edges with the lowest change of which no two share a node [n, 2]."""
    lowest = np.argpartition(change.ravel(), 200 * budget)[: 200 * budget]
    order = lowest[np.argsort(change.ravel()[lowest])]
    taken, chosen = np.zeros(len(change), bool), []
    for u, v in zip(*np.unravel_index(order, change.shape), strict=True):
        if len(chosen) < budget and not (taken[u] or taken[v]):
            taken[[u, v]] = True
            chosen.append((u, v))
    return np.array(chosen)


def _with(graph: Graph, edges) -> Graph:
    return Graph.from_edges(graph.num_nodes, np.concatenate([graph.edges(), edges]))


def _attacked(problem: ScoredTask, graph: Graph) -> ScoredTask:
    return replace(problem, task=replace(problem.task, graph=graph))
