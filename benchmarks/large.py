"""The default fit on synthetic graphs of 10⁵ to 10⁷ nodes, and what it must cost.

    python -m benchmarks.large [--nodes 100000 1000000 10000000] [--threads 1] [--peer 1000000]

Planted classes with heavy-tailed degrees, 5 edges a node, half of them within a class; 10 classes,
20 labels each; 32 dense numeric columns. Each size runs in a process of its own: CPU seconds by
phase, the most memory the process held, accuracy, calibration error. The work that cannot be
avoided is that of one round: 10 propagations of the K·M = 100 columns of scores of ten members
over all nodes, measured in the same process. The peer: SIGN of PyTorch Geometric, three hops, and
scikit-learn's logistic regression on its columns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.measure import (
    cpu_seconds,
    environment,
    fit_regression,
    fitted_power,
    forget_peak,
    peak_gibibytes,
    sign_hops,
    verdict,
)
from nodecopy import NodeCopyClassifier
from nodecopy.core.metrics import score_predictions
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion, Propagator
from nodecopy.nn.products import Identity
from nodecopy.read.synthetic import planted_edges

CLASSES, LABELS, COLUMNS, DEGREE = 10, 20, 32, 10
MEMBERS = 10
NODES = (100_000, 1_000_000, 10_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="*", default=list(NODES))
    parser.add_argument("--peer", type=int, nargs="*", default=[1_000_000], metavar="NODES")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", choices=["fit", "peer"], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        torch.set_num_threads(chosen.threads)
        print(json.dumps(ONE[chosen.one](chosen.nodes[0])))
        return
    print(environment("torch", "numpy", "scipy", "torch_geometric", "scikit-learn"))
    rows = [show_fit(measured("fit", n, chosen.threads)) for n in chosen.nodes]
    if len(rows) > 1:
        power = fitted_power([row["nodes"] for row in rows], [row["fit"] for row in rows])
        print(f"\ntime of a fit grows like N^{power:.2f} {verdict(power, 1.1)}")
    for n in chosen.peer:
        show_peer(measured("peer", n, chosen.threads), [r for r in rows if r["nodes"] == n])


def measured(what: str, nodes: int, threads: int) -> dict[str, Any]:
    """Run one measurement in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.large", "--one", what, "--nodes", str(nodes)]
    command += ["--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200)
    if done.returncode:
        raise SystemExit(f"{nodes:,} nodes: {done.stderr.strip()[-2000:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def made_graph(
    nodes: int, seed: int = 0, homophily: float = 0.5, signal: float = 0.7
) -> tuple[Graph, np.ndarray, np.ndarray, np.ndarray]:
    """Return a graph, features [N, 32], classes [N] and labels, -1 where unknown [N].

    Args:
        nodes: N.
        seed: of everything.
        homophily: share of the edges within classes.
        signal: how far apart classes are in the features, in deviations of a column.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, nodes)
    theta = (1.0 - rng.random(nodes)) ** (-1.0 / 1.5)  # degrees fall like d^-2.5
    theta = np.minimum(theta, np.sqrt(DEGREE * nodes / CLASSES))
    edges = nodes * DEGREE // 2
    within = round(edges * homophily)
    graph = Graph.from_edges(nodes, planted_edges(truth, within, edges - within, rng, theta))
    means = rng.standard_normal((CLASSES, COLUMNS), np.float32) * signal * np.sqrt(2 / COLUMNS)
    features = rng.standard_normal((nodes, COLUMNS), np.float32)
    features += means[truth].astype(np.float32)
    y = np.full(nodes, -1)
    for k in range(CLASSES):
        chosen = rng.choice(np.flatnonzero(truth == k), LABELS, replace=False)
        y[chosen] = k
    return graph, features, truth, y


def one_fit(nodes: int) -> dict[str, Any]:
    """Fit the default to a synthetic graph, and do the work that cannot be avoided."""
    graph, features, truth, y = made_graph(nodes)
    made = peak_gibibytes()
    unavoidable = propagations(graph)
    forget_peak()
    clf = NodeCopyClassifier(random_state=0, progress=False)
    seconds = cpu_seconds(lambda: clf.fit(graph, features, y))
    others = np.flatnonzero(y < 0)
    scores = score_predictions(clf.predict_proba()[others], truth[others])
    estimated = clf.estimated_accuracy()
    part = clf.model_.part
    return {
        "nodes": nodes,
        "fit": seconds,
        "unavoidable": unavoidable,
        "memory": peak_gibibytes(),
        "made": made,
        "accuracy": scores.accuracy,
        "ece": scores.ece_width,
        "estimated": [estimated.accuracy, estimated.low, estimated.high],
        "part": 0 if part is None else len(part),
    }


def propagations(graph: Graph) -> float:
    """Return the CPU seconds of 10 propagations of 100 columns, ten columns at a time."""
    x, device = Identity(graph.num_nodes), torch.device("cpu")
    propagator = Propagator(Diffusion().coefficients, graph, x, device)
    columns = torch.rand(graph.num_nodes, CLASSES)
    return cpu_seconds(lambda: [propagator.spread(columns) for _ in range(MEMBERS)])


def one_peer(nodes: int) -> dict[str, Any]:
    """Let SIGN precompute three hops, and fit a logistic regression to the labelled rows."""
    graph, features, truth, y = made_graph(nodes)
    scores, seconds, memory = fit_regression(lambda: sign_hops(graph, features), y, truth)
    row = {"nodes": nodes, "fit": seconds, "memory": memory}
    return row | {"accuracy": scores.accuracy, "ece": scores.ece_width}


ONE: dict[str, Callable[[int], dict[str, Any]]] = {"fit": one_fit, "peer": one_peer}


def show_fit(row: dict[str, Any]) -> dict[str, Any]:
    ratio = row["fit"] / row["unavoidable"]
    estimate, low, high = row["estimated"]
    print(f"\n{row['nodes']:,} nodes, fitted within {row['part']:,}:")
    print(f"  CPU time of the fit            {row['fit']:10.1f} s")
    goal = verdict(ratio, 3) if row["nodes"] >= max(NODES) else ""
    print(f"  of the unavoidable work        {ratio:10.2f}  {goal}")
    print(
        f"  most memory, the graph and all {row['memory']:10.2f} GiB {verdict(row['memory'], 16)}"
    )
    print(f"  the graph and features alone   {row['made']:10.2f} GiB, while they are made")
    print(f"  accuracy, calibration error    {row['accuracy']:10.1%}, {row['ece']:.1%}")
    print(f"  accuracy as estimated          {estimate:10.1%}, {low:.1%} to {high:.1%}")
    return row


def show_peer(row: dict[str, Any], ours: list[dict[str, Any]]) -> None:
    print(f"\nSIGN (3 hops) and logistic regression, {row['nodes']:,} nodes:")
    print(f"  CPU time                       {row['fit']:10.1f} s")
    print(f"  most memory                    {row['memory']:10.2f} GiB")
    print(f"  accuracy, calibration error    {row['accuracy']:10.1%}, {row['ece']:.1%}")
    for mine in ours:
        print(f"  the default takes so many times its time   {mine['fit'] / row['fit']:.2f}")


if __name__ == "__main__":
    main()
