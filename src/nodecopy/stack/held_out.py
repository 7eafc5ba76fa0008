"""Held-out predictions: each known label is predicted by fits that did not see it.

They are computed once, and everything that is learnt about a classifier from the labels alone is
learnt from them: the weights of a pool, its calibration, prediction sets, the estimated accuracy,
suspect labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
    side. The only label of a class is not held out: without it the class could not be predicted.
    Where classes are described it is, to pool components; how often a class is met by its
    description alone says too little of how often it is with a label, so `checked` leaves it out.

    Attributes:
        nodes: the nodes whose label was held out, each in one fold [n].
        truth: their known labels [n].
        probabilities: what was predicted, pooled as the final predictions are [n, K].
        folds: the fold in which each label was held out [n].
        single: labelled nodes that are the only one of their class [m].
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
    def outputs(self) -> NDArray[np.float64]:
        """What was predicted, as `Fitted.outputs` has it [n, K]."""
        return self.probabilities

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each held-out label was predicted [n]."""
        return self.right_of(self.probabilities)

    def right_of(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each label would be predicted by other probabilities of it [n]."""
        correct: NDArray[np.bool_] = probabilities.argmax(1) == self.truth
        return correct

    @property
    def checked(self) -> HeldOut:
        """The same without the only labels of their class."""
        several = ~np.isin(self.nodes, self.single)
        return replace(
            self,
            nodes=self.nodes[several],
            truth=self.truth[several],
            probabilities=self.probabilities[several],
            folds=np.unique(self.folds[several], return_inverse=True)[1],
        )

    def moved(self, nodes: NDArray[np.int64]) -> HeldOut:
        """Return the same where node i has the number ``nodes[i]``."""
        return replace(self, nodes=nodes[self.nodes], single=nodes[self.single])

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
        labels: those that are held out, without predictions so far: `HeldOut` of classes.
        tasks: one for each fold, without its labels.
        seeds: one for each fold.
    """

    labels: Any
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]

    def predictions(self, fits: Sequence[Fitted]) -> NDArray[np.float64]:
        """Collect what one classifier, fitted to every fold, predicts for held-out nodes [n, K]."""
        predicted: NDArray[np.float64] = np.full_like(self.labels.outputs, np.nan)
        for fold, fitted in enumerate(fits):
            held = self.labels.folds == fold
            predicted[held] = np.asarray(fitted.outputs)[self.labels.nodes[held]]
        return predicted


def make_folds(tasks: Sequence[Task], folds: int, seed: int) -> list[Folds]:
    """Divide the training labels of tasks into folds, each held out once; 0 holds out none.

    The tasks differ in the classes of their labels alone, and share the folds. The only label of a
    class stays in every fold, as without it the class could not be predicted, and there are no more
    folds than labels of a class; unless classes are described. Guessed labels are not held out.
    """
    train = tasks[0].known
    labels = np.stack([task.labels[train] for task in tasks], 1)  # [n, T]
    counts = [np.bincount(own, minlength=tasks[0].num_classes) for own in labels.T]
    several = np.all([own[of] >= 2 for own, of in zip(counts, labels.T, strict=True)], axis=0)
    single, described = train[~several], tasks[0].described is not None
    out = (several | (described and len(train) > 1)) & (folds > 0)
    nodes, most = train[out], [int(own.max(initial=1)) for own in counts]
    used = max(min(folds, *([len(nodes)] if described else most)), 1)
    fold_of = stratified_folds(labels[out], used, stream(seed, "folds"))
    made = []
    for task in tasks:
        nothing = np.zeros((len(nodes), task.num_classes))
        held = HeldOut(nodes, task.labels[nodes], nothing, fold_of, single)
        made.append(folds_of(task, held, seed))
    return made


def folds_of(task: Task, held: Any, seed: int) -> Folds:
    """Return a task without the labels of each fold, given those that are held out."""
    without = []
    for fold in range(held.num_folds):
        shown = task.labels.copy()
        shown[held.nodes[held.folds == fold]] = -1
        shown.flags.writeable = False
        left = replace(task, labels=shown, train=task.train[shown[task.train] >= 0])
        without.append(left.with_guesses())
    seeds = tuple(child_seed(seed, "fold", fold) for fold in range(held.num_folds))
    return Folds(held, tuple(without), seeds)


def stratified_folds(
    labels: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of each labelled node [n], every class spread evenly over the folds.

    Unlike scikit-learn's StratifiedKFold it takes classes with fewer labels than folds as they are,
    without a warning, and makes folds of equal size. Of several labels per node, nodes are spread
    by the one with the rarest class first, then by the next: the rarest classes are spread best.

    Args:
        labels: classes of the labelled nodes [n], or of several labels of each [n, T].
        folds: how many.
        rng: shuffles the nodes.

    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> [sorted(fold[:4].tolist()), sorted(fold[4:].tolist())]
    [[0, 0, 1, 1], [0, 1]]
    """
    each = labels[None] if labels.ndim == 1 else labels.T  # [T, n]
    rarest = sorted(each, key=lambda own: (-np.bincount(own).max(initial=0), own.tobytes()))
    shuffled = rng.permutation(len(labels))
    order = shuffled[np.lexsort([own[shuffled] for own in reversed(rarest)])]
    fold_of = np.empty(len(labels), np.int64)
    fold_of[order] = np.arange(len(labels)) % folds
    return fold_of
