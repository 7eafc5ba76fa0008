"""NodeCopyRegressor: numbers of nodes behind ``fit`` and ``predict``, a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from nodecopy.core.typed import check_fraction
from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.result import NumberResult
from nodecopy.trust.numbers import EstimatedError


class NodeCopyRegressor(RegressorMixin, NodeCopyEstimator[NumberResult]):  # type: ignore[misc]
    """Predict a number of every node of a graph from a few known ones, with intervals.

    A label is a number. Arguments that are not described here are those of `NodeCopyClassifier`.

    Args:
        method: "best" (see `nodecopy.presets.best_numbers`), "fast" (its simplest part), or a
            `nodecopy.stack.numbers.StackedRegressor`.
        calibrate: False holds no labels out, so that there are no intervals.

    >>> from nodecopy import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> y = np.where(np.arange(200) < 40, data.labels + 0.5, np.nan)
    >>> reg = NodeCopyRegressor(random_state=0).fit(data.graph, data.features, y)
    >>> reg.predict([150, 151]).shape, reg.predict_interval([150]).shape
    ((2,), (1, 2))
    """

    _result_type = NumberResult

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the predicted number of every node, or of some [n]."""
        values = self._fitted().values
        return values if nodes is None else values[self._numbers(nodes)]

    def predict_interval(
        self, nodes: ArrayLike | None = None, *, coverage: float = 0.9
    ) -> NDArray[np.float64]:
        """Return where the interval of every node, or of some, begins and ends [n, 2].

        Over all nodes, the share ``coverage`` of the intervals holds the true number, if labels
        were drawn at random; it is not promised for a single node (`nodecopy.trust.numbers`).
        """
        check_fraction("coverage", coverage)
        result = self._fitted()
        given = result.posterior if nodes is None else result.posterior.take(self._numbers(nodes))
        return result.intervals(coverage, given)

    def estimated_error(self, level: float = 0.95) -> EstimatedError:
        """Return how far predictions of nodes without a label are off, estimated.

        It comes with an interval that holds the true mean absolute error with about the probability
        ``level``.
        """
        return self._fitted().estimated(level)
