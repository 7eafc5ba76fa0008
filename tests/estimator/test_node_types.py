"""Several node types in Python: mappings, HeteroData and named graphs, one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError

CUSTOMERS, SHOPS = 60, 12
RNG = np.random.default_rng(0)
TRUTH = np.arange(CUSTOMERS) % 2
# Customers of a class buy at shops of one half, whose category tells which it is.
BOUGHT = np.array(
    [(c, 6 * TRUTH[c] + s) for c in range(CUSTOMERS) for s in RNG.choice(6, 3, replace=False)]
).T
AGES = RNG.normal(TRUTH[:, None], 1.0, (CUSTOMERS, 2)).astype(np.float32)
TYPE_OF_SHOP = RNG.normal(np.arange(SHOPS)[:, None] // 6, 0.3, (SHOPS, 3)).astype(np.float32)
Y = np.where(np.arange(CUSTOMERS) < 8, TRUTH, -1)


def fitted(*given: Any, **named: Any) -> NodeCopyClassifier:
    return NodeCopyClassifier("fast", random_state=0).fit(*given, **named)


def by_type() -> NodeCopyClassifier:
    edges = {("customers", "buys", "shops"): BOUGHT}
    return fitted(edges, {"shops": TYPE_OF_SHOP, "customers": AGES}, {"customers": Y})


def test_only_the_type_with_labels_is_predicted() -> None:
    clf = by_type()
    assert clf.result_.given.node_types == {"customers": CUSTOMERS, "shops": SHOPS}
    assert clf.predict_proba().shape == (CUSTOMERS, 2)
    assert (clf.predict() == TRUTH).mean() > 0.95
    assert clf.predict_set().shape == clf.predict_proba().shape
    assert clf.suggest(CUSTOMERS + SHOPS).max() < CUSTOMERS
    assert len(clf.to_frame()) == CUSTOMERS
    with pytest.raises(ModelError, match="0 to 59"):
        clf.predict([CUSTOMERS])


def test_before_any_label_the_first_type_is_suggested() -> None:
    given = {("customers", "buys", "shops"): BOUGHT}, {"customers": AGES, "shops": TYPE_OF_SHOP}
    for clf, at in ((NodeCopyClassifier(random_state=0), given), (by_type(), ())):
        for random in (False, True):
            known = 0 if at else (Y >= 0).sum()
            nodes = clf.suggest(CUSTOMERS + SHOPS, *at, random=random)
            assert sorted(nodes) == list(range(known, CUSTOMERS))


def test_every_way_to_give_types_predicts_the_same(tmp_path: Path) -> None:
    expected = by_type().predict_proba()
    data = pytest.importorskip("torch_geometric.data").HeteroData()
    data["shops"].x, data["customers"].x = torch.tensor(TYPE_OF_SHOP), torch.tensor(AGES)
    data["customers", "buys", "shops"].edge_index = torch.tensor(BOUGHT)
    data["customers"].y = torch.tensor(TRUTH)
    data["customers"].train_mask = torch.tensor(Y >= 0)
    frames = {"shops": pd.DataFrame(TYPE_OF_SHOP), "customers": pd.DataFrame(AGES)}
    graph = {("customers", "shops"): BOUGHT}
    of_frames = fitted(graph, frames, {"customers": Y})
    assert NodeCopyClassifier().suggest(99, data).max() == CUSTOMERS - 1
    for clf in (fitted(data), fitted(data, y={"customers": Y}), of_frames):
        np.testing.assert_allclose(clf.predict_proba(), expected, atol=1e-6)
    of_frames.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_on(graph, frames).probabilities, expected, atol=1e-4)


def test_a_graph_that_has_grown_keeps_its_nodes_in_their_types() -> None:
    clf, more = by_type(), np.hstack([BOUGHT, [[CUSTOMERS, CUSTOMERS], [0, SHOPS]]])
    features = {
        "customers": np.vstack([AGES, AGES[:1]]),
        "shops": np.vstack([TYPE_OF_SHOP, TYPE_OF_SHOP[:1]]),
    }
    there = clf.predict_on({("customers", "shops"): more}, features).probabilities
    assert len(there) == CUSTOMERS + 1
    np.testing.assert_allclose(there[1:CUSTOMERS], clf.predict_proba()[1:], atol=0.05)
    assert there[-1].argmax() == 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "types are"),
        (np.zeros(5), r"customers \(60\)"),
        ({"shops": np.zeros(5)}, "12 nodes but there are 5 labels"),
    ],
)
def test_labels_of_no_type_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        fitted({("customers", "shops"): BOUGHT}, {"customers": AGES, "shops": SHOPS}, y)


def test_relations_of_a_hetero_graph_are_kept() -> None:
    edges = {
        ("customers", "buys", "shops"): BOUGHT,
        ("shops", "rev_buys", "customers"): BOUGHT[::-1],
        ("customers", "knows", "customers"): np.array([[0, 1], [2, 3]]),
    }
    clf = fitted(edges, {"customers": AGES, "shops": None}, {"customers": Y})
    graph = clf.result_.given.graph
    assert list(graph.relations) == ["customers buys shops", "customers knows customers"]
    assert graph.num_edges == BOUGHT.shape[1] + 2
    there = clf.predict_on(edges, {"customers": AGES, "shops": None}).probabilities
    np.testing.assert_allclose(there, clf.predict_proba(), atol=1e-4)
