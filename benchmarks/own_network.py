"""What copying brings to networks of PyTorch Geometric: GraphSAGE and GATv2 on Cora.

    OMP_NUM_THREADS=1 python -m benchmarks.own_network [--methods GATv2] [--trials 10]
    python -m benchmarks.own_network --show

Random splits with 5 labels per class and 1,000 test nodes. Each network alone, as an ensemble on
the observed graph, and as an ensemble on copied graphs: 5 members with 5 dropout draws each, all
trained alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.compared import Comparison, Key, Row, ScoredTask, main, standard_error
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import split_problem
from nodecopy.classifiers import fit_one
from nodecopy.core.metrics import score_predictions
from nodecopy.graph_models import NodeCopying, ObservedGraph
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


def measure(problem: ScoredTask, network: TorchNetwork, trial: int) -> Row:
    """Return [accuracy, negative log-likelihood] on the test nodes for each way."""
    answers = {}
    for way, model in zip(WAYS[1:], (ObservedGraph(), NodeCopying()), strict=True):
        fitted = fit_one(
            BayesianGCN(
                graph_model=model,
                network=network,
                weights=MCDropout(TrainConfig(epochs=100)),
                n_zeta=MEMBERS,
                n_weights=DRAWS,
            ),
            problem.task,
            seed=trial,
        )
        answers["alone"] = fitted.base_probabilities
        answers[way] = fitted.probabilities
    scores = {
        way: score_predictions(p[problem.test], problem.truth[problem.test])
        for way, p in answers.items()
    }
    return {way: [one.accuracy, one.nll] for way, one in scores.items()}


COMPARISON = Comparison(
    cases={"cora": partial(split_problem, "cora")},
    methods={name: partial(lambda network, _: network, one) for name, one in NETWORKS.items()},
    labels=(5,),
    rows=Path("results", "own-network.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    lines = []
    for name, way in product(NETWORKS, WAYS):
        held = [row for key, row in sorted(rows.items()) if key[3] == name]
        scores = np.array([row[way] for row in held])
        gain = 100 * (scores[:, 0] - [row["alone"][0] for row in held])
        means = f"{100 * scores[:, 0].mean():.1f}", f"{scores[:, 1].mean():.3f}"
        lines.append(
            [
                f"{name}, {way}",
                f"{len(held)}",
                *means,
                f"{gain.mean():+.1f} ± {standard_error(gain):.1f}",
            ]
        )
    return markdown_rows(["", "splits", "accuracy, %", "NLL", "gain"], lines)


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables)
