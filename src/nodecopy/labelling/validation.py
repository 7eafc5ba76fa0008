"""Validation without a test set: each known label is predicted by models that did not see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration import stratified_folds
from nodecopy.data.dataset import NodeDataset
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.labelling.parallel import Fold, fitted_folds
from nodecopy.metrics import (
    ReliabilityCurve,
    Scores,
    reliability_curve,
    score_predictions,
    wilson_interval,
)
from nodecopy.progress import Progress
from nodecopy.rng import child_seed, stream


@dataclass(frozen=True, eq=False)
class Validation:
    """What models predicted for labelled nodes whose labels were hidden from them.

    Attributes:
        nodes: the nodes whose label was hidden, each in one fold of every repeat [n].
        truth: their known labels [n].
        probabilities: what was predicted, by repeat [R, n, K].
        folds: parts of the labels; a model learned from all but one of them.
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    folds: int

    @property
    def repeats(self) -> int:
        """R, how often the labels were divided anew."""
        return len(self.probabilities)

    @property
    def scores(self) -> Scores:
        """Scores of all predictions."""
        return score_predictions(*self._pooled())

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy on other nodes like these lies, at 95 % (Wilson 1927).

        Repeats do not narrow it: there are only n labels.
        """
        return wilson_interval(self.scores.accuracy, len(self.nodes))

    def reliability(self, n_bins: int = 10) -> ReliabilityCurve:
        """Return how often predictions were right, by their confidence."""
        return reliability_curve(*self._pooled(), n_bins=n_bins)

    def _pooled(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        k = self.probabilities.shape[-1]
        return self.probabilities.reshape(-1, k), np.tile(self.truth, self.repeats)


def cross_validate(
    classifier: NodeCopyClassifier,
    dataset: NodeDataset,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
) -> Validation | None:
    """Predict every known label from the others, by repeated stratified cross-validation.

    Models see fewer labels than the final one, so the estimate leans to the pessimistic side. The
    only label of a class is never hidden: without it there is no class to predict.

    Args:
        classifier: what to fit; itself it is not fitted.
        dataset: labels are -1 where unknown.
        folds: parts of the labels, each hidden once in every repeat.
        repeats: how often the labels are divided anew.
        seed: of the division and of the models.
        progress: told how many models are done.
        jobs: models that are fitted at a time, in processes of their own if more than one; the
            numbers are the same whatever it is.

    Returns:
        None if no class has two labels.
    """
    counts = np.bincount(dataset.labels[dataset.labels >= 0], minlength=dataset.num_classes)
    enough = np.append(counts >= 2, False)  # the last one stands for label -1
    nodes = np.flatnonzero(enough[dataset.labels])
    if len(nodes) == 0 or np.count_nonzero(counts) < 2:
        return None
    truth, used = dataset.labels[nodes], int(min(folds, counts.max()))
    found = np.zeros((repeats, len(nodes), dataset.num_classes))
    divided = list(_divided(truth, used, repeats, seed))
    hidden = [
        Fold(nodes[held], child_seed(seed, "fold", repeat, fold)) for repeat, fold, held in divided
    ]
    for done, (place, p) in enumerate(fitted_folds(classifier, dataset, hidden, jobs)):
        repeat, _, held = divided[place]
        found[repeat, held] = p
        if progress:
            progress(done + 1, len(divided))
    return Validation(nodes, truth, found, used)


def num_models(dataset: NodeDataset, folds: int, repeats: int) -> int:
    """Return how many models `cross_validate` fits at most."""
    counts = np.bincount(dataset.labels[dataset.labels >= 0], minlength=1)
    enough = np.count_nonzero(counts) >= 2 and counts.max() >= 2
    return repeats * int(min(folds, counts.max())) if enough else 0


def _divided(
    truth: NDArray[np.int64], folds: int, repeats: int, seed: int
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield (repeat, fold, places of the nodes that are hidden)."""
    for repeat in range(repeats):
        fold_of = stratified_folds(truth, folds, stream(seed, "folds", repeat))
        for fold in range(folds):
            held = np.flatnonzero(fold_of == fold)
            if len(held):
                yield repeat, fold, held
