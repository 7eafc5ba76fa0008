"""Held-out predictions: each known label is predicted by fits that did not see it.

They are computed once, and everything that is learnt about a classifier from the labels alone is
learnt from them: the weights of a pool, its calibration, prediction sets, the estimated accuracy,
suspect labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import ModelError
from nodecopy.core.metrics import Scores, score_predictions
from nodecopy.core.rng import child_seed, stream
from nodecopy.core.saving import savable
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for labelled nodes whose labels were held out.

    The fits behind it saw fewer labels than the final one, so accuracy leans to the pessimistic
    side. The only label of a class is never held out: without it the class could not be predicted.

    Attributes:
        nodes: the nodes whose label was held out, each in one fold [n].
        truth: their known labels [n].
        probabilities: what was predicted, pooled as the final predictions are [n, K].
        folds: the fold in which each label was held out [n].
        single: labelled nodes that were never held out, each the only one of its class [m].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]
    single: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        """Check the shapes, and that labels are among the classes."""
        n = len(self.nodes)
        aligned = self.truth.shape == self.folds.shape == self.nodes.shape == (n,)
        if not aligned or self.probabilities.ndim != 2 or len(self.probabilities) != n:
            raise ModelError(f"held-out predictions must be [{n}, K], with {n} labels and folds")
        if n and not 0 <= self.truth.min() <= self.truth.max() < self.probabilities.shape[1]:
            raise ModelError("held-out labels must be numbers of classes")
        if n and not 0 <= self.folds.min() <= self.folds.max() < n:
            raise ModelError("folds of held-out labels must be numbered from 0")

    @property
    def num_folds(self) -> int:
        """Parts of the labels; each fit learned from all but one of them."""
        return int(self.folds.max(initial=-1)) + 1

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each held-out label was predicted [n]."""
        correct: NDArray[np.bool_] = self.probabilities.argmax(1) == self.truth
        return correct

    @property
    def scores(self) -> Scores:
        """Scores of all predictions."""
        return score_predictions(self.probabilities, self.truth)

    def unlabelled(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those of all probabilities that are of other nodes; all, if there are none."""
        others = np.ones(len(probabilities), bool)
        others[self.nodes] = others[self.single] = False
        return probabilities[others] if others.any() else probabilities


@dataclass(frozen=True, eq=False)
class Folds:
    """Tasks that each hold out a part of the labels.

    Attributes:
        labels: those that are held out, without predictions so far.
        tasks: one for each fold, without its labels.
        seeds: one for each fold.
    """

    labels: HeldOut
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]

    def predictions(self, fits: Sequence[Fitted]) -> NDArray[np.float64]:
        """Collect what one classifier, fitted to every fold, predicts for held-out nodes [n, K]."""
        predicted = np.full_like(self.labels.probabilities, np.nan)
        for fold, fitted in enumerate(fits):
            held = self.labels.folds == fold
            predicted[held] = np.asarray(fitted.probabilities)[self.labels.nodes[held]]
        return predicted


def make_folds(task: Task, folds: int, seed: int) -> Folds:
    """Divide the training labels of a task into folds, each held out once; 0 holds out none.

    The only label of a class stays in every fold: without it the class could not be predicted.
    """
    labels = task.labels[task.train]
    counts = np.bincount(labels, minlength=task.num_classes)
    several = counts[labels] >= 2
    nodes = task.train[several & (folds > 0)]
    used = int(min(max(folds, 1), counts.max(initial=1)))
    fold_of = stratified_folds(task.labels[nodes], used, stream(seed, "folds"))
    tasks = []
    for fold in range(int(fold_of.max(initial=-1)) + 1):
        shown = task.labels.copy()
        shown[nodes[fold_of == fold]] = -1
        shown.flags.writeable = False
        tasks.append(replace(task, labels=shown, train=task.train[shown[task.train] >= 0]))
    seeds = tuple(child_seed(seed, "fold", fold) for fold in range(len(tasks)))
    nothing = np.zeros((len(nodes), task.num_classes))
    held = HeldOut(nodes, task.labels[nodes], nothing, fold_of, task.train[~several])
    return Folds(held, tuple(tasks), seeds)


def stratified_folds(
    labels: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of each labelled node [n], every class spread evenly over the folds.

    Unlike scikit-learn's StratifiedKFold it takes classes with fewer labels than folds as they are,
    without a warning, and makes folds of equal size.

    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> [sorted(fold[:4].tolist()), sorted(fold[4:].tolist())]
    [[0, 0, 1, 1], [0, 1]]
    """
    shuffled = rng.permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]  # by class, shuffled within
    fold_of = np.empty(len(labels), np.int64)
    fold_of[order] = np.arange(len(labels)) % folds
    return fold_of
