"""NodeCopyClassifier: the whole method behind ``fit`` and ``predict``, a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from nodecopy.classifiers import NodeClassifier, Posterior
from nodecopy.classifiers.class_descriptions import guess_classes
from nodecopy.core.errors import ModelError, listed, shown
from nodecopy.core.progress import Show
from nodecopy.core.typed import check_fraction
from nodecopy.estimator.base import NodeCopyEstimator, seed_of
from nodecopy.estimator.method import (
    MethodName,
    reads_descriptions,
    with_class_prior,
    with_descriptions,
)
from nodecopy.features.label_values import is_known
from nodecopy.features.scaling import Normalise
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.result import ClassResult
from nodecopy.stack.class_prior import ClassPrior
from nodecopy.trust.accuracy import EstimatedAccuracy

_UNLABELLED = "classes without a label"


class NodeCopyClassifier(ClassifierMixin, NodeCopyEstimator[ClassResult]):  # type: ignore[misc]
    """Label every node of a graph from a few labels, with probabilities.

    A label is a value of any type, such as a string or an integer.

    Args:
        method: "best" (see `nodecopy.presets.best`), "fast" (its simplest part), "paper"
            (Algorithm 1 with the paper's settings), "label-propagation" or "logistic-regression"
            (to compare with), or any node classifier, such as
            ``BayesianGCN(n_zeta=20, network=GAT())`` or ``replace(presets.best(), folds=3)``.
        calibrate: hold out known labels in turn, to weight the components of a method and to
            calibrate its probabilities. None does so where the method does: all but "paper" do.
            True calibrates any method; False holds nothing out and keeps the
            weights and temperatures of the prior.
        folds: cross-validation folds of the labels; None is the method's own, 5.
        class_prior: what share of the nodes each class has, if that is known: {label: share}, or
            "labels" (as among the labels) or "uniform". Probabilities are then weighted so that
            they add up to these shares. "estimate" keeps what they add up to by themselves, which
            is a better estimate than the shares of the labels, even of labels drawn at random.
        normalise: "columns" scales each feature to mean 0 and standard deviation 1, "rows" makes
            each row sum to one, "none" keeps features as they are; "auto" is "columns" for dense
            features and "rows" for counts and indicators (`nodecopy.features.scaling`).
        text_model: reads columns of sentences by their meaning, beside their words. "auto" is a
            small English model, all-MiniLM-L6-v2, if the extra ``nodecopy[text]`` is installed;
            "none" keeps words alone. Others are the folder or the hub name of a
            sentence-transformers model, or a function from a list of strings to an array
            (`nodecopy.features.text_model`).
        class_descriptions: what the classes mean, {class: description}, or a list of names that
            say it. With a text model they are one more component, whose weight held-out labels
            decide. A class that is described and has no label is predicted, too, and is one of
            ``classes_``; no label checks it. Without any label, predictions are guesses from
            descriptions alone. None takes the names of the classes, if all are words, and ``{}``
            describes none.
        random_state: a seed, a NumPy Generator or RandomState, or None for a fresh seed at each
            fit.
        progress: show a bar while fitting; None shows one on a terminal. A function is called with
            what is done, and how many units of it and of all. Not saved.
        executor: where the parts of a fit are computed, with the same result: None, in this
            process; "processes", in worker processes; the address of a Dask scheduler,
            "tcp://host:8786", or a Dask ``Client``, on its workers (docs/cluster.md). Not saved.

    All that a fit gives is one value, ``result_``, and the methods below are made of it. It is
    replaced at once: predictions made while another thread fits again are those of one of the two
    fits.

    >>> from nodecopy import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> y = np.where(np.arange(200) < 20, data.labels, -1)
    >>> clf = NodeCopyClassifier(random_state=0)
    >>> clf.fit(data.graph, data.features, y).predict([150, 151]).shape
    (2,)
    """

    _result_type = ClassResult

    def __init__(
        self,
        method: MethodName | NodeClassifier = "best",
        *,
        calibrate: bool | None = None,
        folds: int | None = None,
        class_prior: ClassPrior = "estimate",
        normalise: Normalise = "auto",
        text_model: Any = "auto",
        class_descriptions: Mapping[Any, str] | Sequence[Any] | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: Show = None,
        executor: object = None,
    ) -> None:
        super().__init__(
            method,
            calibrate=calibrate,
            folds=folds,
            normalise=normalise,
            text_model=text_model,
            random_state=random_state,
            progress=progress,
            executor=executor,
        )
        self.class_prior = class_prior
        self.class_descriptions = class_descriptions

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable label of every node, or of some."""
        return self.classes_[self.predict_proba(nodes).argmax(1)]

    def predict_proba(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return class probabilities [n, K] of every node, or of some; columns as ``classes_``.

        Those of every node are the fit's own, and read-only.
        """
        return self.uncertainty(nodes).probabilities

    def uncertainty(self, nodes: ArrayLike | None = None) -> Posterior:
        """Return probabilities, their entropies, and where the uncertainty comes from."""
        result = self._fitted()
        return result.posterior if nodes is None else result.posterior.take(self._numbers(nodes))

    def predict_set(
        self, nodes: ArrayLike | None = None, *, coverage: float = 0.9
    ) -> NDArray[np.bool_]:
        """Return which classes the prediction set of every node, or of some, holds [n, K].

        Columns are as ``classes_``; ``clf.classes_[sets[i]]`` are the labels in set i. Over all
        nodes, the share ``coverage`` of the sets holds the true label (what is promised, and what
        is not: `nodecopy.trust.sets`); nodes that are predicted to be of a class without a label
        are not among them. The label of `predict` is in every set.
        """
        check_fraction("coverage", coverage)
        return self._fitted().sets(coverage, self.predict_proba(nodes))

    def novelty(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the probability of every node, or of some, to belong to none of the classes.

        From how similar a node is to labelled ones, compared with all others
        (`nodecopy.trust.novelty`); zero for labelled nodes. It needs the graph, which a model from
        a file does not hold. Probabilities of the classes do not take it into account.
        """
        novelty = self._fitted().novelty
        return novelty if nodes is None else novelty[self._numbers(nodes)]

    def estimated_accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the share of nodes without a label that is predicted correctly, estimated.

        It comes with an interval that holds the true share with probability ``level``. A warning
        tells where classes have other shares of the labels than of the predictions.
        """
        result = self._fitted()
        for text in result.share_warnings:
            warnings.warn(text, stacklevel=2)
        return result.estimated(level)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels that the columns of probabilities stand for, read-only [K]."""
        return self._fitted().classes

    def _check_arguments(self) -> Any:
        """Refuse what describes no class: a string, read letter by letter, and unknown labels."""
        given = self.class_descriptions
        texts = given.values() if isinstance(given, Mapping) else ()
        if isinstance(given, str) or not all(isinstance(text, str) for text in texts):
            raise ModelError(
                "class_descriptions must be {class: description}, of strings, or a list of names; "
                f"got {shown(given)}"
            )
        if unknown := [one for one in given or () if not is_known(one)]:
            raise ModelError(f"class_descriptions: {unknown[0]!r} stands for an unknown label")
        return super()._check_arguments()

    def _needs_labels(self, graph: Any, y: Any) -> bool:
        if not self.class_descriptions:
            return True
        if y is None:
            inside = graph.labels >= 0 if isinstance(graph, Problem) else hasattr(graph, "y")
            return bool(np.any(inside))
        values = list(y.values()) if isinstance(y, Mapping) else np.asarray(y, object).ravel()
        return any(is_known(value) for value in values)

    def _prepared(self, problem: Problem) -> Problem:
        """Refuse labels of a single class, unless others are described, before texts are read."""
        if not self.class_descriptions:
            _check_several(problem)
        return super()._prepared(problem)

    def _fit(self, given: Problem) -> Self:
        """Fit to a problem; without any label, guess classes from their descriptions."""
        described, seed = self.class_descriptions or (), seed_of(self.random_state)
        if not described or np.any(given.labels >= 0):
            given = self._with_unlabelled(given)
            _check_several(given)
            return super()._fit(given)
        problem, model = guess_classes(given, described, self.text_model, seed)
        self.result_ = ClassResult(problem, model, self._arguments())
        return self

    def _with_unlabelled(self, given: Problem) -> Problem:
        """Return the problem with the classes that are described and have no label, and a note."""
        classes, described = given.classes.tolist(), list(self.class_descriptions or ())
        others = [one for one in described if one not in classes]
        notes = [note for note in given.notes if not note.startswith(_UNLABELLED)]
        if not others:
            return replace(given, notes=tuple(notes))
        folded = {str(one).casefold(): one for one in classes}
        for one in others:
            if (label := folded.get(str(one).casefold())) is not None:
                raise ModelError(f"class_descriptions: {one!r} is written {label!r} as a label")
        why = self._why_not_read(given, others)
        if why:
            some = listed(sorted(map(str, others))[:5], len(others))
            notes.append(f"{_UNLABELLED} are not predicted, as {why}: {some}")
        if undescribed := sorted(str(one) for one in classes if one not in described):
            some = listed(undescribed[:5], len(undescribed))
            notes.append(f"{_UNLABELLED} are described, and these with labels are not: {some}")
        return replace(given if why else given.with_classes(others), notes=tuple(notes))

    def _why_not_read(self, given: Problem, others: Sequence[Any]) -> str:
        """Say why classes without a label are not predicted from their descriptions, if so."""
        if len({isinstance(one, str) for one in (*given.classes.tolist(), *others)}) > 1:
            return "labels are strings or numbers, not both"
        if self.class_prior == "labels":
            return "they have no share among the labels"
        if given.meaning is None:
            return "no text is read by its meaning"
        if not reads_descriptions(self._check_arguments(), given):
            return "the method reads no descriptions"
        return ""

    def _method(self, given: Problem) -> tuple[NodeClassifier, Task]:
        method = with_class_prior(self._check_arguments(), self.class_prior, given.classes)
        return with_descriptions(method, given, self.class_descriptions, self.text_model)


def _check_several(given: Problem) -> None:
    """Refuse labels of a single class; a note may say why no other is predicted."""
    if len(given.classes) != 1:
        return
    hints = [note for note in given.notes if note.startswith(_UNLABELLED)]
    if given.classes.dtype.kind in "iuf":
        hints.append("-1 counts as unknown")
    what = f"all labels are {str(given.classes[0])!r}; at least two classes are needed"
    raise ModelError("; ".join([what, *hints]))
