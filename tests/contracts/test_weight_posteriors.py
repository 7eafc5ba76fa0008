"""The contract of weight posteriors: known moments, and members that depend on themselves alone.

Two problems have a posterior that is known. Without edges Â is the identity, and a network without
a hidden layer is linear, so that squared error gives a Gaussian posterior in closed form and
cross-entropy with two weights one that a grid integrates. 100 members with different seeds see
the same labels: their draws, pooled, must have the moments that the method promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch

from nodecopy.core.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.paper.networks import GAT
from nodecopy.problem.task import Task
from nodecopy.weights import (
    SGLD,
    CrossEntropy,
    Laplace,
    MaximumPosterior,
    MCDropout,
    Objective,
    PointEstimate,
    TrainConfig,
    WeightPosterior,
    WeightSamples,
)
from nodecopy.weights.laplace import inverse_root
from tests.problems import make_task

TAU, MEMBERS, DRAWS = 0.5, 100, 20
LINEAR = GCN(hidden=(), dropout=0.0)
Build = Callable[[Objective, int, int | None, bool], WeightPosterior]


@dataclass(frozen=True)
class SquaredError:
    """‖z - onehot(y)‖² / 2σ²: with a linear network the posterior of the weights is Gaussian."""

    noise: float  # σ

    def losses(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        onehot = torch.nn.functional.one_hot(targets.clamp(min=0), logits.shape[-1])
        squares = ((logits - onehot) ** 2).sum(-1) / (2.0 * self.noise**2)
        return torch.where(targets >= 0, squares, 0.0)

    def curvature(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.eye(logits.shape[-1]).expand(*logits.shape, -1) / self.noise**2


@dataclass(frozen=True)
class Case:
    """A posterior and what it promises.

    Attributes:
        name: of the case.
        build: (objective, number of labels, bound on memory, short) -> the posterior.
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

    def build(objective: Objective, labels: int, memory: int | None, short: bool) -> PointEstimate:
        epochs, computing = 20 if short else 400, Computing(memory=memory)
        settings = {"weight_decay": TAU / labels, "objective": objective, "computing": computing}
        return kind(TrainConfig(epochs, 0.02, **settings))  # type: ignore[arg-type]

    return build


def sampled(kind: Any, shorter: dict[str, int], **longer: float) -> Build:
    """Return a sampler at temperature 1 with other settings in short fits."""

    def build(objective: Objective, labels: int, memory: int | None, short: bool) -> Any:
        settings = longer | shorter if short else longer
        settings |= {"objective": objective, "computing": Computing(memory=memory)}
        return kind(TAU, temperature=1.0, **settings)

    return build


FEW = {"epochs": 20}
SHORT_CHAIN = {"burn_in": 15, "thinning": 3}
CASES = [
    Case("mc dropout", trained(MCDropout), "none", 0.3),
    Case("point", trained(PointEstimate), "none", 0.3),
    Case("sgld", sampled(SGLD, SHORT_CHAIN, step_size=0.1, burn_in=200), "all", 0.15, 0.08),
    Case("laplace", sampled(Laplace, FEW, epochs=400, learning_rate=0.05), "all", 0.3, 0.15),
]
every_posterior = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def unconnected(features: np.ndarray, labels: Sequence[int]) -> Task:
    """Return a task of nodes without edges, all labelled."""
    graph = Graph.from_edges(len(features), np.zeros((0, 2), int))
    x = features.astype(np.float32)
    return Task.of(graph, x, labels, np.arange(len(x)), num_classes=2)


