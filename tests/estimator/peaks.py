"""Fits whose memory is measured, in a process of their own: prints what each promised and took.

    python -m tests.estimator.peaks dense part least none

Prints a line of JSON for each fit: within the least memory, or without a bound.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from nodecopy import NodeCopyClassifier
from nodecopy.calibration import StackedClassifier
from nodecopy.data import planted_partition
from nodecopy.estimator.size import Sizes, need_of
from nodecopy.graph import Graph
from nodecopy.presets import best

CLASSES, LABELS = 3, 120
# Nodes of the graph, and of the part that is fitted to.
NODES = {"whole": (20_000, None), "part": (60_000, 2_000)}


def main(features: str, fitted_to: str, *bounds: str) -> None:
    torch.set_num_threads(1)
    nodes, most = NODES[fitted_to]
    method = replace(best(n_zeta=2), folds=3, most_nodes=most)
    # Libraries take some memory when they are first used.
    fit(replace(method, most_nodes=most and 300), *problem(features, 600), None)
    graph, x, y = problem(features, nodes)
    sizes = Sizes.of(graph, x, CLASSES, LABELS)
    need = need_of(method, sizes)
    for name in bounds:
        bound = {"least": need.smallest, "none": None}[name]
        before = forgotten()
        classifier = fit(method, graph, x, y, bound)
        peak = status("VmHWM") - before
        promised = need.within(None) if bound is None else bound
        line = {"promised": promised, "peak": peak, "smallest": need.smallest}
        print(json.dumps(line | described(classifier)), flush=True)
        del classifier


def problem(features: str, nodes: int) -> tuple[Graph, Any, np.ndarray]:
    """Return a graph, its features, of 30 columns or 1,000, and labels."""
    data = planted_partition(nodes, CLASSES, seed=0).dataset
    rng = np.random.default_rng(0)
    if features == "dense":
        x: Any = rng.standard_normal((nodes, 30), np.float32) + 0.3 * data.labels[:, None]
        x = x.astype(np.float32)
    else:
        words = (rng.integers(0, 1_000, (nodes, 20)) // 3) * 3 + data.labels[:, None]
        entries = np.ones(words.size, np.float32), words.ravel(), np.arange(nodes + 1) * 20
        x = sp.csr_array(entries, shape=(nodes, 1_002))
        x.sum_duplicates()
    return data.graph, x, np.where(np.arange(nodes) < LABELS, data.labels, -1)


def fit(
    method: StackedClassifier, graph: Graph, x: Any, y: np.ndarray, bound: int | None
) -> NodeCopyClassifier:
    classifier = NodeCopyClassifier(method, random_state=0, progress=False, max_memory=bound)
    return classifier.fit(graph, x, y)


def described(classifier: NodeCopyClassifier) -> dict[str, Any]:
    """Return some of what was predicted."""
    posterior = classifier.uncertainty(np.arange(0, 20_000, 97))
    return {
        "probabilities": posterior.probabilities.tolist(),
        "graph_information": posterior.graph_information.tolist(),
    }


def forgotten() -> int:
    """Give back what is free, forget the peak, and return what is held."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
