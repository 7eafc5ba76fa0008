"""Features in any units: how they are scaled, and that it stays so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier
from nodecopy.features.matrix import stored_by_content
from nodecopy.features.scaling import Scaling, scaling_of
from nodecopy.graph import Graph
from tests.problems import make_task, short_gcn, true_labels

RNG = np.random.default_rng(0)
UNITS = RNG.normal([5, 1000, 3], [1, 300, 0], (50, 3)).astype(np.float32)
ALONE = Graph.from_edges(50, [])


@pytest.mark.parametrize("normalise", ["auto", "columns"])
def test_columns_get_mean_0_and_deviation_1_and_constant_ones_become_0(normalise):
    scaled = scaling_of(UNITS, normalise).apply(ALONE, UNITS)
    assert np.allclose(scaled.mean(0), 0, atol=1e-4)
    assert np.allclose(scaled.std(0), [1, 1, 0], atol=1e-4)


def test_rows_are_scaled_or_left_as_they_are():
    scaled = scaling_of(UNITS, "rows").apply(ALONE, UNITS)
    assert np.allclose(np.abs(scaled).sum(1), 1)
    assert scaling_of(UNITS, "none").apply(ALONE, UNITS) is UNITS


def test_scaled_features_cannot_change_so_that_what_follows_from_them_is_kept():
    blocks = Scaling(scale=np.array([1.0, 2.0, 2.0]), num_features=3)
    for scaling in (scaling_of(UNITS, "columns"), scaling_of(UNITS, "rows"), blocks):
        scaled = scaling.apply(ALONE, UNITS)
        values = scaled.data if sp.issparse(scaled) else scaled
        assert not values.flags.writeable
        assert scaled.max() > 0  # which SciPy would have to sort for


COUNTS = RNG.poisson(0.1, (50, 20)).astype(np.float32)


@pytest.mark.parametrize(
    ("features", "rows"),
    [
        (sp.csr_array(UNITS), True),
        (sp.csr_array(-UNITS), False),
        (np.eye(3), True),
        (np.zeros((3, 2)), True),
        (COUNTS, True),
        (-COUNTS, False),
    ],
)
def test_marks_and_sparse_features_have_no_units(features, rows):
    scaling = scaling_of(features, "auto")
    assert scaling.shift is None
    assert scaling.rows == rows


def test_units_do_not_matter_and_the_scale_is_saved(tmp_path):
    task = make_task()
    y = np.where(np.isin(np.arange(90), task.train), true_labels(task), -1)
    features = task.features.toarray()[:, :6] + RNG.normal(size=(90, 6))
    units = features * 10.0 ** np.arange(-3, 3) + 7
    settings = {"method": short_gcn(30, 2), "random_state": 0}
    one = NodeCopyClassifier(**settings).fit(task.graph, features, y)
    other = NodeCopyClassifier(**settings).fit(task.graph, units, y)
    np.testing.assert_allclose(one.predict_proba(), other.predict_proba(), atol=1e-3)
    other.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    part = loaded.predict_on(task.graph, units).probabilities
    np.testing.assert_array_equal(part, other.predict_proba())


@pytest.mark.parametrize("cell", [2.0, 0.5, -1.0])
def test_one_odd_node_does_not_change_how_all_features_are_scaled(cell: float) -> None:
    """An isolated node with a cell of 0.5 among marks moved probabilities by 0.7."""
    marks = np.random.default_rng(0).integers(2, size=(40, 6)).astype(np.float32)
    odd = np.vstack([marks, np.full((1, 6), cell, np.float32)])
    assert scaling_of(odd, "auto").rows
    numbers = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    assert scaling_of(numbers, "auto").shift is not None


@pytest.mark.parametrize("values", ["numbers", "marks"])
def test_a_node_without_features_changes_neither_storage_nor_scaling(values: str) -> None:
    rng = np.random.default_rng(0)
    x = np.zeros((200, 8), np.float32)  # exactly a quarter of which is not zero
    x.flat[rng.permutation(x.size)[: x.size // 4]] = 1.0 if values == "marks" else rng.normal(3)
    larger = np.vstack([x, np.zeros((1, 8), np.float32)])
    stored = [stored_by_content(one) for one in (x, larger, sp.csr_array(x), sp.csr_array(larger))]
    assert {type(one) for one in stored} == {sp.csr_array if values == "marks" else np.ndarray}
    assert len({scaling_of(one, "auto").rows for one in stored}) == 1
