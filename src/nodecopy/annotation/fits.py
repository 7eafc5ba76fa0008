"""Fits in the background: at most one of a kind at a time, and always the newest labels next.

The default method is fitted to every state of the labels that there is time for. Where that takes
more than a second, a quick fit (`nodecopy.presets.fast`) comes first, so that probabilities and
suggestions follow the answers; the full one replaces it when it arrives. Estimates of accuracy are
those of full fits alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.acquisition import embedding, next_labels
from nodecopy.calibration import EstimatedAccuracy
from nodecopy.data.tables import TableDataset
from nodecopy.errors import NodecopyError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.scaling import Normalise, scaling_of
from nodecopy.labelling import FitSettings
from nodecopy.labelling.run import fit_table
from nodecopy.posterior import Posterior
from nodecopy.rng import stream

Kind = Literal["none", "quick", "full"]
# Seconds of a full fit from which a quick one comes first, and nodes where none has been timed.
_PATIENCE, _LARGE = 1.0, 5000
_SUGGESTIONS = 30
_AT_MOST = 120.0  # seconds to wait for a fit that nobody needs any more


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of one moment.

    Attributes:
        version: which moment: later ones have larger numbers.
        names: of the classes that have a label, in the order of a fit [K].
        numbers: the class of each node, -1 where unknown [N].
        excluded: nodes that are not to be suggested.
    """

    version: int
    names: tuple[str, ...]
    numbers: NDArray[np.int64]
    excluded: NDArray[np.int64]


@dataclass(frozen=True)
class Suspect:
    """A label that predictions made without it contradict."""

    node: int
    given: str
    suggested: str
    probability: float


