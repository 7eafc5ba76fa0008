"""Missing edges: edges are taken out of a graph; are they told from other pairs, and found?

    OMP_NUM_THREADS=1 python -m benchmarks.missing_edges [--trials 10] [--only cora]
    python -m benchmarks.missing_edges --show --page docs/wrong-graphs.md

*Link prediction*: 10 % of the edges are test edges, 5 % validation edges that no method sees, with
as many random pairs that are not linked in the whole graph (Kipf and Welling 2016, "Variational
graph auto-encoders"). The default is fitted to the other edges, with 20 labels per class; GAE and
VGAE are those of PyTorch Geometric with the settings of its example, 200 epochs, and see no label;
features are as given, as in the authors' program. With rows that sum to one, as in the example, 200
epochs are too few: on Cora VGAE has 84 / 83 after 200 epochs and 89 / 90 after 800 (2 draws).
*The first 50*: 5 % of the edges are taken out, and a row says how many of the first 50 pairs that
`missing_edges` lists are among them, and how many it expects. Graphs of one relation, one without
features, one with two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks import relations
from benchmarks.compared import DEFAULT, Comparison, Key, Row, ScoredTask, main, shared_rows
from benchmarks.markdown import markdown_rows
from nodecopy import NodeCopyClassifier, load_dataset, random_split
from nodecopy.core.rng import child_seed, stream
from nodecopy.features.matrix import unit_rows
from nodecopy.graph import Graph
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.problem.task import Task

DATASETS = ("cora", "citeseer", "pubmed")
NO_FEATURES = "cora, no features"
RELATIONS = "two relations"
FIRST, SHARE = 50, 0.05
BLOCK = "missing"
Score = Callable[[ScoredTask, Graph, np.ndarray, int], np.ndarray]


def dataset(name: str, labels: int, trial: int) -> ScoredTask:
    data = load_dataset(name.split(",")[0])
    split = random_split(data, labels_per_class=labels, seed=trial)
    features = np.zeros((data.num_nodes, 1)) if name == NO_FEATURES else data.features
    task = Task.of(data.graph, features, data.labels, split.train)
    return ScoredTask(task, data.labels, split.test)


def two_relations(labels: int, trial: int) -> ScoredTask:
    return relations.problem("citations and an agreeing kind", labels, trial)


def fitted(problem: ScoredTask, graph: Graph, trial: int) -> NodeCopyClassifier:
    task = problem.task
    y = np.full(graph.num_nodes, -1)
    y[task.train] = problem.truth[task.train]
    x = task.features if task.features.sum() else None
    return NodeCopyClassifier(random_state=child_seed(trial, "method")).fit(graph, x, y)


def default(problem: ScoredTask, graph: Graph, pairs: np.ndarray, trial: int) -> np.ndarray:
    log_ratio = fitted(problem, graph, trial).result_.edge_model.log_ratio(pairs)
    return 1 / (1 + np.exp(-log_ratio))


def common(problem: ScoredTask, graph: Graph, pairs: np.ndarray, trial: int) -> np.ndarray:
    return shared_neighbours(graph.symmetrise(), pairs)


def adamic_adar(problem: ScoredTask, graph: Graph, pairs: np.ndarray, trial: int) -> np.ndarray:
    plain = graph.symmetrise()
    return shared_neighbours(plain, pairs, 1 / np.log(np.maximum(plain.degrees, 2)))


def cosine(problem: ScoredTask, graph: Graph, pairs: np.ndarray, trial: int) -> np.ndarray:
    x = sp.csr_array(unit_rows(problem.task.features))
    return np.asarray(x[pairs[:, 0]].multiply(x[pairs[:, 1]]).sum(1)).ravel()


def autoencoder(
    variational: bool, problem: ScoredTask, graph: Graph, pairs: np.ndarray, trial: int
) -> np.ndarray:
    """Train the auto-encoder of PyTorch Geometric's example on the edges that are left."""
    from torch_geometric.nn import GAE, VGAE, GCNConv

    x = sp.csr_array(problem.task.features)
    features = x if x.nnz else sp.eye_array(x.shape[0])
    inputs = torch.tensor(features.toarray(), dtype=torch.float32).to_sparse()
    torch.manual_seed(trial)

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(inputs.shape[1], 32, cached=True)
            self.mean = GCNConv(32, 16, cached=True)
            self.log_std = GCNConv(32, 16, cached=True) if variational else None

        def forward(self, x, edges):
            h = self.first(x, edges).relu()
            mean = self.mean(h, edges)
            return mean if self.log_std is None else (mean, self.log_std(h, edges))

    model = VGAE(Encoder()) if variational else GAE(Encoder())
    edges = torch.tensor(graph.symmetrise().edges().T.astype(np.int64))
    both = torch.cat([edges, edges.flip(0)], 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        optimiser.zero_grad()
        z = model.encode(inputs, both)
        loss = model.recon_loss(z, both)
        if variational:
            loss = loss + model.kl_loss() / inputs.shape[0]
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        z = model.encode(inputs, both)
        return model.decoder(z, torch.tensor(pairs.T)).numpy().astype(np.float64)


def link_prediction(problem: ScoredTask, score: Score, trial: int) -> Row:
    """Score test edges and as many other pairs."""
    graph, rng = problem.task.graph, stream(trial, "link prediction")
    plain = graph.symmetrise()
    edges = rng.permutation(plain.edges().astype(np.int64))
    n_test, n_validation = len(edges) // 10, len(edges) // 20
    test, hidden = edges[:n_test], edges[: n_test + n_validation]
    others = rng.integers(graph.num_nodes, size=(3 * n_test, 2))
    others = others[(others[:, 0] != others[:, 1]) & ~plain.contains(*others.T)][:n_test]
    p = score(problem, graph.without(hidden), np.concatenate([test, others]), trial)
    truth = np.repeat([1, 0], [n_test, len(others)])
    return {
        "auc": round(float(roc_auc_score(truth, p)), 5),
        "ap": round(float(average_precision_score(truth, p)), 5),
        "ece": round(_calibration_error(p, truth), 5),
    } | (found(problem, trial) if score is default else {})


def found(problem: ScoredTask, trial: int) -> Row:
    """Take 5 % of the edges out, and look for them."""
    graph = problem.task.graph
    edges = stream(trial, "taken out").permutation(graph.symmetrise().edges().astype(np.int64))
    out = edges[: round(SHARE * len(edges))]
    missing = fitted(problem, graph.without(out), trial).result_.missing_edges(FIRST, SHARE)
    wanted = {tuple(sorted(edge)) for edge in out.tolist()}
    hits = [tuple(sorted(edge)) in wanted for edge in missing.nodes.tolist()]
    return {
        "taken out": len(out),
        "found": round(float(np.mean(hits)), 4),
        "expected": round(float(missing.probability.mean()), 4),
    }


def _calibration_error(p: np.ndarray, truth: np.ndarray) -> float:
    bins = np.minimum((15 * p).astype(int), 14)
    gaps = np.bincount(bins, truth, 15) - np.bincount(bins, p, 15)
    return float(np.abs(gaps).sum() / len(p))


COMPARISON = Comparison(
    cases={
        **{name: partial(dataset, name) for name in (*DATASETS, NO_FEATURES)},
        RELATIONS: two_relations,
    },
    methods={
        DEFAULT: lambda _: default,
        "common neighbours": lambda _: common,
        "Adamic-Adar": lambda _: adamic_adar,
        "cosine of columns": lambda _: cosine,
        "GAE": lambda _: partial(autoencoder, False),
        "VGAE": lambda _: partial(autoencoder, True),
    },
    labels=(20,),
    rows=Path("results", "missing-edges.jsonl"),
    measure=link_prediction,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return AUC and average precision of each method, and what the first 50 are."""
    lines = []
    for case in COMPARISON.cases:
        cell = shared_rows(COMPARISON, rows, case, 20)
        if not cell:
            continue
        ours = cell[DEFAULT]
        means = [_auc_ap(cell[name]) if name in cell else "" for name in COMPARISON.methods]
        ece, hit, said = (100 * np.mean([r[k] for r in ours]) for k in ("ece", "found", "expected"))
        lines.append([f"{case} ({len(ours)})", *means, f"{ece:.1f}", f"{hit:.0f}, {said:.0f}"])
    heads = [
        "AUC, AP in % (trials)",
        *COMPARISON.methods,
        "ECE of the default",
        "first 50: true, expected",
    ]
    return markdown_rows(heads, lines)


def _auc_ap(several: list[Row]) -> str:
    return ", ".join(f"{100 * np.mean([row[key] for row in several]):.1f}" for key in ("auc", "ap"))


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block=BLOCK)
