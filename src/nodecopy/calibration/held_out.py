"""Cross-fitting: each known label is predicted by fits that did not see it.

One set of fits serves everything that is learnt about a classifier from the labels alone: its
temperature, the weights of several classifiers, its accuracy, prediction sets, labels that look
wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, NodeClassifier, fit_many
from nodecopy.data.task import Task
from nodecopy.progress import Progress
from nodecopy.rng import child_seed, stream
from nodecopy.savable import savable


@savable
@dataclass(frozen=True, eq=False)
class HeldOut:
    """What C classifiers predicted for labelled nodes whose labels were hidden from them.

    Attributes:
        nodes: the nodes whose label was hidden once [n]; the only label of a class never is.
        truth: their labels [n].
        probabilities: of each classifier [C, n, K].
        folds: the fold in which each label was hidden [n].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Folds:
    """The tasks that each hide a part of the labels.

    Attributes:
        nodes: the nodes whose label is hidden once [n].
        fold_of: in which fold [n].
        truth: their labels [n].
        tasks: one for each fold, without its labels.
        seeds: one for each fold.
        num_classes: K.
    """

    nodes: NDArray[np.int64]
    fold_of: NDArray[np.int64]
    truth: NDArray[np.int64]
    tasks: list[Task]
    seeds: list[int]
    num_classes: int

    def predictions(self, fits: Sequence[Fitted]) -> NDArray[np.float64]:
        """Collect what one classifier, fitted to every fold, predicted for the hidden labels."""
        predicted = np.full((len(self.nodes), self.num_classes), np.nan)
        for fold, fitted in enumerate(fits):
            held = self.fold_of == fold
            predicted[held] = np.asarray(fitted.probabilities)[self.nodes[held]]
        return predicted

    def held_out(self, predictions: Sequence[NDArray[np.float64]]) -> HeldOut:
        """Put the predictions of several classifiers together."""
        return HeldOut(self.nodes, self.truth, np.stack(predictions), self.fold_of)


def make_folds(task: Task, folds: int, seed: int) -> Folds:
    """Divide the training labels of a task into parts, each hidden once; 0 parts hide none."""
    nodes, fold_of = hidden_labels(task, folds, seed)
    tasks = []
    for fold in range(int(fold_of.max(initial=-1)) + 1):
        labels = task.labels.copy()
        labels[nodes[fold_of == fold]] = -1
        labels.flags.writeable = False
        train = task.train[labels[task.train] >= 0]
        tasks.append(replace(task, labels=labels, train=train))
    seeds = [child_seed(seed, "fold", fold) for fold in range(len(tasks))]
    return Folds(nodes, fold_of, task.labels[nodes], tasks, seeds, task.num_classes)


def cross_fit(
    classifiers: Sequence[NodeClassifier],
    task: Task,
    folds: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeldOut:
    """Predict the training labels of a task from one another, fold by fold.

    Args:
        classifiers: C of them; each is fitted once for each fold.
        task: what to learn from.
        folds: parts of the labels, of which each is hidden once.
        seed: of the division and of the fits.
        progress: told how many classifiers are done.
    """
    parts, predictions = make_folds(task, folds, seed), []
    for done, classifier in enumerate(classifiers):
        predictions.append(parts.predictions(fit_many(classifier, parts.tasks, parts.seeds)))
        if progress is not None:
            progress(done + 1, len(classifiers))
    return parts.held_out(predictions)


def hidden_labels(task: Task, folds: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes whose label can be hidden, and the fold of each: not the last of a class."""
    labels = task.labels[task.train]
    counts = np.bincount(labels, minlength=task.num_classes)
    nodes = task.train[(counts[labels] >= 2) & (folds > 0)]
    used = int(min(max(folds, 1), counts.max(initial=1)))
    return nodes, stratified_folds(task.labels[nodes], used, stream(seed, "folds"))


def stratified_folds(
    labels: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Deal labelled nodes to folds, each class as evenly as can be: the fold of each [n].

    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> [sorted(fold[:4].tolist()), sorted(fold[4:].tolist())]
    [[0, 0, 1, 1], [0, 1]]
    """
    mixed = rng.permutation(len(labels))
    order = mixed[np.argsort(labels[mixed], kind="stable")]  # by class, mixed within
    fold_of = np.empty(len(labels), np.int64)
    # One class goes on dealing where the other stopped, so that folds are of equal size, too.
    fold_of[order] = np.arange(len(labels)) % folds
    return fold_of
