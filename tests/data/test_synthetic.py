"""Synthetic datasets: each setting does what it says, and the truth is the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.data import Degrees, Noise, Words, planted_partition
from nodecopy.errors import DatasetError, InputError


def keys(edges: np.ndarray, num_nodes: int) -> set[int]:
    return set((edges[:, 0].astype(np.int64) * num_nodes + edges[:, 1]).tolist())


def test_sizes_are_exact():
    made = planted_partition(1001, 7, degrees=Degrees(mean=4), words=Words(vocabulary=50))
    data = made.dataset
    assert (data.num_nodes, data.num_classes, data.num_features) == (1001, 7, 50)
    assert data.graph.num_edges == 2002
    assert np.bincount(data.labels).tolist() == [143] * 7
    np.testing.assert_array_equal(data.labels, made.truth.labels)
    assert made.clean_graph() == data.graph
    assert data.public_split is None


@pytest.mark.parametrize("law", ["poisson", "power"])
@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.81, 1.0])
def test_homophily_is_met_to_the_nearest_edge(law, homophily):
    made = planted_partition(2000, 5, homophily=homophily, degrees=Degrees(6, law))
    graph = made.dataset.graph
    assert graph.homophily(made.dataset.labels) == pytest.approx(homophily, abs=1e-9)
    assert made.truth.homophily == made.truth.observed_homophily == pytest.approx(homophily)


def test_poisson_degrees_have_a_variance_near_their_mean():
    degrees = planted_partition(20_000, 4, degrees=Degrees(mean=8)).dataset.graph.degrees
    assert degrees.mean() == 8
    assert 7.6 < degrees.var() < 8.4
    assert degrees.max() < 30


@pytest.mark.parametrize("exponent", [2.5, 3.5])
def test_power_law_degrees_have_the_tail_of_their_exponent(exponent):
    law = Degrees(mean=20, law="power", exponent=exponent)
    graph = planted_partition(100_000, 2, degrees=law, words=Words(per_node=0)).dataset.graph
    degrees = graph.degrees
    assert degrees.mean() == 20
    # P(degree > x) falls as x^(1 - exponent), well above the minimum and below the cut at 1000.
    low, high = 50, 200
    slope = math.log((degrees > high).sum() / (degrees > low).sum()) / math.log(high / low)
    assert slope == pytest.approx(1 - exponent, abs=0.15)
    assert degrees.max() < 1.2 * math.sqrt(20 * 50_000)


def test_features_tell_the_classes_apart():
    words = Words(vocabulary=40, per_node=8, signal=0.6)
    data = planted_partition(4000, 4, words=words).dataset
    features = data.features
    assert set(features.data.tolist()) == {1.0}
    assert np.diff(features.indptr).max() <= 8
    topic = features.indices // 10
    own = np.repeat(data.labels, np.diff(features.indptr)) == topic
    # Of 8 words, 8·(0.6 + 0.4/4) = 5.6 fall among the 10 own ones, 2.4 among the 30 others;
    # each word is there with probability 1 - (1 - chance)^8.
    inside = 10 * (1 - (1 - 0.07) ** 8)
    outside = 30 * (1 - (1 - 0.01) ** 8)
    assert own.sum() / 4000 == pytest.approx(inside, rel=0.02)
    assert (~own).sum() / 4000 == pytest.approx(outside, rel=0.03)


def test_no_signal_means_no_class_in_the_features():
    data = planted_partition(4000, 4, words=Words(vocabulary=40, per_node=8, signal=0)).dataset
    own = np.repeat(data.labels, np.diff(data.features.indptr)) == data.features.indices // 10
    assert own.mean() == pytest.approx(0.25, abs=0.01)


def test_label_noise_changes_the_asked_share_to_other_classes():
    made = planted_partition(3000, 4, noise=Noise(labels=0.2))
    wrong = made.dataset.labels != made.truth.labels
    assert wrong.sum() == 600
    shift = (made.dataset.labels - made.truth.labels)[wrong] % 4
    assert np.bincount(shift)[1:].min() > 150
    assert np.bincount(made.truth.labels).tolist() == [750] * 4


def test_edge_noise_adds_and_removes_the_asked_shares():
    made = planted_partition(1000, 4, degrees=Degrees(10), noise=Noise(spurious=0.3, missing=0.1))
    truth, graph, clean = made.truth, made.dataset.graph, made.clean_graph()
    assert (clean.num_edges, len(truth.spurious), len(truth.missing)) == (5000, 1500, 500)
    assert graph.num_edges == 6000
    observed, true = keys(graph.edges(), 1000), keys(clean.edges(), 1000)
    assert observed - true == keys(truth.spurious, 1000)
    assert true - observed == keys(truth.missing, 1000)


def test_noise_leaves_the_truth_as_it_is():
    plain = planted_partition(500, 3, seed=4)
    noisy = planted_partition(500, 3, noise=Noise(0.3, 0.5, 0.2), seed=4)
    assert noisy.clean_graph() == plain.dataset.graph
    np.testing.assert_array_equal(noisy.truth.labels, plain.truth.labels)
    assert (noisy.dataset.features != plain.dataset.features).nnz == 0
    assert noisy.dataset.digest != plain.dataset.digest


@pytest.mark.parametrize(
    "noise", [Noise(labels=0.3), Noise(spurious=0.5), Noise(missing=0.4), Noise(0.2, 0.4, 0.3)]
)
def test_the_expected_homophily_is_the_one_observed(noise):
    made = planted_partition(30_000, 3, degrees=Degrees(8), words=Words(per_node=0), noise=noise)
    observed = made.dataset.graph.homophily(made.dataset.labels)
    assert observed == pytest.approx(made.truth.observed_homophily, abs=0.01)
    assert made.truth.homophily == pytest.approx(0.8)


def test_everything_can_be_wrong():
    made = planted_partition(50, 2, noise=Noise(labels=1, spurious=2, missing=1))
    assert np.all(made.dataset.labels == 1 - made.truth.labels)
    assert made.dataset.graph.num_edges == 250
    assert len(made.truth.missing) == made.clean_graph().num_edges == 125


def test_a_seed_names_the_dataset():
    settings = {"degrees": Degrees(4, "power"), "noise": Noise(0.1, 0.1, 0.1)}
    same = [planted_partition(300, 3, seed=1, **settings).dataset.digest for _ in range(2)]
    assert same[0] == same[1]
    assert planted_partition(300, 3, seed=2, **settings).dataset.digest != same[0]


def test_the_truth_is_read_only():
    assert not planted_partition(10, 2).truth.labels.flags.writeable


def rooms(num_nodes: int, num_classes: int) -> tuple[int, int]:
    """How many pairs of nodes are of one class, and of two."""
    sizes = np.bincount(np.arange(num_nodes) % num_classes)
    within = int((sizes * (sizes - 1)).sum() // 2)
    return within, num_nodes * (num_nodes - 1) // 2 - within


@settings(deadline=None)
@given(
    st.integers(1, 4),
    st.integers(0, 20),
    st.sampled_from(["poisson", "power"]),
    st.sampled_from([0, 0.5, 1, 3, 8]),
    st.sampled_from([0, 0.5, 1]),
    st.sampled_from([0, 0.5, 2]),
)
def test_tiny_graphs_are_drawn_unless_they_are_too_full(k, more, law, mean, homophily, spurious):
    num_nodes = k + more
    total = round(num_nodes * mean / 2)
    within = round(homophily * total)
    room_within, room_between = rooms(num_nodes, k)
    free = room_within + room_between - total
    wanted = np.array([within, total - within, round(spurious * total)])
    room = np.array([room_within, room_between, free])
    noise, degrees = Noise(spurious=spurious, missing=0.5), Degrees(mean, law)
    if np.any(wanted > room):
        with pytest.raises(DatasetError, match="pairs of nodes are there"):
            planted_partition(num_nodes, k, homophily=homophily, degrees=degrees, noise=noise)
    elif np.all(wanted <= 0.7 * room):
        made = planted_partition(num_nodes, k, homophily=homophily, degrees=degrees, noise=noise)
        clean = made.clean_graph()
        assert (clean.num_nodes, clean.num_edges, clean.num_self_loops) == (num_nodes, total, 0)
        if total:
            assert clean.homophily(made.truth.labels) == pytest.approx(within / total)


def test_a_graph_without_edges():
    made = planted_partition(3, 3, degrees=Degrees(0, "power"))
    assert made.dataset.graph.num_edges == 0
    assert math.isnan(made.truth.homophily)
    assert math.isnan(made.truth.observed_homophily)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: planted_partition(3, 4), "num_nodes must be a whole number, at least 4; got 3"),
        (lambda: planted_partition(3, 0), "num_classes must be a whole number, at least 1; got 0"),
        (lambda: planted_partition(9.5, 2), "num_nodes must be a whole number"),
        (lambda: planted_partition(9, 2, homophily=1.1), "homophily must be a number from 0 to 1"),
        (lambda: planted_partition(9, 1), "4 edges between classes .* only 0 pairs"),
        (lambda: planted_partition(9, 3, homophily=1), "22 edges within classes .* only 9 pairs"),
        (lambda: planted_partition(9, 2, words=Words(1)), "a word per class, 2; got 1"),
        (
            lambda: planted_partition(9, 1, homophily=1, degrees=Degrees(1), noise=Noise(0.1)),
            "with a single class no label can be wrong",
        ),
        (lambda: planted_partition(9, 2, seed=None), "a stream is named by integers and strings"),
        (lambda: Degrees(law="pwoer"), "unknown degree law 'pwoer'; did you mean 'power'"),
        (lambda: Degrees(-1), "mean degree must be 0 or more; got -1"),
        (lambda: Degrees(math.nan), "mean degree must be 0 or more; got nan"),
        (lambda: Degrees(exponent=2), "exponent of a power law must be above 2"),
        (lambda: Words(per_node=-1), "per_node must be a whole number, at least 0; got -1"),
        (lambda: Words(vocabulary=0), "vocabulary must be a whole number, at least 1; got 0"),
        (lambda: Words(signal=2), "signal must be a number from 0 to 1; got 2"),
        (lambda: Noise(labels=-0.1), "labels must be a number from 0 to 1; got -0.1"),
        (lambda: Noise(missing=1.5), "missing must be a number from 0 to 1; got 1.5"),
        (lambda: Noise(spurious=math.inf), "spurious must be a number from 0 to inf; got inf"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
