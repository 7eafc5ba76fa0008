"""Classes by own columns: no node has a part in its own."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph_models import OwnClasses
from nodecopy.read.synthetic import planted_partition

DATA = planted_partition(200, 3, seed=0)
TARGETS = np.eye(3)[DATA.labels][None].repeat(2, 0)  # [F, N, K]
FOLD_OF = stream(0, "folds").integers(2, size=200)


def test_columns_tell_the_classes_and_which_are_linked() -> None:
    own = OwnClasses.fit(DATA.graph, DATA.features, TARGETS, FOLD_OF, 1.0)
    p = own.of(DATA.features)
    np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-5)
    assert np.mean(p.argmax(1) == DATA.labels) > 0.6
    assert np.diag(own.affinity).min() > 1 > own.affinity[0, 1]


def test_what_others_predict_of_a_node_has_no_part_in_its_own() -> None:
    own = OwnClasses.fit(DATA.graph, DATA.features, TARGETS, FOLD_OF, 1.0)
    changed = TARGETS.copy()
    changed[:, 7] = np.roll(changed[:, 7], 1, axis=1)
    other = OwnClasses.fit(DATA.graph, DATA.features, changed, FOLD_OF, 1.0)
    one, another = own.of(DATA.features), other.of(DATA.features)
    same = np.equal(FOLD_OF, FOLD_OF[7])
    np.testing.assert_array_equal(one[same], another[same])
    assert np.abs(one[~same] - another[~same]).max() > 0


def test_known_nodes_keep_their_fold_and_new_ones_have_the_mean() -> None:
    own = OwnClasses.fit(DATA.graph, DATA.features, TARGETS, FOLD_OF, 1.0)
    p, order = own.of(DATA.features), stream(1, "order").permutation(200)
    x = DATA.features[order]
    np.testing.assert_allclose(own.of(x, np.argsort(order)), p[order], atol=1e-6)
    new = own.of(x, np.full(200, 200))  # no node of the fit
    each = [OwnClasses(w[None], np.zeros(200, np.int64), own.affinity).of(x) for w in own.weights]
    np.testing.assert_allclose(new, np.mean(each, 0), atol=1e-6)


def test_each_node_of_the_fit_has_a_fold() -> None:
    with pytest.raises(ModelError, match="fold"):
        OwnClasses(np.zeros((2, 4, 3), np.float32), np.array([0, 2]), np.ones((3, 3), np.float32))
