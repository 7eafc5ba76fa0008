"""The estimator: scikit-learn's rules, every kind of input, and clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted

from nodecopy.core.errors import InputError, ModelError, NotFittedError
from nodecopy.estimator import NodeCopyClassifier, base
from nodecopy.estimator.method import fitted_by
from nodecopy.features.matrix import structural_features, ties_to
from nodecopy.graph import Graph
from nodecopy.weights.descent import TrainConfig
from tests.problems import k_hop, make_task, networkx_graph, pyg_data, short_gcn, true_labels

SHORT = TrainConfig(epochs=25)
TASK = make_task()
TRUTH = true_labels(TASK)
X = TASK.features.toarray()
Y = np.where(np.isin(np.arange(90), TASK.train), TRUTH, -1)
DATA = pyg_data(TASK, train_mask=torch.tensor(Y >= 0))


def small(**settings: Any) -> NodeCopyClassifier:
    own = {"calibrate", "folds", "normalise", "random_state", "progress"}
    parts = {"epochs": 25, "n_zeta": 2, "n_weights": 2}
    parts |= {name: settings.pop(name) for name in settings.keys() - own}
    return NodeCopyClassifier(short_gcn(**parts), **({"random_state": 0} | settings))


@pytest.fixture(scope="module")
def fitted() -> NodeCopyClassifier:
    return small().fit(TASK.graph, X, Y)


def test_scikit_learns_conventions(fitted: NodeCopyClassifier) -> None:
    clf = NodeCopyClassifier("paper", folds=3, calibrate=True, random_state=7)
    shown = "NodeCopyClassifier(calibrate=True, folds=3, method='paper', random_state=7)"
    assert repr(clf) == shown
    assert repr(NodeCopyClassifier()) == "NodeCopyClassifier()"
    check_is_fitted(fitted)
    for use in (clf.predict, clf.predict_proba, clf.uncertainty, lambda: clf.save("nowhere")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    for name in ("posterior_", "held_out_", "model_", "classes_"):
        with pytest.raises(NotFittedError, match="this NodeCopyClassifier is not fitted yet"):
            getattr(clf, name)
        assert not hasattr(clf, name)
    assert not [name for name in vars(clf) if name.endswith("_")]


def test_predictions_have_the_shapes_and_meanings_they_should(fitted: NodeCopyClassifier) -> None:
    p = fitted.predict_proba()
    assert p.shape == (90, 3)
    np.testing.assert_allclose(p.sum(1), 1)
    np.testing.assert_array_equal(fitted.predict(), p.argmax(1))
    np.testing.assert_array_equal(fitted.predict_proba([5, 2]), p[[5, 2]])
    mask = np.arange(90) < 3
    np.testing.assert_array_equal(fitted.predict(mask), fitted.predict([0, 1, 2]))
    assert fitted.predict([]).shape == (0,)
    some = fitted.uncertainty([1, 4])
    np.testing.assert_allclose(
        some.entropy, some.expected_entropy + some.graph_information + some.weight_information
    )
    test = np.setdiff1d(np.arange(90), TASK.train)
    assert fitted.score(test, TRUTH[test]) == np.mean(p[test].argmax(1) == TRUTH[test])
    assert fitted.score(test, TRUTH[test]) > 0.5
    assert fitted.n_features_in_ == 24
    assert len(fitted.model_.graphs) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: (TASK.graph, sp.csr_array(X), Y),
        lambda: (TASK.graph.to_scipy(), X.astype(np.float64), Y),
        lambda: (sp.coo_matrix(TASK.graph.to_scipy()), sp.csc_matrix(X), Y),
        lambda: (TASK.graph.to_scipy().astype(bool), (X > 0).astype(np.int8), Y),
        lambda: (DATA.edge_index.numpy(), torch.as_tensor(X), Y),
        lambda: (DATA.edge_index, X.tolist(), Y.tolist()),
        lambda: (networkx_graph(TASK.graph), X, Y),
        lambda: (DATA, None, None),
    ],
    ids=["graph", "scipy", "coo", "bool", "edge_index", "tensor", "networkx", "pyg"],
)
def test_every_kind_of_graph_gives_the_same_answer(
    make: Callable[[], tuple[Any, Any, Any]], fitted: NodeCopyClassifier
) -> None:
    clf = small().fit(*make())
    np.testing.assert_allclose(clf.predict_proba(), fitted.predict_proba(), atol=1e-5)


def test_the_random_state_decides(fitted: NodeCopyClassifier) -> None:
    again = small().fit(TASK.graph, X, Y)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    other = small(random_state=1).fit(TASK.graph, X, Y)
    assert not np.allclose(other.predict_proba(), fitted.predict_proba(), atol=1e-4)
    for generator in (np.random.default_rng, np.random.RandomState):
        drawn = [small(random_state=generator(3)).fit(TASK.graph, X, Y) for _ in range(2)]
        np.testing.assert_array_equal(drawn[0].predict_proba(), drawn[1].predict_proba())
    unseeded = [small(random_state=None).fit(TASK.graph, X, Y) for _ in range(2)]
    assert not np.array_equal(unseeded[0].predict_proba(), unseeded[1].predict_proba())


@pytest.mark.parametrize("method", ["best", "fast"])
def test_the_memory_there_is_decides_how_much_is_computed_at_a_time(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = np.random.default_rng(0).normal(size=(90, 5)) + TRUTH[:, None]
    free = NodeCopyClassifier(method, folds=2, random_state=0).fit(TASK.graph, columns, Y)
    monkeypatch.setattr("nodecopy.nn.network.usable_memory", lambda: 4000)
    bounded = NodeCopyClassifier(method, folds=2, random_state=0).fit(TASK.graph, columns, Y)
    np.testing.assert_allclose(bounded.predict_proba(), free.predict_proba(), atol=1e-3)
    there = bounded.predict_on(TASK.graph, columns).probabilities
    np.testing.assert_allclose(there, free.predict_proba(), atol=1e-3)


@pytest.mark.parametrize("method", ["fast", short_gcn(5, 2)], ids=["fast", "paper"])
def test_what_is_set_for_torch_does_not_matter(method: Any) -> None:
    clf = NodeCopyClassifier(method, random_state=0)
    expected = clf.fit(TASK.graph, X, Y).predict_proba()
    for state in (torch.no_grad(), torch.inference_mode()):
        with state:
            np.testing.assert_array_equal(clf.fit(TASK.graph, X, Y).predict_proba(), expected)
    torch.set_default_dtype(torch.float64)
    try:
        np.testing.assert_array_equal(clf.fit(TASK.graph, X, Y).predict_proba(), expected)
        there = clf.predict_on(TASK.graph, X).probabilities
        np.testing.assert_allclose(there, expected, atol=1e-6)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_predictions_cannot_be_changed_from_outside(fitted: NodeCopyClassifier) -> None:
    with pytest.raises(ValueError, match="read-only"):
        fitted.predict_proba()[0] = 0
    some = fitted.predict_proba([0, 1])
    some[0] = 0
    np.testing.assert_allclose(fitted.predict_proba([0, 1]).sum(1), 1)


def test_a_fit_is_replaced_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread sees while a fit with other classes is under way is one fit or other."""
    clf = NodeCopyClassifier("fast", random_state=0).fit(TASK.graph, X, Y)
    seen = []

    def looked(method: Any, *rest: Any) -> Any:
        model = fitted_by(method, *rest)
        seen.append((clf.predict_proba().shape[1], len(clf.classes_)))
        return model

    monkeypatch.setattr(base, "fitted_by", looked)
    clf.fit(TASK.graph, X, np.where(Y < 0, -1, Y % 2))
    assert seen == [(3, 3)]
    assert len(clf.classes_) == clf.predict_proba().shape[1] == 2


