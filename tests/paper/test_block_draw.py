from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nodecopy.graph import Graph
from nodecopy.paper.mmsbm import block_draw

COMMUNITIES = np.array([0, 1, 1, 0, 2, 1, 0, 1, 0, 0, 1, 4])  # nobody in 3, one each in 2 and 4
STRENGTHS = np.array([0.3, 0.8, 0.5, 0.5, 0.9])
DELTA = 0.1


def pair_probabilities() -> np.ndarray:
    """The chance of an edge for each pair [N, N]."""
    same = COMMUNITIES[:, None] == COMMUNITIES
    return np.where(same, STRENGTHS[COMMUNITIES], DELTA)


def adjacency(graph: Graph) -> np.ndarray:
    return graph.to_scipy().toarray()


@pytest.fixture(scope="module")
def draws() -> list[Graph]:
    rng = np.random.default_rng(0)
    return [block_draw(COMMUNITIES, STRENGTHS, DELTA, rng) for _ in range(3000)]


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
