"""Answers on the labelling page, for each kind of target, and what the page shows of fits.

The page draws nodes by classes; of numbers, ranges of like ones stand in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.class_descriptions import described_classes
from nodecopy.core.errors import InputError, shown
from nodecopy.result import ClassResult, NumberResult
from nodecopy.result.number_words import number
from nodecopy.run import FitSettings
from nodecopy.run.settings import parse_classes
from nodecopy.trust.accuracy import forecast
from nodecopy.trust.label_errors import SuspectLabels, suspect_labels

if TYPE_CHECKING:
    from nodecopy.annotate.answers import Answers
    from nodecopy.annotate.refit import Fit

# Places of predicted classes, or ranges, and how sure each is, as the page draws them.
Drawn = tuple[NDArray[np.int64], NDArray[np.float64]]
_MORE = 20  # labels that the forecast is for


class ClassAnswers:
    """Answers are classes, known by their names; a class is given to the estimator as its place."""

    target, unknown = "class", -1

    def parsed(self, label: str) -> str:
        """Return a label as it is kept."""
        return label

    def names(self, answers: Answers) -> list[str]:
        """Return the different labels, in their order."""
        return answers.classes

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return what the estimator is given for each."""
        return list(range(len(names)))

    def described(self, settings: FitSettings, names: Sequence[str]) -> dict[int, str]:
        """Return the description of each class, by its place; nothing unless all have one."""
        described = None if settings.classes is None else parse_classes(settings.classes)
        texts = described_classes(described, np.array(names))
        return {place: texts[name] for place, name in enumerate(names) if texts}

    def drawn_names(self, fit: Fit, names: Sequence[str]) -> list[str]:
        """Return what the page draws nodes by."""
        return list(names)

    def drawn_known(self, fit: Fit, names: Sequence[str]) -> list[int]:
        """Return as what each label is drawn."""
        return list(range(len(names)))

    def drawn(self, result: ClassResult, nodes: NDArray[np.int64]) -> Drawn:
        """Return predicted classes and confidence of nodes."""
        p = result.probabilities
        p = p[np.minimum(nodes, len(p) - 1)]
        return result.classes[p.argmax(1)], p.max(1).round(4)

    def prediction(self, result: ClassResult, node: int, names: Sequence[str]) -> dict[str, Any]:
        """Return the probabilities of all classes, zero for new ones."""
        probabilities = np.zeros(len(names))
        probabilities[result.classes] = result.probabilities[node]
        return {"probabilities": probabilities.round(4).tolist()}

    def explained(self, why: Any, names: Sequence[str]) -> dict[str, Any]:
        """Return what an explanation explains."""
        return {"label": list(names).index(why.label), "against": list(names).index(why.against)}

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the estimated accuracy and its interval."""
        accuracy = None if fit.result is None else fit.result.estimate
        return accuracy and (accuracy.accuracy, accuracy.low, accuracy.high)

    def forecast(self, fit: Fit) -> list[float] | None:
        """Return how much better more labels make it."""
        accuracy = None if fit.result is None else fit.result.estimate
        return accuracy and [_MORE, *forecast(accuracy, len(fit.labels.known), _MORE)]

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> SuspectLabels | None:
        """Return the labels that may be wrong; None where none was held out.

        Args:
            fit: to the labels.
            confirmed: nodes whose label was confirmed when it was asked about again.
            mistakes: how many labels were changed then.
        """
        held = None if fit.result is None else fit.result.held_out
        if held is None:
            return None
        right = np.isin(held.nodes, list(confirmed))
        return suspect_labels(held.nodes, held.truth, held.probabilities, right, mistakes)

    def written(self, fit: Fit, values: NDArray[Any]) -> list[str]:
        """Return labels of suspects as they are kept."""
        assert fit.result is not None  # or there are none
        return [fit.labels.names[k] for k in fit.result.classes[values]]


class NumberAnswers:
    """Answers are numbers."""

    target, unknown = "number", np.nan

    def parsed(self, label: str) -> str:
        """Return a number as it is kept, or refuse another text."""
        try:
            value = float(label.replace(",", ".") if label.count(",") == 1 else label)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise InputError(f"a number is needed, such as 12.5; got {shown(label)}")
        return f"{value:.15g}"

    def names(self, answers: Answers) -> list[str]:
        """Return the different numbers, in their order."""
        return sorted(set(answers.labels.values()), key=float)

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return what the estimator is given for each."""
        return [float(name) for name in names]

    def described(self, settings: FitSettings, names: Sequence[str]) -> dict[int, str]:
        """Return nothing: numbers are not described."""
        return {}

    def drawn_names(self, fit: Fit, names: Sequence[str]) -> list[str]:
        """Return ranges of like numbers."""
        if fit.result is None:
            return ["any number"] if names else []
        ranges: list[str] = fit.result.words.sections()["classes"]["names"]
        return ranges

    def drawn_known(self, fit: Fit, names: Sequence[str]) -> list[int]:
        """Return the range of each number."""
        if fit.result is None:
            return [0] * len(names)
        places: list[int] = fit.result.words.ranges_of(np.array(self.values(names))).tolist()
        return places

    def drawn(self, result: NumberResult, nodes: NDArray[np.int64]) -> Drawn:
        """Return the ranges of predicted numbers; all are drawn as sure."""
        values = result.values[np.minimum(nodes, len(result.values) - 1)]
        return result.words.ranges_of(values), np.ones(len(nodes))

    def prediction(self, result: NumberResult, node: int, names: Sequence[str]) -> dict[str, Any]:
        """Return the predicted number and its interval, in few digits."""
        words = number(float(result.values[node]))
        if result.held_out is not None:
            ends = result.intervals(None, result.posterior.take(np.array([node])))[0]
            words += f", with {result.coverage:.0%} from {number(ends[0])} to {number(ends[1])}"
        return {"predicted": words}

    def explained(self, why: Any, names: Sequence[str]) -> dict[str, Any]:
        """Return what an explanation explains."""
        return {"value": why.value, "mean": why.mean, "multiplies": why.multiplies}

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the mean absolute error and its interval."""
        error = None if fit.result is None else fit.result.estimate
        return error and (error.error, error.low, error.high)

    def forecast(self, fit: Fit) -> list[float] | None:
        """Return nothing: learning curves of numbers were not measured."""
        return None

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> SuspectLabels | None:
        """Return the numbers that may be wrong; None where none was held out."""
        held = None if fit.result is None else fit.result.held_out
        suspects: SuspectLabels | None = fit.result.suspect_labels if held is not None else None
        return suspects

    def written(self, fit: Fit, values: NDArray[Any]) -> list[str]:
        """Return numbers of suspects as they are kept."""
        return [f"{value:.15g}" for value in values.tolist()]


Kind = ClassAnswers | NumberAnswers
KINDS: dict[str, Kind] = {one.target: one for one in (ClassAnswers(), NumberAnswers())}
