"""The kernel map: φ(x)ᵀ φ(z) is the kernel, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.errors import ModelError
from nodecopy.features.kernel_map import KernelMap

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(200, 3)) * [1.0, 100.0, 0.01] + 5


def test_products_are_the_kernel_where_every_node_is_a_landmark() -> None:
    fitted = KernelMap().fit(DENSE)
    assert fitted is not None
    mapped = fitted.apply(DENSE)
    z = np.clip((DENSE - DENSE.mean(0)) / DENSE.std(0), -4, 4)
    squares = ((z[:, None] - z[None]) ** 2).sum(2)
    np.testing.assert_allclose(mapped @ mapped.T, np.exp(-squares / 6), atol=1e-3)


def test_units_do_not_matter_and_skewed_columns_go_by_rank() -> None:
    skewed = np.exp(2 * DENSE)  # ranks are those of DENSE, in its first column
    one, other = skewed[:, :1], DENSE[:, :1] ** 3 * 1e6
    mapped = []
    for column in (one, other):
        fitted = KernelMap(skewness=0.0).fit(column, seed=1)
        assert fitted is not None
        mapped.append(fitted.apply(column))
    np.testing.assert_allclose(mapped[0] @ mapped[0].T, mapped[1] @ mapped[1].T, atol=1e-4)


def test_other_nodes_are_mapped_alike() -> None:
    fitted = KernelMap(landmarks=50).fit(DENSE)
    assert fitted is not None
    whole = fitted.apply(DENSE)
    np.testing.assert_allclose(fitted.apply(DENSE[7:9]), whole[7:9], atol=1e-5)
    assert np.isfinite(fitted.apply(np.full((1, 3), 1e300))).all()
    constant = KernelMap().fit(np.column_stack([DENSE, np.full(200, 7.0)]))
    assert constant is not None
    assert np.isfinite(constant.apply(np.ones((2, 4)))).all()


def test_counts_marks_and_many_columns_stay_as_they_are() -> None:
    marks = (RNG.random((50, 4)) < 0.5).astype(float)
    assert KernelMap().fit(marks) is None
    assert KernelMap().fit(sp.csr_array(DENSE)) is None
    assert KernelMap(most_columns=2).fit(DENSE) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_feature_that_is_no_number_is_refused(value: float) -> None:
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    x[4, 1] = value
    with pytest.raises(ModelError, match="not finite"):
        KernelMap().fit(x)


def test_products_in_blocks_are_those_with_every_row_made(monkeypatch):
    monkeypatch.setattr("nodecopy.features.kernel_map._BLOCK", 33)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 5)).astype(np.float32)
    x[:, 2] = np.exp(3 * x[:, 2])
    rows = KernelMap(landmarks=40).fit(x).rows(x)
    w = rng.normal(size=(rows.shape[1], 4))
    whole = rows[:] / np.linalg.norm(rows[:], axis=1, keepdims=True)
    np.testing.assert_allclose(rows.unit_times(w), whole @ w, atol=2e-4)
