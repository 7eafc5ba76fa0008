"""Which nodes to label next: learning curves of our rule, of random choice and of plain doubt.

    python benchmarks/acquisition.py [--datasets cora] [--repeats 10] [--rows FILE]
    python benchmarks/acquisition.py --rows results/acquisition.jsonl --show --figure FILE.svg

Two random labels of each class to begin with; in every round each rule chooses K more nodes among
those that are not set aside for testing, the model is fitted again, and its accuracy on 1,000 test
nodes is noted. The three rules begin with the same labels and test nodes, so differences are
paired. Rows are kept in a JSON-lines file and never computed twice.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from nodecopy.data import NodeDataset, Task, load_dataset
from nodecopy.labelling import next_labels
from nodecopy.posterior import BayesianGCN, Posterior
from nodecopy.report.drawing import BLUE, GREY, ORANGE, draw
from nodecopy.report.paper import DATASET_TITLES
from nodecopy.rng import child_seed, stream

START, ROUNDS, TEST = 2, 5, 1000
MODEL = BayesianGCN(n_zeta=5, n_weights=5)

Rule = Callable[[NodeDataset, Posterior, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def random_rule(dataset, posterior, labelled, allowed, rng):
    return rng.choice(np.flatnonzero(allowed), dataset.num_classes, replace=False)


def doubt_rule(dataset, posterior, labelled, allowed, rng):
    return np.argsort(-np.where(allowed, posterior.entropy, -1.0))[: dataset.num_classes]


def our_rule(dataset, posterior, labelled, allowed, rng):
    K = dataset.num_classes
    found = next_labels(dataset.graph, dataset.features, posterior, labelled, K, allowed=allowed)
    return found.nodes


RULES: dict[str, Rule] = {"random": random_rule, "entropy": doubt_rule, "nodecopy": our_rule}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--rows", type=Path, default=Path("acquisition-rows.jsonl"))
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    lines = chosen.rows.read_text().splitlines() if chosen.rows.exists() else []
    rows = {tuple(row["key"]): row["accuracy"] for row in map(json.loads, lines)}
    for repeat in [] if chosen.show else range(chosen.repeats):
        for key in [(name, rule, repeat) for name in chosen.datasets for rule in RULES]:
            if key not in rows:
                rows[key] = learning_curve(*key)
                with chosen.rows.open("a") as file:
                    file.write(json.dumps({"key": key, "accuracy": rows[key]}) + "\n")
    found = {name: shared_curves(name, rows) for name in chosen.datasets}
    found = {name: curves for name, curves in found.items() if len(curves["random"])}
    for name, curves in found.items():
        show(name, curves)
    if chosen.figure:
        chosen.figure.write_bytes(curves_figure(found))


def learning_curve(name: str, rule: str, repeat: int) -> list[float]:
    """Return the accuracy before the first round and after each."""
    dataset, rng = load_dataset(name), stream(repeat, "labels", name)
    known = np.flatnonzero(dataset.labels >= 0)
    test = rng.choice(known, TEST, replace=False)
    pool = np.setdiff1d(known, test)
    labelled = np.concatenate(
        [
            rng.choice(pool[dataset.labels[pool] == k], START, replace=False)
            for k in range(dataset.num_classes)
        ]
    )
    curve = []
    for step in range(ROUNDS + 1):
        posterior = fit(dataset, labelled, child_seed(repeat, "fit", step))
        right = posterior.probabilities[test].argmax(1) == dataset.labels[test]
        curve.append(float(right.mean()))
        allowed = np.zeros(dataset.num_nodes, bool)
        allowed[np.setdiff1d(pool, labelled)] = True
        more = RULES[rule](dataset, posterior, labelled, allowed, stream(repeat, "choice", step))
        labelled = np.concatenate([labelled, more])
    return curve


def fit(dataset: NodeDataset, labelled: np.ndarray, seed: int) -> Posterior:
    known = np.full(dataset.num_nodes, -1)
    known[labelled] = dataset.labels[labelled]
    task = Task.of(
        dataset.graph, dataset.features, known, labelled, (), num_classes=dataset.num_classes
    )
    return MODEL.fit(task, seed).posterior


def shared_curves(name: str, rows: dict[tuple, list[float]]) -> dict[str, np.ndarray]:
    """Return the curves of each rule, in per cent, of the repeats that all rules have."""
    held = [{r for n, rule, r in rows if (n, rule) == (name, wanted)} for wanted in RULES]
    repeats = sorted(set.intersection(*held))
    return {rule: np.array([rows[name, rule, r] for r in repeats]) * 100 for rule in RULES}


def label_counts(name: str) -> list[int]:
    return [load_dataset(name).num_classes * (START + step) for step in range(ROUNDS + 1)]


def show(name: str, curves: dict[str, np.ndarray]) -> None:
    """Print mean accuracies, and the gain over random choice with its standard error."""
    n, labels = len(curves["random"]), label_counts(name)
    print(f"\n{name}, accuracy %, {n} repeats; in brackets: gain over random choice\n")
    print("| labels | " + " | ".join(map(str, labels)) + " |")
    print("|---" * (len(labels) + 1) + "|")
    for rule, found in curves.items():
        cells = [f"{a:.1f}" for a in found.mean(0)]
        if rule != "random":
            gain = found - curves["random"]
            errors = gain.std(0, ddof=1) / np.sqrt(n)
            gains = zip(cells[1:], gain.mean(0)[1:], errors[1:], strict=True)
            cells = [cells[0], *(f"{cell} ({g:+.1f} ± {e:.1f})" for cell, g, e in gains)]
        print(f"| {rule} | " + " | ".join(cells) + " |")


def curves_figure(found: dict[str, dict[str, np.ndarray]]) -> bytes:
    """Draw the mean curves with a band of one standard error."""
    colours = {"random": GREY, "entropy": ORANGE, "nodecopy": BLUE}

    def paint(figure) -> None:
        figure.set_size_inches(2.8 * len(found), 2.6)
        axes = figure.subplots(1, len(found), squeeze=False)[0]
        for ax, (name, curves) in zip(axes, found.items(), strict=True):
            x = label_counts(name)
            for rule, values in curves.items():
                mean, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
                ax.plot(x, mean, color=colours[rule], marker="o", markersize=3, label=rule)
                ax.fill_between(x, mean - error, mean + error, color=colours[rule], alpha=0.15)
            ax.set_title(DATASET_TITLES[name])
            ax.set_xlabel("labels")
            ax.set_xticks(x)
        axes[0].set_ylabel("accuracy, %")
        axes[-1].legend(loc="lower right")

    return draw("acquisition", "Learning curves", "", paint).svg


if __name__ == "__main__":
    main()
