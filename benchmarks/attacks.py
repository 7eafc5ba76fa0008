"""Attacked graphs: edges changed so that a GCN, or our own diffusion member, errs.

    OMP_NUM_THREADS=1 ATTACKED_GRAPHS=FOLDER python -m benchmarks.attacks [--trials 5]
    python -m benchmarks.attacks --show --page docs/wrong-graphs.md

Metattack (Zügner and Günnemann 2019, "Adversarial attacks on graph neural networks via meta
learning") changes a share of all edges, and all test nodes are tested; Nettack (Zügner et al. 2018,
"Adversarial attacks on neural networks for graph data") makes some changes at each of its targets,
and the targets are tested. Graphs and split (10 % training labels) are those of Jin et al. (2020),
"Graph structure learning for robust graph neural networks" (Pro-GNN), from the repository
ChandlerBang/Pro-GNN on GitHub; it states no licence, so that they are not in ours. A trial is a
seed of the method. These attacks know a GCN, not the other methods; the adaptive ones of
benchmarks/adaptive.py know our diffusion member, and are made of the clean graphs, and of planted
partitions, which need no files and are those to choose settings on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.adaptive import attack_all, attack_targets
from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    ScoredTask,
    main,
    shared_rows,
    trials_per_cell,
)
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import split_problem
from benchmarks.wrong_graphs import SimilarEdges
from nodecopy.classifiers import GCNClassifier
from nodecopy.features.matrix import stored_by_content
from nodecopy.features.scaling import scaling_of
from nodecopy.graph import Graph
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best, logistic_regression
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition

BLOCK, FEATURES = "attacks", "features alone"
WEAK = ("Metattack, 5 %", "Nettack, 1 per target")  # not in the table
# Name of an attack, and how the names of its files go on after that of the dataset.
ATTACKS = {"no attack": "clean"}
ATTACKS |= {f"Metattack, {share} %": f"meta_adj_{share / 100:.2f}" for share in (5, 15, 25)}
ATTACKS |= {f"Nettack, {count} per target": f"nettack_adj_{count}.0" for count in (1, 3, 5)}
# The same of our own attacks: what is done to a clean graph, and the nodes that are tested.
ADAPTIVE = {
    "adaptive, 20 % added": (attack_all, "idx_test"),
    "adaptive, 5 per target": (attack_targets, "attacked_test_nodes"),
}
TARGETS = 100  # of a planted partition
# Accuracies of Jin et al. (2020), in %: GCN, Pro-GNN.
PUBLISHED = {
    "cora, no attack": ("83.5", "83.0"),
    "cora, Metattack, 15 %": ("65.1", "76.4"),
    "cora, Metattack, 25 %": ("47.5", "69.7"),
    "citeseer, no attack": ("", "73.3"),
    "citeseer, Metattack, 25 %": ("", "69.0"),
}


def problem(name: str, attack: str, labels: int, trial: int) -> ScoredTask:
    """Return an attacked graph with the training labels of the split, and the nodes to test."""
    return read(name, attack, "attacked_test_nodes" if attack.startswith("nettack") else "idx_test")


@cache
def adaptive_problem(name: str, attack: str) -> ScoredTask:
    """Return a graph of Pro-GNN with our own attack."""
    attacked, tested = ADAPTIVE[attack]
    return attacked(read(name, "clean", tested))


def planted_problem(homophily: float, attack: str, labels: int, trial: int) -> ScoredTask:
    """Return a planted partition with our own attack, or without any."""
    data = planted_partition(2000, 5, homophily=homophily, seed=trial)
    clean = split_problem(data, labels, trial)
    if attack not in ADAPTIVE:
        return clean
    attacked, tested = ADAPTIVE[attack]
    return attacked(replace(clean, test=clean.test[:TARGETS]) if tested != "idx_test" else clean)


def read(name: str, attack: str, tested: str) -> ScoredTask:
    """Read a graph of Pro-GNN, its training labels, and one of its sets of nodes to test."""
    data = Path(os.environ["ATTACKED_GRAPHS"])
    clean, attacked = (np.load(data / f"{name}_{file}.npz") for file in ("clean", attack))
    x = sp.csr_array(tuple(clean[f"x_{part}"] for part in ("data", "indices", "indptr")))
    truth = clean["y"].astype(np.int64)
    source = np.repeat(np.arange(len(truth)), np.diff(attacked["indptr"]))
    graph = Graph.from_edges(len(truth), np.stack([source, attacked["indices"]], axis=1))
    split = json.loads((data / f"{name}_nettacked_nodes.json").read_text())
    features = stored_by_content(scaling_of(x, "auto").apply(graph, x))
    task = Task.of(graph, features, truth, np.sort(split["idx_train"]))
    return ScoredTask(task, truth, np.sort(split[tested]))


COMPARISON = Comparison(  # labels: 10 % of the nodes; of planted partitions, 10 per class
    cases={
        f"{name}, {attack}": partial(problem, name, file)
        for name in ("cora", "citeseer")
        for attack, file in ATTACKS.items()
    }
    | {
        f"{name}, {attack}": lambda _, __, made=(name, attack): adaptive_problem(*made)
        for name in ("cora", "citeseer")
        for attack in ADAPTIVE
    }
    | {
        f"planted, homophily {share:g}, {attack}": partial(planted_problem, share, attack)
        for share in (0.8, 0.1)
        for attack in ("no attack", *ADAPTIVE)
    },
    methods={
        FEATURES: lambda _: logistic_regression(),
        "GCN": lambda _: GCNClassifier(),
        "GCN, Jaccard": lambda _: SimilarEdges(GCNClassifier()),
        "node copying": lambda _: BayesianGCN(),
        DEFAULT: lambda _: best(),
    },
    labels=(10,),
    rows=Path("results", "attacks.jsonl"),
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return accuracy and confidence of all methods, beside what is published."""
    held = {c: shared_rows(COMPARISON, rows, c, *COMPARISON.labels) for c in COMPARISON.cases}
    held = {case: methods for case, methods in held.items() if methods}
    if not held:
        return ""
    lines = []
    for case, methods in held.items():
        if case.endswith(WEAK):
            continue
        cells = [_cell(methods[m]) if m in methods else "" for m in COMPARISON.methods]
        lines.append([case, *cells, *PUBLISHED.get(case, ("", ""))])
    published = ["GCN, published", "Pro-GNN, published"]
    heads = ["accuracy, confidence, %", *COMPARISON.methods, *published]
    parts = trials_per_cell(held.values()), _against_features(held), markdown_rows(heads, lines)
    return "\n\n".join(filter(None, parts))


