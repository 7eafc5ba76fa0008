"""TagResult: the result of a fit whose target is several tags per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, unknown_name
from nodecopy.core.machine import torch_defaults
from nodecopy.core.saving import savable
from nodecopy.features.tag_values import Tags, enough_tags, tags_of
from nodecopy.problem.problem import Problem
from nodecopy.result.base import Result
from nodecopy.result.tables import Columns, TagPredictions
from nodecopy.result.tag_words import TagWords, none_of
from nodecopy.stack.tags import FittedTags, HeldOutTags, TagPosterior
from nodecopy.trust.components import ComponentScore, component_scores
from nodecopy.trust.explainer import Explainer
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.tags import (
    EstimatedTags,
    SuspectTag,
    SuspectTags,
    estimate_tags,
    f1_thresholds,
    suspect_tags,
)

# Labelled nodes that must have a tag, and that must not, for it to be predicted.
LEAST_LABELS = 3


def predicted_tags(given: Problem) -> tuple[Tags, tuple[str, ...]]:
    """Return the tags that enough labels have, and the names of those that are left out."""
    tags = tags_of(given.class_names)
    kept = enough_tags(tags, given.labels, LEAST_LABELS)
    left_out = tuple(name for name, some in zip(tags.names, kept, strict=True) if not some)
    names = tuple(name for name, some in zip(tags.names, kept, strict=True) if some)
    return Tags(names, tags.members[:, kept]), left_out


@savable
@dataclass(frozen=True, eq=False)
class TagResult(Result):
    """Every node with a probability for each tag, and what follows from that.

    ``given.classes`` are the combinations of tags that labelled nodes have.
    """

    model: FittedTags

    target: ClassVar[str] = "tags"
    words_type = TagWords
    suspect_type = SuspectTag
    _enough_labels: ClassVar[str] = "tags of six nodes at least"

    @cached_property
    def tags(self) -> Tags:
        """The tags that are predicted, and which of them each known combination has."""
        return predicted_tags(self.given)[0]

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Known tags that are not predicted: too few labels have them, or too few do not."""
        return predicted_tags(self.given)[1]

    @property
    def names(self) -> NDArray[np.str_]:
        """The tags that the columns of probabilities stand for [T]."""
        return np.array(self.tags.names, str)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which tags each node is known to have; none where its tags are unknown [n, T]."""
        return self.tags.members[self.labels] & (self.labels >= 0)[:, None]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities that each of these nodes has each tag [n, T]."""
        return self.posterior.probabilities

    @cached_property
    def thresholds(self) -> NDArray[np.float64]:
        """The probability above which each tag is predicted [T]."""
        return f1_thresholds(self.probabilities[self.without_label])

    def predicted(self, probabilities: NDArray[np.floating] | None = None) -> NDArray[np.bool_]:
        """Return which tags are predicted, for these nodes or for given probabilities [n, T]."""
        p = self.probabilities if probabilities is None else probabilities
        return np.asarray(p > self.thresholds)

    def clearest(self, probabilities: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the tag whose probability is the largest multiple of its threshold [n]."""
        return np.asarray(np.argmax(probabilities / self.thresholds, axis=1), np.int64)

    @property
    def certainty(self) -> NDArray[np.float64]:
        """The negative entropy of all tags of a node [n]."""
        return -np.asarray(self.posterior.entropy)

    def groups_of(self, posterior: TagPosterior) -> NDArray[np.floating]:
        """Return probabilities of tags, and of having none of them, as shares of a node [N, T + 1].

        A node shares a group with others as far as both have its tag.
        """
        p = np.asarray(posterior.probabilities)
        each = np.hstack([p, none_of(p)[:, None]])
        return np.asarray(each / each.sum(1, keepdims=True))

    def estimated(self, level: float = 0.95) -> EstimatedTags:
        """Return estimates of F1 on the nodes without known tags, and their intervals."""
        held: HeldOutTags = self.checked_held_out
        others = self.probabilities[self.without_label]
        given = held.probabilities, held.truth, others, self.thresholds
        return estimate_tags(*given, level, self.representative)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether all tags of each held-out label were predicted, and no others [n]."""
        held: HeldOutTags = self.checked_held_out
        return np.all(self.predicted(held.probabilities) == held.truth, axis=1)

    @cached_property
    def suspect_labels(self) -> SuspectTags:
        """Known tags that predictions made without them contradict, the most suspect first."""
        held: HeldOutTags = self.checked_held_out
        return suspect_tags(held.nodes, held.truth, held.probabilities, self.thresholds)

    def suspect_values(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return the tags, whether the node is known to have them, and how probably not."""
        suspects = self.suspect_labels
        return self.names[suspects.tags], suspects.known, suspects.probability

    def suspect_columns(self) -> Columns:
        """Return the tag, whether it is given or missing, and how probably that is wrong."""
        tags, known, probability = self.suspect_values()
        suspect = np.where(known, "given", "missing").astype(object)
        return {"tag": tags.astype(object), "suspect": suspect, "probability": probability}

    def _table(
        self, start: tuple[Any, Any, Any], given: Problem, nodes: Any, posterior: Any, novelty: Any
    ) -> TagPredictions:
        """Return the table of predictions."""
        p, values = posterior.probabilities, np.array([*given.class_names, ""], object)
        labels = given.labels[nodes] if given.target == self.target else -1
        known = np.broadcast_to(values[labels], len(p))
        return TagPredictions(*start, known, self.names, posterior, self.predicted(p))

    def explanations(self, nodes: Sequence[int], tag: str | None = None) -> list[Explanation]:
        """Return why nodes have a tag or not, given their numbers.

        Args:
            nodes: their numbers.
            tag: which; None is the `clearest` one of each node.
        """
        p = self.probabilities[list(nodes)]
        which = self.clearest(p) if tag is None else np.full(len(p), self.place_of(tag))
        explained = dict[int, Explanation]()
        with torch_defaults():
            for one in np.unique(which).tolist():
                some = np.flatnonzero(which == one).tolist()
                each = self._explainer_of(one).explain([nodes[at] for at in some])
                explained |= zip(some, each, strict=True)
        return [explained[at] for at in range(len(p))]

    def place_of(self, tag: str) -> int:
        """Return the number of a tag that is predicted."""
        if tag not in self.tags.names:
            raise ModelError(unknown_name("tag", str(tag), self.tags.names))
        return self.tags.names.index(tag)

    def _explainer_of(self, tag: int) -> Explainer:
        given, name = self.nodes("explain"), self.tags.names[tag]
        if tag not in self._explainers:
            has = np.where(given.labels >= 0, self.tags.members[given.labels, tag], -1)
            classes = np.array([f"not {name}", name], object)
            one = replace(given, labels=has.astype(np.int64), classes=classes, target="class")
            self._explainers[tag] = Explainer(one, self.model.tags[tag])
        return self._explainers[tag]

    @cached_property
    def _explainers(self) -> dict[int, Explainer]:
        return {}

    @property
    def components(self) -> tuple[ComponentScore, ...]:
        """The components of the pool, by their mean weight over all tags."""
        has_columns = self.nodes("components").given_features is not None
        each: dict[str, list[ComponentScore]] = {}
        for one in self.model.tags:
            for score in component_scores(one, has_columns):
                each.setdefault(score.name, []).append(score)
        mean = [
            replace(own[0], weight=sum(one.weight for one in own) / len(self.model.tags))
            for own in each.values()
        ]
        return tuple(sorted(mean, key=lambda one: -one.weight))

    def check_posterior(self, posterior: Any, num_labels: int) -> None:
        """Raise ValueError unless predictions are probabilities of all tags."""
        p = posterior.probabilities
        if p.shape != (num_labels, len(self.tags.names)):
            raise ValueError(f"{p.shape} probabilities of {len(self.tags.names)} tags")
        if not np.all((p >= 0) & (p <= 1 + 1e-6)):
            raise ValueError("predictions are not probabilities")
