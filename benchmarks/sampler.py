"""The graph sampler: its growth with N, and how far it is from the memory limit.

    OMP_NUM_THREADS=1 python benchmarks/sampler.py [--quick]

A sample is all of it: ζ, the choice of ε, and the rows of the new graph. Everything printed is a
ratio of CPU times measured in this one run, or a fitted power, so it can be compared between
machines.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from measure import (
    cpu_time,
    cpu_times,
    environment,
    fitted_power,
    keep_freed_memory,
    verdict,
)

from nodecopy.graph import Graph
from nodecopy.graph_models.copied import Construction, copy_rows
from nodecopy.graph_models.copying import sample_source
from nodecopy.graph_models.zeta import ClassSets, class_sets, sample_zeta
from nodecopy.rng import stream

MEAN_DEGREE, CLASSES, EPSILON = 10, 7, 0.01
# Smaller graphs fit in the processor's caches, where the limit is another one.
BEYOND_CACHES = 10**6


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to a million nodes, 3 repeats")
    parser.add_argument("--repeats", type=int, help="times each is measured; the median counts")
    parser.add_argument("--fresh", action="store_true", help="let every call pay for fresh pages")
    arguments = parser.parse_args()
    if not arguments.fresh:
        keep_freed_memory()
    sizes = [10**4, 10**5, 10**6] if arguments.quick else [10**4, 10**5, 10**6, 10**7]
    repeats = arguments.repeats or (3 if arguments.quick else 5)
    print(f"{environment('numpy', 'scipy')}; median of {repeats} CPU times")
    print(f"random graphs of mean degree {MEAN_DEGREE}, {CLASSES} classes, ε = {EPSILON}")
    print(f"freed memory is {'given back to the system' if arguments.fresh else 'kept'}")
    show_growth(sizes, repeats)
    loop = [10**3, 2 * 10**3, 4 * 10**3] if arguments.quick else [10**3, 3 * 10**3, 10**4]
    show_others(loop, min(repeats, 3))


def show_growth(sizes: list[int], repeats: int) -> None:
    print("\nOne sample relative to the plain gather indices[entries] of the same rows:")
    print(f"  {'N':>12}{'ζ':>8}{'ε':>8}{'rows':>8}{'= row':>8}{'union':>8}{'ns/edge of row':>17}")
    times: dict[str, list[float]] = {"row": [], "union": [], "gather": []}
    for size in sizes:
        problem = Problem(size)
        found = cpu_times(problem.parts(), repeats)
        gather, row = found["gather"], found["row"]
        for name, several in times.items():
            several.append(found[name])
        parts = [found[part] / gather for part in ("zeta", "source", "rows", "row", "union")]
        note = verdict(row / gather, 3) if size >= BEYOND_CACHES else "(in cache)"
        per_edge = row / len(problem.graph.indices) * 1e9
        print(f"  {size:>12,}" + "".join(f"{p:8.2f}" for p in parts) + f"{per_edge:17.1f}  {note}")
    powers = {name: fitted_power(sizes, several) for name, several in times.items()}
    for name in ("row", "union"):
        print(f"  time of {name} grows as N^{powers[name]:.2f} {verdict(powers[name], 1.1)}")
    print(f"  the plain gather, which meets one cache after another, as N^{powers['gather']:.2f}")


def show_others(sizes: list[int], repeats: int) -> None:
    print("\nOther ways, relative to our row sample at the same N:")
    print(f"  {'N':>12}{'loop and concatenation':>25}{'N² block model':>17}")
    others: dict[str, list[float]] = {"loop": [], "block": []}
    for size in sizes:
        problem = Problem(size)
        row = cpu_time(lambda p=problem: p.sample("row"), repeats)
        others["loop"].append(cpu_time(problem.sample_by_loop, repeats))
        others["block"].append(cpu_time(problem.block_model, repeats))
        loop, block = (others[name][-1] / row for name in ("loop", "block"))
        print(f"  {size:>12,}{loop:25.0f}{block:17.0f}")
    powers = [fitted_power(sizes, several) for several in others.values()]
    print(f"  they grow as N^{powers[0]:.2f} and N^{powers[1]:.2f}")


@dataclass(frozen=True)
class Problem:
    """A random graph with random predicted classes."""

    size: int

    @cached_property
    def graph(self) -> Graph:
        shape = (self.size * MEAN_DEGREE // 2, 2)
        pairs = np.random.default_rng(0).integers(self.size, size=shape, dtype=np.int32)
        return Graph.from_edges(self.size, pairs)

    @cached_property
    def sets(self) -> ClassSets:
        return class_sets(np.random.default_rng(1).integers(CLASSES, size=self.size), CLASSES)

    def sample(self, construction: Construction) -> Graph:
        zeta = sample_zeta(self.sets, stream(0, "zeta"))
        source = sample_source(zeta, EPSILON, stream(0, "graph"))
        return copy_rows(self.graph, source, construction)

    def parts(self) -> dict:
        graph, sets = self.graph, self.sets
        zeta = sample_zeta(sets, stream(0, "zeta"))
        source = sample_source(zeta, EPSILON, stream(0, "graph"))
        begins = graph.take_rows(source).indptr
        entries = np.repeat(graph.indptr[source] - begins[:-1], np.diff(begins))
        entries += np.arange(len(entries))
        return {
            "gather": lambda: graph.indices[entries],
            "zeta": lambda: sample_zeta(sets, stream(0, "zeta")),
            "source": lambda: sample_source(zeta, EPSILON, stream(0, "graph")),
            "rows": lambda: copy_rows(graph, source, "row"),
            "row": lambda: self.sample("row"),
            "union": lambda: self.sample("union"),
        }

    def sample_by_loop(self) -> tuple[np.ndarray, np.ndarray]:
        """Sample as the authors' program does: node by node, growing the lists of edges."""
        rng = np.random.default_rng(0)
        labels, graph = self.sets.labels, self.graph
        rows, columns = np.empty(0, np.int64), np.empty(0, np.int64)
        for j in range(self.size):
            donor = j if rng.random() < EPSILON else rng.choice(self.members[labels[j]])
            copied = graph.neighbours(int(donor))
            rows = np.concatenate([rows, np.full(len(copied), j)])
            columns = np.concatenate([columns, copied])
        return rows, columns

    @cached_property
    def members(self) -> list[np.ndarray]:
        return np.split(self.sets.nodes, self.sets.starts[1:-1])

    def block_model(self) -> tuple[np.ndarray, np.ndarray]:
        """Draw every pair of nodes on its own, at the density of the graph."""
        rng, labels = np.random.default_rng(0), self.sets.labels
        inside = 0.8 * MEAN_DEGREE * CLASSES / self.size
        across = 0.2 * MEAN_DEGREE / self.size
        drawn = []
        for j in range(self.size):
            chance = np.where(labels[j + 1 :] == labels[j], inside, across)
            drawn.append(np.flatnonzero(rng.random(len(chance)) < chance) + j + 1)
        return np.repeat(np.arange(self.size), [len(d) for d in drawn]), np.concatenate(drawn)


if __name__ == "__main__":
    main()
