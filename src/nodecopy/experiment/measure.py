"""Run a trial and measure it: `run_trial` is the one function that executors run."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy import __version__
from nodecopy.data import NodeDataset, Split, Task, load_dataset
from nodecopy.data.splits import chosen_split
from nodecopy.experiment import trial as values
from nodecopy.experiment.methods import build_method
from nodecopy.experiment.trial import Trial, TrialResult
from nodecopy.metrics import degree_groups, paired_outcomes, reliability_curve, score_predictions
from nodecopy.posterior import FittedBayesianGCN
from nodecopy.rng import child_seed


def run_trial(trial: Trial) -> TrialResult:
    """Run one trial on one thread: the same trial gives the same scores wherever it runs."""
    dataset = _dataset(trial.dataset)
    task = Task.from_split(dataset, split_of(trial, dataset))
    method = build_method(trial.method, trial.dataset, trial.labels_per_class)
    _forget_peak_memory()
    with _one_thread():
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = method.fit(task, child_seed(trial.seed, "trial", "model"))
        probabilities = np.asarray(fitted.probabilities)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    base = fitted.base_probabilities if isinstance(fitted, FittedBayesianGCN) else None
    return score_trial(trial, probabilities, base, Cost(cpu, wall, peak_megabytes()))


class Cost(NamedTuple):
    """What a fit and its predictions took."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float


def score_trial(
    trial: Trial,
    probabilities: NDArray[np.floating],
    base_probabilities: NDArray[np.floating] | None,
    cost: Cost,
) -> TrialResult:
    """Score predictions of every node [N, K] on the test nodes of a trial.

    Args:
        trial: which split, and what the result is filed under.
        probabilities: of the method.
        base_probabilities: of the base classifier of a Bayesian method, to compare with.
        cost: what it took.
    """
    dataset = _dataset(trial.dataset)
    split = split_of(trial, dataset)
    tested = np.asarray(probabilities, np.float64)[split.test]
    tested /= tested.sum(1, keepdims=True)
    truth = dataset.labels[split.test]
    outcomes = {}
    if base_probabilities is not None:
        best, before = probabilities.argmax(1), base_probabilities.argmax(1)
        outcomes = _outcomes(dataset, split, before, best)
    return TrialResult(
        # A digest that came with the trial would hide that other code or data ran it here.
        digest=replace(trial).digest,
        **asdict(score_predictions(tested, truth)),
        reliability=_bins(tested, truth),
        outcomes=outcomes,
        **cost._asdict(),
        versions=versions(),
    )


def split_of(trial: Trial, dataset: NodeDataset) -> Split:
    """Return the split of a trial; methods with the same seed see the same one."""
    return chosen_split(dataset, trial.split, trial.labels_per_class, trial.seed)


def versions() -> dict[str, str]:
    """Return the versions of everything that the numbers of a trial may depend on."""
    return {
        "nodecopy": __version__,
        "numerics": str(values.NUMERICS_VERSION),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


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


def _forget_peak_memory() -> None:
    """Let the peak start from here: a worker that lives long has run larger trials before."""
    with suppress(OSError):  # elsewhere than on Linux there is no such file
        Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """Return the most memory that this process has used; 0 where the system does not tell."""
    try:
        import resource  # not every system has it
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024
