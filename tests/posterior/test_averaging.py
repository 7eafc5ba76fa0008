"""Equation 7 is the explicit triple loop, and its uncertainty parts are what they claim to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.posterior import BayesianGCN, Posterior, average
from nodecopy.rng import stream
from nodecopy.weights import MCDropout, TrainConfig

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


def by_loop(p: np.ndarray, node: int) -> tuple[np.ndarray, float, float, float]:
    """Return mean, expected entropy, weight part and graph part of a node, loop by loop."""
    v_count, i_count, s_count = p.shape[:3]
    mean, single, member = np.zeros(K), 0.0, 0.0
    for v in range(v_count):
        for i in range(i_count):
            within = np.zeros(K)
            for s in range(s_count):
                mean += p[v, i, s, node] / (v_count * i_count * s_count)
                within += p[v, i, s, node] / s_count
                single += surprise(p[v, i, s, node]) / (v_count * i_count * s_count)
            member += surprise(within) / (v_count * i_count)
    return mean, single, member - single, surprise(mean) - member


def assert_is_the_loop(found: Posterior, p: np.ndarray, atol: float) -> None:
    for node in range(p.shape[3]):
        mean, single, weights, graph = by_loop(p.astype(np.float64), node)
        np.testing.assert_allclose(found.probabilities[node], mean, atol=atol)
        assert found.expected_entropy[node] == pytest.approx(single, abs=atol)
        assert found.weight_information[node] == pytest.approx(weights, abs=atol)
        assert found.graph_information[node] == pytest.approx(graph, abs=atol)
        assert found.entropy[node] == pytest.approx(surprise(mean), abs=atol)


def test_the_average_is_the_triple_loop() -> None:
    p = some_draws("draws")
    found = average(chunked(p, [6]), S)
    assert_is_the_loop(found, p, atol=1e-12)
    assert (found.num_members, found.num_draws) == (V * N_G, S)


def test_a_fitted_model_is_the_triple_loop(task: Task) -> None:
    model = BayesianGCN(
        n_zeta=2, n_graphs=2, n_weights=3, weights=MCDropout(TrainConfig(epochs=15))
    )
    fitted = model.fit(task, seed=5)
    p = np.empty((2, 2, 3, 90, 3), np.float32)
    for v in range(2):
        for i in range(2):
            member = fitted.samples.take(slice(2 * v + i, 2 * v + i + 1))
            for _, s, one in member.predictions(task.graph, task.features):
                p[v, i, s] = one[0]
    assert len(np.unique(p[:, :, :, 0, 0])) == 12  # twelve different draws
    assert_is_the_loop(fitted.posterior, p, atol=1e-6)


def test_total_is_expected_plus_mutual_and_no_part_is_negative() -> None:
    found = average(chunked(some_draws("parts"), [6]), S)
    mean = found.probabilities
    total = -(mean * np.log(np.where(mean > 0, mean, 1))).sum(1)
    np.testing.assert_allclose(found.entropy, total, atol=1e-12)
    np.testing.assert_allclose(found.entropy, found.expected_entropy + found.mutual_information)
    np.testing.assert_allclose(
        found.mutual_information, found.graph_information + found.weight_information
    )
    for part in (found.expected_entropy, found.graph_information, found.weight_information):
        assert np.all(part >= 0)
        assert part[0] == 0  # all draws agree on node 0
        assert np.all(part[1:] > 0)


@pytest.mark.parametrize("sizes", [[1] * 6, [2, 3, 1], [5, 1]])
def test_chunks_do_not_matter(sizes: list[int]) -> None:
    p = some_draws("chunks")
    whole, parts = average(chunked(p, [6]), S), average(chunked(p, sizes), S)
    for name in ("probabilities", "expected_entropy", "graph_information", "weight_information"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)
    assert parts.num_members == 6


def test_one_draw_per_member_has_no_weight_part() -> None:
    found = average(chunked(some_draws("one", shape=(V, N_G, 1, N)), [6]), 1)
    np.testing.assert_allclose(found.weight_information, 0, atol=1e-12)
    assert np.all(found.graph_information[1:] > 0.01)


def test_one_member_has_no_graph_part() -> None:
    found = average(chunked(some_draws("one", shape=(1, 1, S, N)), [1]), S)
    np.testing.assert_allclose(found.graph_information, 0, atol=1e-12)
    assert np.all(found.weight_information[1:] > 0.01)


def test_members_that_agree_leave_all_to_the_weights() -> None:
    p = np.broadcast_to(some_draws("same", shape=(1, 1, S, N)), (V, N_G, S, N, K))
    found = average(chunked(p, [6]), S)
    np.testing.assert_allclose(found.graph_information, 0, atol=1e-12)
    assert np.all(found.weight_information[1:] > 0.01)


def test_single_precision_still_gives_distributions() -> None:
    p = some_draws("single").astype(np.float32)
    found = average(chunked(p, [6]), S)
    assert found.probabilities.dtype == np.float64
    np.testing.assert_allclose(found.probabilities.sum(1), 1, rtol=0, atol=1e-15)


def test_averaging_leaves_the_draws_alone() -> None:
    p = some_draws("kept")
    before = p.copy()
    average(chunked(p, [3, 3]), S)
    assert np.array_equal(p, before)


def test_some_nodes_may_be_taken() -> None:
    found = average(chunked(some_draws("take"), [6]), S)
    some = found.take(np.array([4, 1]))
    assert np.array_equal(some.probabilities, found.probabilities[[4, 1]])
    assert np.array_equal(some.entropy, found.entropy[[4, 1]])
    assert np.array_equal(some.graph_information, found.graph_information[[4, 1]])
    assert np.array_equal(some.weight_information, found.weight_information[[4, 1]])
    assert (some.num_members, some.num_draws) == (6, S)


def test_incomplete_draws_are_refused() -> None:
    draws = list(chunked(some_draws("lost"), [2, 4]))
    for lost, message in [
        ([], "at least one member"),
        (draws[:-1], "all of its draws"),
        (draws[: S - 1], "at least one member, with all of its draws"),
        (draws[1:], "draw 1 of members 0 to 1 came where draw 0 was due"),
        (draws[:2] + draws[3:], "draw 3 of members 0 to 1 came where draw 2 was due"),
        (draws[: S - 1] + draws[S:], "draw 0 of members 2 to 5 came where draw 3 was due"),
    ]:
        with pytest.raises(ModelError, match=message):
            average(lost, S)
