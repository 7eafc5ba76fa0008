"""The default fit on the workers of a Dask cluster: two against one.

    python -m benchmarks.cluster_fit [--nodes 1000000] [--workers 0 1 2]

The graph of benchmarks/large.py; workers on this machine, one thread each. Every part of a fit
notes its CPU seconds and its worker, so that the speed-up does not depend on what else the machine
is doing: a fit takes what this process computes, and of every batch of parts what the busiest
worker computes. Elapsed seconds are shown beside it; they say little on a busy machine. All runs
must give the same bits.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.large import made_graph
from benchmarks.measure import environment
from nodecopy import NodeCopyClassifier
from nodecopy.core.executors import Dask, Executor, Serial


@dataclass
class Timed:
    """An executor that notes what each part costs, and where.

    Attributes:
        executor: which computes the parts.
        batches: for each call of `map`, the CPU seconds of every worker.
    """

    executor: Executor
    batches: list[Counter[int]] = field(default_factory=list)

    @property
    def in_process(self) -> bool:
        return self.executor.in_process

    def map(
        self, function: Any, items: Sequence[Any], *shared: Any, ordered: bool = True
    ) -> Iterator[Any]:
        self.batches.append(Counter())
        named = [(function, item) for item in items]
        for result, seconds, worker in self.executor.map(timed, named, *shared):
            self.batches[-1][worker] += seconds
            yield result

    @property
    def on_workers(self) -> float:
        return sum(sum(batch.values()) for batch in self.batches)

    @property
    def longest(self) -> float:
        return sum(max(batch.values()) for batch in self.batches if batch)


def timed(named: tuple[Any, Any], *shared: Any) -> tuple[Any, float, int]:
    function, item = named
    start = time.thread_time()
    result = function(item, *shared)
    return result, time.thread_time() - start, os.getpid()


def run(workers: int, problem: tuple[Any, Any, Any]) -> tuple[str, float, str]:
    """Fit once; return what to print, the seconds as described above, and a digest of the bits."""
    with ExitStack() as stack:
        noted = Timed(cluster(stack, workers) if workers else Serial())
        clf = NodeCopyClassifier(random_state=0, progress=False, executor=noted)
        elapsed, here = time.monotonic(), time.process_time()
        clf.fit(*problem)
        elapsed, here = time.monotonic() - elapsed, time.process_time() - here
    if not workers:
        here -= noted.on_workers
    bits = hashlib.sha256(clf.posterior_.probabilities.tobytes())
    bits.update(clf.posterior_.graph_information.tobytes())
    seconds = here + noted.longest
    cells = [f"{x:12.1f}" for x in (here, noted.on_workers, noted.longest, seconds, elapsed)]
    return f"{workers:<8}{''.join(cells)}   {bits.hexdigest()[:12]}", seconds, bits.hexdigest()


def cluster(stack: ExitStack, workers: int) -> Executor:
    """Start workers, and return an executor on them."""
    import dask
    from distributed import Client, LocalCluster

    # Dask lets workers give back freed memory at once, and clear it again: half of the time more.
    kept = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
    stack.enter_context(dask.config.set(kept))
    started = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )
    stack.enter_context(started)
    client = stack.enter_context(Client(started))
    client.wait_for_workers(workers, timeout=300)
    client.run(_import_all)  # which is no part of a fit
    return Dask(client)


def _import_all() -> None:
    import nodecopy.estimator

    assert nodecopy.estimator


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--workers", nargs="*", type=int, default=[0, 1, 2])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch", "numpy", "scipy", "distributed"))
    graph, features, _, y = made_graph(chosen.nodes)
    print(f"{chosen.nodes:,} nodes; CPU seconds, and elapsed ones")
    heads = ("here", "on workers", "busiest", "fit", "elapsed")
    print(f"workers {''.join(f'{head:>12}' for head in heads)}   bits")
    digests, seconds = set(), {}
    for workers in chosen.workers:
        line, seconds[workers], bits = run(workers, (graph, features, y))
        print(line, flush=True)
        digests.add(bits)
    if {1, 2} <= seconds.keys():
        print(f"two workers against one: {seconds[1] / seconds[2]:.2f} times as fast")
    print("all give the same bits" if len(digests) == 1 else "BITS DIFFER")
    if len(digests) > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
