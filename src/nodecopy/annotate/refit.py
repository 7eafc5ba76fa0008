"""Refit in the background: one thread, always to the newest labels.

The classifier of the settings is fitted once, and then gets what changed by `add_labels`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.estimator.nodes import LabelledNodes
from nodecopy.features.label_values import EncodedLabels
from nodecopy.read.tables import TableDataset
from nodecopy.run import FitSettings
from nodecopy.trust.accuracy import EstimatedAccuracy
from nodecopy.trust.assessment import SuspectLabel
from nodecopy.trust.explanation import Explanation

_SUGGESTIONS = 30


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels at one moment.

    Attributes:
        version: later ones have larger numbers.
        classes: class of each node that may have one, -1 where unknown [n].
        excluded: nodes that are not to be suggested.
        suggested: labelled nodes that were.
    """

    version: int
    classes: NDArray[np.int64]
    excluded: NDArray[np.int64]
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def known(self) -> NDArray[np.int64]:
        """The labelled nodes."""
        return np.flatnonzero(self.classes >= 0)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit to the labels of one moment.

    Attributes:
        labels: to which it was fitted.
        suggestions: ids of nodes to label next, the best first.
        classes: what the columns of probabilities stand for [K].
        probabilities: of these nodes [n, K]; None where there are too few labels to fit anything.
        accuracy: estimated, where labels were held out.
        suspects: labels that predictions made without them contradict.
        problem: why the fit failed; empty if it did not, or if there are too few labels.
        explain: returns why nodes have their class, given their numbers; None on a large graph.
    """

    labels: Labels
    suggestions: tuple[Any, ...]
    classes: NDArray[np.int64] | None = None
    probabilities: NDArray[np.float64] | None = None
    accuracy: EstimatedAccuracy | None = None
    suspects: tuple[SuspectLabel, ...] = ()
    problem: str = ""
    explain: Callable[[Sequence[int]], list[Explanation]] | None = None


class Refitter:
    """A thread that fits to the newest labels that it was asked for.

    Args:
        settings: how to fit.
        table: graph and features; its labels are not used.
        publish: called with every fit, in the thread.
    """

    def __init__(
        self, settings: FitSettings, table: TableDataset, publish: Callable[[Fit], None]
    ) -> None:
        self._table, self._settings, self._publish = table, settings, publish
        self._classifier = settings.classifier(False)
        self._fitted: NDArray[np.int64] | None = None
        self._changed = threading.Condition()
        self._next: Labels | None = None
        self._stopped, self.busy = False, False
        self._thread = threading.Thread(target=self._work, name="refit", daemon=True)
        self._thread.start()

    def ask(self, labels: Labels) -> None:
        """Ask for a fit to these labels; an earlier request that has not begun is dropped."""
        with self._changed:
            self._next, self.busy = labels, True
            self._changed.notify()

    def stop(self) -> None:
        """Begin no more fits, and wait for the one that runs."""
        with self._changed:
            self._stopped, self._next = True, None
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self.busy = self._next is not None
                self._changed.wait_for(lambda: self._stopped or self._next is not None)
                if self._next is None:
                    return
                labels, self._next = self._next, None
            self._publish(self._fit(labels))

    def _fit(self, labels: Labels) -> Fit:
        problem = ""
        if len(np.unique(labels.classes[labels.known])) > 1:
            try:
                return self._refit(labels)
            except Exception as error:  # noqa: BLE001 - shown on the page; the thread goes on
                problem = f"no fit: {error}"
        return Fit(labels, self._first_suggestions(labels), problem=problem)

    def _refit(self, labels: Labels) -> Fit:
        classifier, suggested = self._classifier, self._ids(labels.suggested)
        if self._fitted is None:
            classifier.fit(self._table, y=labels.classes, suggested=suggested)
        elif len(changed := np.flatnonzero(self._fitted != labels.classes)):
            new = dict(zip(self._ids(changed), labels.classes[changed].tolist(), strict=True))
            classifier.add_labels(new, suggested=suggested)
        self._fitted = labels.classes
        assessed = classifier.held_out_ is not None
        excluded = self._ids(labels.excluded)
        suggestions = classifier.suggest(_SUGGESTIONS, exclude=excluded).tolist()
        explain = None
        if getattr(classifier.model_, "part", None) is None:  # else it takes seconds
            explain = classifier.fit_.explanations
            explain([0])  # computes what all explanations share
        return Fit(
            labels,
            tuple(suggestions),
            classifier.classes_,
            classifier.posterior_.probabilities,
            classifier.estimated_accuracy() if assessed else None,
            tuple(classifier.suspect_labels()) if assessed else (),
            explain=explain,
        )

    def _ids(self, nodes: NDArray[np.int64]) -> list[Any]:
        return list(self._table.ids[nodes].tolist())

    def _first_suggestions(self, labels: Labels) -> tuple[Any, ...]:
        """Suggest typical and diverse nodes while nothing can be fitted."""
        others = len(self._table.ids) - len(labels.classes)  # nodes of other kinds
        numbers = np.pad(labels.classes, (0, others), constant_values=-1)
        known = EncodedLabels(numbers, np.unique(labels.classes[labels.known]))
        nodes = replace(self._unlabelled, labels=known)
        excluded, seed = self._ids(labels.excluded), self._settings.random_state
        return tuple(self._ids(nodes.suggest(None, _SUGGESTIONS, seed, excluded).nodes))

    @cached_property
    def _unlabelled(self) -> LabelledNodes:
        given = self._table, None, None, (), self._settings.normalise
        return LabelledNodes.read(*given, labelled=False)
