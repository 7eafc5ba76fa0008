"""Donor rules: each draws from the distribution it states."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph_models import (
    CallableDonors,
    HardClass,
    NearestNeighbours,
    NodeCopying,
    SoftClass,
)
from nodecopy.graph_models import donors as donors_module
from nodecopy.rng import stream
from tests.problems import make_task, true_labels

# Classes of different weight; nodes 0 and 1 are certain of two of them, so neither lends to the
# other.
SOFT = np.array([[1.0, 0, 0], [0, 0, 1.0], [0.8, 0.2, 0], [0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])


def certain(labels: np.ndarray, num_classes: int = 3) -> np.ndarray:
    return np.eye(num_classes)[labels]


def test_hard_class_takes_the_most_probable_class(task: Task) -> None:
    p = stream(0, "p").dirichlet(np.ones(3), size=90)
    donors = HardClass().donors(task, p)
    assert donors.sets.labels.tolist() == p.argmax(1).tolist()
    zeta = donors.sample(stream(0, "zeta"))
    assert np.array_equal(p.argmax(1)[zeta], p.argmax(1))
    assert math.isfinite(donors.log_probability(zeta))


def test_clamping_uses_the_labels_of_training_nodes_only(task: Task) -> None:
    wrong = (np.arange(90) + 1) % 3  # the truth is node % 3
    p = certain(wrong)
    clamped = HardClass(clamp_labels=True).donors(task, p).sets.labels
    assert clamped[task.train].tolist() == (task.train % 3).tolist()
    others = np.setdiff1d(np.arange(90), task.train)
    assert np.array_equal(clamped[others], wrong[others])
    assert np.array_equal(HardClass().donors(task, p).sets.labels, wrong)
    assert np.array_equal(p, certain(wrong))


def test_soft_class_draws_with_the_probability_of_a_common_class(task: Task) -> None:
    donors = SoftClass().donors(task, SOFT)
    exact = SOFT @ SOFT.T
    exact /= exact.sum(1, keepdims=True)
    rng = stream(4, "zeta")
    draws = np.stack([donors.sample(rng) for _ in range(8000)])
    for node in range(5):
        counts = np.bincount(draws[:, node], minlength=5)
        possible = exact[node] > 0
        assert counts[~possible].sum() == 0
        assert chisquare(counts[possible], 8000 * exact[node, possible]).pvalue > 1e-3
    zeta = draws[0]
    product = math.prod(exact[j, m] for j, m in enumerate(zeta))
    assert donors.log_probability(zeta) == pytest.approx(math.log(product))


@pytest.mark.parametrize("wrong", [1, -1, 5])
def test_soft_class_knows_what_is_impossible(task: Task, wrong: int) -> None:
    zeta = np.arange(5)
    zeta[0] = wrong
    assert SoftClass().donors(task, SOFT).log_probability(zeta) == -math.inf


def test_soft_class_is_hard_class_when_the_probabilities_are_certain(task: Task) -> None:
    p = certain(np.arange(90) % 3)
    zeta = SoftClass().donors(task, p).sample(stream(0, "zeta"))
    assert np.array_equal(zeta % 3, np.arange(90) % 3)
    hard, soft = (rule.donors(task, p).log_probability(zeta) for rule in (HardClass(), SoftClass()))
    assert soft == pytest.approx(hard)


def nearest(points: np.ndarray, node: int, k: int) -> float:
    """Return the k-th largest cosine to a node, itself counted first, by brute force."""
    return sorted((cosine(points, node, other) for other in range(len(points))), reverse=True)[
        k - 1
    ]


def cosine(points: np.ndarray, a: int, b: int) -> float:
    if a == b:
        return math.inf
    scale = math.sqrt((points[a] ** 2).sum() * (points[b] ** 2).sum())
    return float(points[a] @ points[b]) / scale if scale > 0 else 0.0


@pytest.mark.parametrize("dense", [False, True])
def test_nearest_neighbours_are_those_of_brute_force(dense: bool) -> None:
    task = make_task(dense=dense)  # the last node has no features
    candidates = NearestNeighbours(k=4).donors(task, SOFT).candidates
    points = task.features if dense else task.features.toarray()
    for node, chosen in enumerate(candidates.tolist()):
        assert node in chosen
        assert len(set(chosen)) == 4
        # Ties may be broken either way, so the similarities are compared and not the nodes.
        found = min(cosine(points, node, other) for other in chosen)
        assert found == pytest.approx(nearest(points, node, 4), abs=1e-6)


def test_nearest_neighbours_search_block_by_block(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = stream(5, "points").normal(size=(90, 3))
    rule = NearestNeighbours(k=5, space=points)
    whole = rule.donors(task, SOFT).candidates
    monkeypatch.setattr("nodecopy.graph_models.donors._BLOCK_ENTRIES", 90 * 7)
    parts = rule.donors(task, SOFT).candidates
    assert np.array_equal(np.sort(whole), np.sort(parts))


def test_nearest_neighbours_in_the_space_of_probabilities(task: Task) -> None:
    p = certain(np.arange(90) % 3)
    candidates = NearestNeighbours(k=30, space="probabilities").donors(task, p).candidates
    assert np.array_equal(candidates % 3, np.broadcast_to(np.arange(90)[:, None] % 3, (90, 30)))


def test_listed_donors_are_uniform(task: Task) -> None:
    donors = NearestNeighbours(k=6).donors(task, SOFT)
    rng = stream(6, "zeta")
    draws = np.stack([donors.sample(rng) for _ in range(1200)])
    counts = np.stack(
        [(draws == donors.candidates[:, place]).sum(0) for place in range(6)]
    )  # [6, N]
    assert counts.sum(0).tolist() == [1200] * 90
    assert chisquare(counts.ravel(), ddof=89).pvalue > 1e-3
    assert donors.log_probability(draws[0]) == pytest.approx(-90 * math.log(6))
    far = draws[0].copy()
    far[0] = np.setdiff1d(np.arange(90), donors.candidates[0])[0]
    assert donors.log_probability(far) == -math.inf


def test_more_neighbours_than_nodes_are_all_nodes(task: Task) -> None:
    candidates = NearestNeighbours(k=1000).donors(task, SOFT).candidates
    assert np.array_equal(np.sort(candidates), np.broadcast_to(np.arange(90), (90, 90)))


def test_impossible_spaces_are_refused(task: Task) -> None:
    for rule, message in [
        (NearestNeighbours(k=0), "k must be at least 1; got 0"),
        (NearestNeighbours(space="feature"), "unknown space 'feature'; accepted: features"),
        (NearestNeighbours(space=np.ones((89, 2))), r"\[90, d\]; got \[89, 2\]"),
        (NearestNeighbours(space=np.ones(90)), r"\[90, d\]; got \[90\]"),
    ]:
        with pytest.raises(ModelError, match=message):
            rule.donors(task, SOFT)


def test_integer_and_sparse_spaces_are_accepted(task: Task) -> None:
    words = (task.features.toarray() > 0).astype(np.int64)
    dense, sparse = (
        NearestNeighbours(k=3, space=space).donors(task, SOFT).candidates
        for space in (words, sp.csr_array(words))
    )
    assert np.array_equal(dense, sparse)


def test_a_function_may_draw(task: Task) -> None:
    def rotate(given: Task, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert given is task
        assert p is SOFT
        return (np.arange(90, dtype=np.int32) + rng.integers(1, 90)) % 90

    donors = CallableDonors(rotate).donors(task, SOFT)
    zeta = donors.sample(stream(0, "zeta"))
    assert zeta.dtype == np.int64
    assert sorted(zeta) == list(range(90))
    with pytest.raises(ModelError, match="only draws"):
        donors.log_probability(zeta)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (np.zeros(89, int), r"int64 of shape \[89\]"),
        (np.zeros(90), "float64"),
        (np.full(90, 90), "0 to 89"),
        (np.full(90, -1), "0 to 89"),
        (np.zeros((90, 1), int), r"shape \[90, 1\]"),
        (np.zeros(0, int), r"shape \[0\]"),
    ],
)
def test_a_function_that_draws_no_nodes_is_refused(
    task: Task, answer: np.ndarray, found: str
) -> None:
    donors = CallableDonors(lambda *_: answer).donors(task, SOFT)
    with pytest.raises(ModelError, match="must return 90 node numbers") as refused:
        donors.sample(stream(0, "zeta"))
    refused.match(found)


def test_rules_never_read_hidden_labels(task: Task) -> None:
    p = stream(0, "p").dirichlet(np.ones(3), size=90)
    shown = task.labels.copy()
    shown[shown < 0] = 0
    other = dataclasses.replace(task, labels=shown)
    for rule in (HardClass(clamp_labels=True), SoftClass(), NearestNeighbours()):
        one, two = (rule.donors(t, p).sample(stream(0, "zeta")) for t in (task, other))
        assert np.array_equal(one, two)


def test_neighbours_are_searched_once_for_a_task(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[int] = []
    search = donors_module._most_alike

    def counted(points: np.ndarray, k: int) -> np.ndarray:
        searches.append(k)
        return search(points, k)

    monkeypatch.setattr(donors_module, "_most_alike", counted)
    first, second = np.full((90, 3), 1 / 3), np.eye(3)[true_labels(task)]
    array = np.random.default_rng(0).random((90, 4))
    for space, expected in (("features", 1), (array, 1), ("probabilities", 3)):
        searches.clear()
        model = NodeCopying(donors=NearestNeighbours(4, space))
        kept, _, again = (model.fit(task, p, 0).zeta(1, 0) for p in (first, second, first))
        assert np.array_equal(again, kept)
        assert len(searches) == expected
    other = dataclasses.replace(task, features=task.features[np.arange(90)[::-1]])
    found = NearestNeighbours(4).donors(other, first).candidates
    assert not np.array_equal(found, NearestNeighbours(4).donors(task, first).candidates)
    assert NearestNeighbours(5).donors(task, first).candidates.shape == (90, 5)


def test_nodes_of_which_nothing_is_known_are_set_apart(task: Task) -> None:
    p = np.eye(3)[np.arange(90) % 3].astype(float)
    p[:10] = 1 / 3
    first = HardClass().donors(task, p).sets
    assert first.labels[:10].tolist() == [0] * 10  # where a tie falls
    apart = HardClass(set_apart=True).donors(task, p)
    zeta = apart.sample(np.random.default_rng(0))
    assert set(zeta[:10]) <= set(range(10))
    assert not set(zeta[10:]) & set(range(10))
    np.testing.assert_array_equal(apart.sets.labels[10:], first.labels[10:])
