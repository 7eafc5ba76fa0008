"""Stand-ins for `run_trial`, in a module of their own so that worker processes can import them."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from nodecopy.experiment.executors import Executor
from nodecopy.experiment.outcome import RunTrial
from nodecopy.experiment.runner import run_missing
from nodecopy.experiment.store import Store
from nodecopy.experiment.trial import Trial, TrialResult

# The seed of the trial that the fakes below let fail.
BAD = 3


def make_trials(count: int, method: str = "label-propagation") -> list[Trial]:
    """Return trials whose digest is known: computing it where they run would import torch there."""
    trials = [Trial("cora", "fixed", 5, method, seed) for seed in range(count)]
    assert all(trial.digest for trial in trials)
    return trials


def quick(trial: Trial) -> TrialResult:
    return TrialResult(
        digest=trial.digest,
        accuracy=0.1 + trial.seed / 1000,
        nll=1 / 3,
        brier=0.1 + 0.2,
        ece_width=1e-300,
        ece_mass=0.0,
        error_auroc=0.5,
        reliability=((None, None, 0), (0.1, 1 / 3, 7)),
        outcomes={"low": {"both_right": 0.25, "corrected": 0.75}},
        cpu_seconds=0.0,
        wall_seconds=0.0,
        peak_megabytes=1.0,
        versions={"numerics": "1"},
    )


def slow(trial: Trial) -> TrialResult:
    time.sleep(0.03)
    return quick(trial)


def counted(folder: Path, trial: Trial) -> TrialResult:
    """Leave a file for every time that a trial ends."""
    (folder / f"{trial.seed}-{uuid4().hex}").touch()
    return slow(trial)


def raises(trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        raise ValueError("on purpose")
    return quick(trial)


def dies(trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        os.kill(os.getpid(), signal.SIGKILL)
    return quick(trial)


def dies_once(folder: Path, trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        try:
            (folder / "died").touch(exist_ok=False)
        except FileExistsError:
            return quick(trial)
        os.kill(os.getpid(), signal.SIGKILL)
    return quick(trial)


def hangs(trial: Trial) -> TrialResult:
    if trial.seed == BAD:
        time.sleep(1000)
    return quick(trial)


def hangs_after_a_note(folder: Path, trial: Trial) -> TrialResult:
    if trial.seed >= BAD:
        (folder / str(os.getpid())).touch()
        time.sleep(1000)
    return quick(trial)


def of_another_version(trial: Trial) -> TrialResult:
    return replace(quick(trial), digest="0" * 32)


def reports_threads(trial: Trial) -> TrialResult:
    return replace(quick(trial), versions=dict(os.environ))


def run_grid(
    trials: Sequence[Trial],
    path: Path,
    executor: Executor,
    run_trial: RunTrial,
    largest_file: int | None = None,
) -> None:
    """Be a runner, for a process of its own."""
    # Whoever started the tests in the background may have had interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # as it is not in a worker
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    with Store.open(path) as store:
        run_missing(trials, store, executor, run_trial)
