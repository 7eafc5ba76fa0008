"""The contract of weight posteriors: known moments, and members that depend on themselves alone.

One problem has a posterior that is known: without edges Â is the identity, a network without a
hidden layer is linear, and a grid integrates the cross-entropy of two weights. 100 members with
different seeds see the same labels: their draws, pooled, must have the moments that the method
promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch

from nodecopy.core.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.problem.task import Task
from nodecopy.weights import (
    SGLD,
    MCDropout,
    PointEstimate,
    TrainConfig,
    WeightPosterior,
    WeightSamples,
)
from tests.problems import make_task

TAU, MEMBERS, DRAWS = 0.5, 100, 20
LINEAR = GCN(hidden=(), dropout=0.0)
Build = Callable[[int, int | None, bool], WeightPosterior]


@dataclass(frozen=True)
class Case:
    """A posterior and what it promises.

    Attributes:
        name: of the case.
        build: (number of labels, bound on memory, short) -> the posterior.
        spread: "all": the covariance; "none": a point.
        mean_error: how far the mean may be from the exact one, in exact standard deviations.
        spread_error: how far a standard deviation may be from the promised one, as a share.
    """

    name: str
    build: Build
    spread: str
    mean_error: float
    spread_error: float = 0.0


def trained(kind: type[PointEstimate]) -> Build:
    """Return descent whose loss is -log p(W | Y, X, G) / n."""

    def build(labels: int, memory: int | None, short: bool) -> PointEstimate:
        epochs, computing = 20 if short else 400, Computing(memory=memory)
        return kind(TrainConfig(epochs, 0.02, TAU / labels, computing=computing))

    return build


def chain(labels: int, memory: int | None, short: bool) -> SGLD:
    """Return a chain at temperature 1."""
    steps = {"burn_in": 15, "thinning": 3} if short else {"burn_in": 200}
    return SGLD(TAU, 0.1, temperature=1.0, computing=Computing(memory=memory), **steps)  # type: ignore[arg-type]


CASES = [
    Case("mc dropout", trained(MCDropout), "none", 0.3),
    Case("point", trained(PointEstimate), "none", 0.3),
    Case("sgld", chain, "all", 0.15, 0.08),
]
every_posterior = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def unconnected(features: np.ndarray, labels: Sequence[int]) -> Task:
    """Return a task of nodes without edges, all labelled."""
    graph = Graph.from_edges(len(features), np.zeros((0, 2), int))
    x = features.astype(np.float32)
    return Task.of(graph, x, labels, np.arange(len(x)), num_classes=2)


def logistic() -> Task:
    x = np.array([0.4, 0.8, 1.2, 1.6, 2.0, -0.4, -0.8, -1.2, -1.6, -2.0, 0.6, -0.6])[:, None]
    return unconnected(x, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0])


def logistic_posterior(temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return mean [2] and covariance [2, 2] of the two weights, integrated on a grid."""
    task = logistic()
    axis = np.linspace(-8.0, 8.0, 801)
    a, b = np.meshgrid(axis, axis, indexing="ij")
    log = -TAU / 2 * (a**2 + b**2)
    for x, y in zip(np.asarray(task.features)[:, 0].tolist(), task.labels, strict=True):
        log += np.where(y == 0, a, b) * x - np.logaddexp(a * x, b * x)
    p = np.exp((log - log.max()) / temperature)
    p /= p.sum()
    w = np.stack([a, b]).reshape(2, -1)
    mean = w @ p.ravel()
    centred = w - mean[:, None]
    return mean, (centred * p.ravel()) @ centred.T


def pooled(case: Case, task: Task, posterior: WeightPosterior | None = None) -> np.ndarray:
    """Return the draws of all members, as rows of weights."""
    posterior = posterior or case.build(len(task.train), None, False)
    members = 2 if case.spread == "none" else MEMBERS
    graphs, seeds = [task.graph] * members, list(range(members))
    drawn = posterior.fit(LINEAR, [task] * len(seeds), graphs, seeds, DRAWS).weights["w0"]
    return drawn.flatten(1).double().numpy()


