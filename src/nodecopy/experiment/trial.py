"""A trial: one method, one split, one seed; and everything measured about it."""

from __future__ import annotations

import hashlib
import json
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.data import NodeDataset, Split, Task, fixed_split, load_dataset, random_split
from nodecopy.errors import SplitError, unknown_name
from nodecopy.experiment.methods import build_method
from nodecopy.metrics import degree_groups, paired_outcomes, reliability_curve, score_predictions
from nodecopy.posterior import FittedBayesianGCN
from nodecopy.rng import child_seed

SplitKind = Literal["fixed", "random"]

# Part of every trial's digest: raise it when the numbers that a trial gives may have changed.
NUMERICS_VERSION = 1


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result: flat and hashable.

    Args:
        dataset: a built-in dataset.
        split: "fixed" (the public one) or "random" (drawn anew from ``seed``).
        labels_per_class: L.
        method: a name in the registry.
        seed: of the split, if random, and of the method, on separate streams.
    """

    dataset: str
    split: SplitKind
    labels_per_class: int
    method: str
    seed: int

    def __post_init__(self) -> None:
        """Check the kind of split."""
        if self.split not in get_args(SplitKind):
            raise SplitError(unknown_name("split", self.split, get_args(SplitKind)))

    @cached_property
    def digest(self) -> str:
        """A hash of all that determines the result: data, split, settings, seed, code version."""
        method = build_method(self.method, self.dataset, self.labels_per_class)
        data = _dataset(self.dataset).digest
        content = [asdict(self), data, repr(method), NUMERICS_VERSION]
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave; scores are on the test nodes.

    Attributes:
        digest: of the trial.
        accuracy, nll, brier, ece_width, ece_mass, error_auroc: see `nodecopy.metrics`.
        reliability: 15 equal-width bins of (confidence, accuracy, count); None in empty bins.
        outcomes: for Bayesian methods, by degree group ("low", "high" around the median): shares
            of nodes that base and method both get right, that the method corrects, that it breaks,
            that both get wrong.
        cpu_seconds, wall_seconds, peak_megabytes: cost of fit and prediction.
        versions: of what computed it.
    """

    digest: str
    accuracy: float
    nll: float
    brier: float
    ece_width: float
    ece_mass: float
    error_auroc: float
    reliability: tuple[tuple[float | None, float | None, int], ...]
    outcomes: dict[str, dict[str, float]]
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    versions: dict[str, str]


def run_trial(trial: Trial) -> TrialResult:
    """Run one trial on one thread: the same trial gives the same scores wherever it runs."""
    dataset = _dataset(trial.dataset)
    split = split_of(trial, dataset)
    task = Task.from_split(dataset, split)
    method = build_method(trial.method, trial.dataset, trial.labels_per_class)
    with _one_thread():
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = method.fit(task, child_seed(trial.seed, "trial", "model"))
        probabilities = np.asarray(fitted.probabilities, np.float64)[split.test]
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    probabilities /= probabilities.sum(1, keepdims=True)
    truth = dataset.labels[split.test]
    outcomes = {}
    if isinstance(fitted, FittedBayesianGCN):
        base = fitted.base_probabilities.argmax(1)
        outcomes = _outcomes(dataset, split, base, fitted.probabilities.argmax(1))
    return TrialResult(
        digest=trial.digest,
        **asdict(score_predictions(probabilities, truth)),
        reliability=_bins(probabilities, truth),
        outcomes=outcomes,
        cpu_seconds=cpu,
        wall_seconds=wall,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        versions=_versions(),
    )


def split_of(trial: Trial, dataset: NodeDataset) -> Split:
    """Return the split of a trial; methods with the same seed see the same one."""
    if trial.split == "fixed":
        return fixed_split(dataset, trial.labels_per_class)
    return random_split(dataset, trial.labels_per_class, trial.seed)


def _outcomes(
    dataset: NodeDataset, split: Split, base: NDArray[np.int64], method: NDArray[np.int64]
) -> dict[str, dict[str, float]]:
    groups = degree_groups(dataset.graph.degrees, split.test)
    return {
        name: asdict(paired_outcomes(base[nodes], method[nodes], dataset.labels[nodes]))
        for name, nodes in (("low", groups.low), ("high", groups.high))
        if len(nodes)
    }


def _bins(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[tuple[float | None, float | None, int], ...]:
    curve = reliability_curve(probabilities, truth)
    rows = zip(curve.confidence, curve.accuracy, curve.count, strict=True)
    return tuple((float(c), float(a), int(n)) if n else (None, None, 0) for c, a, n in rows)


def _versions() -> dict[str, str]:
    from nodecopy import __version__

    return {
        "nodecopy": __version__,
        "numerics": str(NUMERICS_VERSION),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@lru_cache(maxsize=4)
def _dataset(name: str) -> NodeDataset:
    return load_dataset(name)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread: sums then have one order, and trials do not compete for cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
