"""Executors: where trials run, never what they are. Rows are the same from all of them."""

from __future__ import annotations

import os

from nodecopy.errors import InputError, unknown_name
from nodecopy.experiment.executors.base import Executor
from nodecopy.experiment.executors.cluster import Cluster
from nodecopy.experiment.executors.processes import Processes
from nodecopy.experiment.executors.serial import Serial

__all__ = ["Cluster", "Executor", "Processes", "Serial", "available_cores", "make_executor"]


def make_executor(
    name: str,
    workers: int | None = None,
    address: str | None = None,
    time_limit: float | None = None,
) -> Executor:
    """Return the executor of a name.

    Args:
        name: "serial", "processes" or "cluster".
        workers: of "processes" and of a local "cluster"; every core by default.
        address: of the scheduler of an existing cluster.
        time_limit: seconds for a trial.

    >>> make_executor("processes", workers=3)
    Processes(workers=3, time_limit=None, tries=3)
    """
    workers = available_cores() if workers is None else workers
    if workers < 1:
        raise InputError(f"workers must be a whole number, at least 1; got {workers}")
    if address is not None and name != "cluster":
        raise InputError(f"the executor {name!r} has no scheduler; {address!r} is for 'cluster'")
    executors: dict[str, Executor] = {
        "serial": Serial(time_limit),
        "processes": Processes(workers, time_limit),
        "cluster": Cluster(address, workers, time_limit),
    }
    if name not in executors:
        raise InputError(unknown_name("executor", name, executors))
    return executors[name]


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
