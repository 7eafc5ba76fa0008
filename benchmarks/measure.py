"""Measuring, for every benchmark: CPU time, peak memory, fitted powers, versions.

Times are CPU seconds of this process, so that other work on the machine counts little; what the
benchmarks print are ratios of times measured in one run.
"""

from __future__ import annotations

import ctypes
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nodecopy.core.metrics import Scores, score_predictions
from nodecopy.graph import Graph

Work = Callable[[], object]

# Shorter calls are repeated until they take this long, and counted one by one.
_LEAST_SECONDS = 0.05


def cpu_times(works: Mapping[str, Work], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of each; they take turns, so a busy minute meets all alike."""
    calls = {
        name: max(1, round(_LEAST_SECONDS / max(cpu_seconds(work), 1e-6)))
        for name, work in works.items()
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(cpu_seconds(work, calls[name]))
    return {name: statistics.median(several) for name, several in times.items()}


def keep_freed_memory() -> None:
    """Let the C library keep freed memory, so that no call pays for fresh pages (glibc only).

    What the operating system asks for clearing pages differs widely between machines, and would
    be most of the time of large arrays that live for one call.
    """
    libc = ctypes.CDLL(None)
    never_map, never_trim = (-4, 0), (-1, -1)  # M_MMAP_MAX, M_TRIM_THRESHOLD of malloc.h
    for parameter, value in (never_map, never_trim):
        if not libc.mallopt(parameter, value):
            raise RuntimeError(f"mallopt({parameter}, {value}) was refused")


def fitted_power(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return p of the law times ∝ sizes^p that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def forget_peak() -> None:
    """Let the most memory of this process count from here (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_gibibytes() -> float:
    """Return the most memory that this process has held (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def sign_hops(graph: Graph, x: np.ndarray) -> np.ndarray:
    """Return what PyTorch Geometric's SIGN precomputes: x and three hops of it [N, 4 D]."""
    from torch_geometric.data import Data
    from torch_geometric.transforms import SIGN

    edges = torch.as_tensor(np.stack([graph.row_of_entry(), graph.indices]).astype(np.int64))
    data = SIGN(3)(Data(x=torch.as_tensor(x), edge_index=edges))
    columns: np.ndarray = torch.cat([data.x, data.x1, data.x2, data.x3], 1).numpy()
    return columns


def fit_regression(
    columns: Callable[[], Any], y: np.ndarray, truth: np.ndarray
) -> tuple[Scores, float, float]:
    """Compute columns, fit a logistic regression to the known labels, score it on the others.

    Returns the scores, CPU seconds and the most memory. Labels are -1 where unknown, the truth is
    where a node is not tested.
    """
    known, test = np.flatnonzero(y >= 0), np.flatnonzero((y < 0) & (truth >= 0))
    probabilities: list[np.ndarray] = []

    def fit() -> None:
        x = columns()
        model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
        probabilities.append(model.fit(x[known], y[known]).predict_proba(x[test]))

    forget_peak()
    seconds = cpu_seconds(fit)
    return score_predictions(probabilities[0], truth[test]), seconds, peak_gibibytes()


def environment(*packages: str) -> str:
    """Name what was measured."""
    versions = [f"{name} {version(name)}" for name in packages]
    return ", ".join([f"python {platform.python_version()}", *versions, platform.machine()])


def verdict(value: float, goal: float) -> str:
    """Say whether a value is as small as it should be."""
    return f"(goal ≤ {goal:g}: {'met' if value <= goal else 'MISSED'})"


def cpu_seconds(work: Work, calls: int = 1) -> float:
    """Return the CPU seconds of a call, of which several are made."""
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls
