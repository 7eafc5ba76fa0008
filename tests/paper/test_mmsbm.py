"""The block model: draws, gradients and inference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.paper import mmsbm
from nodecopy.paper.mmsbm import (
    MMSBM,
    WARM,
    BlockParameters,
    MAPInference,
    MMSBMPosterior,
    block_draw,
    cold_start,
    map_update,
    phi_gradient,
    theta_gradient,
    warm_start,
)
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition
from tests.problems import true_labels

N, K, DELTA, RATE = 14, 3, 0.05, 0.3
QUICK = MMSBM(cold_iterations=20, warm_iterations=20)


def small_graph() -> Graph:
    """Fourteen nodes; node 0 is linked to all but two, node 13 to none."""
    rng = np.random.default_rng(3)
    hub = [(0, b) for b in range(1, N - 2)]
    return Graph.from_edges(N, np.concatenate([rng.integers(N - 1, size=(18, 2)), hub]))


def small_parameters() -> BlockParameters:
    rng = np.random.default_rng(4)
    return BlockParameters(rng.gamma(1.0, 1.0, (N, K)), rng.gamma(2.0, 1.0, (K, 2)))


def exact_inference(**changes: float) -> MAPInference:
    settings = MAPInference(small_graph(), DELTA, RATE, N, N, pair_share=1.0)
    return replace(settings, **changes)


def log_likelihood(graph: Graph, phi: np.ndarray, theta: np.ndarray, delta: float) -> float:
    """Σ_{a<b} log Z_ab, by the definition of the model: a sum over z_ab and z_ba."""
    pi = phi / phi.sum(1, keepdims=True)
    chance = np.full((len(theta), len(theta)), delta)
    np.fill_diagonal(chance, theta[:, 1] / theta.sum(1))
    y = graph.to_scipy().toarray()
    edge = pi @ chance @ pi.T
    likelihood = np.where(y > 0, edge, 1 - edge)
    return float(np.log(likelihood[np.triu_indices(len(pi), 1)]).sum())


def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    step, slopes = 1e-6, np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        slopes[place] = (f(up) - f(down)) / (2 * step)
    return slopes


def soft_labels(labels: np.ndarray, num_classes: int, right: float = 0.8) -> np.ndarray:
    p = np.full((len(labels), num_classes), (1 - right) / (num_classes - 1))
    p[np.arange(len(labels)), labels] = right
    return p


def probabilities_of(task: Task) -> np.ndarray:
    return soft_labels(true_labels(task), task.num_classes)


def test_gradients_against_finite_differences_and_the_updates_they_make() -> None:
    """The Gamma(1, ρ) prior of φ contributes -ρ Σ φ to the log-posterior."""
    graph, start, exact = small_graph(), small_parameters(), exact_inference()
    pi, beta, rng = start.memberships, start.strengths, np.random.default_rng(0)

    def of_phi(phi: np.ndarray, rate: float = 0.0) -> float:
        return log_likelihood(graph, phi, start.theta, DELTA) - rate * phi.sum()

    of_theta = partial(log_likelihood, graph, start.phi, delta=DELTA)
    close = partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7)
    gradient = phi_gradient(start.phi, exact.slope(pi, np.arange(N), beta, rng))
    close(gradient, numerical_gradient(of_phi, start.phi))
    sums = exact.weights(pi, graph.edges().T, beta, rng)
    close(theta_gradient(start.theta, *sums), numerical_gradient(of_theta, start.theta))

    step, updated = 0.01, map_update(start.phi, gradient, 0.01, RATE)
    whole = numerical_gradient(partial(of_phi, rate=RATE), start.phi)
    close(updated, np.abs(start.phi * (1 + step / 2 * whole)))
    assert of_phi(updated, RATE) > of_phi(start.phi, RATE)


@pytest.mark.parametrize("sums", ["over partners", "over pairs"])
def test_samples_are_unbiased(sums: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the hub, which has more neighbours than partners are drawn, as for every other node."""
    start, rng, edges = small_parameters(), np.random.default_rng(0), small_graph().edges().T
    pi, beta = start.memberships, start.strengths

    def estimate(inference: MAPInference) -> np.ndarray:
        if sums == "over partners":
            return inference.slope(pi, np.arange(N), beta, rng)
        return np.array(inference.weights(pi, edges, beta, rng))[1]

    expected = estimate(exact_inference())
    monkeypatch.setattr(mmsbm, "_LEAST_PAIRS", 1)
    few = exact_inference(batch_partners=4, pair_share=0.2)
    sample = np.array([estimate(few) for _ in range(700)])
    error = sample.std(0) / np.sqrt(len(sample))
    assert np.all(error > 0)
    assert np.abs((sample.mean(0) - expected) / error).max() < 4.5


def test_warm_start_survives_certain_labels_and_a_class_without_inner_edges() -> None:
    graph = Graph.from_edges(4, [(0, 2), (1, 3), (0, 1)])
    start = warm_start(graph, np.eye(2)[[0, 0, 1, 1]], cold_start(4, 2, np.random.default_rng(0)))
    after = MAPInference(graph, QUICK.delta).run(start, 50, WARM, np.random.default_rng(0))
    for values in (start.phi, start.theta, after.phi, after.theta):
        assert np.all(np.isfinite(values))
        assert np.all(values > 0)
    assert np.all((after.strengths > 0) & (after.strengths < 1))


