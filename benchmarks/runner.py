"""What the runner itself costs, and what a second process brings.

    python benchmarks/runner.py [--quick]

A grid of trials that each burn one second of CPU time. What all processes use outside the trials,
from opening the store to the last row, is split into what a run costs once (starting workers; real
trials add the import of torch) and what each trial adds: two grids of different size tell the two
apart. The last column compares wall time with the serial run; it can reach the number of workers on
an idle machine only, so the first line says what bare processes reach at the same moment.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nodecopy.experiment.executors import Cluster, Executor, Processes, Serial
from nodecopy.experiment.runner import run_missing
from nodecopy.experiment.store import Store
from nodecopy.experiment.trial import Trial, TrialResult

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="8 trials instead of 40")
    count = 8 if parser.parse_args().quick else 40
    few = count // 4
    # Processes of the fork server are nobody's children here; now they become ours, and count.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    executors: list[Executor] = [Serial(), Processes(1), Processes(2), Cluster(workers=2)]
    trials = [Trial("cora", "fixed", 5, "label-propagation", seed) for seed in range(count)]
    assert all(trial.digest for trial in trials)
    bare = {workers: bare_seconds(workers, count) for workers in (1, 2)}
    print(f"{count} trials of one CPU second; 2 bare processes: {bare[1] / bare[2]:.2f} times 1\n")
    print("| executor | CPU once | CPU per trial | share | wall | speed against serial |")
    print("|---|---|---|---|---|---|")
    serial = None
    for executor in executors:
        outside_few, _ = measure(executor, trials[:few])
        outside, wall = measure(executor, trials)
        each = (outside - outside_few) / (count - few)
        serial = serial or wall
        print(
            f"| {executor} | {outside - each * count:.2f} s | {each * 1e3:.1f} ms | {each:.2%} "
            f"| {wall:.1f} s | {serial / wall:.2f} |"
        )


def burn(trial: Trial) -> TrialResult:
    """Use one second of CPU time, and note how much it really was."""
    start = time.process_time()
    while time.process_time() - start < 1.0:
        sum(range(10_000))
    return TrialResult(
        digest=trial.digest,
        accuracy=0.5,
        nll=1.0,
        brier=1.0,
        ece_width=0.0,
        ece_mass=0.0,
        error_auroc=0.5,
        reliability=((0.5, 0.5, 10),) * 15,
        outcomes={},
        cpu_seconds=time.process_time() - start,
        wall_seconds=1.0,
        peak_megabytes=1.0,
        versions={},
    )


def measure(executor: Executor, trials: Sequence[Trial]) -> tuple[float, float]:
    """Return CPU seconds outside the trials, and wall seconds, of a whole run.

    The run happens in a process of its own; when it and everything that it started have ended,
    the kernel knows what they used.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.sqlite")
        before, start = used_by_children(), time.perf_counter()
        if (child := os.fork()) == 0:
            with Store.open(path) as store:
                state = run_missing(trials, store, executor, burn)
            os._exit(len(state.failures))
        _, status = os.waitpid(child, 0)
        wall = time.perf_counter() - start
        assert status == 0
        reap_the_rest()
        total = used_by_children() - before
        with Store.open(path, create=False) as store:
            inside = sum(row.result.cpu_seconds for row in store.rows())
    return total - inside, wall


def bare_seconds(workers: int, count: int) -> float:
    """Return the wall time of the same work without a runner."""
    start = time.perf_counter()
    each = [
        multiprocessing.Process(target=burn_many, args=(count // workers,)) for _ in range(workers)
    ]
    for process in each:
        process.start()
    for process in each:
        process.join()
    return time.perf_counter() - start


def burn_many(count: int) -> None:
    start = time.process_time()
    while time.process_time() - start < count:
        sum(range(10_000))


def used_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reap_the_rest() -> None:
    """Wait for processes that outlived the run, such as its fork server."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
