"""How good predictions are: against true labels, and beside simple methods on held-out labels.

Of the baselines, each known label is predicted by label propagation and by logistic regression on
the features, from the labels of the other folds, the folds being those of the fit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.calibration import HeldOut
from nodecopy.classifiers import DiffusionClassifier, LabelPropagation, NodeClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import DatasetError, listed
from nodecopy.graph import Graph
from nodecopy.metrics import Scores, score_predictions
from nodecopy.nn.diffusion import Diffusion
from nodecopy.presets import FEATURES_PRECISION
from nodecopy.run.predictions import Predictions, read_predictions
from nodecopy.tables import read_label_table
from nodecopy.weights import MaximumPosterior

_SHOWN = 10
# Multiplications, a few seconds; beyond them, nothing is compared.
MAX_WORK = 3 * 10**9

PROPAGATION, REGRESSION = "label propagation", "logistic regression on the features"
COMMONEST = "always the commonest class"


@dataclass(frozen=True)
class ClassScore:
    """Counts of one class: its true nodes, those predicted to be in it, and those in both."""

    name: str
    true: int
    predicted: int
    right: int


@dataclass(frozen=True)
class SetScore:
    """Scores of prediction sets.

    Attributes:
        asked: the coverage that they were made for.
        coverage: the share of the nodes whose true class is in their set; one of a class that the
            model does not know is in none.
        size: how many classes a set holds on average.
    """

    asked: float
    coverage: float
    size: float


@dataclass(frozen=True)
class Evaluation:
    """Scores of predictions against true labels.

    Attributes:
        scores: over the nodes whose label the model did not know.
        nodes: how many these are.
        known: how many further labels the model knew; they do not count.
        foreign: how many nodes are of classes that the model does not know; they count as errors
            in the accuracy and are left out of the other scores.
        foreign_classes: these classes.
        accuracy: the share of the nodes that are predicted right.
        classes: by class.
        confidence: mean confidence of the nodes that ``scores`` are over.
        sets: scores of prediction sets; None if there are none.
        notes: remarks on the labels.
    """

    scores: Scores
    nodes: int
    known: int
    foreign: int
    foreign_classes: tuple[str, ...]
    accuracy: float
    classes: tuple[ClassScore, ...]
    confidence: float
    sets: SetScore | None
    notes: tuple[str, ...] = ()


def evaluate_predictions(
    predictions: str | os.PathLike[str],
    truth: str | os.PathLike[str],
    label_columns: Sequence[str] | None = None,
) -> Evaluation:
    """Score a file of predictions against a table of id and label.

    Args:
        predictions: CSV or Parquet file, as `nodecopy fit` and `nodecopy predict` write it.
        truth: file of the labels.
        label_columns: names of its columns of the id and of the label; None detects them.
    """
    table = read_predictions(predictions)
    given_labels = read_label_table(truth, table.ids, label_columns=label_columns)
    labels, class_names = given_labels.labels, given_labels.class_names
    own = table.class_names
    number = {name: k for k, name in enumerate(own)}
    # K stands for all classes that the model does not know.
    actual = np.array([*(number.get(name, len(own)) for name in class_names), -1])[labels]
    given = np.flatnonzero(actual >= 0)
    tested = given[table.known[given] < 0]
    if len(tested) == 0:
        raise DatasetError(
            f"{truth}: all {len(given):,} labels were known when the model was fitted; "
            "nothing is left to evaluate"
        )
    scored = tested[actual[tested] < len(own)]
    if len(scored) == 0:
        raise DatasetError(
            f"{truth}: none of its classes, {_some(class_names)}, is one of the model's: "
            f"{_some(own)}"
        )
    predicted = table.probabilities.argmax(1)[tested]
    right = predicted == actual[tested]
    counts = (
        np.bincount(of, minlength=len(own)) for of in (actual[tested], predicted, predicted[right])
    )
    p = table.probabilities[scored]
    return Evaluation(
        score_predictions(p, actual[scored]),
        len(tested),
        len(given) - len(tested),
        len(tested) - len(scored),
        tuple(name for name in class_names if name not in number),
        float(right.mean()),
        tuple(map(ClassScore, own, *(count.tolist() for count in counts))),
        float(p.max(1).mean()),
        _set_score(table, tested, actual[tested]),
        tuple(given_labels.notes),
    )


def _set_score(
    predictions: Predictions, tested: NDArray[np.int64], actual: NDArray[np.int64]
) -> SetScore | None:
    """Return the scores of the sets of the tested nodes; a label K is in none of them."""
    if predictions.sets is None or predictions.coverage is None:
        return None
    sets = predictions.sets[tested]
    covered = np.pad(sets, ((0, 0), (0, 1)))[np.arange(len(tested)), actual]
    return SetScore(predictions.coverage, float(covered.mean()), float(sets.sum(1).mean()))


def _some(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names[:_SHOWN]], len(names))


@dataclass(frozen=True, eq=False)
class Baseline:
    """A simple method, and which held-out labels it predicted correctly [n]."""

    name: str
    right: NDArray[np.bool_]

    def gap(self, right: NDArray[np.bool_]) -> tuple[float, float]:
        """Return by how much another method is more accurate, and the standard error of that."""
        gap = right.astype(np.float64) - self.right
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
        return float(gap.mean()), float(error)


def baselines_on(
    graph: Graph,
    features: FeatureMatrix | None,
    labels: NDArray[np.int64],
    held: HeldOut,
) -> tuple[Baseline, ...]:
    """Predict the held-out labels by simple methods; by none where that would take long.

    Args:
        graph: the observed graph.
        features: X [N, D], scaled; None leaves out regression on them.
        labels: those known, -1 where there is none [N].
        held: the labels to predict, and the folds in which each was held out.
    """
    classes, folds = int(labels.max()) + 1, int(held.folds.max()) + 1
    work = LabelPropagation().steps * (len(graph.indices) + graph.num_nodes)
    if features is not None:
        work += features.nnz if sp.issparse(features) else features.size
    if work * classes * folds > MAX_WORK:
        return ()
    methods: dict[str, NodeClassifier] = {PROPAGATION: LabelPropagation()}
    if features is not None:
        posterior = MaximumPosterior(FEATURES_PRECISION)
        methods[REGRESSION] = DiffusionClassifier(Diffusion(1.0, 0), posterior)
    right = {name: np.zeros(len(held.nodes), bool) for name in methods}
    X = np.zeros((graph.num_nodes, 1), np.float32) if features is None else features
    for fold in range(folds):
        inside = held.folds == fold
        shown = labels.copy()
        shown[held.nodes[inside]] = -1
        task = Task.of(graph, X, shown, np.flatnonzero(shown >= 0), num_classes=classes)
        for name, method in methods.items():
            p = np.asarray(method.fit(task).probabilities)
            right[name][inside] = p[held.nodes[inside]].argmax(1) == held.truth[inside]
    right[COMMONEST] = held.truth == np.bincount(labels[labels >= 0]).argmax()
    return tuple(Baseline(name, hits) for name, hits in right.items())