def planted() -> tuple[Task, np.ndarray]:
    data = planted_partition(200, 3, homophily=0.95, mean_degree=12)
    task = Task.of(data.graph, data.features, data.labels, np.arange(30), num_classes=3)
    return task, data.labels


def planted_strengths(graph: Graph, labels: np.ndarray) -> np.ndarray:
    sizes, ends = np.bincount(labels), labels[graph.edges()]
    inside = np.bincount(ends[ends[:, 0] == ends[:, 1], 0])
    return inside / (sizes * (sizes - 1) / 2)


def mostly_right(truth: np.ndarray) -> np.ndarray:
    """Probabilities of a base classifier that is wrong on four nodes in ten."""
    rng = np.random.default_rng(1)
    wrong = rng.permutation(len(truth))[: int(0.4 * len(truth))]
    guessed = truth.copy()
    guessed[wrong] = (truth[wrong] + rng.integers(1, 3, len(wrong))) % 3
    return soft_labels(guessed, 3, right=0.5)


def test_recovers_planted_memberships_and_strengths() -> None:
    task, truth = planted()
    between = 0.05 * task.graph.num_edges / (200**2 / 3)
    model = MMSBM(delta=between, cold_iterations=50, warm_iterations=300)
    fitted = model.fit(task, mostly_right(truth), seed=0)
    assert (fitted.parameters.memberships.argmax(1) == truth).mean() > 0.98
    np.testing.assert_allclose(
        fitted.parameters.strengths, planted_strengths(task.graph, truth), rtol=0.1
    )


def test_graphs_are_drawn_from_the_fitted_blocks(task: Task) -> None:
    """Communities by the largest membership, β inside them, δ between them."""
    theta = np.array([[1.0, 3.0], [1.0, 1.0], [3.0, 1.0]])
    parameters = BlockParameters(probabilities_of(task), theta)
    fitted = MMSBMPosterior(task, MMSBM(delta=0.1), parameters, 0)
    rng = stream(5, "graph", 1, 2)
    expected = block_draw(true_labels(task), [0.75, 0.5, 0.25], 0.1, rng)
    assert fitted.graph(5, 1, 2) == expected


def test_one_class_and_an_empty_class_at_fit_and_at_refreshing(task: Task) -> None:
    with pytest.raises(ModelError, match="at least two classes; got 1"):
        QUICK.fit(replace(task, num_classes=1), np.ones((90, 1)), seed=0)
    labels = true_labels(task)
    empty = soft_labels(np.where(labels == 1, 0, labels), 3)
    with pytest.raises(ModelError, match="no node is predicted to be of class 1"):
        QUICK.fit(task, empty, seed=0)
    fitted = QUICK.fit(task, probabilities_of(task), seed=0)
    with pytest.raises(ModelError, match="no node is predicted to be of class 1"):
        fitted.refreshed(empty, seed=0)


def test_edge_weights_are_not_used_and_a_warning_says_so(task: Task) -> None:
    graph, p = task.graph, probabilities_of(task)
    weights = np.linspace(1, 2, graph.num_edges)
    weighted = replace(task, graph=Graph.from_edges(graph.num_nodes, graph.edges(), weights))
    model = MMSBM(cold_iterations=2, warm_iterations=2)
    with pytest.warns(UserWarning, match="it does not use the edge weights of the graph"):
        result = model.fit(weighted, p, 0)
    assert result.graph(0, 0, 0) == model.fit(task, p, 0).graph(0, 0, 0)
    assert result.refreshed(p, 1).graph(0, 0, 0).weights is None


COMMUNITIES = np.array([0, 1, 1, 0, 2, 1, 0, 1, 0, 0, 1, 4])  # nobody in 3, one each in 2 and 4
STRENGTHS = np.array([0.3, 0.8, 0.5, 0.5, 0.9])
ACROSS = 0.1


def pair_probabilities() -> np.ndarray:
    """The chance of an edge for each pair [N, N]."""
    same = COMMUNITIES[:, None] == COMMUNITIES
    return np.where(same, STRENGTHS[COMMUNITIES], ACROSS)


def adjacency(graph: Graph) -> np.ndarray:
    return graph.to_scipy().toarray()


@pytest.fixture(scope="module")
def draws() -> list[Graph]:
    rng = np.random.default_rng(0)
    return [block_draw(COMMUNITIES, STRENGTHS, ACROSS, rng) for _ in range(3000)]


def test_every_pair_has_its_probability(draws: list[Graph]) -> None:
    total = sum(adjacency(graph) for graph in draws)
    p = pair_probabilities()
    pairs = np.triu_indices(len(COMMUNITIES), 1)
    z = (total - len(draws) * p)[pairs] / np.sqrt(len(draws) * p * (1 - p))[pairs]
    assert np.abs(z).max() < 4.5
    assert stats.chi2.sf((z**2).sum(), len(z)) > 1e-3


def test_sure_edges_and_sure_gaps() -> None:
    rng = np.random.default_rng(0)
    assert block_draw([0, 1, 0, 1], [1, 1], 0, rng).edges().tolist() == [[0, 2], [1, 3]]
    assert block_draw([0, 1, 0, 1], [0, 0], 1, rng).num_edges == 4
    assert block_draw([0, 0, 0], [1], 0.5, rng).num_edges == 3  # no pair of different communities
    assert block_draw([], [0.5, 0.5], 0.5, rng) == Graph.from_edges(0, [])
