"""Stand-ins for `run_trial`, in a separate module so that worker processes can import them."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from nodecopy.core.executors import opened
from nodecopy.paper.experiment import RunTrial, run_missing
from nodecopy.paper.store import Row, Store, Trial, TrialResult

# The seed of the trial that the fakes below let fail.
BAD = 3


def make_trials(count: int) -> list[Trial]:
    return [Trial("cora", "fixed", 5, "label-propagation", seed) for seed in range(count)]


def make_rows(count: int) -> list[Row]:
    return [Row(trial, quick(trial)) for trial in make_trials(count)]


def quick(trial: Trial) -> TrialResult:
    return TrialResult(
        accuracy=0.1 + trial.seed / 1000,
        nll=1 / 3,
        brier=0.1 + 0.2,
        ece_width=1e-300,
        error_auroc=0.5,
        reliability=((None, None, 0), (0.1, 1 / 3, 7)),
        outcomes={"low": {"both_right": 0.25, "corrected": 0.75}},
        cpu_seconds=0.0,
        wall_seconds=0.0,
        peak_megabytes=1.0,
        versions={"numerics": "1"},
    )


def slow(trial: Trial) -> TrialResult:
    """Leave a file named after the process in the current folder, and take a moment."""
    Path(f"{os.getpid()}.pid").touch()
    time.sleep(0.03)
    return quick(trial)


def endless_from(seed: int, trial: Trial) -> TrialResult:
    """Be slow, and from a seed on, wait until the parent process is gone."""
    parent, result = os.getppid(), slow(trial)
    while trial.seed >= seed and os.getppid() == parent:
        time.sleep(0.03)
    return result


def raises(trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        raise ValueError("on purpose")
    return quick(trial)


def interrupted(trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        raise KeyboardInterrupt
    return quick(trial)


def run_grid(
    trials: Sequence[Trial],
    path: Path,
    executor: str,
    run_trial: RunTrial,
    largest_file: int | None = None,
) -> None:
    """Be a runner, in a separate process."""
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    with Store.open(path) as store, opened(executor, 2) as where:
        run_missing(trials, store, where, run_trial)