def orthogonal() -> tuple[Task, float]:
    """Return a design of orthogonal columns, and σ."""
    values = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    features = np.zeros((12, 3))
    features[np.arange(12), np.arange(12) // 4] = values
    return unconnected(features, [0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 1]), 0.7


def gaussian_posterior(task: Task, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean [D, K] and standard deviations [D, K] of the weights, in closed form."""
    x = np.asarray(task.features, np.float64)
    precision = TAU + (x**2).sum(0) / noise**2
    mean = (x.T @ np.eye(2)[task.labels]) / noise**2 / precision[:, None]
    return mean, np.broadcast_to(precision[:, None] ** -0.5, mean.shape)


def logistic() -> Task:
    x = np.array([0.4, 0.8, 1.2, 1.6, 2.0, -0.4, -0.8, -1.2, -1.6, -2.0, 0.6, -0.6])[:, None]
    return unconnected(x, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0])


@cache
def logistic_posterior() -> tuple[np.ndarray, np.ndarray]:
    """Return mean [2] and covariance [2, 2] of the two weights, integrated on a grid."""
    task = logistic()
    axis = np.linspace(-8.0, 8.0, 801)
    a, b = np.meshgrid(axis, axis, indexing="ij")
    log = -TAU / 2 * (a**2 + b**2)
    for x, y in zip(np.asarray(task.features)[:, 0].tolist(), task.labels, strict=True):
        log += np.where(y == 0, a, b) * x - np.logaddexp(a * x, b * x)
    p = np.exp(log - log.max())
    p /= p.sum()
    w = np.stack([a, b]).reshape(2, -1)
    mean = w @ p.ravel()
    centred = w - mean[:, None]
    return mean, (centred * p.ravel()) @ centred.T


def pooled(case: Case, task: Task, objective: Objective) -> np.ndarray:
    """Return the draws of all members, as rows of weights."""
    posterior = case.build(objective, len(task.train), None, False)
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
def test_the_moments_of_a_linear_gaussian_posterior(case: Case) -> None:
    task, noise = orthogonal()
    mean, deviation = (part.ravel() for part in gaussian_posterior(task, noise))
    draws = pooled(case, task, SquaredError(noise))
    assert_moments(case, draws, mean, deviation)


@every_posterior
def test_the_moments_of_a_logistic_posterior(case: Case) -> None:
    mean, covariance = logistic_posterior()
    draws = pooled(case, logistic(), CrossEntropy())
    assert_moments(case, draws, mean, np.diag(covariance) ** 0.5)
    if case.spread == "all":  # the two weights vary together, and so does what is predicted
        exact = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        assert np.corrcoef(draws.T)[0, 1] == pytest.approx(exact, abs=0.08)


@pytest.mark.parametrize("case", [c for c in CASES if c.name in ("sgld", "laplace")])
def test_a_colder_posterior_is_narrower(case: Case) -> None:
    """At temperature T a Gaussian posterior has T times the variance, and the same mean."""
    task, noise = orthogonal()
    mean, deviation = (part.ravel() for part in gaussian_posterior(task, noise))
    warm = case.build(SquaredError(noise), 12, None, False)
    cold = replace(warm, temperature=0.25)  # type: ignore[type-var]
    if isinstance(cold, SGLD):
        cold = replace(cold, step_size=0.05)
    drawn = cold.fit(LINEAR, [task] * MEMBERS, [task.graph] * MEMBERS, list(range(MEMBERS)), DRAWS)
    draws = drawn.weights["w0"].flatten(1).double().numpy()
    assert_moments(case, draws, mean, deviation / 2)


def short(case: Case, memory: int | None = None) -> WeightPosterior:
    return case.build(CrossEntropy(), 12, memory, True)


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


SAMPLERS = [SGLD(burn_in=5, thinning=2), Laplace(epochs=5)]


@pytest.mark.parametrize("posterior", SAMPLERS, ids=repr)
def test_fixed_parameters_and_buffers_stay_what_they_are(posterior: WeightPosterior) -> None:
    network = TorchNetwork(Module, hops=1, readout=("linear.weight", "linear.bias"))
    drawn = posterior.fit(network, TASKS, GRAPHS, [1, 2, 3], 2)
    own = [w for name, w in drawn.weights.items() if not network.trained(name)]
    assert drawn.num_draws == 2
    assert len(own) == 3
    assert all(torch.equal(w, w[:1].expand_as(w)) for w in own)
    weights = drawn.weights["linear.weight"]
    assert not torch.equal(weights[0], weights[1])
    again = drawn.predict_proba(TASKS[0].graph, TASKS[0].features)
    np.testing.assert_allclose(again.sum(-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("posterior", SAMPLERS, ids=repr)
def test_running_statistics_have_no_posterior(posterior: WeightPosterior) -> None:
    task, network = TASKS[0], TorchNetwork(partial(Module, norm=True))
    with pytest.raises(ModelError, match=r"running statistics \(.*mean.*use MCDropout\(\)"):
        posterior.fit(network, [task], [task.graph], [0], 2)


def test_laplace_needs_a_last_layer_of_moderate_size() -> None:
    task = TASKS[0]
    with pytest.raises(ModelError, match=r"GAT has no last layer .* use SGLD\(\)"):
        Laplace().fit(GAT(), [task], [task.graph], [0], 2)
    with pytest.raises(ModelError, match="36 numbers for each of 900,000 weights"):
        Laplace().fit(GCN((300_000,)), [task], [task.graph], [0], 2)


def test_laplace_is_centred_where_the_convex_fit_ends() -> None:
    """So cold that nothing but the maximum is left; 36 factors for 72 weights."""
    network, task = Diffusion(), TASKS[0]
    graphs, seeds = [task.graph, GRAPHS[1]], [1, 2]
    expected = (
        MaximumPosterior(TAU).fit(network, [task] * len(seeds), graphs, seeds, 1).weights["w"]
    )
    cold = Laplace(TAU, 400, 0.05, temperature=1e-8)
    drawn = cold.fit(network, [task] * len(seeds), graphs, seeds, 2).weights["w"]
    torch.testing.assert_close(drawn, expected.repeat_interleave(2, 0), atol=2e-3, rtol=0)


@pytest.mark.parametrize("rows", [3, 9])
def test_the_inverse_root_squares_to_the_inverse(rows: int) -> None:
    v = torch.as_tensor(np.random.default_rng(rows).normal(size=(rows, 5)))
    v[1] = v[0]  # a factor that adds no direction
    root = inverse_root(v, 0.3, torch.eye(5).double())
    torch.testing.assert_close(
        root @ root.mT, torch.linalg.inv(v.mT @ v + 0.3 * torch.eye(5).double())
    )


@pytest.mark.parametrize(
    ("posterior", "setting"),
    [(SGLD(), "step_size"), (Laplace(), "learning_rate")],
)
def test_a_posterior_that_is_not_a_number_names_the_member(
    posterior: WeightPosterior, setting: str
) -> None:
    task = unconnected(np.full((4, 2), np.inf), [0, 1, 0, 1])
    with pytest.raises(Exception, match=rf"member 0 \(seed 8\).*smaller {setting}"):
        posterior.fit(LINEAR, [task], [task.graph], [8], 1)
