"""NumberResult: the result of a fit whose target is a number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.saving import savable
from nodecopy.problem.problem import Problem
from nodecopy.regressors import NumberPosterior
from nodecopy.result.base import Result
from nodecopy.result.number_words import NumberWords
from nodecopy.result.tables import NumberPredictions
from nodecopy.stack.numbers import FittedNumberStack
from nodecopy.trust.label_errors import SuspectLabels
from nodecopy.trust.number_explanation import NumberExplainer
from nodecopy.trust.numbers import (
    EstimatedError,
    estimate_error,
    explained_variance,
    half_width,
    wrong_probability,
)

Array = NDArray[np.float64]
# Ranges of like numbers that the map and the model of edges know, and shares that overlap.
_RANGES = 7


@savable
@dataclass(frozen=True, eq=False)
class NumberResult(Result):
    """A number for every node, and what follows from that."""

    model: FittedNumberStack

    target: ClassVar[str] = "number"
    words_type = NumberWords
    explainer_type = NumberExplainer

    @cached_property
    def values(self) -> Array:
        """The predicted number of each node, in its unit [n]."""
        return self.model.scale.inverse(self.posterior.values)

    def known_values(self, given: Problem, nodes: Any) -> Array:
        """Return the known numbers of some nodes, NaN where there is none [n]."""
        return np.append(given.classes.astype(np.float64), np.nan)[given.labels[nodes]]

    @cached_property
    def known(self) -> Array:
        """The known number of each node, NaN where there is none [n]."""
        return self.known_values(self.given, slice(self.given.num_classified))

    @cached_property
    def held_out_values(self) -> tuple[Array, Array]:
        """Held-out numbers in their unit, and what was predicted for them [n]."""
        held, scale = self.checked_held_out, self.model.scale
        return scale.inverse(held.truth), scale.inverse(held.values)

    def half_width(self, coverage: float | None = None) -> float:
        """Return how far intervals reach to either side, on the scale of the fit."""
        held, some = self.checked_held_out, self.representative
        some = some if some.any() else ~some
        return half_width(held.residuals[some], self.coverage if coverage is None else coverage)

    def intervals(
        self, coverage: float | None = None, posterior: NumberPosterior | None = None
    ) -> Array:
        """Return where the interval of each node begins and ends, in the unit [n, 2].

        Args:
            coverage: probability that the number is within; None is `coverage`.
            posterior: of other nodes, those of another graph for instance.
        """
        posterior = self.posterior if posterior is None else posterior
        assert posterior is not None
        half = self.half_width(coverage)
        ends = np.stack([posterior.values - half, posterior.values + half], axis=1)
        return self.model.scale.inverse(ends)

    @property
    def certainty(self) -> Array:
        """Minus the deviation between components, on the scale of the fit [n]."""
        return -self.posterior.deviation

    def groups_of(self, posterior: NumberPosterior) -> NDArray[np.floating]:
        """Return shares of nodes in ranges of like numbers, which overlap by half [N, 7]."""
        middles = np.quantile(self.model.posterior.values, (np.arange(_RANGES) + 0.5) / _RANGES)
        steps = np.maximum(np.diff(middles), 1e-12)
        place = np.interp(posterior.values, middles, np.arange(_RANGES)) if steps.any() else 0
        shares = np.maximum(1 - np.abs(np.asarray(place)[:, None] - np.arange(_RANGES)), 0.0)
        return shares / shares.sum(1, keepdims=True)

    def estimated(self, level: float = 0.95) -> EstimatedError:
        """Return the estimated error on the nodes without a label, and its interval."""
        held, some = self.checked_held_out, self.representative
        some = some if some.any() else ~some
        r2 = explained_variance(held.truth[some], held.residuals[some])
        truth, predicted = (values[some] for values in self.held_out_values)
        return estimate_error(truth, predicted, r2, level)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each held-out number is in the interval around its prediction [n]."""
        return np.abs(self.checked_held_out.residuals) <= self.half_width()

    @cached_property
    def suspect_labels(self) -> SuspectLabels:
        """The known numbers that are far from what is predicted without them."""
        held = self.checked_held_out
        probability = wrong_probability(held.residuals, held.truth)
        order = np.argsort(-probability, kind="stable")
        order = order[probability[order] > 0.01]
        truth, predicted = self.held_out_values
        share = float(probability.mean())
        values = truth[order], predicted[order], probability[order]
        return SuspectLabels(held.nodes[order], *values, share)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in the predictions."""
        estimate, own = self.estimate, list[str]()
        if estimate is not None and estimate.r2 <= 0:
            own = [
                "held-out numbers are predicted no better than by their mean: so far columns and "
                f"edges tell nothing of them, going by {estimate.num_labels} labels"
            ]
        return (*super().warnings, *own)

    def _table(
        self, start: tuple[Any, Any, Any], given: Problem, nodes: Any, posterior: Any, novelty: Any
    ) -> NumberPredictions:
        """Return the table of predictions, with intervals where labels were held out."""
        known, values = self.known_values(given, nodes), self.model.scale.inverse(posterior.values)
        intervals = None if self.held_out is None else self.intervals(None, posterior)
        return NumberPredictions(*start, known, values, intervals, self.coverage)

    def check_posterior(self, posterior: NumberPosterior, num_labels: int) -> None:
        """Raise ValueError unless predictions are finite numbers."""
        if posterior.values.shape != (num_labels,) or not np.all(np.isfinite(posterior.values)):
            raise ValueError(f"predictions are not {num_labels} finite numbers")
