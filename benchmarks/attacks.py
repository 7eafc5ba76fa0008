"""Attacked graphs: edges changed so that a GCN errs, on Cora and CiteSeer.

    OMP_NUM_THREADS=1 ATTACKED_GRAPHS=FOLDER python -m benchmarks.attacks [--trials 5]
    python -m benchmarks.attacks --show --page docs/wrong-graphs.md

Metattack (Zügner and Günnemann 2019, "Adversarial attacks on graph neural networks via meta
learning") changes a share of all edges, and all test nodes are tested; Nettack (Zügner et al. 2018,
"Adversarial attacks on neural networks for graph data") makes some changes at each of its targets,
and the targets are tested. Graphs and split (10 % training labels) are those of Jin et al. (2020),
"Graph structure learning for robust graph neural networks" (Pro-GNN), from the repository
ChandlerBang/Pro-GNN on GitHub; it states no licence, so that they are not in ours. A trial is a
seed of the method. The attacks know a GCN, not the other methods.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

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
from benchmarks.wrong_graphs import SimilarEdges
from nodecopy.classifiers import GCNClassifier
from nodecopy.features.matrix import stored_by_content
from nodecopy.features.scaling import scaling_of
from nodecopy.graph import Graph
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best
from nodecopy.problem.task import Task

BLOCK = "attacks"
WEAK = ("Metattack, 5 %", "Nettack, 1 per target")  # not in the table
# Name of an attack, and how the names of its files go on after that of the dataset.
ATTACKS = {"no attack": "clean"}
ATTACKS |= {f"Metattack, {share} %": f"meta_adj_{share / 100:.2f}" for share in (5, 15, 25)}
ATTACKS |= {f"Nettack, {count} per target": f"nettack_adj_{count}.0" for count in (1, 3, 5)}
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
    data = Path(os.environ["ATTACKED_GRAPHS"])
    clean, attacked = (np.load(data / f"{name}_{file}.npz") for file in ("clean", attack))
    x = sp.csr_array(tuple(clean[f"x_{part}"] for part in ("data", "indices", "indptr")))
    truth = clean["y"].astype(np.int64)
    source = np.repeat(np.arange(len(truth)), np.diff(attacked["indptr"]))
    graph = Graph.from_edges(len(truth), np.stack([source, attacked["indices"]], axis=1))
    split = json.loads((data / f"{name}_nettacked_nodes.json").read_text())
    test = split["attacked_test_nodes" if attack.startswith("nettack") else "idx_test"]
    features = stored_by_content(scaling_of(x, "auto").apply(graph, x))
    return ScoredTask(
        Task.of(graph, features, truth, np.sort(split["idx_train"])), truth, np.sort(test)
    )


COMPARISON = Comparison(  # labels are 10 % of the nodes
    cases={
        f"{name}, {attack}": partial(problem, name, file)
        for name in ("cora", "citeseer")
        for attack, file in ATTACKS.items()
    },
    methods={
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
    return f"{trials_per_cell(held.values())}\n\n{markdown_rows(heads, lines)}"


def _cell(several: list[Row]) -> str:
    accuracy, gap = (np.mean([row[name] for row in several]) for name in ("accuracy", "gap"))
    return f"{100 * accuracy:.1f}, {100 * (accuracy + gap):.0f}"


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block=BLOCK)