def assert_moments(case: Case, draws: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> None:
    """Compare the draws with the exact mean and, if promised, standard deviations."""
    assert np.all(np.abs(draws.mean(0) - mean) < case.mean_error * deviation)
    if case.spread == "none":
        assert draws.std(0).max() < 0.05 * deviation.min()
    else:
        np.testing.assert_allclose(draws.std(0), deviation, rtol=case.spread_error)


@every_posterior
def test_the_moments_of_a_logistic_posterior(case: Case) -> None:
    mean, covariance = logistic_posterior()
    draws = pooled(case, logistic())
    assert_moments(case, draws, mean, np.diag(covariance) ** 0.5)
    if case.spread == "all":  # the two weights vary together, and so does what is predicted
        exact = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        assert np.corrcoef(draws.T)[0, 1] == pytest.approx(exact, abs=0.08)


def test_a_colder_posterior_is_narrower() -> None:
    """At temperature T the target is the posterior to the power 1/T."""
    mean, covariance = logistic_posterior(temperature=0.25)
    case = next(case for case in CASES if case.spread == "all")
    cold = SGLD(TAU, step_size=0.05, burn_in=400, temperature=0.25)
    assert_moments(case, pooled(case, logistic(), cold), mean, np.diag(covariance) ** 0.5)


def short(case: Case, memory: int | None = None) -> WeightPosterior:
    return case.build(12, memory, True)


def assert_same(one: WeightSamples, other: WeightSamples) -> None:
    assert (one.seeds, one.keys, one.stored) == (other.seeds, other.keys, other.stored)
    for name, weights in one.weights.items():
        torch.testing.assert_close(weights, other.weights[name], atol=1e-4, rtol=1e-4)


NETWORK = GCN(hidden=(5,))
TASKS = [make_task(per_class=4), make_task(per_class=2), make_task(per_class=3)]
GRAPHS = [make_task(seed=seed).graph for seed in (0, 5, 6)]


@every_posterior
def test_members_depend_on_themselves_alone(case: Case) -> None:
    """Not on how many are computed at a time, on which others there are, nor on their order."""
    seen: list[tuple[int, int]] = []
    together, again = (short(case).fit(NETWORK, TASKS, GRAPHS, [1, 2, 3], 3) for _ in range(2))
    for name, weights in together.weights.items():
        assert torch.equal(weights, again.weights[name])  # the same seeds give the same bits
    chunks = short(case, memory=1)
    in_parts = chunks.fit(NETWORK, TASKS, GRAPHS, [1, 2, 3], 3, lambda *state: seen.append(state))
    assert_same(together, in_parts)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    alone = short(case).fit(NETWORK, TASKS[1:2], GRAPHS[1:2], [2], 3)
    assert_same(together.take(slice(1, 2)), alone)
    backwards = short(case).fit(NETWORK, TASKS[::-1], GRAPHS[::-1], [4, 2, 1], 3)
    assert_same(together.take(slice(0, 1)), backwards.take(slice(2, 3)))
    assert not torch.equal(together.weights["w1"][-1], backwards.weights["w1"][0])


class Module(torch.nn.Module):
    """A network of torch: a linear layer of summed neighbours, with a buffer and a frozen scale."""

    def __init__(self, num_features: int, num_classes: int, *, norm: bool = False) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(num_features, num_classes)
        self.scale = torch.nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.norm = torch.nn.BatchNorm1d(num_classes) if norm else torch.nn.Identity()
        self.register_buffer("shift", torch.arange(num_classes) / 10)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        source, target = edge_index
        total = x + torch.zeros_like(x).index_add(0, target, x[source])
        return self.norm(self.linear(total) * self.scale + self.shift)


def test_fixed_parameters_and_buffers_stay_what_they_are() -> None:
    network = TorchNetwork(Module, hops=1)
    drawn = SGLD(burn_in=5, thinning=2).fit(network, TASKS, GRAPHS, [1, 2, 3], 2)
    own = [w for name, w in drawn.weights.items() if not network.trained(name)]
    assert drawn.num_draws == 2
    assert len(own) == 3
    assert all(torch.equal(w, w[:1].expand_as(w)) for w in own)
    weights = drawn.weights["linear.weight"]
    assert not torch.equal(weights[0], weights[1])
    again = drawn.predict_proba(TASKS[0].graph, TASKS[0].features)
    np.testing.assert_allclose(again.sum(-1), 1.0, atol=1e-5)


def test_running_statistics_have_no_posterior() -> None:
    task, network = TASKS[0], TorchNetwork(partial(Module, norm=True))
    with pytest.raises(ModelError, match=r"running statistics \(.*mean.*use MCDropout\(\)"):
        SGLD().fit(network, [task], [task.graph], [0], 2)


def test_a_posterior_that_is_not_a_number_names_the_member() -> None:
    task = unconnected(np.full((4, 2), np.inf), [0, 1, 0, 1])
    with pytest.raises(Exception, match=r"member 0 \(seed 8\).*smaller step_size"):
        SGLD().fit(LINEAR, [task], [task.graph], [8], 1)
