"""One fit of the whole method to a built-in dataset, scored beside its own base classifier."""

from __future__ import annotations

from typing import NamedTuple

from nodecopy.data import NodeDataset, Split, Task, fixed_split, load_dataset, random_split
from nodecopy.errors import SplitError, unknown_name
from nodecopy.metrics import Scores, score_predictions
from nodecopy.posterior import BayesianGCN, FittedBayesianGCN
from nodecopy.progress import Progress


class FitOutcome(NamedTuple):
    """A fitted model with the test scores of its base classifier and of itself."""

    dataset: NodeDataset
    split: Split
    fitted: FittedBayesianGCN
    base_scores: Scores
    scores: Scores


def fit_builtin(
    name: str,
    labels_per_class: int,
    split: str = "fixed",
    seed: int = 0,
    model: BayesianGCN | None = None,
    progress: Progress | None = None,
) -> FitOutcome:
    """Fit a Bayesian GCN to a built-in dataset and score it on the test nodes."""
    dataset = load_dataset(name)
    makers = {
        "fixed": lambda: fixed_split(dataset, labels_per_class),
        "random": lambda: random_split(dataset, labels_per_class, seed),
    }
    if split not in makers:
        raise SplitError(unknown_name("split", split, makers))
    nodes = makers[split]()
    fitted = (model or BayesianGCN()).fit(Task.from_split(dataset, nodes), seed, progress)
    truth = dataset.labels[nodes.test]
    base = score_predictions(fitted.base_probabilities[nodes.test], truth)
    bayesian = score_predictions(fitted.probabilities[nodes.test], truth)
    return FitOutcome(dataset, nodes, fitted, base, bayesian)
