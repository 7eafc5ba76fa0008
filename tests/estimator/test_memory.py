"""`max_memory` holds for the whole fit: peaks of whole processes are measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.calibration import StackedClassifier
from nodecopy.data import planted_partition
from nodecopy.errors import ModelError
from nodecopy.estimator.size import Sizes, need_of
from nodecopy.presets import best, fast

ROOT = Path(__file__).parents[2]


told_by_linux = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux tells the peak"
)


@told_by_linux
@pytest.mark.parametrize(
    ("features", "fitted_to", "rounding"), [("sparse", "whole", 0.0), ("dense", "part", 1e-5)]
)
def test_a_bound_holds_makes_blocks_smaller_and_changes_nothing(
    features: str, fitted_to: str, rounding: float
) -> None:
    bounded, free = measured(features, fitted_to, "least", "none")
    assert bounded["promised"] < free["promised"]
    assert bounded["peak"] <= bounded["promised"]
    assert free["peak"] <= free["promised"]
    assert bounded["peak"] < 0.8 * free["peak"]
    for name in ("probabilities", "graph_information"):
        np.testing.assert_allclose(bounded[name], free[name], rtol=0, atol=rounding)


@told_by_linux
def test_a_bound_holds_for_dense_features_of_a_whole_graph() -> None:
    (bounded,) = measured("dense", "whole", "least")
    assert bounded["peak"] <= bounded["promised"]


def measured(*case: str) -> list[dict[str, Any]]:
    """Return what fits in another process promised and took."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.estimator.peaks", *case],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("most_nodes", [None, 200])
@pytest.mark.parametrize("preset", [fast(), best(n_zeta=2)])
def test_the_least_memory_is_enough_and_a_byte_less_is_refused(
    preset: StackedClassifier, most_nodes: int | None
) -> None:
    data = planted_partition(500, 3, seed=0).dataset
    x = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32) + data.labels[:, None]
    y = np.where(np.arange(500) < 30, data.labels, -1)
    method = replace(preset, most_nodes=most_nodes, folds=2)
    least = need_of(method, Sizes.of(data.graph, x, 3, 30)).smallest
    classifier = NodeCopyClassifier(method, random_state=0, progress=False, max_memory=least - 1)
    with pytest.raises(ModelError, match=r"^500 nodes and 3 classes take about .* max_memory is"):
        classifier.fit(data.graph, x, y)
    classifier.set_params(max_memory=least).fit(data.graph, x, y)
    # How much memory there was is no property of what was fitted.
    computing = [getattr(one, "computing", None) for one in classifier.model_.components]
    assert {each.memory for each in computing if each is not None} == {None}
    bounded, on = classifier.posterior_, classifier.posterior_on(data.graph, x)
    np.testing.assert_allclose(on.probabilities, bounded.probabilities, atol=1e-5)
    free = classifier.set_params(max_memory=None).fit(data.graph, x, y).posterior_
    np.testing.assert_allclose(bounded.probabilities, free.probabilities, atol=1e-5)
