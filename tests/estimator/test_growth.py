"""New nodes: predictions without fitting again, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier, presets
from nodecopy.core.errors import DatasetError, GraphError, ModelError
from nodecopy.graph import Graph, join_relations
from nodecopy.read.synthetic import planted_partition

N, M = 240, 12
DATA = planted_partition(N + M, 3, seed=0)
Y = np.where(np.arange(N) < 45, DATA.labels[:N], -1)
EDGES = DATA.graph.edges()
OLD, NEW = EDGES[(EDGES < N).all(1)], EDGES[(EDGES >= N).any(1)]


def fitted(method: object = "best", features: bool = True) -> NodeCopyClassifier:
    X = DATA.features[:N] if features else None
    return NodeCopyClassifier(method, random_state=0).fit(Graph.from_edges(N, OLD), X, Y)


@pytest.mark.parametrize("method", ["best", "fast", "label-propagation"])
def test_predictions_are_those_of_the_whole_grown_graph(method):
    clf = fitted(method)
    whole = clf.predict_on(DATA.graph, DATA.features).probabilities
    grown = clf.grown(DATA.features[N:], NEW)
    assert np.allclose(grown.predict_proba(), whole, atol=1e-6)
    table = clf.predict_new(DATA.features[N:], NEW)
    assert table.index.tolist() == list(range(N, N + M))
    columns = [f"p_{name}" for name in clf.classes_]
    assert np.allclose(table[columns], whole[N:], atol=1e-6)
    assert table["new"].all()
    assert table["novelty"].between(0, 1).all()
    assert all(row.predicted in row.set_90 for row in table.itertuples())


@pytest.mark.filterwarnings("ignore:no features")
def test_without_features_new_nodes_are_those_that_edges_name():
    clf = fitted("fast", features=False)
    linked = np.unique(NEW[NEW >= N])
    table = clf.predict_new(edges=NEW)
    assert sorted(table.index) == linked.tolist()
    whole = clf.predict_on(DATA.graph).probabilities
    columns = [f"p_{name}" for name in clf.classes_]
    assert np.allclose(table.loc[linked, columns], whole[linked], atol=1e-6)


def test_a_new_node_is_explained_and_one_without_edges_is_predicted():
    clf = fitted()
    grown = clf.grown(DATA.features[N:], NEW)
    why = grown.explain(N)
    assert sum(row.log_odds for row in why.evidence) == pytest.approx(why.log_odds, abs=1e-9)
    alone = clf.predict_new(DATA.features[N:], [])
    assert len(alone) == M
    assert not np.allclose(alone["p_0"], alone["p_0"].iloc[0])


def test_a_large_graph_is_read_around_the_new_nodes_only():
    """The model is fitted to 150 of 252 nodes, and applied to these and to what is near."""
    clf = fitted(replace(presets.fast(), most_nodes=150))
    assert len(clf.result_.model.part) < N
    whole = clf.predict_on(DATA.graph, DATA.features).probabilities[N:]
    near = clf.predict_new(DATA.features[N:], NEW)
    columns = [f"p_{name}" for name in clf.classes_]
    assert np.abs(near[columns].to_numpy() - whole).max() < 0.02


def test_names_relations_types_and_columns_are_matched():
    rng = np.random.default_rng(0)
    people, shops = [f"p{i}" for i in range(60)], [f"s{i}" for i in range(8)]
    truth = rng.integers(2, size=60)
    buys = np.stack([np.arange(60), 60 + 4 * truth + rng.integers(4, size=60)], axis=1)
    knows = rng.integers(60, size=(120, 2))
    graph = join_relations(
        {"buys": Graph.from_edges(68, buys), "knows": Graph.from_edges(68, knows)}
    )
    clf = NodeCopyClassifier("fast", random_state=0)
    X = pd.DataFrame({"age": rng.normal(size=68)}, index=people + shops)
    y = pd.Series(np.where(truth, "a", "b")[:20], index=people[:20])
    clf.fit(graph, X, y)
    new = pd.DataFrame({"age": [0.5, 1.0]}, index=["new", "newer"])
    edges = pd.DataFrame(
        {"source": ["new", "new", "newer"], "target": ["s0", "p3", "new"]}
        | {"relation": ["buys", "knows", "knows"]}
    )
    table = clf.predict_new(new, edges)
    assert table.index.tolist() == ["new", "newer"]
    with pytest.raises(GraphError, match="pays"):
        clf.predict_new(new, edges.assign(relation="pays"))


def test_columns_go_by_their_names():
    rng, names = np.random.default_rng(0), [f"n{i}" for i in range(N)]
    graph, towns = Graph.from_edges(N, OLD), rng.choice(["Ulm", "Bonn", "Rom"], N)
    X = pd.DataFrame({"town": towns, "size": rng.normal(size=N)}, index=names)
    clf = NodeCopyClassifier("fast", random_state=0).fit(graph, X, Y)
    new = pd.DataFrame({"size": [0.5], "town": ["Ulm"]}, index=["new"])
    expected = clf.predict_new(new[["town", "size"]], [("new", "n3")])
    with pytest.warns(UserWarning, match="'pay'"):
        table = clf.predict_new(new.assign(pay=7), [("new", "n3")])
    pd.testing.assert_frame_equal(table, expected)
    with pytest.raises(DatasetError, match="'town'"):
        clf.predict_new(new[["size"]], [])
    numbers = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"], index=names)
    clf = NodeCopyClassifier("fast", random_state=0).fit(graph, numbers, Y)
    with pytest.raises(ModelError, match="'b', 'a'"):
        clf.predict_new(numbers[["b", "a"]].rename(index=lambda name: f"new {name}"), [])


@pytest.mark.parametrize("shift", [0, 1])
def test_integers_of_an_index_are_names(shift):
    """Without names, nodes of the fit are numbered from 0; with names they may begin at 1."""
    names, rows = np.arange(N) + shift, DATA.features[:N].toarray()
    frame = pd.DataFrame({"x": rows.sum(1), "z": rows[:, 0]}, index=names)
    edges = pd.DataFrame(OLD + shift, columns=["source", "target"])
    graph = edges if shift else Graph.from_edges(N, OLD)
    clf = NodeCopyClassifier("fast", random_state=0).fit(graph, frame, pd.Series(Y, names))
    new = frame.iloc[:2].set_axis([900, 700])
    table = clf.predict_new(new, [(900, 5), (700, 900)])
    assert table.index.tolist() == [900, 700]
    with pytest.raises(ModelError, match="5 is a node of the fit"):
        clf.predict_new(new.set_axis([900, 5]), [])
    with pytest.raises(ModelError, match="900 more than once"):
        clf.predict_new(new.set_axis([900, 900]), [])


def test_edges_of_new_nodes_are_directed_if_those_of_the_fit_are():
    directed = Graph.from_edges(N, OLD, directed=True)
    clf = NodeCopyClassifier("fast", random_state=0).fit(directed, DATA.features[:N], Y)
    whole = Graph.from_edges(N + M, EDGES, directed=True)
    grown = clf.grown(DATA.features[N:], NEW)
    (relation,) = grown.result_.given.graph.relations.values()
    assert relation.digest() == whole.digest()
    expected = clf.predict_on(whole, DATA.features).probabilities
    assert np.allclose(grown.predict_proba(), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:no features")
def test_columns_that_the_fit_did_not_have_are_refused():
    with pytest.raises(ModelError, match="without columns"):
        fitted("fast", features=False).predict_new(DATA.features[N:], NEW)


def test_what_does_not_fit_is_refused_in_a_line(tmp_path):
    clf = fitted("fast")
    x = DATA.features[N:]
    with pytest.raises(ModelError, match="999"):
        clf.predict_new(x, [(N, 999)])
    with pytest.raises(GraphError, match="shape"):
        clf.predict_new(x, [(1, 2, 3)])
    with pytest.raises(ModelError, match="X is missing"):
        clf.predict_new(None, NEW)
    with pytest.raises(ModelError, match="features"):
        clf.predict_new(sp.csr_array((2, 3)), [])
    named = NodeCopyClassifier("fast", random_state=0).fit(
        Graph.from_edges(N, OLD),
        pd.DataFrame({"x": np.arange(N) % 7}, index=[f"n{i}" for i in range(N)]),
        Y,
    )
    with pytest.raises(ModelError, match="'n3' is a node of the fit"):
        named.predict_new(pd.DataFrame({"x": [1]}, index=["n3"]), [])
    clf.save(tmp_path / "model.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="graph"):
        loaded.predict_new(x, NEW)


def test_a_number_far_outside_is_novel_beside_other_columns(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array(["red", "green", "blue"])
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N) + DATA.labels[:N],
            "colour": names[rng.integers(3, size=N)],
            "age": rng.integers(20, 60, size=N).astype(float),
        }
    )
    clf = NodeCopyClassifier("fast", random_state=0).fit(Graph.from_edges(N, OLD), frame, Y)
    usual = pd.DataFrame({"size": [1.0], "colour": ["red"], "age": [40.0]})
    far = usual.assign(age=4000.0)
    assert clf.predict_new(usual, [(N, 0)])["novelty"].iloc[0] < 0.5
    assert clf.predict_new(far, [(N, 0)])["novelty"].iloc[0] > 0.9
    grown = clf.grown(far, [(N, 0)]).result_.given
    assert grown.plain["age"][grown.new].tolist() == [4000.0]
    assert grown.plain["colour"].shape == (N + 1,)


@pytest.mark.parametrize("edges", [[], [(N, 0), (N, 1)]])
def test_a_new_node_far_outside_the_range_of_the_fit_is_novel(edges):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) + DATA.labels[:N, None]
    clf = NodeCopyClassifier("fast", random_state=0).fit(Graph.from_edges(N, OLD), X, Y)
    new = np.array([X[:45][Y[:45] == 2].mean(0), np.full(4, 1000.0)])
    typical, far = clf.grown(new[[0]], edges), clf.grown(new[[1]], edges)
    assert typical.novelty([N])[0] < 0.5
    assert far.novelty([N])[0] > 0.9
    assert clf.predict_new(new[[1]], edges)["novelty"].to_numpy() == far.novelty([N])
