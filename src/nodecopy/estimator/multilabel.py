"""NodeCopyMultilabelClassifier: several tags per node, a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import ModelError, counted, listed
from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.result.tags import LEAST_LABELS, TagResult, predicted_tags
from nodecopy.stack.tags import TagClassifier
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.tags import EstimatedTags

# Tags that a warning names.
_NAMED = 5


class NodeCopyMultilabelClassifier(NodeCopyEstimator[TagResult]):
    """Give every node of a graph its tags, any number of them, with a probability for each.

    Every tag is a problem of two classes for the method of `nodecopy.NodeCopyClassifier`; tags
    share graph, columns and folds. A tag is predicted where its probability is above a threshold
    that makes the expected F1 of the tag largest (`nodecopy.trust.tags`). Tags that fewer than
    three labelled nodes have, or lack, are left out with a warning.

    A label is a list or set of tags, or a string such as ``"cat|dog"``, ``"cat;dog"`` or
    ``"['cat', 'dog']"``; an empty list, or ``"[]"``, where a node has none. ``y`` may also be an
    indicator matrix [N, T], with rows of NaN where tags are unknown. The arguments are those of
    `nodecopy.NodeCopyClassifier`.

    >>> from nodecopy import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> names = [["red"], ["blue", "dark"]]
    >>> y = [names[label] if node < 20 else None for node, label in enumerate(data.labels)]
    >>> clf = NodeCopyMultilabelClassifier(random_state=0).fit(data.graph, data.features, y)
    >>> clf.classes_.tolist(), clf.predict([150, 151]).shape
    (['blue', 'dark', 'red'], (2, 3))
    """

    _result_type = TagResult

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Return which tags are predicted for every node, or for some [n, T].

        Columns are as ``classes_``; ``clf.classes_[tags[i]]`` are the tags of node i.
        """
        return self._fitted().predicted(self.predict_proba(nodes))

    def predict_proba(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the probability of every tag [n, T], of every node or of some.

        Each is calibrated by itself: they do not sum to one. Columns are as ``classes_``.
        """
        p = self._fitted().probabilities
        return p if nodes is None else p[self._numbers(nodes)]

    def estimated_scores(self, level: float = 0.95) -> EstimatedTags:
        """Return micro and macro F1 on nodes without known tags, estimated, with intervals."""
        return self._fitted().estimated(level)

    def explain(self, node: Hashable, tag: str | None = None) -> Explanation:
        """Return why a node has a tag, or does not have it, in parts that add up.

        Args:
            node: its name, or its number where nodes have no names.
            tag: which; None is the one whose probability is the largest multiple of its threshold.
        """
        return self._fitted().explanations(self._numbers([node]).tolist(), tag)[0]

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The tags that the columns of probabilities stand for [T]."""
        return self._fitted().names

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """The probability above which each tag is predicted [T]."""
        return self._fitted().thresholds

    def _method(self, given: Problem) -> tuple[TagClassifier, Task]:
        tags, left_out = predicted_tags(given)
        if not tags.names:
            raise ModelError(
                f"no tag can be predicted: {LEAST_LABELS} labelled nodes must have it, and as many "
                f"must not; got {counted(int((given.labels >= 0).sum()), 'labelled node')} "
                f"and {counted(len(left_out), 'tag')}"
            )
        if left_out:
            some = listed([repr(name) for name in left_out[:_NAMED]], len(left_out))
            text = f"tags that fewer than {LEAST_LABELS} labelled nodes have, or lack, are not"
            warnings.warn(f"{text} predicted: {some}", stacklevel=4)
        return TagClassifier(self._check_arguments(), tags.members), given.task()
