"""Refit in the background: one thread, always to the newest labels.

The classifier of the settings is fitted once, and then gets what changed by `add_labels`. Where
that takes more than a second, a quick classifier (`nodecopy.presets.fast`) comes first, so that
probabilities and suggestions follow the answers. Estimates of accuracy are those of full fits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.active import next_labels
from nodecopy.calibration import EstimatedAccuracy
from nodecopy.data import NodeDataset
from nodecopy.errors import NodecopyError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.assessment import SuspectLabel
from nodecopy.estimator.scaling import scaling_of
from nodecopy.posterior import Posterior
from nodecopy.run import FitSettings

# Seconds of a full fit from which a quick one comes first, and nodes where none has been timed.
SLOW_FIT, LARGE_GRAPH = 1.0, 5000
_SUGGESTIONS = 30


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels at one moment.

    Attributes:
        version: later ones have larger numbers.
        classes: class of each node, -1 where unknown [N].
        excluded: nodes that are not to be suggested.
    """

    version: int
    classes: NDArray[np.int64]
    excluded: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.int64]:
        """The labelled nodes."""
        return np.flatnonzero(self.classes >= 0)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit to the labels of one moment.

    Attributes:
        labels: to which it was fitted.
        suggestions: nodes to label next, the best first.
        classes: what the columns of probabilities stand for [K].
        probabilities: of every node [N, K]; None where there are too few labels to fit anything.
        is_quick: whether the full fit follows.
        accuracy: estimated, where labels were held out.
        suspects: labels that predictions made without them contradict.
        seconds: how long it took.
        problem: why the fit failed; empty if it did not, or if there are too few labels.
    """

    labels: Labels
    suggestions: tuple[int, ...]
    classes: NDArray[np.int64] | None = None
    probabilities: NDArray[np.float64] | None = None
    is_quick: bool = False
    accuracy: EstimatedAccuracy | None = None
    suspects: tuple[SuspectLabel, ...] = ()
    seconds: float = 0.0
    problem: str = ""


class Refitter:
    """A thread that fits to the newest labels that it was asked for.

    Args:
        settings: how to fit.
        dataset: graph and features; its labels are not used.
        publish: called with every fit, in the thread.
    """

    def __init__(
        self, settings: FitSettings, dataset: NodeDataset, publish: Callable[[Fit], None]
    ) -> None:
        self._dataset, self._settings, self._publish = dataset, settings, publish
        quick = NodeCopyClassifier(
            "fast",
            normalise=settings.normalise,
            random_state=settings.random_state,
            progress=False,
        )
        self._classifiers = {False: settings.classifier(False), True: quick}
        self._fitted: dict[bool, NDArray[np.int64]] = {}
        self._full_seconds: float | None = None
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
            for is_quick in (True, False) if self._is_slow(labels) else (False,):
                if is_quick or self._next is None:  # newer labels do not wait for a slow fit
                    self._publish(self._fit(labels, is_quick))

    def _is_slow(self, labels: Labels) -> bool:
        if self._full_seconds is None:
            return len(labels.classes) > LARGE_GRAPH
        return self._full_seconds > SLOW_FIT

    def _fit(self, labels: Labels, is_quick: bool) -> Fit:
        start, problem = time.perf_counter(), ""
        if len(np.unique(labels.classes[labels.known])) > 1:
            try:
                return self._refit(labels, is_quick, start)
            except (NodecopyError, MemoryError, RuntimeError) as error:  # torch: RuntimeError
                problem = f"no fit: {error}"
        return Fit(labels, self._first_suggestions(labels), problem=problem)

    def _refit(self, labels: Labels, is_quick: bool, start: float) -> Fit:
        classifier, fitted = self._classifiers[is_quick], self._fitted.get(is_quick)
        if fitted is None:
            classifier.fit(self._dataset.graph, self._dataset.features, labels.classes)
        elif len(changed := np.flatnonzero(fitted != labels.classes)):
            classifier.add_labels({int(n): int(labels.classes[n]) for n in changed})
        self._fitted[is_quick] = labels.classes
        suggestions = classifier.suggest(_SUGGESTIONS, exclude=labels.excluded)
        seconds = time.perf_counter() - start
        assessed = not is_quick and classifier.held_out_ is not None
        self._full_seconds = self._full_seconds if is_quick else seconds
        return Fit(
            labels,
            tuple(suggestions.tolist()),
            classifier.classes_,
            classifier.posterior_.probabilities,
            is_quick,
            classifier.estimated_accuracy() if assessed else None,
            tuple(classifier.suspect_labels()) if assessed else (),
            seconds,
        )

    def _first_suggestions(self, labels: Labels) -> tuple[int, ...]:
        """Suggest typical and diverse nodes while nothing can be fitted: all are in doubt."""
        graph, features = self._dataset.graph, self._dataset.features
        n = graph.num_nodes
        doubt = Posterior(np.full((n, 2), 0.5), np.ones(n), np.zeros(n), np.zeros(n), 1, 1)
        allowed = np.ones(n, bool)
        allowed[labels.excluded] = False
        return tuple(
            next_labels(
                graph,
                scaling_of(features, self._settings.normalise).apply(graph, features),
                doubt,
                labels.known,
                _SUGGESTIONS,
                allowed=allowed,
                seed=self._settings.random_state,
            ).nodes.tolist()
        )