def test_graphs_in_place_of_nodes_are_refused_in_one_line(fitted: NodeCopyClassifier) -> None:
    for graph in (DATA, TASK.graph, networkx_graph(TASK.graph)):
        with pytest.raises(ModelError, match=r"numbers of nodes .*predict_on"):
            fitted.predict(graph)


def test_another_graph_with_names_is_matched_by_name(tmp_path: Path) -> None:
    names = [f"n{node}" for node in range(90)]
    graph = networkx_graph(TASK.graph, names)
    clf = NodeCopyClassifier(random_state=0).fit(graph, X, Y)
    order = np.random.default_rng(0).permutation(90)
    mixed = nx.Graph()
    mixed.add_nodes_from(["new", *(names[node] for node in order)])
    mixed.add_edges_from(graph.edges)
    there = clf.predict_on(mixed, np.concatenate([np.ones((1, 24)), X[order]])).probabilities
    expected = clf.predict_proba()[order]  # which of equally similar nodes count may differ
    np.testing.assert_allclose(there[1:], expected, atol=5e-3)
    with pytest.warns(UserWarning, match="no features given"):
        bare = NodeCopyClassifier("fast", random_state=0).fit(graph, None, Y)
    mixed.remove_node("new")
    np.testing.assert_allclose(
        bare.predict_on(mixed).probabilities, bare.predict_proba()[order], atol=1e-5
    )
    (tmp_path / "model").mkdir()
    clf.save(tmp_path / "model" / "model.safetensors")  # as in the folder of a run
    loaded = NodeCopyClassifier.load(tmp_path).predict_on(mixed, X[order]).probabilities
    np.testing.assert_allclose(loaded, expected, atol=5e-3)


