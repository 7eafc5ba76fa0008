"""The whole default fit against one network of PyTorch Geometric, and how it grows.

    OMP_NUM_THREADS=1 python -m benchmarks.default_fit [--quick] [--parts peers nodes labels]

CPU time on one thread in one run; peers are medians of five, growth is measured once. Peers: Cora,
5 labels per class, the fit with its folds, weights and temperatures as a share of one GCN example
fit and of one APPNP fit (one network, 200 epochs each), and against the same fit without folds.
Growth: planted graphs of 1,000 to 100,000 nodes with 5 labels per class, of 20,000 with 5 to 1,000.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import torch

from benchmarks.measure import cpu_times, environment, fitted_power, keep_freed_memory, verdict
from benchmarks.pyg_example import VERSION, fit_appnp, fit_example
from nodecopy.data import Task, fixed_split, load_dataset, planted_partition, random_split
from nodecopy.presets import best

CLASSES = 7
NODES = (1_000, 3_000, 10_000, 30_000, 100_000)
LABELS = (5, 20, 100, 300, 1_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat, smaller sizes")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    chosen = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(1)
    print(f"{environment('torch', 'numpy', 'scipy')}, {VERSION}")
    for part in chosen.parts:
        PARTS[part](chosen.quick)


def show_peers(quick: bool) -> None:
    dataset = load_dataset("cora")
    task = Task.from_split(dataset, fixed_split(dataset, labels_per_class=5))
    times = cpu_times(
        {
            "default": lambda: best().fit(task).probabilities,
            "no folds": lambda: replace(best(), folds=0).fit(task).probabilities,
            "GCN": lambda: fit_example(task),
            "APPNP": lambda: fit_appnp(task),
        },
        repeats=1 if quick else 5,
    )
    whole = times["default"]
    print(f"\nCora, 5 labels per class; the default fit takes {whole:.2f} s:")
    for peer in ("GCN", "APPNP"):
        ratio = whole / times[peer]
        print(f"  {f'of one PyG {peer} fit':<32}{ratio:8.4f}  {verdict(ratio, 0.05)}")
    ratio = whole / times["no folds"]
    print(f"  {'of the fit without folds':<32}{ratio:8.2f}  {verdict(ratio, 2.5)}")


def show_nodes(quick: bool) -> None:
    sizes = NODES[:3] if quick else NODES
    tasks = {str(n): planted_task(n, 5) for n in sizes}
    print("\nPlanted graphs, 5 labels per class, relative to the smallest:")
    show_growth("nodes", sizes, tasks)


def show_labels(quick: bool) -> None:
    sizes = LABELS[:3] if quick else LABELS
    tasks = {str(n): planted_task(20_000, n) for n in sizes}
    print("\nA planted graph of 20,000 nodes, relative to 5 labels per class:")
    show_growth("labels per class", sizes, tasks)


def show_growth(what: str, sizes: tuple[int, ...], tasks: dict[str, Task]) -> None:
    works = {name: lambda task=task: best().fit(task).probabilities for name, task in tasks.items()}
    times = cpu_times(works, repeats=1)
    first = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"  {int(name):>9,} {what:<16}{seconds / first:8.2f}{seconds:10.2f} s")
    print(f"  time ∝ {what}^{fitted_power(sizes, list(times.values())):.2f}")


def planted_task(nodes: int, labels: int) -> Task:
    dataset = planted_partition(nodes, CLASSES, seed=0)
    split = random_split(dataset, labels, seed=0, n_test=0, n_val=0)
    return Task.from_split(dataset, split)


PARTS = {"peers": show_peers, "nodes": show_nodes, "labels": show_labels}

if __name__ == "__main__":
    main()
