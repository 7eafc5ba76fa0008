"""What is kept for a value, and when it goes."""

from __future__ import annotations

import gc

import numpy as np
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier
from nodecopy.core import kept as module
from nodecopy.core.kept import kept
from nodecopy.features.matrix import frozen
from nodecopy.graph import Graph
from nodecopy.read.synthetic import planted_partition


def test_one_thing_is_kept_for_what_it_was_made_from_and_goes_with_its_owner():
    gc.collect()  # what other tests have left
    before = len(module._KEPT)
    owner = Graph.from_edges(3, [(0, 1)])
    first = kept(owner, "name", list, 1)
    assert kept(owner, "name", list, 1) is first
    assert kept(owner, "other", list, 1) is not first
    assert kept(owner, "name", list, 2) is not first
    assert kept(owner, "name", list, 1) is not first
    assert len(module._KEPT) == before + 2
    del owner
    gc.collect()
    assert len(module._KEPT) == before


def test_nothing_is_kept_for_what_may_change():
    x = np.ones((2, 2))
    for owner in (x, sp.csr_array(x)):
        assert kept(owner, "name", list) is not kept(owner, "name", list)
    assert kept(owner := frozen(x), "name", list) is kept(owner, "name", list)


def test_fits_leave_nothing_behind_and_more_labels_give_the_bits_of_a_new_fit():
    def fits(weight: float) -> tuple[NodeCopyClassifier, NodeCopyClassifier]:
        made = planted_partition(150, 3, seed=1)
        edges = made.graph.edges()
        weights = np.where(np.arange(len(edges)) % 2, weight, 2.0)
        graph = Graph.from_edges(150, edges, weights)
        y = np.where(np.arange(150) < 30, made.labels, -1)
        more = {n: made.labels[n] for n in (40, 41)}
        again = NodeCopyClassifier(random_state=0).fit(graph, made.features, y).add_labels(more)
        y[list(more)] = list(more.values())
        alike = planted_partition(150, 3, seed=1).features.copy()
        return again, NodeCopyClassifier(random_state=0).fit(
            Graph.from_edges(150, edges, weights), alike, y
        )

    gc.collect()
    before = len(module._KEPT)
    again, new = fits(3.0)
    assert np.array_equal(again.predict_proba(), new.predict_proba())
    assert len(module._KEPT) > before
    del again, new
    gc.collect()
    assert len(module._KEPT) == before
