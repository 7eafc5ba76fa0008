"""Splits: which nodes are drawn, and which never are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.data import NodeDataset, NodeSets, Split, fixed_split, load_dataset, random_split
from nodecopy.errors import SplitError
from nodecopy.graph import Graph


def labelled(labels, public_split=None, num_classes=None) -> NodeDataset:
    """A dataset of which only the labels matter."""
    labels = np.asarray(labels, int)
    names = tuple(f"c{k}" for k in range(num_classes or labels.max() + 1))
    graph = Graph.from_edges(len(labels), [])
    return NodeDataset("made", graph, np.zeros((len(labels), 1)), labels, names, public_split)


@pytest.fixture(scope="module")
def citeseer() -> NodeDataset:
    return load_dataset("citeseer")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (([0, 1], [1], [2]), "train and val must be disjoint; they share 1 nodes, .* 1$"),
        (([0, 1], [2], [3, 0, 1]), "train and test must be disjoint; they share 2 nodes"),
        (([0], [2, 3], [3]), "val and test must be disjoint"),
        (([0, 0], [], []), "train holds node 0 more than once"),
        (([], [-1], []), "val holds the negative index -1"),
        (([], [], [[1]]), r"test must be one-dimensional; got shape \[1, 1\]"),
        (([True, False], [], []), "train must hold node indices .*; got bool"),
        (([0.5], [], []), "train must hold node indices .*; got float64"),
    ],
)
def test_sets_that_are_no_split_are_refused(sets, message):
    with pytest.raises(SplitError, match=message):
        NodeSets(*sets)
    with pytest.raises(SplitError, match=message):
        Split(*sets, dataset_digest="", name="")


def test_a_split_is_a_frozen_value():
    train = np.array([0, 1])
    split = Split(train, [2], [3], "digest", "name")
    train[0] = 5
    assert split.train.tolist() == [0, 1]
    assert not split.train.flags.writeable
    same = Split([0, 1], [2], [3], "digest", "name")
    assert split == same
    assert hash(split) == hash(same)
    assert split != Split([0, 1], [2], [3], "digest", "other")
    assert split != Split([0, 1], [2], [3], "other", "name")
    assert split != Split([0, 1, 2], [], [3], "digest", "name")
    assert split != "name"
    assert repr(split) == "Split('name', train=2, val=1, test=1)"


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
@pytest.mark.parametrize("count", [1, 5, 10, 20])
def test_a_fixed_split_has_the_first_nodes_of_each_class(name, count):
    data = load_dataset(name)
    split = fixed_split(data, count)
    public = data.public_split
    expected = [
        node
        for k in range(data.num_classes)
        for node in [i for i in public.train if data.labels[i] == k][:count]
    ]
    assert split.train.tolist() == sorted(expected)
    np.testing.assert_array_equal(split.val, public.val)
    np.testing.assert_array_equal(split.test, public.test)
    split.check(data)


def test_a_fixed_split_needs_enough_public_labels(citeseer):
    with pytest.raises(SplitError, match="21 labels per class .* public training set has 20 nodes"):
        fixed_split(citeseer, 21)
    with pytest.raises(SplitError, match="'made' has no public split; use random_split"):
        fixed_split(labelled([0, 1]), 1)


@pytest.mark.parametrize("count", [0, -1, 2.0, "5", True, None])
def test_counts_must_be_whole_numbers(citeseer, count):
    with pytest.raises(SplitError, match="labels_per_class must be a whole number, at least 1"):
        fixed_split(citeseer, count)
    with pytest.raises(SplitError, match="labels_per_class must be a whole number, at least 1"):
        random_split(citeseer, count, seed=0)


def test_set_sizes_must_be_whole_numbers(citeseer):
    with pytest.raises(SplitError, match="n_test must be a whole number, at least 0; got -1"):
        random_split(citeseer, 5, seed=0, n_test=-1)
    with pytest.raises(SplitError, match="n_val must be a whole number, at least 0; got 0.5"):
        random_split(citeseer, 5, seed=0, n_val=0.5)


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_a_random_split_of_a_built_in_dataset(name):
    data = load_dataset(name)
    split = random_split(data, 20, seed=3)
    assert (len(split.train), len(split.val), len(split.test)) == (20 * data.num_classes, 500, 1000)
    assert np.bincount(data.labels[split.train]).tolist() == [20] * data.num_classes
    assert split.name == "random-20-seed-3"
    split.check(data)


def test_citeseer_s_unlabelled_nodes_are_never_drawn(citeseer):
    rest = int((citeseer.labels >= 0).sum()) - 6
    split = random_split(citeseer, 1, seed=0, n_test=rest - 500)
    drawn = np.concatenate([split.train, split.val, split.test])
    np.testing.assert_array_equal(np.sort(drawn), np.flatnonzero(citeseer.labels >= 0))
    with pytest.raises(SplitError, match=f"only {rest} labelled nodes of 'citeseer' remain"):
        random_split(citeseer, 1, seed=0, n_test=rest - 499)


def test_draws_depend_on_the_seed_alone(citeseer):
    assert random_split(citeseer, 5, seed=1) == random_split(citeseer, 5, seed=1)
    splits = [random_split(citeseer, 5, seed=seed) for seed in range(20)]
    assert len({split.train.tobytes() for split in splits}) == 20


def test_the_other_sizes_do_not_change_the_training_nodes(citeseer):
    small = random_split(citeseer, 5, seed=1, n_test=10, n_val=0)
    np.testing.assert_array_equal(small.train, random_split(citeseer, 5, seed=1).train)
    assert len(small.val) == 0


def test_every_labelled_node_is_drawn_equally_often():
    # 400 draws of 2 in 8 per class: each node is expected 100 times, deviation 8.7.
    data = labelled([0] * 8 + [1] * 8 + [-1] * 4)
    splits = [random_split(data, 2, seed=seed, n_test=4, n_val=4) for seed in range(400)]
    for name in ("train", "val", "test"):
        counts = np.bincount(np.concatenate([getattr(s, name) for s in splits]), minlength=20)
        assert counts[16:].tolist() == [0] * 4
        assert counts[:16].min() > 60
        assert counts[:16].max() < 140


def test_test_and_validation_are_not_stratified():
    data = labelled([0] * 50 + [1] * 50)
    shares = {
        int(data.labels[random_split(data, 1, seed=s, n_test=20, n_val=0).test].sum())
        for s in range(30)
    }
    assert len(shares) > 3


def test_a_class_that_is_too_small_is_named():
    with pytest.raises(SplitError, match="3 labels per class .* has 2 nodes of class 'c1'"):
        random_split(labelled([0, 0, 0, 1, 1, -1]), 3, seed=0, n_test=0, n_val=0)
    with pytest.raises(SplitError, match="has 0 nodes of class 'c2'"):
        random_split(labelled([0, 0, 1, 1], num_classes=3), 1, seed=0, n_test=0, n_val=0)


def test_a_split_checks_its_dataset(citeseer):
    split = random_split(citeseer, 5, seed=0)
    with pytest.raises(SplitError, match="belongs to another dataset .*'cora' has digest"):
        split.check(load_dataset("cora"))
    data = labelled([0, 0, 1, -1])
    with pytest.raises(SplitError, match="test holds node 4; the dataset has nodes 0 to 3"):
        Split([0], [1], [4], data.digest, "").check(data)
    with pytest.raises(SplitError, match="val holds node 3, whose label is unknown"):
        Split([0], [3], [1], data.digest, "").check(data)
    Split([0], [2], [1], data.digest, "").check(data)


@st.composite
def datasets(draw) -> NodeDataset:
    num_classes = draw(st.integers(1, 4))
    labels = draw(st.lists(st.integers(-1, num_classes - 1), min_size=num_classes, max_size=40))
    return labelled(labels, num_classes=num_classes)


@settings(deadline=None)
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
    split.check(data)
    assert (len(split.val), len(split.test)) == (n_val, n_test)
    counts = np.bincount(data.labels[split.train], minlength=data.num_classes)
    assert counts.tolist() == [count] * data.num_classes
    assert split == random_split(data, count, seed, n_test, n_val)


@settings(deadline=None)
@given(datasets(), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_fixed_split_takes_the_smallest_ids_whatever_their_order(data, count, random):
    nodes = np.flatnonzero(data.labels >= 0).tolist()
    train, test = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    random.shuffle(train)
    data = labelled(data.labels, NodeSets(train, [], test), data.num_classes)
    groups = [sorted(i for i in train if data.labels[i] == k) for k in range(data.num_classes)]
    if min(map(len, groups)) < count:
        with pytest.raises(SplitError, match="labels per class were asked for"):
            fixed_split(data, count)
        return
    split = fixed_split(data, count)
    assert split.train.tolist() == sorted(i for group in groups for i in group[:count])
    assert split.test.tolist() == test
