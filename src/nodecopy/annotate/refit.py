"""Refit in the background: one thread, always to the newest labels.

The classifier of the settings is fitted once, and then gets what changed by `add_labels`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.annotate.kinds import Kind
from nodecopy.core.progress import Show
from nodecopy.problem.problem import Problem
from nodecopy.read.objects import read_problem
from nodecopy.run import FitSettings
from nodecopy.trust.next_labels import suggest_nodes

_SUGGESTIONS = 30


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels at one moment.

    Attributes:
        version: later ones have larger numbers.
        classes: place of the label of each node that may have one, -1 where unknown [n].
        excluded: nodes that are not to be suggested.
        suggested: labelled nodes that were.
        names: the different labels, in their order.
        named: the names that labels are made of, in the order in which they were added.
    """

    version: int
    classes: NDArray[np.int64]
    excluded: NDArray[np.int64]
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    names: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

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
        result: of the fit; None where there are too few labels to fit anything.
        problem: why the fit failed; empty if it did not, or if there are too few labels.
    """

    labels: Labels
    suggestions: tuple[Any, ...]
    result: Any = None
    problem: str = ""

    @cached_property
    def named(self) -> Any:
        """The result with the names of classes in place of their numbers."""
        assert self.result is not None  # or nothing is explained
        if self.result.target != "class":
            return self.result
        classes = np.array(self.labels.names, object)[self.result.classes]
        return replace(self.result, given=replace(self.result.given, classes=classes))

    @property
    def explains(self) -> bool:
        """Whether nodes are explained: on a large graph it takes seconds."""
        return self.result is not None and getattr(self.result.model, "part", None) is None


class Refitter:
    """A thread that fits to the newest labels that it was asked for.

    Args:
        settings: how to fit.
        kind: of the answers.
        table: graph and features; its labels are not used.
        publish: called with every fit, in the thread.
        show: told how far a fit is, see `progress_bar`.
    """

    def __init__(
        self,
        settings: FitSettings,
        kind: Kind,
        table: Problem,
        publish: Callable[[Fit], None],
        show: Show = False,
    ) -> None:
        self._table, self._settings, self._publish = table, settings, publish
        self._kind, self._show = kind, show
        self._estimator: Any = settings.estimator(kind.target, show)
        self._fitted: dict[int, Any] | None = None
        self._guesses: Any = None
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
        try:
            if self._kind.enough([labels.names[k] for k in labels.classes[labels.known]]):
                with warnings.catch_warnings():  # the page shows which tags have no probability
                    warnings.filterwarnings("ignore", "tags that fewer")
                    return self._refit(labels)
            described = self._kind.described(self._settings, labels.names)
            if len(described) > 1 and self._unlabelled.meaning is not None:
                return self._guess(labels, described)
        except Exception as error:  # noqa: BLE001 - shown on the page; the thread goes on
            problem = f"no fit: {error}"
        return Fit(labels, self._first_suggestions(labels), problem=problem)

    def _guess(self, labels: Labels, described: dict[int, str]) -> Fit:
        """Guess classes from their descriptions: labels are too few for a fit."""
        if self._guesses is None or self._guesses.class_descriptions != described:
            self._guesses = self._settings.estimator("class", self._show)
            self._guesses.class_descriptions = described
            self._guesses.fit(self._unlabelled, y=np.full(len(self._table.ids), -1))
        excluded = self._ids(np.union1d(labels.excluded, labels.known))
        suggestions = self._guesses.suggest(_SUGGESTIONS, exclude=excluded).tolist()
        return Fit(labels, tuple(suggestions), self._guesses.result_)

    def _refit(self, labels: Labels) -> Fit:
        estimator, suggested = self._estimator, self._ids(labels.suggested)
        estimator.set_params(**self._kind.arguments(self._settings, labels))
        values, unknown = self._kind.values(labels.names), self._kind.unknown
        given = {int(node): values[labels.classes[node]] for node in labels.known}
        if self._fitted is None:
            y = [given.get(node, unknown) for node in range(len(labels.classes))]
            estimator.fit(self._table, y=y, suggested=suggested)
        else:
            nodes = sorted(self._fitted.keys() | given.keys())
            changed = [node for node in nodes if self._fitted.get(node) != given.get(node)]
            if changed:
                new = [given.get(node, unknown) for node in changed]
                names = self._ids(np.array(changed, np.int64))
                estimator.add_labels(dict(zip(names, new, strict=True)), suggested=suggested)
        self._fitted = given
        excluded = self._ids(labels.excluded)
        suggestions = estimator.suggest(_SUGGESTIONS, exclude=excluded).tolist()
        fit = Fit(labels, tuple(suggestions), estimator.result_)
        if estimator.held_out_ is not None:  # computed here, so that the page need not wait
            estimator.result_.estimate  # noqa: B018
        if fit.explains:
            fit.named.explanations([0])  # computes what all explanations share
        return fit

    def _ids(self, nodes: NDArray[np.int64]) -> list[Any]:
        return list(self._table.ids[nodes].tolist())

    def _first_suggestions(self, labels: Labels) -> tuple[Any, ...]:
        """Suggest typical and diverse nodes while nothing can be fitted."""
        others = len(self._table.ids) - len(labels.classes)  # nodes of other types
        numbers = np.pad(labels.classes, (0, others), constant_values=-1)
        classes = np.arange(labels.classes.max(initial=-1) + 1)
        nodes = replace(self._unlabelled, labels=numbers, classes=classes)
        excluded, seed = self._ids(labels.excluded), self._settings.random_state
        return tuple(self._ids(suggest_nodes(nodes, None, _SUGGESTIONS, seed, excluded).nodes))

    @cached_property
    def _unlabelled(self) -> Problem:
        problem = read_problem(self._table, labelled=False)
        problem = problem.by_meaning(self._settings.text_model, self._show)
        return problem.scaled_by(self._settings.normalise)
