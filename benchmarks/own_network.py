"""What copying brings to networks of PyTorch Geometric: GraphSAGE and GATv2 on Cora.

    OMP_NUM_THREADS=1 python benchmarks/own_network.py [--networks GATv2] [--rows FILE]
    python benchmarks/own_network.py --rows results/own-network.jsonl --show

Random splits with 5 labels per class and 1,000 test nodes. Each network alone, as an ensemble on
the observed graph, and as an ensemble on copied graphs: 5 members with 5 dropout draws each, all
trained alike. Rows are kept in a JSON-lines file and never computed twice.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import torch

from nodecopy.data import Task, load_dataset, random_split
from nodecopy.graph_models import NodeCopying, ObservedGraph
from nodecopy.metrics import accuracy, negative_log_likelihood
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MCDropout, TrainConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.nn import GAT, GraphSAGE

NETWORKS = {
    "GraphSAGE": TorchNetwork(lambda d, k: GraphSAGE(d, 16, 2, k, dropout=0.5), hops=2),
    "GATv2": TorchNetwork(lambda d, k: GAT(d, 32, 2, k, v2=True, heads=4, dropout=0.5), hops=2),
}
MEMBERS, DRAWS = 5, 5
WAYS = ("alone", "observed graph", "copied graphs")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=Path, default=Path("own-network-rows.jsonl"))
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    lines = chosen.rows.read_text().splitlines() if chosen.rows.exists() else []
    rows = {tuple(row["key"]): row for row in map(json.loads, lines)}
    for split in [] if chosen.show else range(chosen.splits):
        for key in [(name, split) for name in chosen.networks]:
            if key not in rows:
                rows[key] = {"key": key, **trial(*key)}
                with chosen.rows.open("a") as file:
                    file.write(json.dumps(rows[key]) + "\n")
    for name in chosen.networks:
        show(name, [row for key, row in sorted(rows.items()) if key[0] == name])


def trial(name: str, split: int) -> dict[str, list[float]]:
    """Return [accuracy, negative log-likelihood] on the test nodes for each way."""
    dataset = load_dataset("cora")
    drawn = random_split(dataset, labels_per_class=5, seed=split)
    task = Task.from_split(dataset, drawn)
    answers = {}
    for way, model in zip(WAYS[1:], (ObservedGraph(), NodeCopying()), strict=True):
        fitted = BayesianGCN(
            graph_model=model,
            network=NETWORKS[name],
            weights=MCDropout(TrainConfig(epochs=100)),
            n_zeta=MEMBERS,
            n_weights=DRAWS,
        ).fit(task, seed=split)
        answers["alone"] = fitted.base_probabilities
        answers[way] = fitted.probabilities
    truth = dataset.labels[drawn.test]
    return {
        way: [accuracy(p[drawn.test], truth), negative_log_likelihood(p[drawn.test], truth)]
        for way, p in answers.items()
    }


def show(name: str, rows: list[dict]) -> None:
    print(f"\n{name}, Cora, 5 labels per class, {len(rows)} random splits: accuracy in %, NLL")
    for way in WAYS if rows else ():
        scores = np.array([row[way] for row in rows])
        gain = 100 * (scores[:, 0] - [row["alone"][0] for row in rows])
        error = gain.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
        print(
            f"  {way:<16}{100 * scores[:, 0].mean():6.1f}{scores[:, 1].mean():8.3f}"
            f"   gain {gain.mean():+.1f} ± {error:.1f} points"
        )


if __name__ == "__main__":
    main()
