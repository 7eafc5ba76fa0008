"""scikit-learn's own checks, as far as an estimator of nodes in a graph can pass them.

`fit` takes a graph before X, so the checks run on `OnRows`: rows of X are nodes without any edge.
"""

from __future__ import annotations

from typing import Any, Self
from unittest import SkipTest

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from nodecopy import NodeCopyClassifier
from nodecopy.graph import Graph


class OnRows(NodeCopyClassifier):
    """Fit to X and y and predict X, as scikit-learn asks; nodes have no edges."""

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        return super().fit(edgeless(X), X, y)

    def predict_proba(self, X: Any) -> np.ndarray:  # type: ignore[override]
        p: np.ndarray = self.predict_on(edgeless(X), X).probabilities
        return p

    def predict(self, X: Any) -> np.ndarray:  # type: ignore[override]
        best: np.ndarray = self.classes_[self.predict_proba(X).argmax(1)]
        return best


def edgeless(X: Any) -> Graph:
    return Graph.from_edges(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X)), [])


OWN_WORDS = "refused, in words about nodes instead of those that scikit-learn looks for"
EXCLUDED = {
    "check_classifiers_classes": "-1 is a class there, and an unknown label here",
    "check_supervised_y_2d": "a column of labels [N, 1] is read without a warning",
    "check_requires_y_none": "labels may come with the graph",
    **dict.fromkeys(
        (
            "check_complex_data",
            "check_dtype_object",
            "check_estimators_empty_data_messages",
            "check_estimators_nan_inf",
            "check_fit2d_1sample",
            "check_fit2d_predict1d",
        ),
        OWN_WORDS,
    ),
}


@parametrize_with_checks(
    [OnRows("fast", calibrate=False, random_state=0, progress=False)],
    expected_failed_checks=lambda estimator: EXCLUDED,
)
def test_the_checks_of_scikit_learn(estimator: OnRows, check: Any) -> None:
    try:
        check(estimator)
    except SkipTest:  # a check for settings of SciPy that are off here
        return


def test_notebooks_show_the_arguments() -> None:
    assert "random_state" in NodeCopyClassifier(random_state=3)._repr_html_()
