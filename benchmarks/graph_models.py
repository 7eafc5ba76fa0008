"""Node copying against the mixed-membership block model: what a fit and a sampled graph cost.

    OMP_NUM_THREADS=1 python benchmarks/graph_models.py [--quick]

Everything printed is a ratio of CPU times measured in this one run, or a fitted power of N, so it
can be compared between machines. Fits start from the true labels, softened: their cost does not
depend on how good the base classifier is.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from measure import cpu_time, environment, fitted_power

from nodecopy.data import load_dataset
from nodecopy.data.dataset import NodeDataset
from nodecopy.data.planted_settings import Degrees, Words
from nodecopy.data.synthetic import planted_partition
from nodecopy.data.task import Task
from nodecopy.graph import Graph
from nodecopy.graph_models.copying import NodeCopying
from nodecopy.graph_models.mmsbm import MMSBM, MMSBMPosterior
from nodecopy.graph_models.mmsbm_inference import COLD, cold_start

Draw = Callable[[Task, np.ndarray], Callable[[], object]]

MEAN_DEGREE, CLASSES = 5, 5
NAIVE_MOST_NODES = 20_000
PAIRS_AT_ONCE = 4_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs, shorter fits")
    parser.add_argument("--repeats", type=int, help="times each is measured; the median counts")
    arguments = parser.parse_args()
    repeats = arguments.repeats or (3 if arguments.quick else 5)
    print(f"{environment('numpy', 'scipy')}; median of {repeats} CPU times")
    model = MMSBM(cold_iterations=10, warm_iterations=10) if arguments.quick else MMSBM()
    show_datasets(["cora"] if arguments.quick else ["cora", "citeseer", "pubmed"], model, repeats)
    sizes = [1000, 2000, 4000] if arguments.quick else [10**4, 3 * 10**4, 10**5, 3 * 10**5]
    show_growth(sizes, repeats)
    naive = [1000, 2000, 4000] if arguments.quick else [2500, 5000, 10_000, NAIVE_MOST_NODES]
    show_naive_growth(naive, repeats)
    show_iterations([s for s in sizes if s <= 10**5], repeats)


def show_datasets(names: list[str], model: MMSBM, repeats: int) -> None:
    iterations = model.cold_iterations + model.warm_iterations
    print(
        f"\nRelative to one graph by node copying (union) of the same dataset; "
        f"the fit of the block model has {iterations} iterations:"
    )
    header = ("dataset", "copying fit", "copied rows", "MMSBM fit", "MMSBM graph", "naive graph")
    print("  " + "".join(f"{word:>13}" for word in header))
    for name in names:
        task, probabilities = problem(load_dataset(name))
        copying = NodeCopying().fit(task, probabilities, 0)
        rows = replace(copying, model=NodeCopying(construction="row"))
        unit = cpu_time(lambda c=copying: c.graph(0, 0, 0), repeats)
        begun = time.process_time()
        fitted = model.fit(task, probabilities, 0)  # once: it is long enough
        fit = time.process_time() - begun
        times = [
            cpu_time(lambda t=task, p=probabilities: NodeCopying().fit(t, p, 0), repeats),
            cpu_time(lambda r=rows: r.graph(0, 0, 0), repeats),
            fit,
            cpu_time(lambda f=fitted: f.graph(0, 0, 0), repeats),
            cpu_time(lambda f=fitted: naive_graph(f), min(repeats, 3)),
        ]
        print(f"  {name:>13}" + "".join(f"{spent / unit:>13,.2f}" for spent in times))


def show_growth(sizes: list[int], repeats: int) -> None:
    print(
        f"\nOne graph, planted partition of mean degree {MEAN_DEGREE}, relative to N = {sizes[0]:,}"
    )
    print("and node copying (union) there:")
    draws: dict[str, Draw] = {
        "copied rows": lambda t, p: copied(t, p, NodeCopying(construction="row")),
        "copying (union)": lambda t, p: copied(t, p, NodeCopying()),
        "MMSBM, ours": lambda t, p: blocks(t, p, naive=False),
    }
    show_powers(draws, sizes, repeats, unit="copying (union)")


def show_naive_growth(sizes: list[int], repeats: int) -> None:
    print("\nThe draw of the block model by all pairs, a block of rows at a time, beside ours:")
    draws: dict[str, Draw] = {
        "MMSBM, naive": lambda t, p: blocks(t, p, naive=True),
        "MMSBM, ours": lambda t, p: blocks(t, p, naive=False),
    }
    show_powers(draws, sizes, repeats, unit="MMSBM, ours")


def show_iterations(sizes: list[int], repeats: int) -> None:
    print("\nOne iteration of the inference of the block model (1 % of all pairs enter it):")
    draws: dict[str, Draw] = {
        "MMSBM, iteration": lambda t, p: iteration(t),
    }
    show_powers(draws, sizes, min(repeats, 3), unit="MMSBM, iteration")


def show_powers(
    draws: dict[str, Draw],
    sizes: list[int],
    repeats: int,
    unit: str,
) -> None:
    times: dict[str, list[float]] = {label: [] for label in draws}
    for size in sizes:
        task, probabilities = problem(synthetic(size))
        for label, make in draws.items():
            times[label].append(cpu_time(make(task, probabilities), repeats))
    print(f"  {'N':<18}" + "".join(f"{size:>12,}" for size in sizes))
    for label, spent in times.items():
        relative = "".join(f"{each / times[unit][0]:>12.2f}" for each in spent)
        print(f"  {label:<18}{relative}   grows as N^{fitted_power(sizes, spent):.2f}")


def copied(task: Task, probabilities: np.ndarray, model: NodeCopying) -> Callable[[], Graph]:
    fitted = model.fit(task, probabilities, 0)
    return lambda: fitted.graph(0, 0, 0)


def blocks(task: Task, probabilities: np.ndarray, naive: bool) -> Callable[[], Graph]:
    """Draw from blocks as strong as the observed ones; nothing is fitted."""
    model = MMSBM(delta=cross_density(task, probabilities), cold_iterations=0, warm_iterations=0)
    posterior = model.fit(task, probabilities, 0)
    return lambda: naive_graph(posterior) if naive else posterior.graph(0, 0, 0).built


def iteration(task: Task) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    start = cold_start(task.graph.num_nodes, CLASSES, rng)
    inference = MMSBM().inference(task.graph)
    return lambda: inference.run(start, 1, COLD, rng)


def cross_density(task: Task, probabilities: np.ndarray) -> float:
    """Return the share of pairs of different classes that are edges, so that E grows as N."""
    labels = probabilities.argmax(1)
    sizes = np.bincount(labels).astype(float)
    pairs = (len(labels) ** 2 - (sizes**2).sum()) / 2
    return float((1 - task.graph.homophily(labels)) * task.graph.num_edges / pairs)


def naive_graph(posterior: MMSBMPosterior) -> Graph:
    """Try every pair, as the authors' program does, but never hold all of them."""
    labels, beta = posterior.memberships.argmax(1), posterior.strengths
    size, rng = len(labels), np.random.default_rng(0)
    found = []
    step = max(1, PAIRS_AT_ONCE // size)
    for start in range(0, size, step):
        rows, later = labels[start : start + step, None], labels[start:]
        chance = np.where(rows == later, beta[rows], posterior.model.delta)
        edges = np.argwhere(np.triu(rng.random(chance.shape) < chance, 1))
        found.append(edges + start)
    return Graph.from_edges(size, np.concatenate(found))


def synthetic(size: int) -> NodeDataset:
    words = Words(vocabulary=CLASSES, per_node=1)  # features play no part here
    return planted_partition(size, CLASSES, degrees=Degrees(MEAN_DEGREE), words=words).dataset


def problem(dataset: NodeDataset) -> tuple[Task, np.ndarray]:
    """Return a task and softened true labels [N, K]; an unknown label counts as class 0."""
    labels, classes = np.maximum(dataset.labels, 0), dataset.num_classes
    probabilities = np.full((len(labels), classes), 0.2 / (classes - 1))
    probabilities[np.arange(len(labels)), labels] = 0.8
    train = np.flatnonzero(dataset.labels >= 0)[:100]
    task = Task.of(dataset.graph, dataset.features, dataset.labels, train, num_classes=classes)
    return task, probabilities


if __name__ == "__main__":
    main()
