"""Cross-fitting: each known label is predicted by fits that did not see it.

One set of fits serves everything that is learnt about a classifier from the labels alone: its
temperature, the weights of several classifiers, its accuracy, prediction sets, labels that look
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import NodeClassifier, fit_many
from nodecopy.data.task import Task
from nodecopy.progress import Progress
from nodecopy.rng import child_seed, stream


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
    nodes, fold_of = hidden_labels(task, folds, seed)
    predicted = np.full((len(classifiers), len(nodes), task.num_classes), np.nan)
    parts = list(_fold_tasks(task, nodes, fold_of))
    seeds = [child_seed(seed, "fold", fold) for fold, _, _ in parts]
    for which, classifier in enumerate(classifiers):
        fits = fit_many(classifier, [part for _, _, part in parts], seeds) if parts else []
        for (_, held, _), fitted in zip(parts, fits, strict=True):
            predicted[which, held] = np.asarray(fitted.probabilities)[nodes[held]]
        if progress is not None:
            progress(which + 1, len(classifiers))
    return HeldOut(nodes, task.labels[nodes], predicted, fold_of)


def hidden_labels(task: Task, folds: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes whose label can be hidden, and the fold of each: not the last of a class."""
    labels = task.labels[task.train]
    counts = np.bincount(labels, minlength=task.num_classes)
    nodes = task.train[counts[labels] >= 2]
    used = int(min(folds, counts.max(initial=1)))
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


def _fold_tasks(
    task: Task, nodes: NDArray[np.int64], fold_of: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64], Task]]:
    """Yield (fold, places of the hidden nodes, the task without their labels)."""
    for fold in range(int(fold_of.max(initial=-1)) + 1):
        held = np.flatnonzero(fold_of == fold)
        labels = task.labels.copy()
        labels[nodes[held]] = -1
        labels.flags.writeable = False
        train = task.train[labels[task.train] >= 0]
        if len(held) and len(train):
            yield fold, held, replace(task, labels=labels, train=train)
