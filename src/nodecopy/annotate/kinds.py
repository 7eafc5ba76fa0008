"""Answers on the labelling page, for each kind of target, and what the page shows of fits.

The page draws nodes by classes; of numbers, ranges of like ones stand in their place, and of tags
the one that is predicted most clearly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.class_descriptions import described_classes
from nodecopy.core.errors import InputError, shown
from nodecopy.features.tag_values import NO_TAGS, enough_tags, join_tags, split_tags, tags_of
from nodecopy.result import NumberResult
from nodecopy.result.number_words import number
from nodecopy.result.tag_words import NO_TAG, none_of
from nodecopy.result.tags import LEAST_LABELS
from nodecopy.run import FitSettings
from nodecopy.run.settings import parse_class_prior, parse_classes
from nodecopy.trust.accuracy import forecast
from nodecopy.trust.label_errors import suspect_labels

if TYPE_CHECKING:
    from nodecopy.annotate.answers import Answers
    from nodecopy.annotate.refit import Fit, Labels

# Places of predicted classes, or ranges, and how sure each is, as the page draws them.
Drawn = tuple[NDArray[np.int64], NDArray[np.float64]]
# A node with a label that may be wrong, the label, what may be right, and how probably it is wrong.
Suspect = tuple[int, str, str, float]
_MORE = 20  # labels that the forecast is for


class Kind:
    """A kind of answers; a subclass for each kind of target replaces what its answers need.

    Attributes:
        target: the kind of target, as `Problem.target` has it.
        unknown: what the estimator is given where there is no label.
    """

    target: str
    unknown: Any

    def parsed(self, label: str) -> str:
        """Return a label as it is kept, or refuse it."""
        return label

    def checked_name(self, name: str) -> str:
        """Return a name that is to be added, or refuse it."""
        return name

    def names_in(self, label: str) -> tuple[str, ...]:
        """Return the names that a label is made of, which are added before they are given."""
        raise NotImplementedError

    def names(self, answers: Answers) -> list[str]:
        """Return the different labels, in their order."""
        raise NotImplementedError

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return what the estimator is given for each."""
        raise NotImplementedError

    def enough(self, labels: Sequence[str]) -> bool:
        """Tell whether anything can be fitted to these labels of nodes."""
        return len(set(labels)) > 1

    def described(self, settings: FitSettings, names: Sequence[str]) -> dict[int, str]:
        """Return the description of each label, by its place; nothing where there is none."""
        return {}

    def arguments(self, settings: FitSettings, labels: Labels) -> dict[str, Any]:
        """Return arguments of the estimator that depend on the labels so far."""
        return {}

    def counts(self, answers: Answers) -> list[int]:
        """Return how many nodes have each of what the page draws nodes by; nothing of ranges."""
        return []

    def drawn_names(self, fit: Fit, answers: Answers) -> list[str]:
        """Return what the page draws nodes by."""
        raise NotImplementedError

    def drawn_known(self, fit: Fit, answers: Answers) -> dict[str, int]:
        """Return as what each label is drawn."""
        raise NotImplementedError

    def drawn(self, fit: Fit, nodes: NDArray[np.int64]) -> Drawn:
        """Return what is predicted for nodes, as it is drawn."""
        raise NotImplementedError

    def around(
        self, fit: Fit, nodes: NDArray[np.int64], labels: Sequence[str | None], named: Sequence[str]
    ) -> dict[str, Any]:
        """Return what is shown of nodes beside how they are drawn."""
        return {}

    def prediction(
        self, fit: Fit, node: int, label: str | None, named: Sequence[str]
    ) -> dict[str, Any]:
        """Return what is predicted for the node in question, given its label and all names."""
        raise NotImplementedError

    def explained(self, why: Any, fit: Fit) -> dict[str, Any]:
        """Return what an explanation explains."""
        return fit.result.words.evidence(why)

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the estimated quality and its interval; None where no label was held out."""
        raise NotImplementedError

    def macro(self, fit: Fit) -> list[float] | None:
        """Return its mean over names with an interval; None where that is not another number."""
        return None

    def forecast(self, fit: Fit) -> list[float] | None:
        """Return how much better more labels make it; None where that was not measured."""
        return None

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> list[Suspect]:
        """Return the labels that may be wrong, the most suspect first.

        Args:
            fit: to the labels; labels were held out.
            confirmed: nodes whose label was confirmed when it was asked about again.
            mistakes: how many labels were changed then.
        """
        raise NotImplementedError


class ClassAnswers(Kind):
    """Answers are classes, known by their names; a class is given to the estimator as its place."""

    target, unknown = "class", -1

    def names_in(self, label: str) -> tuple[str, ...]:
        """Return the class."""
        return (label,)

    def names(self, answers: Answers) -> list[str]:
        """Return the classes."""
        return answers.classes

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return the place of each."""
        return list(range(len(names)))

    def described(self, settings: FitSettings, names: Sequence[str]) -> dict[int, str]:
        """Return the description of each class, by its place; nothing unless all have one."""
        described = None if settings.classes is None else parse_classes(settings.classes)
        texts = described_classes(described, np.array(names))
        return {place: texts[name] for place, name in enumerate(names) if texts}

    def arguments(self, settings: FitSettings, labels: Labels) -> dict[str, Any]:
        """Return descriptions by place, and shares, once all classes that have one have a label."""
        described = self.described(settings, labels.names)
        prior = parse_class_prior(settings.class_prior)
        if isinstance(prior, dict):
            known = {labels.names[k] for k in labels.classes[labels.known]}
            met = {
                labels.names.index(name): share for name, share in prior.items() if name in known
            }
            prior = met if known == set(prior) else "estimate"
        return {"class_descriptions": described, "class_prior": prior}

    def counts(self, answers: Answers) -> list[int]:
        """Return how many nodes have each class."""
        labels = list(answers.labels.values())
        return [labels.count(name) for name in answers.classes]

    def drawn_names(self, fit: Fit, answers: Answers) -> list[str]:
        """Return the classes."""
        return list(answers.classes)

    def drawn_known(self, fit: Fit, answers: Answers) -> dict[str, int]:
        """Return the place of each class."""
        return {name: place for place, name in enumerate(answers.classes)}

    def drawn(self, fit: Fit, nodes: NDArray[np.int64]) -> Drawn:
        """Return predicted classes and confidence of nodes."""
        p = fit.result.probabilities[nodes]
        return fit.result.classes[p.argmax(1)], p.max(1).round(4)

    def prediction(
        self, fit: Fit, node: int, label: str | None, named: Sequence[str]
    ) -> dict[str, Any]:
        """Return the probabilities of all classes, zero for new ones; None without a fit."""
        if fit.result is None:
            return {"probabilities": None}
        probabilities = np.zeros(len(named))
        probabilities[fit.result.classes] = fit.result.probabilities[node]
        return {"probabilities": probabilities.round(4).tolist()}

    def explained(self, why: Any, fit: Fit) -> dict[str, Any]:
        """Return the class that is explained, and the one that it is compared with."""
        names = list(fit.labels.names)
        return {"label": names.index(why.label), "against": names.index(why.against)}

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the estimated accuracy and its interval."""
        accuracy = None if fit.result is None else fit.result.estimate
        return accuracy and (accuracy.accuracy, accuracy.low, accuracy.high)

    def forecast(self, fit: Fit) -> list[float] | None:
        """Return how much more accurate so many more labels make it."""
        accuracy = None if fit.result is None else fit.result.estimate
        return accuracy and [_MORE, *forecast(accuracy, len(fit.labels.known), _MORE)]

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> list[Suspect]:
        """Return the classes that may be wrong."""
        held, result = fit.result.held_out, fit.result
        right = np.isin(held.nodes, list(confirmed))
        given = held.nodes, held.truth, held.probabilities, right, mistakes
        suspects, names = suspect_labels(*given), np.array(fit.labels.names, object)
        pairs = (names[result.classes[k]] for k in (suspects.known, suspects.predicted))
        return _rows(suspects.nodes, *pairs, suspects.probability)


class NumberAnswers(Kind):
    """Answers are numbers: nothing is named, and ranges of like ones are drawn."""

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

    def checked_name(self, name: str) -> str:
        """Refuse any name."""
        raise InputError("labels are numbers: there are no classes to name")

    def names_in(self, label: str) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def names(self, answers: Answers) -> list[str]:
        """Return the different numbers, in their order."""
        return sorted(set(answers.labels.values()), key=float)

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return the numbers."""
        return [float(name) for name in names]

    def drawn_names(self, fit: Fit, answers: Answers) -> list[str]:
        """Return ranges of like numbers."""
        if fit.result is None:
            return ["any number"] if answers.labels else []
        return fit.result.words.sections()["classes"]["names"]

    def drawn_known(self, fit: Fit, answers: Answers) -> dict[str, int]:
        """Return the range of each number."""
        names = self.names(answers)
        if fit.result is None:
            return dict.fromkeys(names, 0)
        places = fit.result.words.ranges_of(np.array(self.values(names)))
        return dict(zip(names, places.tolist(), strict=True))

    def drawn(self, fit: Fit, nodes: NDArray[np.int64]) -> Drawn:
        """Return the ranges of predicted numbers; all are drawn as sure."""
        result: NumberResult = fit.result
        return result.words.ranges_of(result.values[nodes]), np.ones(len(nodes))

    def prediction(
        self, fit: Fit, node: int, label: str | None, named: Sequence[str]
    ) -> dict[str, Any]:
        """Return the predicted number and its interval, in few digits."""
        if (result := fit.result) is None:
            return {}
        words = number(float(result.values[node]))
        if result.held_out is not None:
            ends = result.intervals(None, result.posterior.take(np.array([node])))[0]
            words += f", with {result.coverage:.0%} from {number(ends[0])} to {number(ends[1])}"
        return {"predicted": words}

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the mean absolute error and its interval."""
        error = None if fit.result is None else fit.result.estimate
        return error and (error.error, error.low, error.high)

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> list[Suspect]:
        """Return the numbers that may be wrong."""
        suspects = fit.result.suspect_labels
        pairs = (
            np.array([f"{value:.15g}" for value in values.tolist()], object)
            for values in (suspects.known, suspects.predicted)
        )
        return _rows(suspects.nodes, *pairs, suspects.probability)


class TagAnswers(Kind):
    """Answers are all tags of a node, as one string; a tag has a name, as a class does.

    A node is drawn by the tag that is predicted most clearly; 0 is the place of those without tags,
    and 1 that of the first tag.
    """

    target, unknown = "tags", None

    def parsed(self, label: str) -> str:
        """Return tags in their order."""
        return join_tags(split_tags(label))

    def checked_name(self, name: str) -> str:
        """Return the name of a tag, or refuse what a file would hold for several."""
        if ";" in name or name.strip().startswith("["):
            raise InputError(f"a tag must not contain ; or begin with [; got {shown(name)}")
        return name

    def names_in(self, label: str) -> tuple[str, ...]:
        """Return the tags."""
        return split_tags(label)

    def names(self, answers: Answers) -> list[str]:
        """Return the different combinations of tags."""
        return sorted(set(answers.labels.values()))

    def values(self, names: Sequence[str]) -> list[Any]:
        """Return the tags of each combination."""
        return [split_tags(name) for name in names]

    def enough(self, labels: Sequence[str]) -> bool:
        """Tell whether enough nodes have some tag, and enough do not."""
        return bool(enough_tags(tags_of(labels), np.arange(len(labels)), LEAST_LABELS).any())

    def counts(self, answers: Answers) -> list[int]:
        """Return how many nodes have no tag, and how many have each."""
        labels = list(answers.labels.values())
        each = Counter(tag for label in labels for tag in split_tags(label))
        return [labels.count(NO_TAGS), *(each[tag] for tag in answers.classes)]

    def drawn_names(self, fit: Fit, answers: Answers) -> list[str]:
        """Return all tags, after the name for having none."""
        return [NO_TAG, *answers.classes]

    def drawn_known(self, fit: Fit, answers: Answers) -> dict[str, int]:
        """Return the first tag of each combination."""
        return {name: (_places(name, answers.classes) or [0])[0] for name in self.names(answers)}

    def drawn(self, fit: Fit, nodes: NDArray[np.int64]) -> Drawn:
        """Return the clearest of the tags that are predicted for nodes, and its probability."""
        result, named = fit.result, fit.labels.named
        p = result.probabilities[nodes]
        clearest, some = result.clearest(p), result.predicted(p).any(1)
        places = np.array([1 + named.index(tag) for tag in result.tags.names])
        sure = np.where(some, p[np.arange(len(p)), clearest], none_of(p))
        return np.where(some, places[clearest], 0), sure.round(4)

    def around(
        self, fit: Fit, nodes: NDArray[np.int64], labels: Sequence[str | None], named: Sequence[str]
    ) -> dict[str, Any]:
        """Return all known and all predicted tags of nodes; 0 stands for none."""
        cells: list[str | None] = [None] * len(nodes)
        if (result := fit.result) is not None:
            p = result.probabilities
            rows = result.predicted(p[np.minimum(nodes, len(p) - 1)])
            cells = [join_tags(result.names[row]) for row in rows]
        guessed, known = (
            [[] if cell is None else _places(cell, named) or [0] for cell in each]
            for each in (cells, labels)
        )
        return {"sets": guessed, "knownTags": known}

    def prediction(
        self, fit: Fit, node: int, label: str | None, named: Sequence[str]
    ) -> dict[str, Any]:
        """Return the known tags of the node, those that are predicted, and all probabilities.

        A tag that too few labels have, or lack, has no probability.
        """
        known = {"tags": None if label is None else _places(label, named)}
        if (result := fit.result) is None:
            return known | {"guesses": [], "probabilities": None}
        p = result.probabilities[node]
        of = dict(zip(result.tags.names, p.round(4).tolist(), strict=True))
        guesses = _places(join_tags(result.names[result.predicted(p)]), named)
        return known | {"guesses": guesses, "probabilities": [None, *map(of.get, named)]}

    def explained(self, why: Any, fit: Fit) -> dict[str, Any]:
        """Return the tag that is explained, and whether the node has it, rather than not."""
        evidence = super().explained(why, fit)
        tag = fit.result.tags.names[evidence["tag"]]
        return evidence | {"tag": 1 + fit.labels.named.index(tag)}

    def estimate(self, fit: Fit) -> tuple[float, float, float] | None:
        """Return the estimated micro F1 and its interval."""
        scores = None if fit.result is None else fit.result.estimate
        return scores and (scores.micro_f1.value, scores.micro_f1.low, scores.micro_f1.high)

    def macro(self, fit: Fit) -> list[float] | None:
        """Return the estimated macro F1 and its interval."""
        scores = None if fit.result is None else fit.result.estimate
        return scores and [scores.macro_f1.value, scores.macro_f1.low, scores.macro_f1.high]

    def suspects(self, fit: Fit, confirmed: Iterable[int], mistakes: int) -> list[Suspect]:
        """Return the nodes with a tag that may be wrong or missing, and their tags without that.

        A node is there once, with its most suspect tag.
        """
        suspects, labels = fit.result.suspect_labels, fit.labels
        rows: dict[int, Suspect] = {}
        columns = suspects.nodes, suspects.tags, suspects.probability
        for node, tag, wrong in zip(*(own.tolist() for own in columns), strict=True):
            known = labels.names[labels.classes[node]]
            other = join_tags({*split_tags(known)} ^ {fit.result.tags.names[tag]})
            rows.setdefault(node, (node, known, other, wrong))
        return list(rows.values())


def _places(label: str, named: Sequence[str]) -> list[int]:
    """Return the places of tags among all that the page draws, 1 for the first name."""
    return [1 + named.index(tag) for tag in split_tags(label)]


def _rows(*columns: NDArray[Any]) -> list[Suspect]:
    return list(zip(*(own.tolist() for own in columns), strict=True))


KINDS: dict[str, Kind] = {
    one.target: one for one in (ClassAnswers(), NumberAnswers(), TagAnswers())
}
