"""Run an experiment into a store, with a note of who ran it, when and on what."""

from __future__ import annotations

import json
import os
import platform
import uuid
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from nodecopy.experiment.executors import Executor
from nodecopy.experiment.measure import run_trial, versions
from nodecopy.experiment.progress import watch_run
from nodecopy.experiment.runner import RunState, run_missing
from nodecopy.experiment.spec import Experiment
from nodecopy.experiment.store import Run, Store


def reproduce(experiment: Experiment, path: str | os.PathLike[str], executor: Executor) -> RunState:
    """Run the trials of an experiment that have no row in the store yet, and note the run.

    Where every trial has its row, nothing is written.

    Args:
        experiment: what to run.
        path: of the store, which is made where there is none.
        executor: where to run it.
    """
    trials = experiment.trials()
    with Store.open(path) as store, watch_run(experiment.name) as watch:
        store.check_versions(trials)
        run = _describe_run(experiment, executor)
        if {trial.digest for trial in trials} - store.digests():
            store.start_run(run)
        state = run_missing(trials, store, executor, run_trial, watch)
        store.end_run(run.id, _now())
    return state


def machine() -> dict[str, str]:
    """Return what a reader of timings wants to know of this machine; nothing that names it."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
    }


def _describe_run(experiment: Experiment, executor: Executor) -> Run:
    return Run(
        id=uuid.uuid4().hex,
        experiment=experiment.name,
        spec_digest=experiment.digest,
        spec=json.dumps(asdict(experiment)),
        planned=len(experiment.trials()),
        executor=type(executor).__name__.lower(),
        machine=machine(),
        versions=versions(),
        started=_now(),
    )


def _processor() -> str:
    """Return the model of the processor, which the standard library does not know on Linux."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
