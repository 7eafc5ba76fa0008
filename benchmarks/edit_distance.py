"""How far samples of the copying model stray from the observed graph, as ε varies.

    python benchmarks/edit_distance.py --dataset cora

The paper says that ε controls the expected edit distance. The table sets the exact expectation
beside the mean over draws, for the true classes as ĉ and for those that a GCN predicts.
"""

from __future__ import annotations

import argparse

import numpy as np

from nodecopy.classifiers import GCNClassifier
from nodecopy.data import NodeDataset, Task, fixed_split, load_dataset
from nodecopy.graph_models import NodeCopying
from nodecopy.graph_models.diagnostics import compare_graphs, expected_edit_distance

EPSILONS = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--labels-per-class", type=int, default=20)
    parser.add_argument("--draws", type=int, default=10)
    chosen = parser.parse_args()
    dataset = load_dataset(chosen.dataset)
    task = Task.from_split(dataset, fixed_split(dataset, chosen.labels_per_class))
    known = np.mean(dataset.labels >= 0)
    observed = dataset.graph
    print(
        f"{chosen.dataset}: {observed.num_edges} edges, {known:.1%} of the nodes labelled,", end=" "
    )
    print(f"homophily {observed.homophily(dataset.labels):.3f}, {chosen.draws} draws a row\n")
    predicted = GCNClassifier().fit(task).probabilities.argmax(1)
    print_table("the truth", np.maximum(dataset.labels, 0), task, dataset, chosen.draws)
    share = np.mean((predicted == dataset.labels)[dataset.labels >= 0])
    title = f"a GCN's ({chosen.labels_per_class} labels per class, {share:.1%} right)"
    print_table(title, predicted, task, dataset, chosen.draws)


def print_table(
    title: str, labels: np.ndarray, task: Task, dataset: NodeDataset, draws: int
) -> None:
    print(f"ĉ = {title}\n")
    print("| ε | expected edits | realised | kept % | overlap % | edges | homophily | KS degree |")
    print("|---|---|---|---|---|---|---|---|")
    k = dataset.num_classes
    for epsilon in EPSILONS:
        expected = expected_edit_distance(task.graph, labels, k, epsilon)
        posterior = NodeCopying(epsilon).fit(task, np.eye(k)[labels], seed=0)
        found = [
            compare_graphs(task.graph, posterior.graph(0, v, 0).built, dataset.labels)
            for v in range(draws)
        ]
        realised = np.array([c.edit_distance for c in found])
        kept, overlap, edges, homophily, degrees = np.mean(
            [
                (c.kept, c.overlap, c.sample.edges, c.sample.homophily, c.degree_distance)
                for c in found
            ],
            axis=0,
        )
        print(
            f"| {epsilon} | {expected:.0f} | {realised.mean():.0f} ± {realised.std():.0f} "
            f"| {kept * 100:.1f} | {overlap * 100:.1f} | {edges:.0f} | {homophily:.3f} "
            f"| {degrees:.3f} |"
        )
    print()


if __name__ == "__main__":
    main()
