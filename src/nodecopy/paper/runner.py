"""Run trials: one, and all of an experiment that have no row yet, wherever the executor runs them.

Killed at any moment, a run loses the trials that were running and nothing else; the same call goes
on from the rows that are there.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy import __version__
from nodecopy.classifiers import fit_one
from nodecopy.core.executors import Executor, opened
from nodecopy.core.machine import one_thread
from nodecopy.core.metrics import reliability_curve, score_predictions
from nodecopy.core.progress import Progress, progress_bar
from nodecopy.core.rng import child_seed
from nodecopy.paper.methods import build_method
from nodecopy.paper.spec import Experiment
from nodecopy.paper.store import Store
from nodecopy.paper.trial import NUMERICS_VERSION, Failure, Row, Trial, TrialResult
from nodecopy.problem.dataset import chosen_split, load_dataset
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Split, Task

RunTrial: TypeAlias = Callable[[Trial], TrialResult]


@dataclass(frozen=True)
class RunSummary:
    """How a run went.

    Attributes:
        total: trials of the experiment.
        done: those that this run has added.
        failures: of this run, in the order in which they happened.
    """

    total: int
    done: int
    failures: tuple[Failure, ...]


def reproduce(
    experiment: Experiment,
    path: str | os.PathLike[str],
    executor: Any = "processes",
    workers: int | None = None,
    progress: bool | None = None,
) -> RunSummary:
    """Run the trials of an experiment that have no row in the store yet.

    Args:
        experiment: what to run.
        path: of the store, which is made where there is none.
        executor: where to run it, see `nodecopy.core.executors.opened`.
        workers: of the executor "processes".
        progress: show progress; None shows a bar on a terminal.
    """
    with (
        Store.open(path) as store,
        opened(executor, workers) as where,
        progress_bar(experiment.name, progress) as show,
    ):
        return run_missing(experiment.trials(), store, where, run_trial, show)


def run_missing(
    trials: Sequence[Trial],
    store: Store,
    executor: Executor,
    run: RunTrial,
    progress: Progress | None = None,
) -> RunSummary:
    """Run the trials that have no row, and add each row when it is there.

    A trial that raises is noted in the store and does not stop the rest; a later run tries it
    again.

    Args:
        trials: all of the experiment.
        store: where rows go, one transaction each.
        executor: where trials run.
        run: what runs one; a function of a module.
        progress: told how many trials have ended.

    Raises:
        FormatError: a worker computed a trial with another version of the code.
        RunError: the store cannot be written, or no worker is left.
    """
    stored = store.trials()
    missing = [trial for trial in trials if trial not in stored]
    failures = []
    for ended, outcome in enumerate(executor.map(attempt, missing, run, ordered=False), start=1):
        if isinstance(outcome, Failure):
            store.add_failure(outcome)
            failures.append(outcome)
        else:
            store.add([outcome])
        if progress is not None:
            progress(len(trials) - len(missing) + ended, len(trials))
    return RunSummary(len(trials), len(missing) - len(failures), tuple(failures))


def attempt(trial: Trial, run: RunTrial) -> Row | Failure:
    """Run a trial; an exception is a `Failure`, which does not stop other trials."""
    try:
        return Row(trial, run(trial))
    except Exception as error:  # noqa: BLE001 - any bug in one trial is that trial's failure
        short = f"{type(error).__name__}: {error}"
        return Failure(trial, f"{short}\n{''.join(traceback.format_exception(error))}")


def run_trial(trial: Trial) -> TrialResult:
    """Run one trial on one thread: the same trial gives the same scores wherever it runs."""
    dataset = load_dataset(trial.dataset)
    split = split_of(trial, dataset)
    task = Task.from_split(dataset, split)
    method = build_method(trial.method, trial.dataset, trial.labels_per_class)
    _reset_peak_memory()
    with one_thread(always=True):
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = fit_one(method, task, child_seed(trial.seed, "trial", "model"))
        probabilities = np.asarray(fitted.probabilities)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    tested = probabilities.astype(np.float64)[split.test]
    tested /= tested.sum(1, keepdims=True)
    truth = dataset.labels[split.test]
    base, outcomes = getattr(fitted, "base_probabilities", None), {}
    if base is not None:  # of a Bayesian GCN, to compare with
        before, after = base.argmax(1)[split.test], probabilities.argmax(1)[split.test]
        outcomes = paired_outcomes(before, after, truth, dataset.graph.degrees[split.test])
    return TrialResult(
        **asdict(score_predictions(tested, truth)),
        reliability=_bins(tested, truth),
        outcomes=outcomes,
        cpu_seconds=cpu,
        wall_seconds=wall,
        peak_megabytes=peak_megabytes(),
        versions=versions(),
    )


def split_of(trial: Trial, dataset: Problem) -> Split:
    """Return the split of a trial; methods with the same seed see the same one."""
    return chosen_split(dataset, trial.split, trial.labels_per_class, trial.seed)


def versions() -> dict[str, str]:
    """Return the versions of everything that scores may depend on, and what times depend on."""
    return {
        "nodecopy": __version__,
        "numerics": NUMERICS_VERSION,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": _processor(),
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has used; 0 where the system does not tell."""
    try:
        import resource  # not every system has it
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def paired_outcomes(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    truth: NDArray[np.integer],
    degrees: NDArray[np.integer],
) -> dict[str, dict[str, float]]:
    """Compare two classifiers on nodes of low and of high degree, as the paper's Figure 1 does.

    The groups are cut at the median degree. Nodes of exactly the median degree are in the low
    group: the paper does not say. So the groups are seldom of equal size, and the high one is left
    out when all degrees are equal.

    Args:
        first: classes that the reference classifier predicts [n].
        second: classes that the other one predicts [n].
        truth: true classes [n].
        degrees: of the same nodes [n].

    >>> zero = np.zeros(4, int)
    >>> paired_outcomes(np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1]), zero, zero)
    {'low': {'both_right': 0.25, 'corrected': 0.5, 'broken': 0.0, 'both_wrong': 0.25}}
    """
    a, b, low = first == truth, second == truth, degrees <= np.median(degrees)
    cases = {"both_right": a & b, "corrected": ~a & b, "broken": a & ~b, "both_wrong": ~a & ~b}
    return {
        name: {case: float(np.mean(nodes[group])) for case, nodes in cases.items()}
        for name, group in (("low", low), ("high", ~low))
        if group.any()
    }


def _bins(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[tuple[float | None, float | None, int], ...]:
    curve = reliability_curve(probabilities, truth)
    rows = zip(curve.confidence, curve.accuracy, curve.count, strict=True)
    return tuple((float(c), float(a), int(n)) if n else (None, None, 0) for c, a, n in rows)


def _reset_peak_memory() -> None:
    """Let the peak start from here: a worker process has run larger trials before."""
    with suppress(OSError):  # elsewhere than on Linux there is no such file
        Path("/proc/self/clear_refs").write_text("5")


@cache
def _processor() -> str:
    """Return the model of the processor, which the standard library does not know on Linux."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