def one_way() -> np.ndarray:
    return TASK.graph.edges().T


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TASK.graph, X[:80], Y), r"per node, \[90, D\]; got .*\[80, 24\]"),
        ((TASK.graph, X, Y[:80]), "90 nodes but there are 80 labels"),
        ((TASK.graph, X, None), "y is missing"),
        ((TASK.graph, X, {"zoe": "a"}), "1 of 1 names .*'zoe'"),
        ((TASK.graph, X, np.full(90, -1)), "every label is unknown"),
        ((TASK.graph, X, np.where(Y < 0, -1, 3)), "all labels are .*3.*; at least two classes"),
        ((TASK.graph, X, [{}] * 90), "mixed or unknown types: dict"),
        ((TASK.graph, X, np.zeros(90, complex)), "complex128 are not understood"),
        ((one_way(), X, Y), "edge_index is directed"),
        ((sp.triu(TASK.graph.to_scipy()), X, Y), "the sparse matrix is directed"),
        (("e.csv", X, Y), "name of a file, 'e.csv'"),
        ((np.ones((3, 4, 3)), X, Y), "cannot read a graph from ndarray"),
        ((np.ones((3, 4)), X, Y), r"shape \[3, 4\]; accepted"),
        (({"a": TASK.graph, "b": np.zeros((2, 2))}, X, Y), "same nodes"),
    ],
)
def test_every_mismatch_has_its_message(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small().fit(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normalise": "row"}, "unknown normalise 'row'; did you mean 'rows'"),
        ({"random_state": "zero"}, "random_state must be an integer, None, a NumPy Generator"),
    ],
)
def test_every_impossible_setting_has_its_message(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        small(**settings).fit(TASK.graph, X, Y)


def test_wrong_nodes_are_refused(fitted: NodeCopyClassifier) -> None:
    with pytest.raises(ModelError, match="0 to 89; got 90"):
        fitted.predict([90])
    with pytest.raises(ModelError, match="list of node numbers"):
        fitted.predict(["a"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score([0, 1], [0])


def test_new_nodes(fitted: NodeCopyClassifier) -> None:
    grown = Graph.from_edges(92, [*TASK.graph.edges().tolist(), [90, 0], [90, 3], [91, 90]])
    features = np.concatenate([X, X[:2]])
    posterior = fitted.predict_on(grown, features)
    assert posterior.probabilities.shape == (92, 3)
    far = np.setdiff1d(np.arange(90), k_hop(grown, [90, 91], 3))
    np.testing.assert_allclose(posterior.probabilities[far], fitted.predict_proba(far), atol=1e-5)
    with pytest.raises(ModelError, match="X has 23 features.*expecting 24"):
        fitted.predict_on(grown, features[:, :23])


def test_without_features_nodes_are_described_by_their_ties(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no features given"):
        fitted = small().fit(TASK.graph, None, Y)
    values, hubs = structural_features(TASK.graph)
    same = small().fit(TASK.graph, values, Y)
    np.testing.assert_array_equal(fitted.predict_proba(), same.predict_proba())
    fitted.save(tmp_path / "model.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path)
    grown = Graph.from_edges(91, [*TASK.graph.edges(), (0, 90)])
    expected = same.predict_on(grown, ties_to(grown, hubs))
    for model in (fitted, loaded):
        result = model.predict_on(grown)
        np.testing.assert_array_equal(result.probabilities, expected.probabilities)
    part = fitted.predict_on(TASK.graph.induced(np.arange(60)))
    assert part.probabilities.shape == (60, 3)
    with pytest.raises(ModelError, match="X is missing: the model was fitted to features"):
        same.predict_on(grown)


def test_suggested_labels_alone_estimate_nothing(tmp_path: Path) -> None:
    known = np.flatnonzero(Y >= 0)
    clf = NodeCopyClassifier("fast", random_state=0).fit(TASK.graph, X, Y, suggested=known[2:])
    assert clf.held_out_ is not None
    assert clf.result_.estimate is None
    assert "2 were not" in clf.result_.why_not_estimated
    assert clf.estimated_accuracy().num_labels == 2  # for who asks
    assert "that were not suggested" in clf.report(tmp_path / "page.html").path.read_text()
    drawn = NodeCopyClassifier("fast", random_state=0).fit(TASK.graph, X, Y, suggested=known[3:])
    assert drawn.estimated_accuracy().num_labels == 3
