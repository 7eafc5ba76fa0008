"""Splits: which nodes are drawn, and which never are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.core.errors import SplitError
from nodecopy.graph import Graph
from nodecopy.problem.dataset import fixed_split, load_dataset, random_split
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Split


def labelled(labels, public_split=None, num_classes=None) -> Problem:
    """A dataset of which only the labels matter."""
    labels = np.asarray(labels, int)
    names = tuple(f"c{k}" for k in range(num_classes or labels.max() + 1))
    graph = Graph.from_edges(len(labels), [])
    return Problem("made", graph, np.zeros((len(labels), 1)), labels, names, public_split)


@pytest.fixture(scope="module")
def citeseer() -> Problem:
    return load_dataset("citeseer")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (([0, 1], [1], [2]), "train and val must be disjoint; they share 1 nodes, .* 1$"),
        (([0, 1], [2], [3, 0, 1]), "train and test must be disjoint; they share 2 nodes"),
        (([0, 0], [], []), "train must hold node indices.*each once"),
        (([], [-1], []), "val must hold node indices"),
        (([], [], [[1]]), "test must hold node indices"),
        (([True, False], [], []), "train must hold node indices"),
    ],
)
def test_sets_that_are_no_split_are_an_error(sets, message):
    with pytest.raises(SplitError, match=message):
        Split(*sets)


def same(one: Split, other: Split) -> bool:
    return all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("train", "val", "test")
    )


def test_a_fixed_split_needs_enough_public_labels(citeseer):
    with pytest.raises(SplitError, match="labels_per_class must be at least 1; got 0"):
        fixed_split(citeseer, 0)
    with pytest.raises(SplitError, match="21 labels per class .* public training set has 20 nodes"):
        fixed_split(citeseer, 21)
    with pytest.raises(SplitError, match="'made' has no public split; use random_split"):
        fixed_split(labelled([0, 1]), 1)


def test_citeseer_s_unlabelled_nodes_are_never_drawn(citeseer):
    rest = int((citeseer.labels >= 0).sum()) - 6
    split = random_split(citeseer, 1, seed=0, n_test=rest - 500)
    drawn = np.concatenate([split.train, split.val, split.test])
    np.testing.assert_array_equal(np.sort(drawn), np.flatnonzero(citeseer.labels >= 0))
    with pytest.raises(SplitError, match=f"only {rest} labelled nodes of 'citeseer' remain"):
        random_split(citeseer, 1, seed=0, n_test=rest - 499)


@st.composite
def datasets(draw) -> Problem:
    num_classes = draw(st.integers(1, 4))
    labels = draw(st.lists(st.integers(-1, num_classes - 1), min_size=num_classes, max_size=40))
    return labelled(labels, num_classes=num_classes)


@given(datasets(), st.integers(1, 3), st.integers(0, 10), st.integers(0, 10), st.integers(0, 99))
def test_a_random_split_is_right_or_is_refused(data, count, n_test, n_val, seed):
    known = data.labels[data.labels >= 0]
    sizes = np.bincount(known, minlength=data.num_classes)
    possible = sizes.min() >= count and len(known) >= count * data.num_classes + n_test + n_val
    if not possible:
        with pytest.raises(SplitError):
            random_split(data, count, seed, n_test, n_val)
        return
    split = random_split(data, count, seed, n_test, n_val)
    assert (len(split.val), len(split.test)) == (n_val, n_test)
    counts = np.bincount(data.labels[split.train], minlength=data.num_classes)
    assert counts.tolist() == [count] * data.num_classes
    assert same(split, random_split(data, count, seed, n_test, n_val))


@given(datasets(), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_fixed_split_takes_the_smallest_ids_whatever_their_order(data, count, random):
    nodes = np.flatnonzero(data.labels >= 0).tolist()
    train, test = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    random.shuffle(train)
    data = labelled(data.labels, Split(train, [], test), data.num_classes)
    groups = [sorted(i for i in train if data.labels[i] == k) for k in range(data.num_classes)]
    if min(map(len, groups)) < count:
        with pytest.raises(SplitError, match="labels per class were requested"):
            fixed_split(data, count)
        return
    split = fixed_split(data, count)
    assert split.train.tolist() == sorted(i for group in groups for i in group[:count])
    assert split.test.tolist() == test