@dataclass(frozen=True, eq=False)
class Found:
    """What a fit found.

    Attributes:
        labels: to which it was fitted.
        kind: "none" where there are too few labels to fit anything.
        probabilities: of every node, columns as ``labels.names`` [N, K]; None of the kind "none".
        suggestions: nodes to label next, the best first.
        accuracy: estimated, of a full fit with labels held out.
        suspects: labels to look at again, of a full fit.
        seconds: how long it took.
        problem: why there is no fit; empty where there is one.
    """

    labels: Labels
    kind: Kind
    probabilities: NDArray[np.float64] | None
    suggestions: tuple[int, ...]
    accuracy: EstimatedAccuracy | None = None
    suspects: tuple[Suspect, ...] = ()
    seconds: float = 0.0
    problem: str = ""

    @cached_property
    def best(self) -> NDArray[np.int64] | None:
        """The most probable class of each node [N]."""
        return None if self.probabilities is None else self.probabilities.argmax(1)

    @cached_property
    def confidence(self) -> NDArray[np.float64] | None:
        """Its probability [N]."""
        return None if self.probabilities is None else self.probabilities.max(1)

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of all nodes that each class is expected to have."""
        if self.probabilities is None:
            return {}
        return dict(zip(self.labels.names, self.probabilities.mean(0).tolist(), strict=True))


class Fitter:
    """Fits to a table, with other labels each time; what does not depend on labels is kept."""

    def __init__(self, settings: FitSettings, table: TableDataset) -> None:
        self._settings, self._table = settings, table
        self._seen: NDArray[np.float32] | None = None
        self._seeing = threading.Lock()

    def fit(self, labels: Labels, kind: Kind) -> Found:
        """Fit, or say why that is not possible."""
        start = time.perf_counter()
        try:
            found = self._fit(labels, kind) if len(labels.names) > 1 else self._begin(labels)
        except NodecopyError as error:
            found = replace(self._begin(labels), problem=str(error))
        return replace(found, seconds=time.perf_counter() - start)

    def nearest(
        self, node: int, labelled: NDArray[np.int64], count: int
    ) -> list[tuple[int, float]]:
        """Return the labelled nodes most like a node, and how alike they are."""
        if not len(labelled):
            return []
        seen = self.seen()
        alike = seen[labelled] @ seen[node]
        order = np.argsort(-alike, kind="stable")[:count]
        return [(int(labelled[at]), float(alike[at])) for at in order if alike[at] > 0]

    def seen(self) -> NDArray[np.float32]:
        """Return what the networks see of each node, computed once."""
        with self._seeing:
            if self._seen is None:
                rng = stream(self._settings.seed, "acquisition")
                self._seen = embedding(self._table.dataset.graph, self._compared(), rng)
            return self._seen

    def classifier(self, kind: Kind) -> NodeCopyClassifier:
        """Return what is fitted: the method of the settings, or a quick one."""
        if kind == "full":
            return self._settings.classifier(False)
        normalise: Normalise = "auto" if self._settings.standardise else False
        return NodeCopyClassifier(
            "fast", normalise=normalise, random_state=self._settings.seed, progress=False
        )

    def labelled(self, labels: Labels) -> TableDataset:
        """Return the table with these labels."""
        dataset = self._table.dataset.with_labels(labels.numbers, labels.names)
        return replace(self._table, dataset=dataset)

    def _fit(self, labels: Labels, kind: Kind) -> Found:
        fitted = fit_table(self.classifier(kind), self.labelled(labels))
        chosen = self._suggest(labels, fitted.posterior_)
        p = fitted.posterior_.probabilities
        if kind != "full" or fitted.held_out_ is None:
            return Found(labels, kind, p, chosen)
        suspects = tuple(
            Suspect(one.node, str(one.given), str(one.suggested), one.probability)
            for one in fitted.suspect_labels()
        )
        return Found(labels, kind, p, chosen, fitted.estimated_accuracy(), suspects)

    def _begin(self, labels: Labels) -> Found:
        """Suggest typical and diverse nodes while nothing can be fitted: all are in doubt."""
        n = self._table.dataset.num_nodes
        doubt = Posterior(np.full((n, 2), 0.5), np.ones(n), np.zeros(n), np.zeros(n), 1, 1)
        return Found(labels, "none", None, self._suggest(labels, doubt))

    def _suggest(self, labels: Labels, posterior: Posterior) -> tuple[int, ...]:
        allowed = np.ones(len(labels.numbers), bool)
        allowed[labels.excluded] = False
        chosen = next_labels(
            self._table.dataset.graph,
            self._table.dataset.features,
            posterior,
            np.flatnonzero(labels.numbers >= 0),
            _SUGGESTIONS,
            allowed=allowed,
            seed=self._settings.seed,
            seen=self.seen(),
        )
        return tuple(chosen.nodes.tolist())

    def _compared(self) -> Any:
        dataset = self._table.dataset
        scaling = scaling_of(dataset.features, "auto" if self._settings.standardise else False)
        features = dataset.features
        return features if scaling.shift is None else scaling.apply(dataset.graph, features)


class Refitter:
    """Two workers, for full and for quick fits; whoever asks is told of every result.

    Args:
        fitter: does the work.
        publish: is called with what was found, in the thread of a worker.
    """

    def __init__(self, fitter: Fitter, publish: Callable[[Found], None]) -> None:
        self._publish, self._fitter = publish, fitter
        self._full_seconds: float | None = None
        self._workers: Mapping[str, _Worker] = {
            kind: _Worker(kind, self._run) for kind in ("full", "quick")
        }

    def ask(self, labels: Labels) -> None:
        """Ask for fits to these labels; earlier ones that have not begun are forgotten."""
        seconds = self._full_seconds
        large = len(labels.numbers) > _LARGE if seconds is None else seconds > _PATIENCE
        if large and len(labels.names) > 1:
            self._workers["quick"].ask(labels)
        self._workers["full"].ask(labels)

    @property
    def busy(self) -> bool:
        """Whether a fit runs or waits."""
        return any(worker.busy for worker in self._workers.values())

    def stop(self, *, wait: bool = True) -> None:
        """Begin no more fits, and wait for those that run: a program must not end under them."""
        for worker in self._workers.values():
            worker.stop()
        for worker in self._workers.values() if wait else ():
            worker.join()

    def _run(self, labels: Labels, kind: Any) -> None:
        try:
            found = self._fitter.fit(labels, kind)
        except Exception as error:  # a bug, or no memory: say so, and fit no more
            self._publish(Found(labels, "none", None, (), problem=f"no fit: {error}"))
            raise
        if kind == "full" and found.kind == "full":
            self._full_seconds = found.seconds
        self._publish(found)


class _Worker:
    """A thread that works on the newest request, and on no other."""

    def __init__(self, kind: str, run: Callable[[Labels, Any], None]) -> None:
        self._kind, self._run = kind, run
        self._changed = threading.Condition()
        self._next: Labels | None = None
        self._running, self._stopped = False, False
        self._thread = threading.Thread(target=self._work, name=f"{kind} fits", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        return self._running or self._next is not None

    def ask(self, labels: Labels) -> None:
        with self._changed:
            self._next = labels
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopped, self._next = True, None
            self._changed.notify()

    def join(self) -> None:
        self._thread.join(_AT_MOST)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._running = False
                while self._next is None and not self._stopped:
                    self._changed.wait()
                if self._stopped or self._next is None:
                    return
                labels, self._next, self._running = self._next, None, True
            self._run(labels, self._kind)


def class_order(names: Sequence[str]) -> tuple[str, ...]:
    """Order classes as a fit does: by value where all are whole numbers, else by their text.

    >>> class_order(["10", "9"]), class_order(["b", "10", "9"])
    (('9', '10'), ('10', '9', 'b'))
    """
    plain = all(name == str(int(name)) if _whole(name) else False for name in names)
    return tuple(sorted(names, key=int if plain else str))


def _whole(name: str) -> bool:
    digits = name.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 19
    return plain and -(2**63) <= int(name) < 2**63
