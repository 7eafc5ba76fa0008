"""NodeCopyMultilabelClassifier: several tags per node, a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.classifiers import NodeClassifier
from nodecopy.core.errors import ModelError, counted, listed
from nodecopy.core.executors import check_executor
from nodecopy.core.progress import Show
from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.estimator.method import MethodName, method_of
from nodecopy.features.scaling import Normalise
from nodecopy.problem.problem import Problem
from nodecopy.read.objects import read_problem
from nodecopy.result.tags import LEAST_LABELS, TagResult, predicted_tags
from nodecopy.stack.tags import TagClassifier
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.tags import EstimatedTags, SuspectTag

# Tags that a warning names.
_NAMED = 5


class NodeCopyMultilabelClassifier(NodeCopyEstimator):
    """Give every node of a graph its tags, any number of them, with a probability for each.

    Every tag is a problem of two classes for the method of `nodecopy.NodeCopyClassifier`; tags
    share graph, columns and folds. A tag is predicted where its probability is above a threshold
    that makes the expected F1 of the tag largest (`nodecopy.trust.tags`). Tags that fewer than
    three labelled nodes have, or lack, are left out with a warning.

    Args:
        method: see `nodecopy.NodeCopyClassifier`.
        calibrate: see there.
        folds: see there.
        normalise: see there.
        text_model: see there.
        random_state: see there.
        progress: see there.
        executor: see there.

    >>> from nodecopy import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> names = [["red"], ["blue", "dark"]]
    >>> y = [names[label] if node < 20 else None for node, label in enumerate(data.labels)]
    >>> clf = NodeCopyMultilabelClassifier(random_state=0).fit(data.graph, data.features, y)
    >>> clf.classes_.tolist(), clf.predict([150, 151]).shape
    (['blue', 'dark', 'red'], (2, 3))
    """

    result_: TagResult
    _result_type = TagResult

    def __init__(
        self,
        method: MethodName | NodeClassifier = "best",
        *,
        calibrate: bool | None = None,
        folds: int | None = None,
        normalise: Normalise = "auto",
        text_model: Any = "auto",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: Show = None,
        executor: object = None,
    ) -> None:
        self.method = method
        self.calibrate = calibrate
        self.folds = folds
        self.normalise = normalise
        self.text_model = text_model
        self.random_state = random_state
        self.progress = progress
        self.executor = executor

    def fit(
        self,
        graph: Any,
        X: Any = None,
        y: Any = None,
        *,
        validation: ArrayLike = (),
        suggested: ArrayLike = (),
    ) -> Self:
        """Learn from the nodes whose tags are known; forgets any earlier fit.

        Args:
            graph: see `nodecopy.NodeCopyClassifier.fit`.
            X: features, see there.
            y: the tags of each node: a list or set of them, or a string such as ``"cat|dog"``,
                ``"cat;dog"`` or ``"['cat', 'dog']"``; None, NaN or '' where they are unknown, and
                an empty list, or ``"[]"``, where a node has none. Or a mapping {node: tags}, a
                pandas Series, or an indicator matrix [N, T], with rows of NaN where tags are
                unknown. Or the name of the column of X, or of the attribute of networkx nodes, that
                has them.
            validation: labelled nodes to hold out for early stopping, see there.
            suggested: labelled nodes that `suggest` chose, see there.
        """
        self._check_arguments()
        problem = read_problem(graph, X, y, validation, suggested, target="tags")
        problem = problem.by_meaning(self.text_model, self.progress).scaled_by(self.normalise)
        return self._fit(problem)

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
        return self._fitted().estimated_scores(level)

    def suspect_labels(self) -> list[SuspectTag]:
        """Return known tags that predictions made without them contradict, and missing ones.

        The most suspect comes first; ``pandas.DataFrame(clf.suspect_labels())`` is a table.
        """
        result = self._fitted()
        suspects = result.suspect_labels
        columns = (
            result.given.ids[suspects.nodes],
            result.names[suspects.tags],
            suspects.known,
            suspects.probability,
        )
        return [SuspectTag(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

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

    def _check_arguments(self) -> NodeClassifier:
        """Return the method; refuse wrong arguments before anything is read."""
        check_executor(self.executor)
        return method_of(self.method, self.calibrate, self.folds)

    def _method(self, given: Problem) -> TagClassifier:
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
        return TagClassifier(self._check_arguments(), tags.members)

    def _fitted(self) -> TagResult:
        super()._fitted()
        return self.result_
