"""The example of docs/calibration.md runs, and the benchmark that its numbers come from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmarks.honesty import Fit, dataset_of, fit, measured
from nodecopy.calibration import EstimatedAccuracy
from nodecopy.estimator.assessment import SuspectLabel

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    printed: list[object] = []
    names: dict[str, object] = {"print": printed.append}
    exec(example, names)  # noqa: S102 (the example of the page)
    accuracy, suspects = printed
    assert isinstance(accuracy, EstimatedAccuracy)
    assert accuracy.num_labels == 35
    assert isinstance(suspects, list)
    assert 0 < len(suspects) < 35
    assert all(isinstance(suspect, SuspectLabel) for suspect in suspects)
    assert np.asarray(names["sets"]).shape == (2708, 7)


def test_the_benchmark_compares_with_the_truth() -> None:
    found = fit(dataset_of("planted"), 3, seed=0, wrong=0.07)
    assert np.count_nonzero(found.given[found.nodes] != found.labels[found.nodes]) == 1
    perfect = np.eye(5)[found.labels]
    known = found.labels[found.nodes]
    told = measured(Fit(found.labels, found.given, found.nodes, np.eye(5)[known], perfect))
    assert told["accuracy"] == told["90 % sets cover"] == 100
    assert told["size"] == 1
    assert told["precision in the top k"] == 100
    assert measured(found)["90 % sets cover"] > 50
