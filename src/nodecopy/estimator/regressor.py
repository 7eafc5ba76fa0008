"""NodeCopyRegressor: numbers of nodes behind ``fit`` and ``predict``, a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from nodecopy import presets
from nodecopy.core.errors import ModelError, shown, unknown_name
from nodecopy.core.executors import check_executor
from nodecopy.core.progress import Show
from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.features.scaling import Normalise
from nodecopy.problem.problem import Problem
from nodecopy.read.objects import read_problem
from nodecopy.result import NumberResult
from nodecopy.stack.numbers import StackedRegressor
from nodecopy.trust.numbers import EstimatedError
from nodecopy.trust.sets import check_coverage

NumberMethod = Literal["best", "fast"]


class NodeCopyRegressor(RegressorMixin, NodeCopyEstimator):  # type: ignore[misc]
    """Predict a number of every node of a graph from a few known ones, with intervals.

    Args:
        method: "best" (see `nodecopy.presets.best_numbers`), "fast" (its simplest part), or a
            `nodecopy.stack.numbers.StackedRegressor`.
        folds: cross-validation folds of the labels; None is the method's own, 5. 0 holds nothing
            out, so that there are no intervals.
        normalise: this and what follows as in `NodeCopyClassifier`.
        text_model: reads columns of sentences by their meaning.
        random_state: a seed, a NumPy Generator or RandomState, or None for a fresh seed.
        progress: show a bar while fitting.
        executor: where the parts of a fit are computed.

    >>> from nodecopy import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> y = np.where(np.arange(200) < 40, data.labels + 0.5, np.nan)
    >>> reg = NodeCopyRegressor(random_state=0).fit(data.graph, data.features, y)
    >>> reg.predict([150, 151]).shape, reg.predict_interval([150]).shape
    ((2,), (1, 2))
    """

    result_: NumberResult
    _result_type = NumberResult

    def __init__(
        self,
        method: NumberMethod | StackedRegressor = "best",
        *,
        folds: int | None = None,
        normalise: Normalise = "auto",
        text_model: Any = "auto",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: Show = None,
        executor: object = None,
    ) -> None:
        self.method = method
        self.folds = folds
        self.normalise = normalise
        self.text_model = text_model
        self.random_state = random_state
        self.progress = progress
        self.executor = executor

    def fit(self, graph: Any, X: Any = None, y: Any = None, *, suggested: ArrayLike = ()) -> Self:
        """Learn from the known numbers; forgets any earlier fit.

        Args:
            graph: see `NodeCopyClassifier.fit`, for X and suggested, too.
            X: features [N, D].
            y: one number per node [N]; NaN, None or '' where unknown; or a mapping {node: number};
                or the name of the column of X, or of the attribute of networkx nodes, that has
                them: it is then not a feature, and neither are its copies.
            suggested: labelled nodes that `suggest` chose.
        """
        check_executor(self.executor)
        self._stack()
        problem = read_problem(graph, X, y, (), suggested, target="number")
        problem = problem.by_meaning(self.text_model, self.progress)
        return self._fit(problem.scaled_by(self.normalise))

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
        check_coverage(coverage)
        result = self._fitted()
        given = result.posterior if nodes is None else result.posterior.take(self._numbers(nodes))
        return result.intervals(coverage, given)

    def estimated_error(self, level: float = 0.95) -> EstimatedError:
        """Return how far predictions of nodes without a label are off, estimated.

        It comes with an interval that holds the true mean absolute error with about the probability
        ``level``.
        """
        return self._fitted().estimated_error(level)

    def _stack(self) -> StackedRegressor:
        """Return the method; refuse wrong arguments before anything is read."""
        method = self.method
        if isinstance(method, str):
            if method not in get_args(NumberMethod):
                raise ModelError(unknown_name("method", method, get_args(NumberMethod)))
            method = presets.best_numbers() if method == "best" else presets.fast_numbers()
        if not isinstance(method, StackedRegressor):
            names = " or ".join(map(repr, get_args(NumberMethod)))
            raise ModelError(f"method must be {names}, or a StackedRegressor; got {shown(method)}")
        return method if self.folds is None else replace(method, folds=self.folds)

    def _method(self, given: Problem) -> StackedRegressor:
        return self._stack()

    def _fitted(self) -> NumberResult:
        super()._fitted()
        return self.result_