def _against_features(held: Mapping[str, Mapping[str, list[Row]]]) -> str:
    """Say where the default is below features alone, and how far its confidence is too high."""
    ours = {case: _means(methods[DEFAULT]) for case, methods in held.items() if DEFAULT in methods}
    gains = {
        case: accuracy - _means(held[case][FEATURES])[0]
        for case, (accuracy, _) in ours.items()
        if FEATURES in held[case]
    }
    if not gains:
        return ""
    worst, surest = min(gains, key=gains.__getitem__), max(ours, key=lambda case: ours[case][1])
    return (
        f"The default is below features alone in {sum(gain < 0 for gain in gains.values())} of "
        f"{len(gains)} cases, at worst by {-100 * gains[worst]:.1f} points ({worst}); its "
        f"confidence is at most {100 * ours[surest][1]:.0f} points above its accuracy ({surest})."
    )


def _means(several: list[Row]) -> tuple[float, float]:
    """Return the mean accuracy, and the mean confidence minus it."""
    accuracy, gap = (np.mean([row[name] for row in several]) for name in ("accuracy", "gap"))
    return float(accuracy), float(gap)


def _cell(several: list[Row]) -> str:
    accuracy, gap = _means(several)
    return f"{100 * accuracy:.1f}, {100 * (accuracy + gap):.0f}"


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block=BLOCK)
