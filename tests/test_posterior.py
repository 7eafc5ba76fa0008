"""Algorithm 1: what it reduces to, what it depends on, and what it does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import GCNClassifier, LabelPropagation, fit_one
from nodecopy.classifiers.posterior import PARTS, entropy
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import child_seed, stream
from nodecopy.graph_models import NodeCopying, ObservedGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.gcn import GCN
from nodecopy.paper.networks import ChebNet
from nodecopy.posterior import BayesianGCN, Posterior, average
from nodecopy.problem.task import Task
from nodecopy.weights import MaximumPosterior, MCDropout, PointEstimate, TrainConfig
from tests.problems import train

SHORT = TrainConfig(epochs=12)
SMALL = BayesianGCN(n_zeta=2, n_graphs=2, n_weights=3, weights=MCDropout(SHORT))


def test_one_of_everything_on_the_observed_graph_is_the_plain_gcn(task: Task) -> None:
    network = GCN(dropout=0.0)
    model = BayesianGCN(
        graph_model=ObservedGraph(),
        weights=PointEstimate(SHORT),
        n_zeta=1,
        n_graphs=1,
        n_weights=1,
        network=network,
    )
    seed = child_seed(3, "member", 0)
    plain = train(network, task, [task.graph], [seed], SHORT)
    expected = plain.predict_proba(task.graph, task.features)[0]
    np.testing.assert_allclose(fit_one(model, task, seed=3).probabilities, expected, atol=1e-7)
    # With dropout off, drawing masks changes nothing either.
    masked = fit_one(dataclasses.replace(model, weights=MCDropout(SHORT)), task, seed=3)
    np.testing.assert_allclose(masked.probabilities, expected, atol=1e-7)


def test_members_are_trained_each_on_its_own_graph(task: Task) -> None:
    fitted = fit_one(SMALL, task, seed=1)
    posterior = NodeCopying().fit(task, fitted.base_probabilities, seed=0)
    for m, (v, i) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        graph = posterior.graph(1, v, i)
        assert fitted.graphs[m].built == graph.built
        alone = train(GCN(), task, [graph], [child_seed(1, "member", m)], SHORT)
        for name, weights in alone.weights.items():
            together = fitted.samples.weights[name][m]
            np.testing.assert_allclose(weights[0].numpy(), together.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (LabelPropagation(), LabelPropagation()),
        (SMALL, SMALL),  # it can be its own base
        (None, GCNClassifier(ChebNet(degree=2), SHORT)),  # a network like the members
    ],
)
def test_the_base_gives_the_predicted_classes(task: Task, base: object, expected: Any) -> None:
    network = GCN() if base is not None else ChebNet(degree=2)
    fitted = fit_one(dataclasses.replace(SMALL, base=base, network=network), task, seed=1)
    p = fit_one(expected, task, child_seed(1, "base")).probabilities
    np.testing.assert_allclose(fitted.base_probabilities, p, atol=1e-7)
    drawn = NodeCopying().fit(task, fitted.base_probabilities, seed=0).graph(1, 1, 1)
    assert fitted.graphs[3].built == drawn.built


def test_predictions_may_be_made_on_the_sampled_graphs(task: Task) -> None:
    observed = fit_one(SMALL, task, seed=2)
    sampled = fit_one(dataclasses.replace(SMALL, predict_on="sampled"), task, seed=2)
    by_hand = np.zeros((90, 3))
    for m, graph in enumerate(observed.graphs):
        member = observed.samples.take(slice(m, m + 1))
        for _, _, p in member.predictions(graph, task.features):
            by_hand += p[0] / 12
    np.testing.assert_allclose(sampled.probabilities, by_hand, atol=1e-6)
    assert np.abs(observed.probabilities - by_hand).max() > 1e-3


def test_the_observed_graph_leaves_a_deep_ensemble(task: Task) -> None:
    assert BayesianGCN().weight_posterior() == MCDropout()
    ensemble = dataclasses.replace(SMALL, graph_model=ObservedGraph(), weights=PointEstimate(SHORT))
    fitted = fit_one(ensemble, task)
    assert all(graph is task.graph for graph in fitted.graphs)
    each = fitted.samples.predict_proba(task.graph, task.features)  # [4, N, K]
    np.testing.assert_allclose(fitted.probabilities, each.mean(0), atol=1e-6)
    assert fitted.posterior.num_draws == 1
    np.testing.assert_allclose(fitted.posterior.weight_information, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "gcn"}, "base must be a node classifier .* got 'gcn'"),
        ({"base": GCNClassifier}, "base must be"),
        ({"base": LogisticRegression()}, r"scikit-learn estimator: .*FeatureClassifier\(Logi"),
        ({"graph_model": "mmsbm"}, "graph_model must be .* got 'mmsbm'"),
        ({"weights": MCDropout}, "weights must be .* None; got .*MCDropout"),
        ({"network": (16,)}, r"network must be .* got \(16,\)"),
        ({"n_zeta": 0}, "at least 1"),
    ],
)
def test_wrong_parts_are_refused_at_once(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        BayesianGCN(**settings)


V, N_G, S, N, K = 3, 2, 4, 7, 3
Chunk = tuple[slice, int, np.ndarray]


def some_draws(*names: str | int, shape: tuple[int, ...] = (V, N_G, S, N)) -> np.ndarray:
    """Return distributions p[v, i, s, node, class]; some of their entries are zero."""
    p = stream(0, *names).dirichlet(np.full(K, 0.3), size=shape)
    p[..., 0, :] = np.eye(K)[0]  # a node on which every draw agrees for certain
    return p


def chunked(p: np.ndarray, sizes: list[int]) -> Iterator[Chunk]:
    """Give draws [V, N_G, S, N, K] as `average` takes them: some members, every s, then others."""
    members = p.reshape(-1, *p.shape[2:])  # [M, S, N, K]
    assert sum(sizes) == len(members)
    start = 0
    for size in sizes:
        for s in range(members.shape[1]):
            yield slice(start, start + size), s, members[start : start + size, s]
        start += size


def surprise(p: np.ndarray) -> float:
    return -sum(x * np.log(x) for x in p if x > 0)


def lacking(draws: list[np.ndarray]) -> float:
    """Return 1/2n Σ_k Var(p_k) / mean p_k of n draws: what the entropy of their mean lacks."""
    if len(draws) == 1:
        return 0.0
    mean, variance = np.mean(draws, 0), np.var(draws, 0, ddof=1)
    return sum(v / m for v, m in zip(variance, mean, strict=True) if m > 0) / (2 * len(draws))


def by_loop(p: np.ndarray, node: int) -> tuple[np.ndarray, float, float, float]:
    """Return mean, expected entropy, weight part and graph part of a node, loop by loop."""
    v_count, i_count, s_count = p.shape[:3]
    mean, single, member, members = np.zeros(K), 0.0, 0.0, []
    for v in range(v_count):
        for i in range(i_count):
            within = np.zeros(K)
            for s in range(s_count):
                mean += p[v, i, s, node] / (v_count * i_count * s_count)
                within += p[v, i, s, node] / s_count
                single += surprise(p[v, i, s, node]) / (v_count * i_count * s_count)
            members.append(within)
            member += (surprise(within) + lacking(list(p[v, i, :, node]))) / (v_count * i_count)
    information = surprise(mean) + lacking(members) - single
    weights = min(member - single, information)
    scale = surprise(mean) / (single + information) if single + information > 0 else 1.0
    return mean, scale * single, scale * weights, scale * (information - weights)


def assert_is_the_loop(result: Posterior, p: np.ndarray, atol: float) -> None:
    for node in range(p.shape[3]):
        mean, single, weights, graph = by_loop(p.astype(np.float64), node)
        np.testing.assert_allclose(result.probabilities[node], mean, atol=atol)
        assert result.expected_entropy[node] == pytest.approx(single, abs=atol)
        assert result.weight_information[node] == pytest.approx(weights, abs=atol)
        assert result.graph_information[node] == pytest.approx(graph, abs=atol)
        assert result.entropy[node] == pytest.approx(surprise(mean), abs=atol)


def test_the_average_is_the_triple_loop() -> None:
    p = some_draws("draws")
    result = average(chunked(p, [6]), S)
    assert_is_the_loop(result, p, atol=1e-12)
    assert (result.num_members, result.num_draws) == (V * N_G, S)


def test_a_fitted_model_is_the_triple_loop(task: Task) -> None:
    model = BayesianGCN(
        n_zeta=2, n_graphs=2, n_weights=3, weights=MCDropout(TrainConfig(epochs=15))
    )
    fitted = fit_one(model, task, seed=5)
    p = np.empty((2, 2, 3, 90, 3), np.float32)
    for v in range(2):
        for i in range(2):
            member = fitted.samples.take(slice(2 * v + i, 2 * v + i + 1))
            for _, s, one in member.predictions(task.graph, task.features):
                p[v, i, s] = one[0]
    assert len(np.unique(p[:, :, :, 0, 0])) == 12  # twelve different draws
    assert_is_the_loop(fitted.posterior, p, atol=1e-6)


@pytest.mark.parametrize("sizes", [[1] * 6, [2, 3, 1], [5, 1]])
def test_chunks_do_not_matter(sizes: list[int]) -> None:
    p, some = some_draws("chunks"), np.array([4, 1])
    whole, divided = average(chunked(p, [6]), S), average(chunked(p, sizes), S)
    for name in ("probabilities", *PARTS, "entropy"):
        np.testing.assert_allclose(getattr(divided, name), getattr(whole, name), atol=1e-12)
        assert np.array_equal(getattr(whole.take(some), name), getattr(whole, name)[some])
    assert divided.num_members == whole.take(some).num_members == 6


def drawn_averages(
    members: int, draws: int, between: float, within: float, nodes: int = 1500
) -> tuple[Posterior, np.ndarray]:
    """Average members whose means are Dirichlet around one distribution, and draws around these.

    Returns:
        The average, and what its parts would be with infinitely many members and draws.
    """
    base, rng = np.array([0.5, 0.3, 0.15, 0.05]), stream(1, "law", members, draws)

    def around(mean: np.ndarray, concentration: float) -> np.ndarray:
        if np.isinf(concentration):
            return mean
        sizes = np.maximum(rng.standard_gamma(np.maximum(concentration * mean, 1e-9)), 1e-300)
        return sizes / sizes.sum(-1, keepdims=True)

    def chunks() -> Iterator[Chunk]:
        for m in range(members):
            mean = around(np.broadcast_to(base, (nodes, 4)), between)
            for s in range(draws):
                yield slice(m, m + 1), s, around(mean, within)[None]

    means = around(np.broadcast_to(base, (40_000, 4)), between)
    single, member = entropy(around(means, within)).mean(), entropy(means).mean()
    truth = np.array([single, member - single, entropy(base) - member])
    return average(chunks(), draws), truth


def parts(result: Posterior) -> np.ndarray:
    each = (result.expected_entropy, result.weight_information, result.graph_information)
    return np.array([part.mean() for part in each])


@pytest.mark.parametrize(("draws", "bound"), [(5, 0.012), (10, 0.005), (50, 0.001)])
def test_members_equal_in_law_have_hardly_a_graph_part(draws: int, bound: float) -> None:
    result, truth = drawn_averages(10, draws, between=np.inf, within=4.0)
    assert parts(result)[2] < bound  # without the correction 0.053, 0.027, 0.005
    np.testing.assert_allclose(parts(result)[:2], truth[:2], rtol=0.1)


@pytest.mark.parametrize(
    ("members", "draws", "between", "within"),
    [
        (10, 5, 5.0, 4.0),  # 0.243 without the correction; the truth is 0.224
        (30, 5, 5.0, 4.0),  # 0.262; 0.224
        (30, 10, 30.0, 4.0),  # 0.074; 0.048
        (30, 2, 30.0, 20.0),  # 0.079; 0.048
        (10, 1, 5.0, np.inf),  # 0.198; 0.224: few members
    ],
)
def test_parts_are_those_of_infinitely_many_draws(
    members: int, draws: int, between: float, within: float
) -> None:
    result, truth = drawn_averages(members, draws, between, within)
    np.testing.assert_allclose(parts(result), truth, rtol=0.1, atol=1e-6)


def test_convex_members_differ_in_the_graph_alone_others_in_initial_weights_too(task: Task) -> None:
    convex = BayesianGCN(n_zeta=6, network=Diffusion(), weights=MaximumPosterior())
    trained = BayesianGCN(n_zeta=6, n_weights=1, weights=PointEstimate(TrainConfig(epochs=60)))
    for model, fixed in ((convex, False), (trained, True)):
        copied = fit_one(model, task).posterior.graph_information.mean()
        observed = fit_one(replace(model, graph_model=ObservedGraph()), task).posterior
        assert copied > 1e-4
        assert (observed.graph_information.mean() > 1e-5) == fixed
