"""Where the nodes of a map lie."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.read.synthetic import planted_partition
from nodecopy.report.map import class_points, column_blocks, positions


def links(seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Return 200 nodes of four classes, the last of which has no edge."""
    data = planted_partition(200, 4, seed=seed)
    matrix = sp.lil_array(data.graph.to_scipy().astype(float))
    matrix[-1, :] = 0
    matrix[:, -1] = 0
    return sp.csr_array(matrix), data.labels


def spread(points: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the distance of each node to the middle of its class, and to the nearest other."""
    middles = np.stack([points[classes == k].mean(0) for k in range(4)])
    distances = np.linalg.norm(points[:, None] - middles, axis=2)
    own = distances[np.arange(len(points)), classes]
    distances[np.arange(len(points)), classes] = np.inf
    return np.stack([own, distances.min(1)], axis=1)


def test_the_same_fit_gives_the_same_map():
    matrix, classes = links()
    p = np.eye(4)[classes]
    assert np.array_equal(positions(matrix, p, 0), positions(matrix, p, 0))
    assert not np.array_equal(positions(matrix, p, 0), positions(matrix, p, 1))


def test_nodes_lie_with_their_class_without_an_edge_too():
    matrix, classes = links()
    distances = spread(positions(matrix, 0.9 * np.eye(4)[classes] + 0.025, 0), classes)
    assert np.mean(distances[:, 0] < distances[:, 1]) > 0.95
    assert distances[-1, 0] < distances[-1, 1]


def test_before_a_fit_neighbours_lie_closer_than_others():
    matrix, _ = links()
    points = positions(matrix, None, 0)
    u, v = matrix.nonzero()
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert apart[u, v].mean() < 0.8 * apart.mean()


def test_classes_with_many_edges_between_them_are_side_by_side():
    ring = np.eye(6) + 0.3 * (np.eye(6, k=1) + np.eye(6, k=-1))
    order = np.array([3, 0, 5, 1, 4, 2])
    points = class_points(ring[np.ix_(order, order)], np.ones(6))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    near = np.abs(order[:, None] - order) == 1
    assert apart[near] == pytest.approx(1)


def test_columns_are_ranks_or_numbers_of_values():
    days = np.array(
        ["2020-01-01", "2020-01-03", "NaT", "2020-01-02", "2020-01-02"], "datetime64[us]"
    )
    columns = {
        "age": np.array([30, np.nan, 20, 40, 1000], np.float32),
        "city": np.array(["Bonn", "Rome", None, "Rome", "Oslo"], object),
        "since": days,
    }
    age, city, since = column_blocks(columns, np.array([4, 0, 1, 2, 3, 5]))
    codes = [list(base64.b64decode(block["codes"])) for block in (age, city, since)]
    assert codes[0] == [254, 85, 255, 0, 169, 255]  # the last node has another type
    assert age["ends"] == ["20", "40", "1,000"]
    assert codes[1] == [2, 1, 0, 255, 0, 255]
    assert city["values"] == ["Rome", "Bonn", "Oslo"]
    assert codes[2] == [127, 0, 254, 255, 127, 255]
    assert since["ends"] == ["2020-01-01", "2020-01-02", "2020-01-03"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_graph_of_one_or_two_nodes_has_a_map(count):
    points = positions(sp.csr_array((count, count)), np.ones((count, 1)), 0)
    assert np.isfinite(points).all()
