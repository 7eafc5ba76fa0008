"""What a fit may use of the machine: memory and its limits, threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from nodecopy import NodeCopyClassifier
from nodecopy.classifiers import LabelPropagation
from nodecopy.core.machine import usable_memory
from nodecopy.read.synthetic import planted_partition

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_without_groups_it_is_all_that_the_machine_has(tmp_path):
    assert usable_memory(tmp_path) == PHYSICAL
    put(tmp_path, "proc/self/cgroup", "damaged\n1:cpu:/x\n\n")
    assert usable_memory(tmp_path) == PHYSICAL


def test_the_smallest_limit_of_a_group_or_those_above_it_counts(tmp_path):
    put(tmp_path, "proc/self/cgroup", "3:pids:/other\n0::/a/b\n")
    for group, limit in (("a/b", "max"), ("a", "3000000"), (".", "9223372036854771712")):
        put(tmp_path, f"sys/fs/cgroup/{group}/memory.max", f"{limit}\n")
    assert usable_memory(tmp_path) == 3_000_000
    put(tmp_path, "sys/fs/cgroup/a/b/memory.max", "2000000\n")
    assert usable_memory(tmp_path) == 2_000_000


def test_in_a_container_the_limit_may_stand_at_the_root(tmp_path):
    put(tmp_path, "proc/self/cgroup", "0::/of/the/host\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "1000000")
    assert usable_memory(tmp_path) == 1_000_000


def test_the_package_imports_and_fits_where_the_system_lacks_unix_calls(tmp_path):
    """No os.sysconf, os.umask or resource, as on Windows; and a trial is measured."""
    code = """
import asyncio, os, sys  # asyncio needs them on Linux
for name in ("sysconf", "umask", "sched_getaffinity"):
    delattr(os, name)
sys.modules["resource"] = None
import numpy as np
from nodecopy import BayesianGCN, NodeCopyClassifier, load_dataset
from nodecopy import planted_partition
from nodecopy.paper.experiment import run_trial
from nodecopy.paper.store import Trial
from nodecopy.weights import MCDropout, TrainConfig
data = planted_partition(60, 2, seed=0)
y = np.where(np.arange(60) < 20, data.labels, -1)
short = BayesianGCN(n_zeta=1, n_weights=1, weights=MCDropout(TrainConfig(epochs=2)))
clf = NodeCopyClassifier(short, random_state=0)
clf.fit(data.graph, data.features, y).save(sys.argv[1])
assert NodeCopyClassifier.load(sys.argv[1]).predict().shape == (60,)
assert run_trial(Trial("cora", "fixed", 5, "label-propagation", 0)).peak_megabytes == 0
"""
    command = [sys.executable, "-c", code, str(tmp_path / "m.safetensors")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(("asked", "expected"), [(None, {1}), ("3", {3})])
def test_fits_and_trials_compute_on_one_thread_unless_asked_otherwise(monkeypatch, asked, expected):
    from nodecopy.paper.experiment import run_trial
    from nodecopy.paper.methods import METHODS, Method
    from nodecopy.paper.store import Trial

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)

    def threads() -> set[int]:
        return {torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())}

    class Counts(LabelPropagation):
        def fit(self, *given: object, **more: object) -> object:
            inside.update(threads())
            return super().fit(*given, **more)

    inside: set[int] = set()
    monkeypatch.setitem(METHODS, "counts", Method("", lambda *_: Counts()))
    data, before = planted_partition(60, 2, seed=0), torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with threadpool_limits(3):
            NodeCopyClassifier(Counts()).fit(data.graph, data.features, data.labels)
            assert (inside, threads()) == (expected, {3})
            inside.clear()
            run_trial(Trial("cora", "fixed", 5, "counts", 0))
            assert (inside, threads()) == ({1}, {3})  # a trial always
    finally:
        torch.set_num_threads(before)
