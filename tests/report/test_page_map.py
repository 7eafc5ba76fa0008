"""The map of the page: alike is near, all points are in the frame, and a sample stands for many."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.report.page_map import layout, node_map
from tests.report.fabricated import make_result


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_groups_of_points_alike_are_apart():
    centres = np.eye(4)[np.arange(200) % 4]
    places = layout(centres + rng().normal(0, 0.05, (200, 4)), rng())
    group = np.arange(200) % 4
    middle = np.array([places[group == k].mean(0) for k in range(4)])
    nearest = np.linalg.norm(places[:, None] - middle, axis=2).argmin(1)
    assert (nearest == group).mean() > 0.95
    assert np.abs(places).max() <= 1


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
def test_few_points_and_points_all_alike_are_placed(count):
    places = layout(np.ones((count, 3)), rng())
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()


def test_the_map_is_the_same_each_time_and_a_smaller_one_its_beginning():
    result = make_result(300)
    drawn, again = node_map(result), node_map(result)
    assert sorted(drawn.nodes.tolist()) == list(range(300))
    assert drawn.places.shape == (300, 2)
    assert np.array_equal(drawn.places, again.places)
    assert np.array_equal(drawn.first(7).nodes, drawn.nodes[:7])
