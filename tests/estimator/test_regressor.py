"""NodeCopyRegressor: inputs, predictions, leakage, save and load, new nodes, more labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.neighbors import kneighbors_graph

from nodecopy import NodeCopyClassifier, NodeCopyRegressor
from nodecopy.core.errors import DatasetError, FormatError, ModelError


def field(n: int = 160, seed: int = 0):
    """Return a graph of points, columns of which one counts, numbers, and which are known."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    graph = kneighbors_graph(points, 4)
    x = rng.normal(size=(n, 3))
    y = np.sin(5 * points[:, 0]) + x[:, 0] + 0.1 * rng.normal(size=n)
    known = np.arange(n) < n // 2
    return graph.maximum(graph.T), x, y, known


GRAPH, X, Y, KNOWN = field()
SHOWN = np.where(KNOWN, Y, np.nan)


def fitted(**settings) -> NodeCopyRegressor:
    return NodeCopyRegressor(random_state=0, **settings).fit(GRAPH, X, SHOWN)


@pytest.fixture(scope="module")
def reg() -> NodeCopyRegressor:
    return fitted()


def test_numbers_are_predicted_with_intervals_and_an_error(reg):
    rest = ~KNOWN
    predicted = reg.predict()
    assert predicted.dtype == np.float64
    assert np.corrcoef(predicted[rest], Y[rest])[0, 1] > 0.9
    low, high = reg.predict_interval().T
    assert np.mean((low <= Y) & (high >= Y)) > 0.8
    error = reg.estimated_error()
    assert error.low < np.abs(predicted - Y)[rest].mean() < error.high
    assert error.r2 > 0.6
    narrow = np.diff(reg.predict_interval(coverage=0.5))
    assert np.all(narrow < np.diff(reg.predict_interval()))
    assert is_regressor(reg)
    assert clone(reg).get_params() == reg.get_params()


def test_unknown_numbers_may_be_written_in_many_ways(reg):
    for unknown in (None, "", float("nan")):
        y = [float(v) if k else unknown for v, k in zip(Y, KNOWN, strict=True)]
        assert np.array_equal(fitted().predict(), reg.predict())
        other = NodeCopyRegressor("fast", random_state=0).fit(GRAPH, X, y)
        assert np.isfinite(other.predict()).all()
    minus = np.where(np.arange(len(Y)) == 0, -1.0, SHOWN)
    assert NodeCopyRegressor("fast").fit(GRAPH, X, minus).result_.known[0] == -1


def test_a_column_and_its_copies_are_no_features():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=SHOWN, cents=100 * SHOWN)
    frame["rank"] = frame["y"].rank(ascending=False)
    with pytest.warns(UserWarning, match="cents, rank"):
        reg = NodeCopyRegressor("fast", random_state=0).fit(GRAPH, frame, "y")
    plain = NodeCopyRegressor("fast", random_state=0).fit(GRAPH, frame[["a", "b", "c"]], SHOWN)
    assert np.array_equal(reg.predict(), plain.predict())


def test_what_is_not_a_number_is_refused():
    with pytest.raises(DatasetError, match="numbers"):
        NodeCopyRegressor().fit(GRAPH, X, ["a"] * len(Y))
    with pytest.raises(ModelError, match="two different"):
        NodeCopyRegressor().fit(GRAPH, X, np.where(KNOWN, 1.0, np.nan))
    with pytest.raises(ModelError, match="method"):
        NodeCopyRegressor("paper").fit(GRAPH, X, SHOWN)
    with pytest.raises(DatasetError, match="NodeCopyRegressor"):
        NodeCopyClassifier().fit(GRAPH, X, SHOWN)


def test_save_and_load_bring_everything_back(reg, tmp_path):
    reg.save(tmp_path / "model")
    back = NodeCopyRegressor.load(tmp_path / "model")
    assert np.array_equal(back.predict(), reg.predict())
    assert np.array_equal(back.predict_interval(), reg.predict_interval())
    assert back.estimated_error() == reg.estimated_error()
    assert np.allclose(back.predict_on(GRAPH, X).values, reg.predict(), atol=1e-3)
    with pytest.raises(FormatError):
        NodeCopyClassifier.load(tmp_path / "model")


def test_more_numbers_are_a_new_fit(reg):
    more = {int(node): float(Y[node]) for node in np.flatnonzero(~KNOWN)[:10]}
    shown = SHOWN.copy()
    shown[list(more)] = list(more.values())
    after = fitted().add_labels(more)
    assert np.array_equal(
        after.predict(), NodeCopyRegressor(random_state=0).fit(GRAPH, X, shown).predict()
    )
    back = after.add_labels(dict.fromkeys(more))
    assert np.array_equal(back.predict(), reg.predict())


def test_explanations_add_up_and_skewed_ones_multiply(reg):
    why = reg.explain(120)
    assert why.mean + why.total == pytest.approx(reg.predict([120])[0], abs=1e-4)
    assert "mean of the labels" in str(why)
    assert {row.source for row in why.evidence} >= {"column", "neighbour"}
    sizes = NodeCopyRegressor(random_state=0).fit(GRAPH, X, np.exp(2 * SHOWN))
    skewed = sizes.explain(120)
    assert skewed.multiplies
    assert np.log(skewed.mean) + skewed.total == pytest.approx(
        np.log(sizes.predict([120])[0]), abs=1e-4
    )
    assert sizes.predict_interval().min() > 0


def test_a_wrong_number_is_suspect_and_tables_have_intervals():
    y = SHOWN.copy()
    y[7] += 15
    reg = NodeCopyRegressor(random_state=0).fit(GRAPH, X, y)
    first = reg.suspect_labels()[0]
    assert first.node == 7
    assert first.probability > 0.5
    frame = reg.to_frame()
    assert list(frame) == ["known", "predicted", "low_90", "high_90"]
    assert frame["known"].notna().sum() == KNOWN.sum()
    suggested = reg.suggest(3)
    assert not KNOWN[suggested].any()
    assert len(reg.suspect_edges(5)) <= 5


def test_new_nodes_are_predicted_without_fitting_again(reg):
    new = reg.predict_new(X[:2], [(160, 0), (160, 1), (161, 2)])
    assert new["predicted"].notna().all()
    assert new["new"].all()
    whole = reg.grown(X[:2], [(160, 0), (160, 1), (161, 2)])
    assert np.allclose(whole.predict([160, 161]), new["predicted"])
    assert "Map" in reg._repr_html_inner()
