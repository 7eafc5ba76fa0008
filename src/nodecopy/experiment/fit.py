"""A preset fitted to a built-in dataset, scored beside a GCN and the paper's method."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

from nodecopy.classifiers import Fitted, GivenProbabilities, NodeClassifier
from nodecopy.data import NodeDataset, Split, Task, fixed_split, load_dataset, random_split
from nodecopy.errors import SplitError, unknown_name
from nodecopy.metrics import Scores, score_predictions
from nodecopy.posterior import BayesianGCN, Posterior, posterior_of
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed


class ScoredFit(NamedTuple):
    """A fitted method, its test scores, and the CPU time of its fit."""

    title: str
    fitted: Fitted
    scores: Scores
    cpu_seconds: float


class FitOutcome(NamedTuple):
    """Fits to one split; the last is the one that was asked for."""

    dataset: NodeDataset
    split: Split
    fits: tuple[ScoredFit, ...]

    @property
    def posterior(self) -> Posterior:
        """That of the fit that was asked for."""
        return posterior_of(self.fits[-1].fitted)


def fit_builtin(
    name: str,
    labels_per_class: int,
    split: str = "fixed",
    seed: int = 0,
    paper: BayesianGCN | None = None,
    other: tuple[str, NodeClassifier] | None = None,
    progress: Progress | None = None,
) -> FitOutcome:
    """Fit methods to a built-in dataset and score them on the test nodes.

    Args:
        name: of the dataset.
        labels_per_class: how many labels are known.
        split: "fixed" or "random".
        seed: of all that is random.
        paper: a Bayesian GCN, scored beside its base classifier; None is the paper's.
        other: another method, and its title; None leaves it at those two.
        progress: told how far it is.
    """
    dataset = load_dataset(name)
    makers = {
        "fixed": lambda: fixed_split(dataset, labels_per_class),
        "random": lambda: random_split(dataset, labels_per_class, seed),
    }
    if split not in makers:
        raise SplitError(unknown_name("split", split, makers))
    nodes, model = makers[split](), paper or BayesianGCN()
    task = Task.from_split(dataset, nodes)
    before, during, after = stages(progress, [1, model.n_zeta, 0 if other is None else 4])

    def scored(title: str, method: NodeClassifier, seed: int, watch: Progress | None) -> ScoredFit:
        start = time.process_time()
        fitted = method.fit(task, seed, watch)
        spent = time.process_time() - start
        scores = score_predictions(fitted.probabilities[nodes.test], dataset.labels[nodes.test])
        return ScoredFit(title, fitted, scores, spent)

    base = scored("GCN", model.base_classifier(), child_seed(seed, "base"), before)
    given = GivenProbabilities(base.fitted.probabilities)  # so that it is fitted once
    rest = scored("Bayesian GCN (paper)", replace(model, base=given), seed, during)
    fits = [base, rest._replace(cpu_seconds=base.cpu_seconds + rest.cpu_seconds)]
    if other is not None:
        fits.append(scored(*other, seed, after))
    return FitOutcome(dataset, nodes, tuple(fits))
